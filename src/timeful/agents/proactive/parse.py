"""Strict parsing of model answers: opportunities, questions, and problems.

A malformed answer does not stop an agent. Each problem has a topic:

| topic | problem | effect |
| --- | --- | --- |
| `no-json` | no JSON object | empty prediction |
| `bad-json` | an incomplete or malformed object, or a repeated field | empty prediction |
| `bad-shape` | JSON without the requested list | empty prediction |
| `no-section` | JSON outside of its tags | the JSON counts |
| `further-json` | a second object with the requested list | the first object counts |
| `bad-opportunity` | an opportunity with a missing field or a wrong type | it is left out |
| `unknown-status` | an opportunity with an unknown status | it is left out |
| `unknown-action` | an opportunity with an action outside of the catalog | it is left out |
| `duplicate-name` | a second opportunity with the same action | the first one counts |
| `bad-question` | a question that is not a string | it is left out |
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
"""The fields of an answer with the lists (Figures 13 to 15)."""

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_ATTEMPTS = 20
"""The maximum number of opening braces at which to look for JSON."""

Problem = tuple[str, str]
"""A topic and its details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """The valid content of an answer, and its problems."""

    opportunities: tuple[Opportunity, ...] = ()
    questions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_actions(answer: str, *, section: str, names: Collection[str]) -> ParsedAnswer:
    """Read the opportunities of an answer.

    Args:
        answer: The text, with or without reasoning.
        section: The tag around the JSON; empty if the answer is JSON alone.
        names: The available actions.
    """
    items, problems = _items(answer, section, ACTIONS)
    opportunities: dict[str, Opportunity] = {}
    for item in items:
        try:
            opportunity = read_opportunity(item)
        except BadOpportunityError as error:
            problems.append((_topic(item), str(error)))
            continue
        if opportunity.name not in names:
            problems.append(("unknown-action", opportunity.name))
        elif opportunity.name in opportunities:
            problems.append(("duplicate-name", opportunity.name))
        else:
            opportunities[opportunity.name] = opportunity
    return ParsedAnswer(opportunities=tuple(opportunities.values()), problems=tuple(problems))


def read_questions(answer: str, *, section: str) -> ParsedAnswer:
    """Read the questions of an answer; arguments as for `read_actions`."""
    items, problems = _items(answer, section, QUESTIONS)
    questions = []
    for item in items:
        if isinstance(item, str) and item.strip():
            questions.append(item.strip())
        else:
            problems.append(("bad-question", _short(item)))
    return ParsedAnswer(questions=tuple(questions), problems=tuple(problems))


def _topic(item: object) -> str:
    status = item.get("action_trigger_status") if isinstance(item, dict) else None
    is_unknown = isinstance(status, str) and status not in STATUSES
    return "unknown-status" if is_unknown else "bad-opportunity"


def _items(answer: str, section: str, field: str) -> tuple[list[Any], list[Problem]]:
    """The requested list, and the problems of the whole answer."""
    problems: list[Problem] = []
    body = _strip_reasoning(answer)
    if section:
        sections = re.findall(rf"<{section}>(.*?)(?:</{section}>|\Z)", body, re.DOTALL)
        if not sections:
            problems.append(("no-section", f"no <{section}> in {_short(body)}"))
        else:
            body = "\n".join(sections)
    objects, broken = _objects(body)
    answers = [candidate for candidate in objects if field in candidate]
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


def _strip_reasoning(answer: str) -> str:
    """Remove the reasoning; its opening tag may be missing because the prompt contained it."""
    return _THOUGHT.sub("", answer).rpartition("</think>")[2]


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """The objects in a text, and the problem of the first malformed one.

    The standard library finds the end of an object. msgspec decodes it strictly: records cannot
    contain NaN or lone surrogates.
    """
    objects: list[dict[str, Any]] = []
    broken = ""
    start = text.find("{")
    for _ in range(_ATTEMPTS):
        if start < 0:
            break
        end = start + 1
        try:
            _, end = _decoder.raw_decode(text, start)
            objects.append(msgspec.json.decode(text[start:end].encode()))
        except (ValueError, RecursionError) as error:
            broken = broken or f"{error} in {_short(text[start:])}"
        start = text.find("{", end)
    return objects, broken


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a repeated field, which is ambiguous."""
    names = set()
    for name, _ in pairs:
        if name in names:
            raise ValueError(f"the field {_short(name)} stands twice")
        names.add(name)


_decoder = JSONDecoder(object_pairs_hook=_refuse_duplicates)


def _short(value: object) -> str:
    text = " ".join(str(value).encode(errors="replace").decode().split())
    return text if len(text) <= 80 else f"{text[:79]}…"
