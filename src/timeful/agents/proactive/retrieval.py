"""A stand-in for a language model: it retrieves the workflow most similar to a conversation.

It answers the prompts of a proactive agent in the format of a model, from the prompt and from the
workflows and guidelines of the domain. It has no access to references. Its confidence in an action
estimates the probability that the action is next; each further step halves it. A threshold sets
its caution:

* an action is predicted if its confidence is at least half of the threshold;
* it is ready if its confidence, halved if required values are unknown, reaches the threshold;
* an action that was ready stays ready, if the prompt contains the states.

The temperature T imitates sampling: at each thought the share of each workflow is multiplied by
exp(T z), with a normal z from the seed of the thought. At T = 0 equal prompts get equal answers.

In domains without recorded actions, an action counts as done if the agent reports it: an utterance
similar to the texts of the action that is neither a question nor an announcement.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp
from typing import Any

import numpy as np

from timeful.agents.proactive.agent import PromptView
from timeful.agents.proactive.features import Features, Lookup
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
"""The thresholds of the two presets."""

TEMPERATURE = 0.3
"""The default: it often swaps two workflows of equal similarity, and seldom a clear leader."""

_UNKNOWN = 0.5
"""The factor on the confidence if required values of the action are unknown."""
_AHEAD = 3
"""The number of next actions considered in each workflow."""
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """A possible next action: its confidence, and whether it was done at this turn."""

    name: str
    confidence: float
    is_done: bool = False


class Retrieval:
    """Answers the prompts of a proactive agent; a rule of `RuleModel`.

    Args:
        lookup: Computes the features; rules may share it.
        threshold: The confidence that makes an action ready, from 0 to 1.
        temperature: The standard deviation of the noise on log shares, from 0 to 2.
        thinking: Tokens added to each answer with reasoning.

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

    def __call__(self, prompt: PromptView, rng: np.random.Generator) -> Answer:
        """Answer a prompt."""
        features = self._lookup(prompt.turns)
        chances, values = self._chances(features, prompt.turns, rng), features.values
        answer: dict[str, Any]
        if prompt.asks == "actions":
            opportunities = self._opportunities(chances, values, prompt.states)
            answer, section = {ACTIONS: write_opportunities(opportunities)}, "action"
        else:
            answer, section = {QUESTIONS: self._questions(chances, values)}, "question"
        text = json.dumps(answer)
        if prompt.reasons:
            text = f"<think>{_thought(chances)}</think>\n<{section}>{text}</{section}>"
        thinking = self._thinking if prompt.reasons else 0
        return Answer(text, ceil(len(text.encode()) / _BYTES_PER_TOKEN) + thinking)

    def chances(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Chance]:
        """The actions done at the latest turn, and the possible next ones by confidence."""
        return self._chances(self._lookup(turns), turns, rng)

    def _chances(
        self, features: Features, turns: Sequence[Turn], rng: np.random.Generator
    ) -> list[Chance]:
        shares = self._sampled(features.shares, rng)
        total = sum(shares.values()) or 1.0
        likely: dict[str, float] = {}
        for name, share in shares.items():
            order = self._lookup.orders[name]
            remaining = [action for action in order if action not in features.done]
            for index, action in enumerate(remaining[:_AHEAD]):
                likely[action] = likely.get(action, 0.0) + share / total / 2**index
        now = [
            Chance(name=action, confidence=1.0, is_done=True)
            for action, turn in features.done.items()
            if turn == turns[-1].number
        ]
        coming = [Chance(name=name, confidence=chance) for name, chance in likely.items()]
        return now + sorted(coming, key=lambda chance: (-chance.confidence, chance.name))

    def _sampled(self, shares: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
        if not self._temperature:
            return dict(shares)
        # One draw for each workflow, similar or not: shares do not shift the draws of others.
        normals = rng.standard_normal(len(self._lookup.orders))
        draws = dict(zip(self._lookup.orders, normals, strict=True))
        noise = {name: exp(self._temperature * draw) for name, draw in draws.items()}
        return {name: share * noise[name] for name, share in shares.items()}

    def _opportunities(
        self, chances: Sequence[Chance], values: Mapping[str, str], states: Sequence[Opportunity]
    ) -> list[Opportunity]:
        opportunities = []
        before = {state.name: state.status for state in states}
        for chance in chances:
            entry = self._catalog.actions[chance.name]
            is_complete = entry.is_complete(values)
            factor = 1 if is_complete else _UNKNOWN
            was_ready = before.get(chance.name) == "ready_to_trigger"
            status: Status = "pending"
            if chance.is_done:
                status = "triggered"
            elif was_ready or chance.confidence * factor >= self._threshold:
                status = "ready_to_trigger"
            elif chance.confidence < self._threshold / 2:
                continue
            have = any(parameter.name in values for parameter in entry.parameters)
            maturity: Level = "high" if is_complete else "medium" if have else "low"
            opportunities.append(
                Opportunity(
                    name=chance.name,
                    description=entry.description,
                    inputs=entry.inputs(values),
                    readiness_maturity=maturity,
                    trigger_confidence=_level(chance.confidence),
                    status=status,
                )
            )
        return opportunities

    def _questions(self, chances: Sequence[Chance], values: Mapping[str, str]) -> list[str]:
        """A question for the unknown values of the most likely action."""
        for chance in chances:
            if chance.is_done or chance.confidence < self._threshold / 2:
                continue
            entry = self._catalog.actions[chance.name]
            if entry.is_complete(values):
                continue
            lacking = [item for item in entry.parameters if item.name not in values]
            items = [item for item in lacking if item.required] or lacking[: entry.at_least]
            return [f"May I have your {' and '.join(label(item.name) for item in items)}?"]
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
    """Make a model with the rule, named by its threshold; arguments as for `Retrieval`."""
    rule = Retrieval(
        Lookup(knowledge, observes=observes),
        threshold=threshold,
        temperature=temperature,
        thinking=thinking,
    )
    return RuleModel(rule, name=f"retrieval({threshold:g})", pace=pace)


def check_temperature(temperature: float) -> None:
    """Check a temperature.

    Raises:
        SettingsError: If it is not from 0 to 2.
    """
    if not 0 <= temperature <= 2:
        raise SettingsError(f"a stand-in's temperature must be from 0 to 2, got {temperature}")


def _thought(chances: Sequence[Chance]) -> str:
    """The text of the reasoning."""
    likely = [f"{chance.name} ({chance.confidence:.2f})" for chance in chances[:_AHEAD]]
    return f"By the guidelines, what comes next is {', '.join(likely) or 'not clear yet'}."


def _level(confidence: float) -> Level:
    return "high" if confidence >= 2 / 3 else "medium" if confidence >= 1 / 3 else "low"
