"""One episode of the suite: an agent listens to a conversation."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from timeful.agents.proactive.agent import Policy
from timeful.agents.proactive.retrieval import CAUTIOUS, EAGER, TEMPERATURE, check_temperature
from timeful.agents.proactive.settings import ALIASES
from timeful.agents.session import Transcripts
from timeful.core.units import in_seconds, milliseconds, seconds
from timeful.domains.dialogue_set import DialogueSource
from timeful.environments.dialogue.timing import ByTurn, Paced, Stamped, Timing
from timeful.errors import SettingsError, check_range
from timeful.experiments.options import option
from timeful.interfaces.compatibility import check_fits
from timeful.models.calibrate import load_calibration
from timeful.models.counting import Counting
from timeful.models.kinds import is_live
from timeful.models.pace import Pace
from timeful.models.role import ModelRole

Part = Literal["main", "curve", "time"]
Timings = Literal["by-turn", "timestamps", "pace"]
Clock = Literal["virtual", "wall"]
Pages = int | str
"""The dialogues that are drawn: the first ones, "all", or one by its name."""

INTERFACES = ("event-driven", "polling", "loop", "fixed-rate", "frozen")
"""The interfaces that need a span at most; a reflex would need a rule."""

RULES = ModelRole(stand_in="rules")
"""The offline stand-in: it retrieves workflows."""

THINKING = 200
"""Tokens that the stand-in pays for its thinking, if an agent thinks first: a few sentences."""


def _read_pace(path: str) -> Pace:
    return load_calibration(Path(path)).pace


def read_pages(text: str) -> Pages:
    """Read which dialogues are drawn.

    Raises:
        ValueError: If it is a negative number.
    """
    if not re.fullmatch(r"-?\d+", text):
        return text
    if int(text) < 0:
        raise ValueError("give 0 or more, all, or the name of a dialogue")
    return int(text)


def asks_endpoint(judge: str) -> bool:
    """Whether a judge is named by its model, not by a file that has its address."""
    return is_live(judge)


_OFFLINE = (lambda e: e.voice.is_stand_in, "--model rules; a language model thinks for itself")
_DATA = (lambda e: bool(e.data), "--data")
_NO_CALIBRATION = (lambda e: e.pace is None, "a run without --pace")
_PACED = (lambda e: e.timing == "pace", "--timing pace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProactorEpisode:
    """Agents that foresee what software could do, in conversations that do not wait.

    Everything runs offline: a rule that retrieves workflows answers, and is labelled as a
    stand-in; its --temperature (0.3 by default) makes runs differ. A YAML file of --agent whose
    llm has a base_url asks that endpoint, with the key in the environment variable that its
    api_key_name names; several such files are compared in one run. With --model openai:NAME and
    --base-url one language model thinks for all agents, with the key in OPENAI_API_KEY; without
    --base-url it is asked at the addresses of the agents' files, with their keys. --base-url
    without --model is the address of the files' models, unless it is for --judge openai:NAME;
    --temperature replaces that of the files too.

    Raises:
        SettingsError: If a value is out of its range.
    """

    domain: str = option(
        "",
        needs=(lambda e: not (e.abcd or e.catalog), "a run without --abcd or --catalog"),
    )
    """Domain: shop, loan or a folder; that of the agents' files or shop by default."""
    data: str = ""
    """File of dialogues with references: JSONL, or .json in ABCD's shape."""
    abcd: str = option("", needs=_DATA)
    """Folder of ABCD's ontology, kb and guidelines, for --data."""
    catalog: str = option(
        "", needs=(lambda e: bool(e.data) and not e.abcd, "--data, without --abcd")
    )
    """Catalog for --data, in place of that of the agents' files."""
    ontology: str = ""
    """Workflows of --catalog, which the offline agent follows."""
    split: str = ""
    """Split, or all; test by default, all if --data has no such split."""
    dialogues: int | None = None
    """Most dialogues; 20 by default, all of --data."""
    agent: str = option("non-reasoning", read=lambda name: ALIASES.get(name, name))
    """Agent: non-reasoning, reasoning, asg or a YAML file."""
    threshold: float | None = option(None, read=float, needs=_OFFLINE, of_stand_in=True)
    """Threshold of the offline agent, 0 to 1; 0.7 and 0.2 by default."""
    curve: bool = option(True, needs=_OFFLINE, of_stand_in=True)
    """Trade-off over nine thresholds."""
    questions: bool = False
    """Agents raise questions too."""
    model: str = option("", identifies=False)
    """Model of all agents: rules, KIND:NAME of an endpoint, replay:FILE[#NAME] or local:PATH."""
    base_url: str | None = option(
        None,
        identifies=False,
        needs=(
            lambda e: e.voice.is_live or asks_endpoint(e.judge),
            "a model or judge behind an endpoint, or a YAML file of an agent",
        ),
    )
    """Base URL of the endpoint."""
    temperature: float | None = option(
        None,
        identifies=False,
        needs=(
            lambda e: e.voice.is_stand_in or e.voice.is_sampled,
            "rules, an endpoint or a local:PATH model",
        ),
    )
    """Sampling temperature."""
    record: str | None = option(
        None, identifies=False, needs=(lambda e: e.voice.is_live, "an endpoint")
    )
    """Cassette that records the endpoint's answers."""
    counting: Counting = option(
        "auto", identifies=False, needs=(lambda e: e.voice.is_live, "an endpoint")
    )
    """Count of an endpoint's tokens in simulated time."""
    speaking_wpm: float | None = option(
        None, needs=(lambda e: e.timing != "by-turn", "--timing pace or timestamps")
    )
    """Words a minute that people speak; 40 at a pace, no time with timestamps by default."""
    reading_wpm: float = option(Paced().reading_wpm, needs=_PACED)
    """Words a minute that people read; 0 where they hear."""
    pause: float = option(in_seconds(Paced().pause), needs=_PACED)
    """Seconds before a turn."""
    spread: float = option(Paced().spread, needs=_PACED)
    """Variation of these spans; 0 for none."""
    timing: Timings = "by-turn"
    """Timing of turns, the first for Table 1; by-turn, and pace offline, by default."""
    token_ms: float = option(2.0, needs=_NO_CALIBRATION)
    """Milliseconds of a token of the model; 2 5 10 20 by default."""
    first_token_ms: float = option(0.0, needs=_NO_CALIBRATION)
    """Milliseconds before the first token."""
    pace: Pace | None = option(None, read=_read_pace)
    """File with the price of tokens, from `timeful calibrate`."""
    policy: Policy = "finish"
    """Policy for a thought when the next turn comes."""
    interface: str = "event-driven"
    """Interface: event-driven, polling[:S], loop, fixed-rate[:S] or frozen; S in seconds."""
    clock: Clock = "virtual"
    """Clock of the conversations."""
    arrival: bool = option(
        False, needs=(lambda e: e.voice.is_sampled, "an endpoint or a local:PATH model")
    )
    """With --clock wall, tokens of an endpoint take their real time."""
    thinking: int = option(THINKING, needs=_OFFLINE, of_stand_in=True)
    """Tokens that the offline agent pays for thinking."""
    run: int = option(0, flag="runs")
    """Repetition."""
    seed: int = 0
    """Seed of all randomness."""
    judge: str = option("", identifies=False)
    """Judge of proactiveness, PR: KIND:NAME such as anthropic:NAME, or a YAML file."""
    pages: Pages = option(20, identifies=False, read=read_pages)
    """Dialogues that get a page: the first ones, all, or one by name."""
    transcripts: Transcripts = option("")
    """Content of records: answers offline and full otherwise by default."""
    part: Part = option("main", hidden=True)
    """Part of the run."""
    voice: ModelRole = option(RULES, hidden=True)
    """Model that thinks."""
    is_own: bool = option(False, hidden=True)
    """Whether the agent's file names that model, with a key and further request fields."""
    place: int = option(0, hidden=True)
    """Index of the dialogue."""
    source: DialogueSource = option(DialogueSource(), hidden=True)
    """Dialogue set."""
    stand_in_temperature: float = option(TEMPERATURE, hidden=True, of_stand_in=True)
    """Temperature of the stand-in, 0 for none."""
    digests: tuple[tuple[str, str], ...] = option((), hidden=True)
    """Digest of each agent's file."""
    voices: tuple[tuple[str, str, str], ...] = option((), hidden=True)
    """Model and address of each agent."""

    def __post_init__(self) -> None:
        check_fits("dialogue", self.interface_name, among=INTERFACES)
        check_temperature(self.stand_in_temperature)
        for timing in get_args(Timings):
            self.make_timing(timing)
        check_range("a threshold", self.threshold or 0.0, least=0, most=1)
        for span in (self.token_ms, self.first_token_ms):
            check_range("the time of a token in ms", span, least=0, most=1e6)
        check_range("tokens of thinking", self.thinking, least=0)
        has_span = self.interface_name in ("polling", "fixed-rate")
        if self.interface != self.interface_name and not has_span:
            raise SettingsError(f"only polling and fixed-rate have a span, got {self.interface!r}")
        try:
            check_range("a span in seconds", self.interface_span, above=0, most=1e6)
        except ValueError:
            raise SettingsError(f"a span is in seconds, got {self.interface!r}") from None
        if self.arrival and self.clock != "wall":
            raise SettingsError("--arrival requires --clock wall")

    @property
    def interface_name(self) -> str:
        """The interface without its span."""
        return self.interface.partition(":")[0]

    @property
    def interface_span(self) -> float:
        """The span of the interface, in seconds."""
        return float(self.interface.partition(":")[2] or 1)

    def make_timing(self, timing: Timings) -> Timing:
        """The timing of turns.

        Raises:
            SettingsError: If a number is out of its range.
        """
        if timing == "by-turn":
            return ByTurn(patience=seconds(600))
        if timing == "timestamps":
            return Stamped(speaking_wpm=self.speaking_wpm)
        check_range("a pause in seconds", self.pause, least=0)
        wpm = Paced().speaking_wpm if self.speaking_wpm is None else self.speaking_wpm
        pause = seconds(self.pause)
        return Paced(
            speaking_wpm=wpm, reading_wpm=self.reading_wpm, pause=pause, spread=self.spread
        )

    @property
    def token_pace(self) -> Pace:
        """The price of the model's tokens."""
        first, token = milliseconds(self.first_token_ms), milliseconds(self.token_ms)
        return self.pace or Pace(first=first, per_token=token)

    @property
    def who(self) -> str:
        """The name of the model in tables: its threshold, if it is the stand-in."""
        if self.threshold is None:
            return self.voice.spec
        prefix = {CAUTIOUS: "cautious ", EAGER: "eager "}.get(self.threshold, "")
        return f"{prefix}{self.threshold:g}"

    @property
    def title(self) -> str:
        """The name of the agent."""
        return PurePath(self.agent).stem

    @property
    def key(self) -> str:
        """A name that is unique in a run, fit for a file."""
        pace = f"{self.token_pace.first}-{self.token_pace.per_token}"
        return _join(self.part, self.timing, pace, self.title, self.who, self._repetition)

    @property
    def scope(self) -> str:
        """The key of the episode's requests on a cassette, for any model and pace."""
        return _join(self.timing, self.title, self._repetition)

    @property
    def _repetition(self) -> str:
        return f"dialogue{self.place}-run{self.run}"

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as it is written into its record."""
        return {
            "suite": "proactor",
            "episode": {
                "key": self.key,
                "part": self.part,
                "agent": self.title,
                "who": self.who,
                "stand_in": self.voice.is_stand_in,
                "threshold": self.threshold,
                "timing": self.timing,
                "pace": [self.token_pace.first, self.token_pace.per_token],
                "run": self.run,
                "place": self.place,
            },
            "voice": self.voice.settings(),
            "source": asdict(self.source),
            "asks": self.questions,
            "policy": self.policy,
            "tempo": {
                "speaking_wpm": self.speaking_wpm,
                "reading_wpm": self.reading_wpm,
                "pause_s": self.pause,
                "spread": self.spread,
            },
            "interface": self.interface,
            "clock": self.clock,
            "arrival": self.arrival,
            "thinking": self.thinking,
            "temperature": self.stand_in_temperature,
            "seed": self.seed,
            "transcripts": self.transcripts,
            "agents": self.digests,
        }


def _join(*names: str) -> str:
    """Join parts of a name, without what does not fit the name of a file."""
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-") for name in names)
