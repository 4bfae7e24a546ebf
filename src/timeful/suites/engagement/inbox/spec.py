"""Which inbox episodes there are: Appendix D's settings, and what may be varied."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, get_args

from timeful.agents.prompts.inbox import PricedBy
from timeful.agents.session import Transcripts
from timeful.core.units import NO_TIME, Duration, in_seconds, seconds
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.task import DECOMPOSITIONS, Decomposition
from timeful.errors import SettingsError, check_known
from timeful.interfaces.laws import check_fits
from timeful.models.pace import Pace
from timeful.models.role import ModelRole

NAME = "engagement/inbox"

METHODS = {
    "event-driven": "EP",
    "polling": "Periodic Poll",
    "loop": "AgentLoop",
    "reflex": "Reflex (ours)",
}
"""The interfaces, and what tables call them. The paper has no reflex in the inbox."""

POLICIES = ("stand-in", "urgent-first")
"""Rules that stand in for the model that sorts emails."""

MODEL = "model"
"""The policy of a language model, which is its own."""

POLL = seconds(15)
MOST_EPISODES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSpec:
    """One episode.

    Attributes:
        seed: Of the post, the task and all sampling, together with `episode`; 0 or more.
        episode: Which of the episodes of this seed, from 0.
        poll: The interval between two looks, under polling.
        policy: Which rule sorts the emails, or "model".
        triage: Who sorts the emails.
        writer: Who writes the main task.
        hints: Whether a language model is shown what is recommended about each email.
        priced_by: What the time of a decision about an email depends on.

    Raises:
        SettingsError: If something is unknown or does not fit.
    """

    decomposition: Decomposition
    interface: str
    policy: str
    seed: int
    episode: int
    world: InboxSettings = field(default_factory=InboxSettings)
    poll: Duration = POLL
    triage: ModelRole = field(default_factory=lambda: ModelRole(stand_in="rules"))
    writer: ModelRole = field(default_factory=lambda: ModelRole(stand_in="prose"))
    hints: bool = True
    priced_by: PricedBy = "decision"
    transcripts: Transcripts = "answers"

    def __post_init__(self) -> None:
        check_known("decomposition", self.decomposition, DECOMPOSITIONS)
        check_interface(self.interface)
        check_known("policy", self.policy, (*POLICIES, MODEL))
        check_known("pace of triage", self.priced_by, get_args(PricedBy))
        check_known("kind of transcripts", self.transcripts, get_args(Transcripts))
        if (self.policy == MODEL) == self.triage.is_stand_in:
            raise SettingsError(
                f"the policy {self.policy!r} is not for the model {self.triage.spec!r}"
            )
        if self.poll <= 0:
            raise SettingsError(
                f"the interval between two polls must be above 0 s, got {in_seconds(self.poll):g}"
            )
        if self.seed < 0 or self.episode < 0:
            raise SettingsError(f"a seed is 0 or more, got {self.seed} and {self.episode}")

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        parts = (self.decomposition, self.interface, self.policy)
        return f"{'-'.join(parts)}-seed{self.seed}-episode{self.episode}"

    @property
    def writing_pace(self) -> Pace:
        """What a token of the main task costs."""
        return Pace(per_token=self.world.token)

    @property
    def triage_pace(self) -> Pace:
        """What a decision about an email costs: the same for any, or its tokens."""
        if self.priced_by == "tokens":
            return self.writing_pace
        return Pace(first=self.world.triage, per_token=NO_TIME)

    def settings(self) -> dict[str, Any]:
        """All that makes the episode what it is, as its record begins."""
        return {
            "episode": {
                "decomposition": self.decomposition,
                "interface": self.interface,
                "policy": self.policy,
                "model": self.triage.spec,
                "writer": self.writer.spec,
                "stand_in": self.triage.is_stand_in,
                "seed": self.seed,
                "episode": self.episode,
                **self._unusual,
            },
            "world": asdict(self.world),
            "poll": self.poll,
            "temperature": [self.triage.temperature, self.writer.temperature],
        }

    @property
    def _unusual(self) -> dict[str, Any]:
        """Unsaid where it is as ever, so that records stay the same bytes."""
        said = {"hints": self.hints, "priced_by": self.priced_by}
        return {} if said == {"hints": True, "priced_by": "decision"} else said

    def common(self) -> dict[str, Any]:
        """What all episodes of a run share."""
        return {
            "world": asdict(self.world),
            "poll": self.poll,
            "hints": self.hints,
            "priced_by": self.priced_by,
            "triage": self.triage.settings(),
            "writer": self.writer.settings(),
            "transcripts": self.transcripts,
        }


def check_interface(interface: str) -> None:
    """Refuse an interface that is unknown, or that an inbox cannot have.

    Raises:
        SettingsError: It says why.
    """
    check_fits("inbox", interface)
    check_known("interface", interface, METHODS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which part of the experiment to run. The defaults are the paper's, and the reflex.

    Attributes:
        policies: Rules to sort emails by; with a language model, just "model".
        seeds: How many seeds.
        episodes: How many episodes for each.

    Raises:
        SettingsError: If a part is unknown or empty.
    """

    decompositions: Sequence[str] = DECOMPOSITIONS
    interfaces: Sequence[str] = tuple(METHODS)
    policies: Sequence[str] = POLICIES
    seeds: int = 200
    episodes: int = 5

    def __post_init__(self) -> None:
        for kind, given, known in (
            ("decomposition", self.decompositions, DECOMPOSITIONS),
            ("policy", self.policies, (*POLICIES, MODEL)),
        ):
            for name in given:
                check_known(kind, name, known)
        for interface in self.interfaces:
            check_interface(interface)
        if self.seeds < 1 or self.episodes < 1:
            raise SettingsError(
                f"a run needs at least one seed and one episode, got {self.seeds} and "
                f"{self.episodes}"
            )
        if self.seeds * self.episodes > MOST_EPISODES:
            raise SettingsError(
                f"{self.seeds} seeds with {self.episodes} episodes each are too many; at most "
                f"{MOST_EPISODES} in all"
            )


def episodes(sweep: Sweep, like: InboxSpec) -> list[InboxSpec]:
    """Spell out a sweep; what it does not vary is taken from `like`."""
    parts = product(
        dict.fromkeys(sweep.decompositions),
        dict.fromkeys(sweep.policies),
        dict.fromkeys(sweep.interfaces),
        range(sweep.seeds),
        range(sweep.episodes),
    )
    return [
        replace(
            like,
            decomposition=decomposition,
            policy=policy,
            interface=interface,
            seed=seed,
            episode=episode,
        )
        for decomposition, policy, interface, seed, episode in parts
    ]
