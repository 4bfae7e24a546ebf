"""What a model said, read strictly: opportunities and questions, and what became of the rest.

Nothing that a model says breaks an agent. What cannot be used is left out, under a topic:

| topic | what was said | what becomes of it |
| --- | --- | --- |
| `no-json` | no JSON object | nothing is predicted |
| `bad-json` | an object that breaks off, has a field twice, or is no JSON | nothing is predicted |
| `bad-shape` | JSON without the list that was asked for | nothing is predicted |
| `no-section` | JSON, but not between its tags | it counts all the same |
| `further-json` | a second object with the list that was asked for | the first one counts |
| `bad-opportunity` | an opportunity with a missing field or a wrong type | it alone is left out |
| `unknown-status` | one with a status that there is not | it alone is left out |
| `unknown-action` | one of an action that the catalog has not | it alone is left out |
| `duplicate-name` | a further one of the same action | the first one counts |
| `bad-question` | a question that is no text | it alone is left out |

"Nothing is predicted" is an empty set, in time or not: the conversation goes on.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any

import msgspec

from timeful.dialogues.opportunity import (
    STATUSES,
    BadOpportunityError,
    Opportunity,
    read_opportunity,
)

ACTIONS = "proactive_action_opportunities"
QUESTIONS = "raised_questions"
"""The fields of an answer that hold the lists (Figures 13 to 15)."""

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_ATTEMPTS = 20
"""Braces from which JSON is looked for: prose may have some, and garbage has thousands."""

Problem = tuple[str, str]
"""A topic, and the details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What an answer said that can be used, and the problems with the rest."""

    opportunities: tuple[Opportunity, ...] = ()
    questions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_actions(said: str, *, section: str, names: Collection[str]) -> Read:
    """Read the opportunities of an answer.

    Args:
        said: The answer, with its thinking or without.
        section: The tag that they stand in; empty where the answer is JSON alone.
        names: The actions that there are.
    """
    items, problems = _items(said, section, ACTIONS)
    found: dict[str, Opportunity] = {}
    for item in items:
        try:
            one = read_opportunity(item)
        except BadOpportunityError as error:
            problems.append((_wrong(item), str(error)))
            continue
        if one.name not in names:
            problems.append(("unknown-action", one.name))
        elif one.name in found:
            problems.append(("duplicate-name", one.name))
        else:
            found[one.name] = one
    return Read(opportunities=tuple(found.values()), problems=tuple(problems))


def read_questions(said: str, *, section: str) -> Read:
    """Read the questions of an answer; arguments as for `read_actions`."""
    items, problems = _items(said, section, QUESTIONS)
    asked = []
    for item in items:
        if isinstance(item, str) and item.strip():
            asked.append(item.strip())
        else:
            problems.append(("bad-question", _short(item)))
    return Read(questions=tuple(asked), problems=tuple(problems))


def _wrong(item: object) -> str:
    status = item.get("action_trigger_status") if isinstance(item, dict) else None
    is_unknown = isinstance(status, str) and status not in STATUSES
    return "unknown-status" if is_unknown else "bad-opportunity"


def _items(said: str, section: str, field: str) -> tuple[list[Any], list[Problem]]:
    """The list that was asked for, and what is wrong with the whole answer."""
    problems: list[Problem] = []
    body = _spoken(said)
    if section:
        found = re.findall(rf"<{section}>(.*?)(?:</{section}>|\Z)", body, re.DOTALL)
        if not found:
            problems.append(("no-section", f"no <{section}> in {_short(body)}"))
        else:
            body = "\n".join(found)
    objects, broken = _objects(body)
    answers = [one for one in objects if field in one]
    if not answers:
        if broken:
            return [], [*problems, ("bad-json", broken)]
        if not objects:
            return [], [*problems, ("no-json", _short(body))]
        return [], [*problems, ("bad-shape", f"no list {field!r} in {_short(objects[0])}")]
    if answers[1:]:
        problems.append(("further-json", _short(answers[1])))
    if not isinstance(answers[0][field], list):
        return [], [*problems, ("bad-shape", f"{field!r} is no list in {_short(answers[0])}")]
    return answers[0][field], problems


def _spoken(said: str) -> str:
    """What was said, not thought, also where the opening tag was part of the prompt."""
    return _THOUGHT.sub("", said).rpartition("</think>")[2]


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The objects in a text, and what is wrong with the first that is none.

    The standard library finds where an object ends; what it means, msgspec says strictly: no NaN,
    and no half of a character, which a record could not hold.
    """
    found: list[dict[str, Any]] = []
    broken = ""
    place = text.find("{")
    for _ in range(_ATTEMPTS):
        if place < 0:
            break
        end = place + 1
        try:
            _, end = _decoder.raw_decode(text, place)
            found.append(msgspec.json.decode(text[place:end].encode()))
        except (ValueError, RecursionError) as error:
            broken = broken or f"{error} in {_short(text[place:])}"
        place = text.find("{", end)
    return found, broken


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a field twice: nobody knows which is meant."""
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise ValueError(f"the field {_short(name)} stands twice")
        seen.add(name)


_decoder = JSONDecoder(object_pairs_hook=_each_once)


def _short(value: object) -> str:
    text = " ".join(str(value).encode(errors="replace").decode().split())
    return text if len(text) <= 80 else f"{text[:79]}…"
