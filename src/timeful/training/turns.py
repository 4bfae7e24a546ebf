"""A turn of an annotated dialogue as a task: the turn-level rollouts of ProActor (section 3.3).

All earlier turns are there at the start, so that the agent thinks once, about this turn. The turn
is open for a span; a prediction that takes longer is lost. After the span the rest of the
conversation comes at once and ends it, so that the record is that of a whole conversation.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import PurePath

import msgspec

from timeful.agents.proactive.agent import proactive
from timeful.agents.proactive.settings import AgentFile, load_agent
from timeful.catalogs.catalog import Catalog
from timeful.core.clock import VirtualClock
from timeful.core.units import NO_TIME, START, Duration, Instant, seconds
from timeful.dialogues.dialogue import Dialogue
from timeful.domains.dialogue_set import load_dialogue_set
from timeful.environments.dialogue.timing import Stamped
from timeful.environments.dialogue.world import Conversation
from timeful.errors import SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.model import Model
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child
from timeful.training.config import TurnsPart
from timeful.training.folder import POLICY

_LAST = seconds(10)
"""The span of the last turn of a dialogue whose data has timestamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTask:
    """One turn of a dialogue.

    Args:
        dialogue: The whole dialogue.
        index: The turn, from 0.
        agent: The agent's name or file.
        catalog: The actions.
        workflows: The actions of each workflow in their order, for scoring.
        span: How long the turn is open.
        asks: Whether the agent raises questions as well.
        most_tokens: The most tokens of the thought; None for what the model's context holds.
    """

    dialogue: Dialogue
    index: int
    agent: str
    catalog: Catalog
    workflows: tuple[tuple[str, ...], ...]
    span: Duration
    asks: bool
    most_tokens: int | None

    @property
    def key(self) -> str:
        """The dialogue and the turn."""
        return f"{self.dialogue.id}-turn{self.turn}"

    @property
    def turn(self) -> int:
        """The number of the turn."""
        return self.dialogue.turns[self.index].number

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play it."""
        return play_episode(
            EpisodeSetting(settings=self.settings(), seed=sampling, transcripts="full"),
            environment=Conversation(
                self._truncated_dialogue(),
                # Where nothing is to come, the last turn itself stays open.
                Stamped(closing=NO_TIME if self._has_later_turns else self.span),
                seed=0,  # of a pace that varies, which this has not
                actions=tuple(self.catalog.actions),
                workflows=self.workflows,
            ),
            interface=partial(EventDriven, full=True),
            agent=partial(
                proactive,
                model=model,
                file=_agent(self.agent, self.most_tokens),
                catalog=self.catalog,
                asks=self.asks,
            ),
            clock=VirtualClock(),
            recorder=recorder,
        )

    @property
    def _has_later_turns(self) -> bool:
        return self.index + 1 < len(self.dialogue.turns)

    def settings(self) -> dict[str, object]:
        """The settings of its record."""
        return {
            "suite": "proactor",
            "episode": {
                "key": self.key,
                "part": "turn",
                "agent": PurePath(self.agent).stem,
                "who": f"local:{POLICY}",
                "stand_in": False,
                "turn": self.turn,
                "span_ns": self.span,
            },
        }

    def _truncated_dialogue(self) -> Dialogue:
        """The dialogue with all earlier turns at the start, and all later ones after the span."""
        return msgspec.structs.replace(
            self.dialogue,
            turns=tuple(
                msgspec.structs.replace(turn, at=START if i <= self.index else self.span)
                for i, turn in enumerate(self.dialogue.turns)
            ),
        )


@lru_cache(maxsize=4)
def _agent(name: str, most_tokens: int | None) -> AgentFile:
    file = load_agent(name)
    llm = msgspec.structs.replace(file.llm, max_tokens=most_tokens)
    return msgspec.structs.replace(file, llm=llm)


def turn_tasks(
    cases: TurnsPart, *, seed: int, max_tokens: int | None = None
) -> dict[str, TurnTask]:
    """The tasks of turns by their keys.

    Args:
        cases: The cases.
        seed: The seed of the dialogues and of the turns that are drawn.
        max_tokens: The most tokens of a thought; None for what the model's context holds.

    Raises:
        SettingsError: If the agent, the domain or a file is unknown, or there is no turn.
    """
    _agent(cases.agent, max_tokens)
    dialogue_set = load_dialogue_set(cases.source(seed))
    tasks: dict[str, TurnTask] = {}
    for dialogue in dialogue_set.dialogues:
        if len(dialogue.turns) > cases.longest:
            continue
        for index in _draw_turns(cases, dialogue, seed):
            task = TurnTask(
                dialogue=dialogue,
                index=index,
                agent=cases.agent,
                catalog=dialogue_set.knowledge.catalog,
                workflows=tuple(map(tuple, dialogue_set.knowledge.ontology.orders().values())),
                span=_span(cases, dialogue, index),
                asks=cases.asks,
                most_tokens=max_tokens,
            )
            tasks[task.key] = task
    if not tasks:
        raise SettingsError(
            f"no dialogue of {cases.source(seed).title} has {cases.longest} turns or fewer"
        )
    return tasks


def _draw_turns(cases: TurnsPart, dialogue: Dialogue, seed: int) -> list[int]:
    count = len(dialogue.turns)
    if cases.each is None or cases.each >= count:
        return list(range(count))
    rng = child(seed, "turns", dialogue.id)
    return sorted(rng.choice(count, size=cases.each, replace=False).tolist())


def _span(cases: TurnsPart, dialogue: Dialogue, index: int) -> Duration:
    """How long a turn is open, at least a nanosecond."""
    if cases.timing == "by-turn":
        return seconds(cases.patience)
    table = Stamped(closing=_LAST).timetable(dialogue)
    end = table.turns[index + 1].begins if index + 1 < len(table.turns) else table.end
    return Duration(max(1, Instant(end) - table.turns[index].begins))
