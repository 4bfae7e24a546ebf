"""What a stand-in looks up of a conversation: its workflows, what was done in it and told.

Nothing here is left to chance, and what was looked up once of the same turns is kept: they are
met in every run, at every pace and by every agent, and looking them up is most of the work.
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
"""The power that likeness is taken to before it becomes a share: how much the best one leads."""
_FOREIGN = 0.2
"""What is left of a workflow's share for each action that was done and is none of it."""
_LIKE = 0.3
"""How like an action a report must be, from 0 to 1, to be taken for one of it."""
_TO_COME = re.compile(r"\b(?:let (?:me|us)|i'll|i will|i'd|i would|i'm \w+ing)\b", re.IGNORECASE)
_MOST = 20_000
"""So many conversations are kept, before they are forgotten and looked up anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known of a conversation so far.

    Attributes:
        shares: How much each workflow is like it; 0 for none, and those are left out.
        done: The actions that were taken, and at which turn last.
        known: The values that were told, by parameter.
    """

    shares: Mapping[str, float]
    done: Mapping[str, int]
    known: Mapping[str, str]


class Lookup:
    """Looks up conversations in the workflows and guidelines of a domain.

    Args:
        knowledge: What can be looked up.
        observes: Whether the domain records which actions are taken.
    """

    def __init__(self, knowledge: Knowledge, *, observes: bool = True) -> None:
        self.catalog = knowledge.catalog
        self.orders = knowledge.ontology.orders()
        self._observes = observes
        self._index = _Index({name: _texts(knowledge, name) for name in self.orders})
        self._actions = _Index({name: _of_action(knowledge, name) for name in self.catalog.actions})
        self._finder = Finder(knowledge.catalog)
        self._kept: dict[Any, Found] = {}

    def __call__(self, turns: Sequence[Turn]) -> Found:
        """Look up a conversation so far."""
        # When a turn was said is no part of it: that differs from run to run.
        key = tuple(
            (one.number, one.speaker, one.text, *(each.name for each in one.observed))
            for one in turns
        )
        if key not in self._kept:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            self._kept[key] = self._look(turns)
        return self._kept[key]

    def _look(self, turns: Sequence[Turn]) -> Found:
        told = words(turn.text for turn in turns if turn.speaker == "customer")
        shares = self._index.shares(told)
        done = self._done(turns)
        for name in shares:
            foreign = sum(action not in self.orders[name] for action in done)
            shares[name] *= _FOREIGN**foreign
        return Found(shares=shares, done=done, known=self._finder.known(turns))

    def _done(self, turns: Sequence[Turn]) -> dict[str, int]:
        """The actions that were taken, and at which turn last."""
        if self._observes:
            return {
                one.name: turn.number
                for turn in turns
                for one in turn.observed
                if one.name in self.catalog.actions
            }
        return self._reported(turns)

    def _reported(self, turns: Sequence[Turn]) -> dict[str, int]:
        """The actions that the agent says it has taken: no question, nothing that is yet to come.

        The action that a report is likest to counts, once; one that is like none says nothing.
        """
        done: dict[str, int] = {}
        for turn in turns:
            if turn.speaker != "agent" or asked_in(turn.text) or _TO_COME.search(turn.text):
                continue
            found = self._actions.likeness(words([turn.text]))
            left = {name: value for name, value in found.items() if name not in done}
            best = max(left, key=lambda name: left[name], default="")
            if best and left[best] >= _LIKE:
                done[best] = turn.number
        return done


class _Index:
    """Texts by name, found by the cosine of their TF-IDF with some words."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        counts = {name: Counter(words(some)) for name, some in texts.items()}
        holding = Counter(word for count in counts.values() for word in count)
        self._rarity = {word: log(1 + len(counts) / there) for word, there in holding.items()}
        self._texts = {name: self._unit(count) for name, count in counts.items()}

    def shares(self, asked: Sequence[str]) -> dict[str, float]:
        """How the texts share the likeness with some words: together 1, or 0 if none is like."""
        found = {name: value**_SHARPNESS for name, value in self.likeness(asked).items()}
        total = sum(found.values())
        return {name: value / total for name, value in found.items() if value > 0} if total else {}

    def likeness(self, asked: Sequence[str]) -> dict[str, float]:
        """How like each text is to some words, from 0 to 1."""
        query = self._unit(Counter(word for word in asked if word in self._rarity))
        return {
            name: sum(weight * text.get(word, 0.0) for word, weight in query.items())
            for name, text in self._texts.items()
        }

    def _unit(self, count: Mapping[str, int]) -> dict[str, float]:
        weights = {word: (1 + log(n)) * self._rarity[word] for word, n in count.items()}
        length = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {word: weight / length for word, weight in weights.items()}


def _texts(knowledge: Knowledge, workflow: str) -> list[str]:
    """All that is written of a workflow: its name, its guideline, its actions and their lists."""
    entry = knowledge.ontology.workflows[workflow]
    guideline = knowledge.guidelines.get(workflow)
    found = [re.sub(r"[-_]", " ", workflow), entry.title]
    found += [guideline.text()] if guideline else []
    for name in entry.actions:
        action = knowledge.catalog.actions[name]
        found.append(action.description)
        found += [str(value) for one in action.parameters for value in one.enum]
    return found


def _of_action(knowledge: Knowledge, name: str) -> list[str]:
    """All that is written of an action: its name, what it does and needs, and when it is due."""
    action = knowledge.catalog.actions[name]
    found = [name.replace("-", " "), action.description]
    found += [label(one.name) for one in action.parameters]
    steps = (step for guideline in knowledge.guidelines.values() for step in guideline.steps)
    return found + [step.text for step in steps if step.action == name]
