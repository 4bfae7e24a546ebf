"""Synthetic dialogues of a domain, with references, ready ranges and observed actions.

Dialogue i of a seed does not depend on the number of dialogues. Of ten consecutive dialogues
eight are in the split train, one in dev, one in test. No two have the same text up to case.
**The dialogues are synthetic**: results on them evaluate the method, not human conversations.
"""

from collections.abc import Iterator

import numpy as np

from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn, ranges_of
from timeful.domains.dialogue_simulator import simulate_dialogue
from timeful.domains.domain import Domain
from timeful.domains.nlg import Pace
from timeful.domains.references import references
from timeful.domains.script import Done, Line, Raised, Script
from timeful.errors import SettingsError
from timeful.metrics.proactor.questions import asked_in
from timeful.seeding import child

SPLITS = ("train",) * 8 + ("dev", "test")
"""The splits of ten dialogues in a row."""

LABEL = "the generator, by rule"
"""The annotator of generated dialogues."""

_ATTEMPTS = 300
_TURNS_PER_ACTION = 5
"""A question, an answer, the action, and turns between them."""
_SECOND = 1_000_000_000


def generate(domain: Domain, *, n: int, seed: int, times: bool = False) -> Iterator[Dialogue]:
    """Generate dialogues.

    Args:
        domain: The domain.
        n: Number of dialogues.
        seed: The same seed gives the same dialogues.
        times: Whether turns have an instant, by the pace of the domain.

    Raises:
        SettingsError: If the attempts give no new dialogue within the domain's limits of length.
    """
    for index, script in enumerate(scripts(domain, n=n, seed=seed)):
        yield _dialogue(domain, script, index=index, seed=seed, times=times)


def scripts(domain: Domain, *, n: int, seed: int) -> Iterator[Script]:
    """The conversations behind the dialogues of `generate`, with their events."""
    texts: set[tuple[str, ...]] = set()
    for index in range(n):
        yield _fresh(domain, seed, index, texts)


def _fresh(domain: Domain, seed: int, index: int, texts: set[tuple[str, ...]]) -> Script:
    """The first new conversation whose length is within the limits.

    If two topics do not fit, the conversation has the first topic only.
    """
    low, high = domain.settings.turns
    # Topics are drawn once: drawn again at each attempt, long workflows would become rare.
    topics = _topics(domain, child(seed, "topics", domain.name, index))
    for workflows in (topics, topics[:1]) if len(topics) > 1 else (topics,):
        for attempt in range(_ATTEMPTS):
            rng = child(seed, "dialogue", domain.name, index, attempt)
            script = simulate_dialogue(domain, rng, workflows)
            text = tuple(line.text.casefold() for line in script)
            if low <= len(script) <= high and text not in texts:
                texts.add(text)
                return script
    raise SettingsError(
        f"the domain {domain.name} gave no new dialogue of {low} to {high} turns in "
        f"{_ATTEMPTS} attempts; allow other lengths (turns), or add paraphrases"
    )


def _topics(domain: Domain, rng: np.random.Generator) -> list[str]:
    """Draw one workflow, or two that fit into the maximum length."""
    workflows = domain.knowledge.ontology.workflows
    names = list(workflows)
    first = names[int(rng.integers(len(names)))]
    room = domain.settings.turns[1] // _TURNS_PER_ACTION - len(workflows[first].actions)
    fitting = []
    for name in names:
        new = [a for a in workflows[name].actions if not domain.speech.actions[a].once]
        if name != first and len(new) <= room:
            fitting.append(name)
    if fitting and rng.random() < domain.settings.habits.second:
        return [first, fitting[int(rng.integers(len(fitting)))]]
    return [first]


def _dialogue(domain: Domain, script: Script, *, index: int, seed: int, times: bool) -> Dialogue:
    opportunities = references(
        script,
        domain.knowledge.catalog,
        domain.knowledge.ontology,
        once=(name for name, templates in domain.speech.actions.items() if templates.once),
    )
    by_turn = {number: turn for number, turn in enumerate(opportunities, 1) if turn}
    at = instants(script, domain.settings.pace) if times else [None] * len(script)
    topics = [
        event.workflow for line in script for event in line.events if isinstance(event, Raised)
    ]
    return Dialogue(
        id=f"{domain.name}-{seed}-{index:05d}",
        split=SPLITS[index % len(SPLITS)],
        turns=tuple(
            Turn(
                number=number,
                speaker=line.speaker,
                text=line.text,
                observed=_observed(line) if line.speaker == "action" else (),
                at=start,
            )
            for number, (line, start) in enumerate(zip(script, at, strict=True), 1)
        ),
        subflow=topics[0],
        scenario={"domain": domain.name, "topics": topics},
        references=by_turn,
        ready_ranges=ranges_of(by_turn),
        questions={
            number: questions
            for number, line in enumerate(script, 1)
            if line.speaker == "agent" and (questions := asked_in(line.text))
        },
        synthetic=True,
        annotator=LABEL,
    )


def instants(script: Script, pace: Pace) -> list[int]:
    """The start of each turn in nanoseconds, at a pace of reading and speaking."""
    starts: list[int] = []
    now, unread = 0.0, 0
    for line in script:
        now += pace.pause_s if starts else 0.0
        if pace.reading_wpm:
            now += 60 * unread / pace.reading_wpm
        starts.append(round(now * _SECOND))
        words = len(line.text.split())
        is_action = line.speaker == "action"
        now += pace.action_s if is_action else 60 * words / pace.speaking_wpm
        unread = words
    return starts


def _observed(line: Line) -> tuple[ObservedAction, ...]:
    return tuple(
        ObservedAction(
            name=event.action,
            values=tuple(value for _, value in event.values),
            slots=tuple(slot for slot, _ in event.values),
        )
        for event in line.events
        if isinstance(event, Done)
    )
