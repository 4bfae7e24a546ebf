"""What a customer has told, by the parameters of a catalog: closed lists and patterns.

Of a stand-in for a language model, and as good as that. A value is found by the closed list of
its parameter, by what its description counts ("two letters and six digits"), by the words of its
name (`email`, `birth_year`), or as a short answer to a question that names it.
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
"""The most words of an answer that is a value as a whole."""


class Finder:
    """Finds values of the parameters of a catalog in what a customer says."""

    def __init__(self, catalog: Catalog) -> None:
        parameters = {
            one.name: one for action in catalog.actions.values() for one in action.parameters
        }
        self._patterns = {name: _pattern(one) for name, one in parameters.items()}
        self._sums = {
            name: _cues((label(name), parameters[name].description))
            for name, pattern in self._patterns.items()
            if pattern is not None and pattern.pattern == _MONEY
        }
        # A conversation is gone through anew at each of its turns.
        self._heard = lru_cache(maxsize=4096)(self._told)
        self._lists = {
            name: {str(value).casefold(): str(value) for value in one.enum}
            for name, one in parameters.items()
            if one.enum
        }

    def known(self, turns: Sequence[Turn]) -> dict[str, str]:
        """What has been told in some turns; what was told last counts."""
        found: dict[str, str] = {}
        question = ""
        for turn in turns:
            if turn.speaker == "agent":
                question = " ".join(asked_in(turn.text)).casefold()
            elif turn.speaker == "customer":
                told = self._heard(turn.text, question)
                if "name" not in turn.text.casefold() + question:
                    # Two capital letters are a name at most where none is known yet.
                    told = {one: told[one] for one in told if one not in found or "name" not in one}
                found.update(told)
        return found

    def _told(self, text: str, question: str) -> dict[str, str]:
        found: dict[str, str] = {}
        folded = text.casefold()
        for name, values in self._lists.items():
            for value, as_listed in values.items():
                if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", folded):
                    found[name] = as_listed
        likely = {
            name: match[0]
            for name, pattern in self._patterns.items()
            if pattern is not None and name not in self._sums and (match := pattern.search(text))
        }
        others = [*found.values(), *likely.values()]
        # The street of an address is no name, and the year of a date no sum.
        found |= {name: one for name, one in likely.items() if not _is_part(one, others)}
        cues = _cues((question, text))
        for name in self._sums:
            # Any number may be a sum: one that is an order or a year is none, and what it is of
            # must be said.
            sums = [
                one for one in re.findall(_MONEY, text) if not any(one in each for each in others)
            ]
            if sums and self._sums[name] & cues:
                found[name] = sums[0]
        answer = _LEAD_IN.sub("", text.strip()).strip(" .,!?")
        if question and answer and len(answer.split()) <= _SHORT:
            for name, pattern in self._patterns.items():
                is_open = name not in self._lists and (pattern is None or "A-Z" in pattern.pattern)
                if is_open and name not in found and _names(name, question):
                    found[name] = answer
        return found


def _is_part(value: str, others: Iterable[str]) -> bool:
    return any(value != one and value in one for one in others)


def _cues(texts: Iterable[str]) -> set[str]:
    """The beginnings of the words that say what a sum is of."""
    return {one[:4] for one in words(texts)} - _EMPTY


def _pattern(parameter: Parameter) -> re.Pattern[str] | None:
    """What a value looks like; None where only its list or a question tells."""
    if parameter.enum:
        return None
    if counted := _COUNTED.search(parameter.description.lower()):
        letters, digits = (_COUNTS.index(n) if n in _COUNTS else 0 for n in counted.groups(""))
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
    """The words of texts, in lower case and cut to their first letters, without the short ones."""
    return [one[:5] for text in texts for one in re.findall(r"[a-z]{3,}", text.lower())]
