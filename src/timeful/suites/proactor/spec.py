"""The episodes of ProActor: conversations, who listens to them, and how fast both go.

A run has up to three parts, and an episode belongs to one of them:

| part | what | what it is for |
| --- | --- | --- |
| `main` | all agents under the first law of time | Table 1 |
| `curve` | the offline agent at further thresholds, once | the consistency-timing trade-off |
| `time` | all agents under the further laws, at each pace of the model | what is lost by slowness |
"""

import re
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import PurePath
from typing import Any, Literal, get_args

from timeful.agents.proactive.agent import Policy
from timeful.agents.proactive.retrieval import CAUTIOUS, EAGER, TEMPERATURE, check_temperature
from timeful.agents.session import Transcripts
from timeful.core.units import in_seconds, seconds
from timeful.domains.dialogue_set import DialogueSource
from timeful.environments.dialogue.timing import ByTurn, Paced, Stamped, Timing
from timeful.errors import SettingsError, check_known
from timeful.interfaces.compatibility import check_fits
from timeful.models.pace import Pace
from timeful.models.role import ModelRole

NAME = "proactor"

Part = Literal["main", "curve", "time"]
Law = Literal["by-turn", "timestamps", "pace"]
Clock = Literal["virtual", "wall"]
LAWS: tuple[Law, ...] = get_args(Law)
INTERFACES = ("event-driven", "polling", "loop", "fixed-rate", "frozen")
"""Those that need nothing but a span; a reflex would need a rule of its own."""

RULES = ModelRole(stand_in="rules")
"""The offline agent: it retrieves, and is labelled as a stand-in."""

