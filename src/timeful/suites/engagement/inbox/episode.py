"""One inbox episode: its settings, and how they are completed."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from timeful.agents.prompts.inbox import PricedBy
from timeful.agents.session import Transcripts
from timeful.core.units import Duration, in_seconds, seconds
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.task import Decomposition
from timeful.errors import SettingsError, check_known, check_range
from timeful.experiments.options import option
from timeful.interfaces.compatibility import check_fits
from timeful.models.counting import counting_settings
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.suites.names import check_name, short_name

ASSISTANT = "assistant"
"""The agent of the paper."""

METHODS = {
    "event-driven": "EP",
    "polling": "Periodic Poll",
    "loop": "AgentLoop",
    "reflex": "Reflex (ours)",
}
"""The interfaces, and their names in tables. The paper has no reflex in the inbox."""

_WORLD = InboxSettings()

_plain = lru_cache(asdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEpisode:
    """A digital assistant writes a long document while emails arrive.

    Everything runs offline with rules that sort the emails, labelled as a stand-in. With --model
    openai:NAME and --base-url a language model sorts them; the key is read from OPENAI_API_KEY. An
    unusable answer costs its time and leaves the email as it is.

    Raises:
        SettingsError: If the values do not fit together.
    """

    decomposition: Decomposition = "single"
    """Parts of the main task."""
    interface: str = "event-driven"
    """Interface between the agent's time and the world's."""
    agent: str = "assistant"
    """Agent: assistant, or FILE.py:NAME for an agent of your own."""
    policy: Literal["stand-in", "urgent-first", "model"] = option(
        "stand-in", needs=(lambda e: e.triage.is_stand_in, "--model rules")
    )
    """Rule that sorts the emails."""
    seed: int = 0
    """Seed of emails, task and sampling."""
    episode: int = 0
    """Repetition of a seed."""
    world: InboxSettings = option(factory=lambda: _WORLD, hidden=True)
    """World settings of Tables 17 and 19."""
    poll: Duration = option(
        seconds(15),
        flag="poll-interval",
        needs=(lambda e: e.interface == "polling", "--interface polling"),
    )
    """Seconds between two polls."""
    triage: ModelRole = option(factory=lambda: ModelRole(stand_in="rules"), flag="model")
    """Model that sorts emails."""
    writer: ModelRole = option(factory=lambda: ModelRole(stand_in="prose"))
    """Model that writes the main task."""
    hints: bool = option(
        True, needs=(lambda e: not e.triage.is_stand_in, "a language model as --model")
    )
    """Show a language model the recommended action for each email."""
    priced_by: PricedBy = option("decision", flag="triage-pace")
    """Time of a decision: 0.2 s each, as in Table 17, or 0.05 s a token."""
    transcripts: Transcripts = option("", flag="transcripts")
    """Content of records: answers for stand-ins and full otherwise by default."""

    def __post_init__(self) -> None:
        check_fits("inbox", self.interface)
        check_known("interface", self.interface, METHODS)
        check_name("agent", "agent", self.agent, (ASSISTANT,))
        check_range("--poll-interval in seconds", in_seconds(self.poll), above=0, most=1e9)
        check_range("a seed", min(self.seed, self.episode), least=0)

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        parts = (self.decomposition, self.interface, self.label)
        return f"{'-'.join(parts)}-seed{self.seed}-episode{self.episode}"

    @property
    def label(self) -> str:
        """The policy in tables: of an agent of a user's own, its name."""
        return self.policy if self.agent == ASSISTANT else short_name(self.agent)

    @property
    def writing_pace(self) -> Pace:
        """The price of a token of the main task."""
        return Pace(per_token=self.world.token)

    @property
    def triage_pace(self) -> Pace:
        """The price of a decision about an email: constant, or by its tokens."""
        if self.priced_by == "tokens":
            return self.writing_pace
        return Pace(first=self.world.triage, per_token=Duration(0))

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as its record begins."""
        others = {"hints": self.hints, "priced_by": self.priced_by}
        return {
            "episode": {
                "decomposition": self.decomposition,
                "interface": self.interface,
                "policy": self.label,
                "model": self.triage.spec,
                "writer": self.writer.spec,
                "stand_in": self.triage.is_stand_in and self.agent == ASSISTANT,
                "seed": self.seed,
                "episode": self.episode,
                # Left out at their defaults, so that records keep their bytes.
                **({} if others == {"hints": True, "priced_by": "decision"} else others),
            },
            "world": _plain(self.world),
            "poll": self.poll,
            **({} if self.agent == ASSISTANT else {"agent": self.agent}),
            "temperature": [self.triage.temperature, self.writer.temperature],
            **counting_settings([self.triage.counting, self.writer.counting]),
        }


def resolve(episode: InboxEpisode) -> InboxEpisode:
    """Complete an episode: a language model has its own policy, and its words are kept.

    Raises:
        SettingsError: If the policy of a language model is given to rules.
    """
    if episode.policy == "model" and episode.triage.is_stand_in:
        raise SettingsError("--policy model requires a language model as --model")
    if episode.agent != ASSISTANT:  # the policies are those of the assistant
        episode = replace(episode, policy="stand-in")
    is_stand_in = episode.triage.is_stand_in and episode.writer.is_stand_in
    return replace(
        episode,
        policy=episode.policy if episode.triage.is_stand_in else "model",
        transcripts=episode.transcripts or ("answers" if is_stand_in else "full"),
    )
