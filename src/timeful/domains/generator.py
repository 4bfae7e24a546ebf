"""Dialogues of a domain by a seed, with references, ready ranges and observed actions.

Dialogue i of a seed is the same whatever the number of dialogues; of ten in a row eight are in
the split train, one in dev, one in test. No two have the same words, in whatever case. **Nobody
ever held these conversations**: results on them say something of the machinery, not of people.
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
"""What stands for the annotator."""

_ATTEMPTS = 300
_TURNS_PER_ACTION = 5
"""Ask, tell, do, and what is said between."""
_SECOND = 1_000_000_000


def generate(domain: Domain, *, n: int, seed: int, times: bool = False) -> Iterator[Dialogue]:
    """Make dialogues.

    Args:
        domain: What they are about.
        n: How many.
        seed: The same seed makes the same dialogues.
        times: Whether turns have an instant, by the pace of the domain.

    Raises:
        SettingsError: If the domain hardly ever gives a new dialogue of the length it asks for.
    """
    for index, script in enumerate(scripts(domain, n=n, seed=seed)):
        yield _dialogue(domain, script, index=index, seed=seed, times=times)


def scripts(domain: Domain, *, n: int, seed: int) -> Iterator[Script]:
    """The conversations behind the dialogues of `generate`, with what their turns mean."""
    seen: set[tuple[str, ...]] = set()
    for index in range(n):
        yield _fresh(domain, seed, index, seen)


def _fresh(domain: Domain, seed: int, index: int, seen: set[tuple[str, ...]]) -> Script:
    """The first conversation of the wanted length that was not there before.

    Two topics that hardly ever leave each other room become the first of them.
    """
    low, high = domain.settings.turns
    # Drawn before the rest, or topics of many actions, which are often too long, become rare.
    topics = _topics(domain, child(seed, "topics", domain.name, index))
    for some in (topics, topics[:1]) if len(topics) > 1 else (topics,):
        for attempt in range(_ATTEMPTS):
            rng = child(seed, "dialogue", domain.name, index, attempt)
            script = simulate_dialogue(domain, rng, some)
            words = tuple(line.text.casefold() for line in script)
            if low <= len(script) <= high and words not in seen:
                seen.add(words)
                return script
    raise SettingsError(
        f"the domain {domain.name} gave no new dialogue of {low} to {high} turns in "
        f"{_ATTEMPTS} attempts; allow other lengths (turns), or add paraphrases"
    )


def _topics(domain: Domain, rng: np.random.Generator) -> list[str]:
    """One workflow, or two that leave each other room."""
    workflows = domain.knowledge.ontology.workflows
    names = list(workflows)
    first = names[int(rng.integers(len(names)))]
    room = domain.settings.turns[1] // _TURNS_PER_ACTION - len(workflows[first].actions)
    fitting = []
    for name in names:
        new = [one for one in workflows[name].actions if not domain.speech.actions[one].once]
        if name != first and len(new) <= room:
            fitting.append(name)
    if fitting and rng.random() < domain.settings.habits.second:
        return [first, fitting[int(rng.integers(len(fitting)))]]
    return [first]


def _dialogue(domain: Domain, script: Script, *, index: int, seed: int, times: bool) -> Dialogue:
    found = references(
        script,
        domain.knowledge.catalog,
        domain.knowledge.ontology,
        once=(name for name, deed in domain.speech.actions.items() if deed.once),
    )
    by_turn = {turn: some for turn, some in enumerate(found, 1) if some}
    at = instants(script, domain.settings.pace) if times else [None] * len(script)
    topics = [one.workflow for line in script for one in line.events if isinstance(one, Raised)]
    return Dialogue(
        id=f"{domain.name}-{seed}-{index:05d}",
        split=SPLITS[index % len(SPLITS)],
        turns=tuple(
            Turn(
                number=number,
                speaker=line.speaker,
                text=line.text,
                observed=_observed(line) if line.speaker == "action" else (),
                at=when,
            )
            for number, (line, when) in enumerate(zip(script, at, strict=True), 1)
        ),
        subflow=topics[0],
        scenario={"domain": domain.name, "topics": topics},
        references=by_turn,
        ready_ranges=ranges_of(by_turn),
        questions={
            number: asked
            for number, line in enumerate(script, 1)
            if line.speaker == "agent" and (asked := asked_in(line.text))
        },
        synthetic=True,
        annotator=LABEL,
    )


def instants(script: Script, pace: Pace) -> list[int]:
    """When each turn begins, in nanoseconds, at a pace of reading and speaking."""
    found: list[int] = []
    now, heard = 0.0, 0
    for line in script:
        now += pace.pause_s if found else 0.0
        if pace.reading_wpm:
            now += 60 * heard / pace.reading_wpm
        found.append(round(now * _SECOND))
        words = len(line.text.split())
        is_action = line.speaker == "action"
        now += pace.action_s if is_action else 60 * words / pace.speaking_wpm
        heard = words
    return found


def _observed(line: Line) -> tuple[ObservedAction, ...]:
    """What was recorded at a turn; where nothing is, an agent only says what was done."""
    if line.speaker != "action":
        return ()
    return tuple(
        ObservedAction(
            name=one.action,
            values=tuple(value for _, value in one.values),
            slots=tuple(slot for slot, _ in one.values),
        )
        for one in line.events
        if isinstance(one, Done)
    )
