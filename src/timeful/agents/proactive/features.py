"""The features of a conversation for retrieval: likely workflows, actions done, known values.

The computation is deterministic and cached by turns, because all runs, paces and agents share the
same conversations.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

from timeful.agents.proactive.slot_filling import Finder, label, words
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Turn
from timeful.metrics.proactor.questions import asked_in

_SHARPNESS = 4
"""The exponent on similarities before normalisation; it raises the lead of the best."""
_FOREIGN = 0.2
"""The factor on the share of a workflow for each action done outside of it."""
_LIKE = 0.3
"""The minimum similarity, from 0 to 1, between an utterance and the action it reports."""
_TO_COME = re.compile(r"\b(?:let (?:me|us)|i'll|i will|i'd|i would|i'm \w+ing)\b", re.IGNORECASE)
_MOST = 20_000
"""The capacity of the cache; a full cache is cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of a conversation so far.

    Attributes:
        shares: The share of each similar workflow, above 0.
        done: The latest turn of each action done.
        values: The known values by parameter.
    """

    shares: Mapping[str, float]
    done: Mapping[str, int]
    values: Mapping[str, str]


class Lookup:
    """Computes features with the workflows and guidelines of a domain.

    Args:
        knowledge: The catalog, workflows and guidelines.
        observes: Whether the domain records the actions done.
    """

    def __init__(self, knowledge: Knowledge, *, observes: bool = True) -> None:
        self.catalog = knowledge.catalog
        self.orders = knowledge.ontology.orders()
        self._observes = observes
        self._index = _Index({name: _texts(knowledge, name) for name in self.orders})
        self._actions = _Index({name: _of_action(knowledge, name) for name in self.catalog.actions})
        self._finder = Finder(knowledge.catalog)
        self._cache: dict[Any, Features] = {}

    def __call__(self, turns: Sequence[Turn]) -> Features:
        """Compute the features of a conversation so far."""
        # The key leaves out the times of the turns: they differ between runs.
        key = tuple(
            (turn.number, turn.speaker, turn.text, *(action.name for action in turn.observed))
            for turn in turns
        )
        if key not in self._cache:
            if len(self._cache) >= _MOST:
                self._cache.clear()
            self._cache[key] = self._look(turns)
        return self._cache[key]

    def _look(self, turns: Sequence[Turn]) -> Features:
        query = words(turn.text for turn in turns if turn.speaker == "customer")
        shares = self._index.shares(query)
        done = self._done(turns)
        for name in shares:
            foreign = sum(action not in self.orders[name] for action in done)
            shares[name] *= _FOREIGN**foreign
        return Features(shares=shares, done=done, values=self._finder.find(turns))

    def _done(self, turns: Sequence[Turn]) -> dict[str, int]:
        """The latest turn of each action done."""
        if self._observes:
            return {
                action.name: turn.number
                for turn in turns
                for action in turn.observed
                if action.name in self.catalog.actions
            }
        return self._reported(turns)

    def _reported(self, turns: Sequence[Turn]) -> dict[str, int]:
        """The actions that the agent reports, apart from questions and announcements.

        A report counts for its most similar action, once.
        """
        done: dict[str, int] = {}
        for turn in turns:
            if turn.speaker != "agent" or asked_in(turn.text) or _TO_COME.search(turn.text):
                continue
            likeness = self._actions.likeness(words([turn.text]))
            candidates = {name: value for name, value in likeness.items() if name not in done}
            best = max(candidates, key=lambda name: candidates[name], default="")
            if best and candidates[best] >= _LIKE:
                done[best] = turn.number
        return done


class _Index:
    """An index of texts by name, with the cosine similarity of TF-IDF vectors."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        counts = {name: Counter(words(phrases)) for name, phrases in texts.items()}
        frequencies = Counter(word for count in counts.values() for word in count)
        self._rarity = {word: log(1 + len(counts) / n) for word, n in frequencies.items()}
        self._texts = {name: self._unit(count) for name, count in counts.items()}

    def shares(self, query: Sequence[str]) -> dict[str, float]:
        """The normalised similarities of the texts to a query; empty if all are 0."""
        powers = {name: value**_SHARPNESS for name, value in self.likeness(query).items()}
        total = sum(powers.values())
        return {name: value / total for name, value in powers.items() if value > 0} if total else {}

    def likeness(self, query: Sequence[str]) -> dict[str, float]:
        """The similarity of each text to a query, from 0 to 1."""
        vector = self._unit(Counter(word for word in query if word in self._rarity))
        return {
            name: sum(weight * text.get(word, 0.0) for word, weight in vector.items())
            for name, text in self._texts.items()
        }

    def _unit(self, count: Mapping[str, int]) -> dict[str, float]:
        weights = {word: (1 + log(n)) * self._rarity[word] for word, n in count.items()}
        length = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {word: weight / length for word, weight in weights.items()}


def _texts(knowledge: Knowledge, workflow: str) -> list[str]:
    """The texts of a workflow: its name, guideline, actions and closed lists."""
    entry = knowledge.ontology.workflows[workflow]
    guideline = knowledge.guidelines.get(workflow)
    texts = [re.sub(r"[-_]", " ", workflow), entry.title]
    texts += [guideline.text()] if guideline else []
    for name in entry.actions:
        action = knowledge.catalog.actions[name]
        texts.append(action.description)
        texts += [str(value) for parameter in action.parameters for value in parameter.enum]
    return texts


def _of_action(knowledge: Knowledge, name: str) -> list[str]:
    """The texts of an action: its name, description, parameters and guideline steps."""
    action = knowledge.catalog.actions[name]
    texts = [name.replace("-", " "), action.description]
    texts += [label(parameter.name) for parameter in action.parameters]
    steps = (step for guideline in knowledge.guidelines.values() for step in guideline.steps)
    return texts + [step.text for step in steps if step.action == name]
