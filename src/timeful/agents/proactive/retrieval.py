"""A stand-in for a language model: it looks up which workflow a conversation is like.

**No model is behind it.** It answers the prompts of a proactive agent in the words that a model
would use, from what the prompt shows and from the workflows and guidelines of the domain; it sees
no reference. Its confidence in an action is the chance, as it reckons, that the action is the next
one; half of that for the one after it. One threshold makes it cautious or eager:

* an action is named if the confidence is at least half the threshold,
* and is ready if the confidence, halved where something that it needs is not known, is at least
  the threshold.

An eager one thus names more and readies it sooner, also for nothing, and a cautious one waits.
Shown the states of its actions, it keeps ready what was ready.

Where nobody records what is done (`observes=False`), it takes an action for done when the agent
says something that is no question after all is known.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from timeful.agents.proactive.agent import Shown
from timeful.agents.proactive.reading import ACTIONS, QUESTIONS
from timeful.agents.proactive.values import Finder, label, words
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Turn
from timeful.dialogues.opportunity import Level, Opportunity, Status, write_opportunities
from timeful.errors import SettingsError
from timeful.metrics.proactor.questions import asked_in
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.rules import Answer, RuleModel

CAUTIOUS = 0.7
EAGER = 0.2
"""The thresholds of the two settings."""

_SHARPNESS = 4
"""The power that likeness is taken to before it becomes a share: how much the best one leads."""
_FOREIGN = 0.2
"""What is left of a workflow's share for each action that was done and is none of it."""
_UNKNOWN = 0.5
"""What is left of the confidence to act where something that the action needs is not known."""
_AHEAD = 3
"""How many actions of a workflow are looked ahead."""
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """An action that may come next: how likely, whether it was done at this turn."""

    name: str
    confidence: float
    is_done: bool = False


