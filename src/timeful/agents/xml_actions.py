"""From a model's words to one XML action, strictly: what was not said is not done.

* After a `</think>` only what follows the last one is read; a `<think>` that never ends hides
  all that follows it.
* An action is an element without content, `<open id="3"/>` or `<open id="3"></open>`, by a name
  and attributes that are known, each attribute once and quoted. Names are in lower case.
* Prose around it is ignored. The same action said several times is one action; different
  actions are none, for who is to say which was meant?
* Anything else in angle brackets that begins like a tag makes the whole answer illegal.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from timeful.agents.action_parser import Outcome

_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*?)(/?)>")
_OPENING = re.compile(r"</?[A-Za-z]")
_ATTRIBUTE = re.compile(r"\s+([A-Za-z][\w.-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_SHOWN = 80

Forms = Mapping[str, Mapping[str, bool]]
"""The elements by name, each with its attributes, and whether an attribute must be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTag:
    """The action that an answer names; name and values are empty unless the outcome is `OK`."""

    outcome: Outcome
    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    detail: str = ""


class _UnreadableError(ValueError):
    """The answer breaks a rule; the message says which. Never leaves this file."""


def parse_tag(text: str, forms: Forms) -> ParsedTag:
    """Read one action from an answer.

    Args:
        text: All that the model said.
        forms: The actions there are.

    Returns:
        The action, or none and why.
    """
    answer = text.rpartition("</think>")[2].partition("<think>")[0]
    tags = list(_TAG.finditer(answer))
    if fragment := _find_fragment(answer, tags):
        return ParsedTag(outcome=Outcome.UNCLOSED, detail=_short(fragment))
    if not tags:
        outcome = Outcome.NO_ANSWER if answer.strip() else Outcome.EMPTY
        return ParsedTag(outcome=outcome, detail=_short(answer))
    try:
        actions = _read(answer, tags, forms)
    except _UnreadableError as error:
        return ParsedTag(outcome=Outcome.ILLEGAL, detail=str(error))
    if len(actions) > 1:
        names = ", ".join(_format_action(name, values) for name, values in actions)
        return ParsedTag(outcome=Outcome.SEVERAL, detail=_short(names))
    [(name, values)] = actions
    return ParsedTag(
        outcome=Outcome.OK, name=name, values=dict(values), detail=_format_action(name, values)
    )


def _find_fragment(answer: str, tags: list[re.Match[str]]) -> str:
    """A tag that was begun and never completed; empty if there is none."""
    whole = [match.span() for match in tags]
    for opening in _OPENING.finditer(answer):
        if not any(start <= opening.start() < end for start, end in whole):
            return answer[opening.start() :]
    return ""


_Action = tuple[str, tuple[tuple[str, str], ...]]


def _read(answer: str, tags: list[re.Match[str]], forms: Forms) -> list[_Action]:
    """The different actions in the order in which they were said.

    Raises:
        _UnreadableError: If something is no action.
    """
    actions: dict[_Action, None] = {}
    waiting: tuple[str, int] | None = None  # an opening tag, and where it ended
    for match in tags:
        slash, name, attributes, end = match.groups()
        if waiting is not None:
            is_closed = (
                slash and name == waiting[0] and not answer[waiting[1] : match.start()].strip()
            )
            if not is_closed:
                raise _UnreadableError(f"<{waiting[0]}> is not closed: write <{waiting[0]} .../>")
            waiting = None
            continue
        if slash:
            raise _UnreadableError(f"</{name}> closes nothing")
        if name not in forms:
            near = get_close_matches(name, forms, n=1)
            hint = f"; did you mean <{near[0]}>?" if near else ""
            raise _UnreadableError(f"<{name}> is no action{hint}")
        actions[name, _values(name, attributes, forms[name])] = None
        if not end:
            waiting = name, match.end()
    if waiting is not None:
        raise _UnreadableError(f"<{waiting[0]}> is not closed: write <{waiting[0]} .../>")
    return list(actions)


def _values(name: str, attributes: str, form: Mapping[str, bool]) -> tuple[tuple[str, str], ...]:
    """The attributes of an element, sorted.

    Raises:
        _UnreadableError: If one is unknown, missing, given twice or not quoted.
    """
    values: dict[str, str] = {}
    position = 0
    while match := _ATTRIBUTE.match(attributes, position):
        key, double, single = match.groups()
        if key in values:
            raise _UnreadableError(f"{key} is given twice in <{name}>")
        values[key] = double if double is not None else single
        position = match.end()
    if attributes[position:].strip():
        raise _UnreadableError(f"cannot read {_short(attributes[position:].strip())!r} in <{name}>")
    for key in values:
        if key not in form:
            names = ", ".join(form) or "none"
            raise _UnreadableError(f"<{name}> has no attribute {key!r}; it has: {names}")
    for key, is_needed in form.items():
        if is_needed and key not in values:
            raise _UnreadableError(f'<{name}> needs {key}, as in <{name} {key}="..."/>')
    return tuple(sorted(values.items()))


def _format_action(name: str, values: tuple[tuple[str, str], ...]) -> str:
    return f"<{name}{''.join(f' {key}={value!r}' for key, value in values)}/>"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
