"""A turn of an annotated dialogue as a scene: the turn-level rollouts of ProActor (section 3.3).

All that was said up to the turn is there at the start, so that the agent thinks once, about this
turn. It is open for a span; a prediction that takes longer is lost. When the span is over, the rest
of the conversation comes at once and ends it: nobody can think about that any more, and the record
holds the whole conversation with its references, as any other does.
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
"""How long the last turn of a dialogue is open where the data says when turns begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTask:
    """One turn of a dialogue, and how it is asked about.

    Args:
        dialogue: All of it.
        place: Which of its turns, from 0.
        agent: The agent, as settings name it.
        catalog: The actions that there are.
        workflows: The actions of each workflow in their order, for scoring.
        span: How long the turn is open.
        asks: Whether the agent raises questions as well.
        most_tokens: Of the thought; None for what the model's context holds.
    """

    dialogue: Dialogue
    place: int
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
        return self.dialogue.turns[self.place].number

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play it."""
        return play_episode(
            EpisodeSetting(settings=self.settings(), seed=sampling, transcripts="full"),
            environment=Conversation(
                self._begun(),
                # Where nothing is to come, the last turn itself stays open.
                Stamped(closing=NO_TIME if self._goes_on else self.span),
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
    def _goes_on(self) -> bool:
        return self.place + 1 < len(self.dialogue.turns)

    def settings(self) -> dict[str, object]:
        """What stands in its record."""
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

    def _begun(self) -> Dialogue:
        """The dialogue, begun at the turn: what is to come comes when the span is over."""
        return msgspec.structs.replace(
            self.dialogue,
            turns=tuple(
                msgspec.structs.replace(turn, at=START if i <= self.place else self.span)
                for i, turn in enumerate(self.dialogue.turns)
            ),
        )


@lru_cache(maxsize=4)
def _agent(name: str, most_tokens: int | None) -> AgentFile:
    """An agent without a limit of its own: how long a thought may be is the training's matter."""
    file = load_agent(name)
    llm = msgspec.structs.replace(file.llm, max_tokens=most_tokens)
    return msgspec.structs.replace(file, llm=llm)


def turn_tasks(part: TurnsPart, *, seed: int, max_tokens: int | None = None) -> dict[str, TurnTask]:
    """The turns to learn from, by their keys.

    Args:
        part: What the settings say.
        seed: Of the dialogues, and of which turns are drawn.
        max_tokens: The most tokens of a thought; None for what the model's context holds.

    Raises:
        SettingsError: If there is no such agent, domain or file, or no turn.
    """
    _agent(part.agent, max_tokens)
    about = load_dialogue_set(part.source(seed))
    found: dict[str, TurnTask] = {}
    for dialogue in about.dialogues:
        if len(dialogue.turns) > part.longest:
            continue
        for place in _drawn(part, dialogue, seed):
            scene = TurnTask(
                dialogue=dialogue,
                place=place,
                agent=part.agent,
                catalog=about.knowledge.catalog,
                workflows=tuple(map(tuple, about.knowledge.ontology.orders().values())),
                span=_span(part, dialogue, place),
                asks=part.asks,
                most_tokens=max_tokens,
            )
            found[scene.key] = scene
    if not found:
        raise SettingsError(
            f"no dialogue of {part.source(seed).title} has {part.longest} turns or fewer"
        )
    return found


def _drawn(part: TurnsPart, dialogue: Dialogue, seed: int) -> list[int]:
    count = len(dialogue.turns)
    if part.each is None or part.each >= count:
        return list(range(count))
    rng = child(seed, "turns", dialogue.id)
    return sorted(rng.choice(count, size=part.each, replace=False).tolist())


def _span(part: TurnsPart, dialogue: Dialogue, place: int) -> Duration:
    """How long a turn is open, at least a nanosecond."""
    if part.timing == "by-turn":
        return seconds(part.patience)
    table = Stamped(closing=_LAST).timetable(dialogue)
    ends = table.turns[place + 1].begins if place + 1 < len(table.turns) else table.end
    return Duration(max(1, Instant(ends) - table.turns[place].begins))