class Retrieval:
    """Answers what a proactive agent asks; a rule of `RuleModel`.

    Args:
        knowledge: What can be looked up.
        threshold: How sure it must be that an action comes next, from 0 to 1.
        observes: Whether the domain records which actions are taken.
        thinking: Tokens that it is charged for thinking, beyond its words, where it is asked to.

    Raises:
        SettingsError: If the threshold is out of range.
    """

    def __init__(
        self, knowledge: Knowledge, *, threshold: float, observes: bool = True, thinking: int = 0
    ) -> None:
        if not 0 <= threshold <= 1:
            raise SettingsError(f"a threshold must be from 0 to 1, got {threshold}")
        if thinking < 0:
            raise SettingsError(f"tokens of thinking must be 0 or more, got {thinking}")
        self._knowledge = knowledge
        self._threshold = threshold
        self._observes = observes
        self._thinking = thinking
        self._orders = knowledge.ontology.orders()
        self._index = _Index({name: _texts(knowledge, name) for name in self._orders})
        self._finder = Finder(knowledge.catalog)

    def __call__(self, shown: Shown, rng: np.random.Generator) -> Answer:
        """Answer a prompt; nothing is left to chance."""
        chances = self.chances(shown.turns)
        known = self._finder.known(shown.turns)
        said: dict[str, Any]
        if shown.asks == "actions":
            named = self._opportunities(chances, known, shown.states)
            said, section = {ACTIONS: write_opportunities(named)}, "action"
        else:
            said, section = {QUESTIONS: self._questions(chances, known)}, "question"
        text = json.dumps(said)
        if shown.reasons:
            text = f"<think>{_thought(chances)}</think>\n<{section}>{text}</{section}>"
        thinking = self._thinking if shown.reasons else 0
        return Answer(text, ceil(len(text.encode()) / _BYTES_PER_TOKEN) + thinking)

    def chances(self, turns: Sequence[Turn]) -> list[Chance]:
        """The actions that may come next after some turns, the likeliest first."""
        told = words(turn.text for turn in turns if turn.speaker == "customer")
        shares = self._index.shares(told)
        done = self._done(turns, shares)
        for name in shares:
            foreign = sum(action not in self._orders[name] for action in done)
            shares[name] *= _FOREIGN**foreign
        total = sum(shares.values()) or 1.0
        found: dict[str, float] = {}
        for name, share in shares.items():
            left = [action for action in self._orders[name] if action not in done]
            for place, action in enumerate(left[:_AHEAD]):
                found[action] = found.get(action, 0.0) + share / total / 2**place
        number = turns[-1].number if turns else 0
        now = [
            Chance(name=one, confidence=1.0, is_done=True) for one in done if done[one] == number
        ]
        rest = [Chance(name=name, confidence=chance) for name, chance in found.items()]
        return now + sorted(rest, key=lambda one: (-one.confidence, one.name))

    def _done(self, turns: Sequence[Turn], shares: Mapping[str, float]) -> dict[str, int]:
        """The actions that were taken, and at which turn last."""
        if self._observes:
            return {
                one.name: turn.number
                for turn in turns
                for one in turn.observed
                if one.name in self._knowledge.catalog.actions
            }
        best = max(shares, key=lambda name: shares[name], default="")
        left = list(self._orders.get(best, ()))
        done: dict[str, int] = {}
        for place, turn in enumerate(turns):
            if left and turn.speaker == "agent" and not asked_in(turn.text):
                entry = self._knowledge.catalog.actions[left[0]]
                heard = any(one.speaker == "customer" for one in turns[:place])
                if heard and entry.is_complete(self._finder.known(turns[:place])):
                    done[left.pop(0)] = turn.number
        return done

    def _opportunities(
        self, chances: Sequence[Chance], known: Mapping[str, str], states: Sequence[Opportunity]
    ) -> list[Opportunity]:
        found = []
        before = {one.name: one.status for one in states}
        for one in chances:
            entry = self._knowledge.catalog.actions[one.name]
            is_complete = entry.is_complete(known)
            was_ready = before.get(one.name) == "ready_to_trigger"
            status: Status = "pending"
            if one.is_done:
                status = "triggered"
            elif was_ready or one.confidence * (1 if is_complete else _UNKNOWN) >= self._threshold:
                status = "ready_to_trigger"
            elif one.confidence < self._threshold / 2:
                continue
            have = any(part.name in known for part in entry.parameters)
            maturity: Level = "high" if is_complete else "medium" if have else "low"
            found.append(
                Opportunity(
                    name=one.name,
                    description=entry.description,
                    inputs=entry.inputs(known),
                    readiness_maturity=maturity,
                    trigger_confidence=_level(one.confidence),
                    status=status,
                )
            )
        return found

    def _questions(self, chances: Sequence[Chance], known: Mapping[str, str]) -> list[str]:
        """A question for what the likeliest action lacks."""
        for one in chances:
            if one.is_done or one.confidence < self._threshold / 2:
                continue
            entry = self._knowledge.catalog.actions[one.name]
            if entry.is_complete(known):
                continue
            lacks = [part.name for part in entry.parameters if part.name not in known]
            needed = [part.name for part in entry.parameters if part.required]
            asked = [name for name in lacks if name in needed] or lacks[: entry.at_least]
            return [f"May I have your {' and '.join(map(label, asked))}?"]
        return []


def retrieval(
    knowledge: Knowledge,
    *,
    threshold: float,
    observes: bool = True,
    thinking: int = 0,
    pace: Pace = TOKEN_TIME,
) -> RuleModel:
    """The stand-in as a model, named by its threshold; arguments as for `Retrieval`."""
    rule = Retrieval(knowledge, threshold=threshold, observes=observes, thinking=thinking)
    return RuleModel(rule, name=f"retrieval({threshold:g})", pace=pace)


class _Index:
    """Texts by name, found by the cosine of their TF-IDF with some words."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        counts = {name: Counter(words(some)) for name, some in texts.items()}
        holding = Counter(word for count in counts.values() for word in count)
        self._rarity = {word: log(1 + len(counts) / there) for word, there in holding.items()}
        self._texts = {name: self._unit(count) for name, count in counts.items()}

    def shares(self, asked: Sequence[str]) -> dict[str, float]:
        """How the texts share the likeness with some words: together 1, or 0 if none is like."""
        query = self._unit(Counter(word for word in asked if word in self._rarity))
        found = {
            name: sum(weight * text.get(word, 0.0) for word, weight in query.items()) ** _SHARPNESS
            for name, text in self._texts.items()
        }
        total = sum(found.values())
        return {name: value / total for name, value in found.items() if value > 0} if total else {}

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


def _thought(chances: Sequence[Chance]) -> str:
    """What it could say of how it decided."""
    likely = [f"{one.name} ({one.confidence:.2f})" for one in chances[:_AHEAD]]
    return f"By the guidelines, what comes next is {', '.join(likely) or 'not clear yet'}."


def _level(confidence: float) -> Level:
    return "high" if confidence >= 2 / 3 else "medium" if confidence >= 1 / 3 else "low"
