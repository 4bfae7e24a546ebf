"""Heuristic slot filling: the values that a customer states, by the parameters of a catalog.

A value is found by the closed list of its parameter, by a count in its description ("two letters
and six digits"), by the words of its name (`email`, `birth_year`), or as a short answer to a
question that names the parameter.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from timeful.catalogs.catalog import Catalog
from timeful.catalogs.schema import Parameter
from timeful.dialogues.dialogue import Turn
from timeful.metrics.proactor.questions import asked_in

_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTED = re.compile(r"(?:(\w+) letters and )?(\w+) digits")
_MONEY = r"\b\d[\d.,]*\d(?: thousand| million)?\b|\b\d+(?: thousand| million)?\b"
_BY_WORD: Mapping[str, str] = {
    "email": r"[^\s@]+@[^\s@]+\.\w+",
    "phone": r"\b\d[\d -]{6,}\d\b",
    "postcode": r"\b\d{5}\b",
    "zip": r"\b\d{5}\b",
    "year": r"\b(?:19|20)\d\d\b",
    "pin": r"\b\d{6}\b",
    "name": r"\b[A-Z][a-z]+ [A-Z][a-z]+\b",
    "address": r"\b\d{1,4} [A-Z][a-z]+(?: [A-Z][a-z]+)*",
    "date": r"\b\d{1,2}(?:st|nd|rd|th)? of [A-Za-z]+,? \d{4}\b|\b\d{4}-\d\d-\d\d\b",
    **dict.fromkeys(("amount", "income", "debts", "savings", "gift", "price", "deposit"), _MONEY),
}
_LEAD_IN = re.compile(
    r"^(?:(?:yes|sure|well|hi)\W+)*(?:(?:my|the) [\w ]+? is |it'?s |it is |that'?s |i'?m )?", re.I
)
_EMPTY = {"the", "what", "that", "and", "for", "who", "how"}
_SHORT = 4
"""The maximum number of words of an answer that is a value as a whole."""


class Finder:
    """Finds values of the parameters of a catalog in the turns of a customer."""

    def __init__(self, catalog: Catalog) -> None:
        parameters = {
            parameter.name: parameter
            for action in catalog.actions.values()
            for parameter in action.parameters
        }
        self._patterns = {name: _pattern(parameter) for name, parameter in parameters.items()}
        self._sums = {
            name: _cues((label(name), parameters[name].description))
            for name, pattern in self._patterns.items()
            if pattern is not None and pattern.pattern == _MONEY
        }
        # Each turn of a conversation searches all earlier turns again.
        self._find_cached = lru_cache(maxsize=4096)(self._find)
        self._lists = {
            name: {str(value).casefold(): str(value) for value in parameter.enum}
            for name, parameter in parameters.items()
            if parameter.enum
        }

    def find(self, turns: Sequence[Turn]) -> dict[str, str]:
        """The latest stated value of each parameter."""
        assignments: dict[str, str] = {}
        question = ""
        for turn in turns:
            if turn.speaker == "agent":
                question = " ".join(asked_in(turn.text)).casefold()
            elif turn.speaker == "customer":
                new_values = self._find_cached(turn.text, question)
                if "name" not in turn.text.casefold() + question:
                    # Two capitalised words replace no known name.
                    names = {name for name in assignments if "name" in name}
                    new_values = {k: v for k, v in new_values.items() if k not in names}
                assignments.update(new_values)
        return assignments

    def _find(self, text: str, question: str) -> dict[str, str]:
        assignments: dict[str, str] = {}
        folded = text.casefold()
        for name, values in self._lists.items():
            for value, as_listed in values.items():
                if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", folded):
                    assignments[name] = as_listed
        likely = {
            name: match[0]
            for name, pattern in self._patterns.items()
            if pattern is not None and name not in self._sums and (match := pattern.search(text))
        }
        spans = [*assignments.values(), *likely.values()]
        # For example, the street of an address is not a name.
        assignments |= {name: span for name, span in likely.items() if not _is_part(span, spans)}
        cues = _cues((question, text))
        for name in self._sums:
            # A number is a sum if it is no other value and the text has a cue for the sum.
            numbers = re.findall(_MONEY, text)
            sums = [n for n in numbers if not any(n in span for span in spans)]
            if sums and self._sums[name] & cues:
                assignments[name] = sums[0]
        answer = _LEAD_IN.sub("", text.strip()).strip(" .,!?")
        if question and answer and len(answer.split()) <= _SHORT:
            for name, pattern in self._patterns.items():
                is_open = name not in self._lists and (pattern is None or "A-Z" in pattern.pattern)
                if is_open and name not in assignments and _names(name, question):
                    assignments[name] = answer
        return assignments


def _is_part(value: str, spans: Iterable[str]) -> bool:
    return any(value != span and value in span for span in spans)


def _cues(texts: Iterable[str]) -> set[str]:
    """The beginnings of the words that identify a sum."""
    return {word[:4] for word in words(texts)} - _EMPTY


def _pattern(parameter: Parameter) -> re.Pattern[str] | None:
    """The pattern of a value; None if only its list or a question identifies it."""
    if parameter.enum:
        return None
    if match := _COUNTED.search(parameter.description.lower()):
        letters, digits = (_COUNTS.index(n) if n in _COUNTS else 0 for n in match.groups(""))
        if digits:
            return re.compile(rf"\b[A-Za-z]{{{letters}}}\d{{{digits}}}\b")
    for word in reversed(parameter.name.split("_")):
        if word in _BY_WORD:
            return re.compile(_BY_WORD[word])
    return None


def _names(parameter: str, question: str) -> bool:
    """Whether a question names a parameter, by the last word of its name."""
    return parameter.rpartition("_")[2] in question


def label(parameter: str) -> str:
    """A parameter's name in words."""
    return parameter.replace("_", " ")


def words(texts: Iterable[str]) -> list[str]:
    """The words of three or more letters, in lower case, cut to five letters."""
    return [word[:5] for text in texts for word in re.findall(r"[a-z]{3,}", text.lower())]
