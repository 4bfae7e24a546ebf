"""The actions of the kitchen, as one XML element each; read strictly.

Engagement Process, appendix E: an XML action protocol. `tutored` is no action of a controller: with
it whoever tutors tells the kitchen how far they came. How an action is found among a model's other
words is the agent's business.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast

from timeful.errors import IllegalActionError

Verb = Literal["prepare", "stage", "finish", "tutor", "wait", "check", "end", "tutored"]

_NEEDED: dict[Verb, tuple[str, ...]] = {
    "prepare": ("dish",),
    "stage": ("dish",),
    "finish": ("dish",),
    "tutor": ("problem",),
    "wait": (),
    "check": (),
    "end": (),
    "tutored": ("problem", "tokens"),
}
_ALLOWED: dict[Verb, tuple[str, ...]] = {
    **_NEEDED,
    "tutor": ("problem", "tokens"),
    "wait": ("ticks",),
    "tutored": ("problem", "tokens", "done"),
}
_NUMBERS = ("tokens", "ticks")

_ELEMENT = re.compile(r'<([a-z]+)((?:\s+[a-z]+="[^"<>]*")*)\s*/>')
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"<>]*)"')
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action; `target` is a dish or a problem, `number` tokens or ticks."""

    verb: Verb
    target: str = ""
    number: int | None = None
    is_done: bool = False

    def __str__(self) -> str:
        values = {
            "dish": self.target,
            "problem": self.target,
            "tokens": self.number,
            "ticks": self.number,
            "done": "yes" if self.is_done else None,
        }
        words = [
            f'{name}="{values[name]}"'
            for name in _ALLOWED[self.verb]
            if values[name] not in (None, "")
        ]
        return f"<{' '.join([self.verb, *words])}/>"


def parse(text: str) -> Action:
    """Read one action: one element, with the attributes of its verb and no others.

    Raises:
        IllegalActionError: If the text is anything else; it says what is wrong.
    """
    match = _ELEMENT.fullmatch(text.strip())
    if match is None:
        raise IllegalActionError(f"{_short(text)} is not one element such as <wait/>")
    verb, pairs = match.group(1), _ATTRIBUTE.findall(match.group(2))
    if verb not in _NEEDED:
        raise IllegalActionError.named(f"<{verb}/>", _NEEDED)
    verb = cast("Verb", verb)
    values = dict(pairs)
    if len(values) < len(pairs):
        raise IllegalActionError(f"{_short(text)} gives an attribute twice")
    for name in _NEEDED[verb]:
        if not values.get(name):
            raise IllegalActionError(f"<{verb}/> needs the attribute {name}")
    for name in values:
        if name not in _ALLOWED[verb]:
            raise IllegalActionError(f"<{verb}/> has no attribute {name}")
    return Action(
        verb=verb,
        target=values.get("dish") or values.get("problem") or "",
        number=_number(values),
        is_done=values.get("done") == "yes",
    )


def _number(values: dict[str, str]) -> int | None:
    for name in _NUMBERS:
        if name in values:
            if not _NUMBER.fullmatch(values[name]):
                raise IllegalActionError(f'{name}="{values[name]}" is no whole number')
            return int(values[name])
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
