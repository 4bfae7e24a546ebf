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

Like a model that samples, it has a temperature T: at every thought, how much each workflow is like
the conversation is multiplied by exp(T z), z normal and from the thought's own seed. At 0 nothing
is left to chance, and equal prompts get equal answers.

Where nobody records what is done, it takes an action for done when the agent says something that
is no question, speaks of nothing to come, and is like what is written of the action.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp
from typing import Any

import numpy as np

from timeful.agents.proactive.agent import Shown
from timeful.agents.proactive.features import Found, Lookup
from timeful.agents.proactive.parse import ACTIONS, QUESTIONS
from timeful.agents.proactive.slot_filling import label
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Turn
from timeful.dialogues.opportunity import Level, Opportunity, Status, write_opportunities
from timeful.errors import SettingsError
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.rules import Answer, RuleModel

CAUTIOUS = 0.7
EAGER = 0.2
"""The thresholds of the two settings."""

TEMPERATURE = 0.3
"""Usual: two workflows that are equally alike change places often, and a clear leader seldom."""

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
        lookup: Where it looks things up; several may share one.
        threshold: How sure it must be that an action comes next, from 0 to 1.
        temperature: How much chance there is in what it finds alike, from 0 to 2.
        thinking: Tokens that it is charged for thinking, beyond its words, where it is asked to.

    Raises:
        SettingsError: If one of them is out of range.
    """

    def __init__(
        self,
        lookup: Lookup,
        *,
        threshold: float,
        temperature: float = TEMPERATURE,
        thinking: int = 0,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise SettingsError(f"a threshold must be from 0 to 1, got {threshold}")
        check_temperature(temperature)
        if thinking < 0:
            raise SettingsError(f"tokens of thinking must be 0 or more, got {thinking}")
        self._lookup = lookup
        self._catalog = lookup.catalog
        self._threshold = threshold
        self._temperature = temperature
        self._thinking = thinking

    def __call__(self, shown: Shown, rng: np.random.Generator) -> Answer:
        """Answer a prompt."""
        found = self._lookup(shown.turns)
        chances, known = self._chances(found, shown.turns, rng), found.known
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

    def chances(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Chance]:
        """The actions that were done at the latest turn, and those that may come next by chance."""
        return self._chances(self._lookup(turns), turns, rng)

    def _chances(
        self, found: Found, turns: Sequence[Turn], rng: np.random.Generator
    ) -> list[Chance]:
        shares = self._sampled(found.shares, rng)
        total = sum(shares.values()) or 1.0
        likely: dict[str, float] = {}
        for name, share in shares.items():
            left = [one for one in self._lookup.orders[name] if one not in found.done]
            for place, action in enumerate(left[:_AHEAD]):
                likely[action] = likely.get(action, 0.0) + share / total / 2**place
        now = [
            Chance(name=one, confidence=1.0, is_done=True)
            for one, turn in found.done.items()
            if turn == turns[-1].number
        ]
        rest = [Chance(name=name, confidence=chance) for name, chance in likely.items()]
        return now + sorted(rest, key=lambda one: (-one.confidence, one.name))

    def _sampled(self, shares: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
        if not self._temperature:
            return dict(shares)
        # One draw for every workflow, so that what is alike shifts no other's chance.
        drawn = rng.standard_normal(len(self._lookup.orders))
        draws = dict(zip(self._lookup.orders, drawn, strict=True))
        return {name: each * exp(self._temperature * draws[name]) for name, each in shares.items()}

    def _opportunities(
        self, chances: Sequence[Chance], known: Mapping[str, str], states: Sequence[Opportunity]
    ) -> list[Opportunity]:
        found = []
        before = {one.name: one.status for one in states}
        for one in chances:
            entry = self._catalog.actions[one.name]
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
            entry = self._catalog.actions[one.name]
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
    temperature: float = TEMPERATURE,
    observes: bool = True,
    thinking: int = 0,
    pace: Pace = TOKEN_TIME,
) -> RuleModel:
    """The stand-in as a model, named by its threshold; arguments as for `Retrieval`."""
    rule = Retrieval(
        Lookup(knowledge, observes=observes),
        threshold=threshold,
        temperature=temperature,
        thinking=thinking,
    )
    return RuleModel(rule, name=f"retrieval({threshold:g})", pace=pace)


def check_temperature(temperature: float) -> None:
    """Refuse what is no temperature of a stand-in.

    Raises:
        SettingsError: If it is not from 0 to 2.
    """
    if not 0 <= temperature <= 2:
        raise SettingsError(f"a stand-in's temperature must be from 0 to 2, got {temperature}")


def _thought(chances: Sequence[Chance]) -> str:
    """What it could say of how it decided."""
    likely = [f"{one.name} ({one.confidence:.2f})" for one in chances[:_AHEAD]]
    return f"By the guidelines, what comes next is {', '.join(likely) or 'not clear yet'}."


def _level(confidence: float) -> Level:
    return "high" if confidence >= 2 / 3 else "medium" if confidence >= 1 / 3 else "low"
