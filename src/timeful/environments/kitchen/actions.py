"""The actions of the kitchen, as one XML element each; read strictly.

Engagement Process, appendix E: an XML action protocol. `tutored` is no action of a controller: with
it whoever tutors tells the kitchen how far they came. How an action is found among a model's other
words is the agent's business.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
_MARKUP = re.compile(r'["<>]')


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


def read_action(text: str) -> Action:
    """Read one element, with the attributes of its verb and no others.

    Raises:
        IllegalActionError: If the text is anything else; it names the mistake.
    """
    match = _ELEMENT.fullmatch(text.strip())
    if match is None:
        raise IllegalActionError(f"{_short(text)} is not one element such as <wait/>")
    verb, pairs = match.group(1), _ATTRIBUTE.findall(match.group(2))
    if verb in _NEEDED and len(dict(pairs)) < len(pairs):
        raise IllegalActionError(f"{_short(text)} gives an attribute twice")
    return make_action(verb, dict(pairs))


def make_action(verb: str, values: Mapping[str, str]) -> Action:
    """Make an action from the name of an element and its attributes.

    Raises:
        IllegalActionError: If there is no such action, or an attribute is missing or wrong.
    """
    if any(_MARKUP.search(value) for value in values.values()):
        words = "".join(f' {name}="{value}"' for name, value in values.items())
        raise IllegalActionError(
            f"{_short(f'<{verb}{words}/>')} is not one element such as <wait/>"
        )
    if verb not in _NEEDED:
        raise IllegalActionError.named(f"<{verb}/>", _NEEDED)
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


def _number(values: Mapping[str, str]) -> int | None:
    for name in _NUMBERS:
        if name in values:
            if not _NUMBER.fullmatch(values[name]):
                raise IllegalActionError(f'{name}="{values[name]}" is no whole number')
            return int(values[name])
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