THINKING = 200
"""Tokens that the stand-in is charged for its thinking, where an agent is to think first: an
assumption of ours, of a few sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempo:
    """How fast people speak and read, where the conversation does not wait.

    Attributes:
        speaking_wpm: Words a minute that are spoken or typed; None is 40 at a pace, and with the
            times of the data that a turn is there at once, as a message is.
        reading_wpm: Words a minute that are read before an answer begins; 0 where they are heard.
        pause_s: The pause before a turn, in seconds.
        spread: How much the spans vary, 0 for not at all: see `Paced`.
    """

    speaking_wpm: float | None = None
    reading_wpm: float = Paced().reading_wpm
    pause_s: float = in_seconds(Paced().pause)
    spread: float = Paced().spread

    def law(self, timing: Law) -> Timing:
        """When the turns come.

        Raises:
            SettingsError: If a number is out of its range.
        """
        if timing == "by-turn":
            return ByTurn(patience=seconds(600))
        if timing == "timestamps":
            return Stamped(speaking_wpm=self.speaking_wpm)
        if not 0 <= self.pause_s < inf:
            raise SettingsError(f"a pause must be 0 s or above, got {self.pause_s}")
        wpm = Paced().speaking_wpm if self.speaking_wpm is None else self.speaking_wpm
        return Paced(
            speaking_wpm=wpm,
            reading_wpm=self.reading_wpm,
            pause=seconds(self.pause_s),
            spread=self.spread,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """What all episodes of a run have in common.

    Attributes:
        source: The conversations.
        asks: Whether agents raise questions as well.
        policy: What becomes of a thought when the next turn comes.
        tempo: How fast the people in the conversations are.
        interface: The law that joins an agent's time to the world's, maybe with a span in
            seconds: `polling:2`.
        clock: "virtual" or "wall".
        arrival: Whether an endpoint's tokens come when they come, in wall time.
        thinking: Tokens that the stand-in is charged for thinking.
        temperature: How much chance there is in what the stand-in says, 0 for none.
        seed: Of all chance.
        transcripts: "full" keeps every chunk and prompt in the records.
        agents: A digest of each agent's file, so that a changed file is another run.

    Raises:
        SettingsError: If one of them cannot be.
    """

    source: DialogueSource = field(default_factory=DialogueSource)
    asks: bool = False
    policy: Policy = "finish"
    tempo: Tempo = field(default_factory=Tempo)
    interface: str = "event-driven"
    clock: Clock = "virtual"
    arrival: bool = False
    thinking: int = THINKING
    temperature: float = TEMPERATURE
    seed: int = 0
    transcripts: Transcripts = "answers"
    agents: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_known("policy", self.policy, get_args(Policy))
        check_known("clock", self.clock, get_args(Clock))
        check_known("transcripts", self.transcripts, get_args(Transcripts))
        check_fits("dialogue", self.law, among=INTERFACES)
        check_temperature(self.temperature)
        for timing in LAWS:
            self.tempo.law(timing)
        if self.thinking < 0:
            raise SettingsError(f"tokens of thinking must be 0 or more, got {self.thinking}")
        if self.interface != self.law and self.law not in ("polling", "fixed-rate"):
            raise SettingsError(f"only polling and fixed-rate have a span, got {self.interface!r}")
        try:
            span = self.span_s
        except ValueError:
            span = 0.0
        if not 0 < span < 1e6:
            raise SettingsError(f"a span is in seconds, above 0, got {self.interface!r}")
        if self.arrival and self.clock != "wall":
            raise SettingsError("tokens come when they come in wall time only")

    @property
    def law(self) -> str:
        """The interface without its span."""
        return self.interface.partition(":")[0]

    @property
    def span_s(self) -> float:
        """The span of the interface, in seconds."""
        return float(self.interface.partition(":")[2] or 1)

    def settings(self) -> dict[str, Any]:
        """It as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactorSpec:
    """One episode: an agent listens to a conversation for the so manieth time.

    Attributes:
        part: What it is played for.
        agent: One of the agents in the package, or a file.
        voice: Who thinks.
        is_own: Whether the agent's file says so, with a key and further fields of requests.
        threshold: How sure the stand-in must be; None for a language model.
        timing: When the turns come.
        pace: What the model's tokens cost.
        run: Which repetition, from 0.
        place: Which conversation of the source, from 0.
        rig: What it shares with others.
    """

    part: Part
    agent: str
    voice: ModelRole = RULES
    is_own: bool = False
    threshold: float | None = None
    timing: Law
    pace: Pace
    run: int
    place: int
    rig: Rig

    @property
    def who(self) -> str:
        """Who thinks, as tables name it."""
        if self.threshold is None:
            return self.voice.spec
        named = {CAUTIOUS: "cautious ", EAGER: "eager "}.get(self.threshold, "")
        return f"{named}{self.threshold:g}"

    @property
    def title(self) -> str:
        """What tables call the agent."""
        return PurePath(self.agent).stem

    @property
    def key(self) -> str:
        """A name that no other episode of a run has, fit for a file."""
        pace = f"{self.pace.first}-{self.pace.per_token}"
        return _joined(self.part, self.timing, pace, self.title, self.who, self._which)

    @property
    def scope(self) -> str:
        """Whose requests a cassette holds: the episode, whoever thinks and however fast."""
        return _joined(self.timing, self.title, self._which)

    @property
    def _which(self) -> str:
        return f"dialogue{self.place}-run{self.run}"

    @property
    def law(self) -> Timing:
        """When the turns come."""
        return self.rig.tempo.law(self.timing)

    def settings(self) -> dict[str, Any]:
        """What stands in the episode's record."""
        return {
            "suite": NAME,
            "episode": {
                "key": self.key,
                "part": self.part,
                "agent": self.title,
                "who": self.who,
                "stand_in": self.voice.is_stand_in,
                "threshold": self.threshold,
                "timing": self.timing,
                "pace": [self.pace.first, self.pace.per_token],
                "run": self.run,
                "place": self.place,
            },
            "voice": self.voice.settings(),
            **self.rig.settings(),
        }


def _joined(*parts: str) -> str:
    """Parts of a name with what is fit for the name of a file only."""
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-") for part in parts)
