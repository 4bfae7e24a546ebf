"""One kitchen episode: its settings, its case and its method."""

from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Literal

from timeful.agents.controller import Resumption
from timeful.agents.session import Transcripts
from timeful.environments.kitchen.cases import multi_dish_cases, one_dish_cases
from timeful.environments.kitchen.settings import Case, KitchenSettings, ticks
from timeful.errors import check_range
from timeful.experiments.options import option
from timeful.interfaces.compatibility import check_fits
from timeful.models.role import ModelRole
from timeful.suites.engagement.kitchen.rules import Cook

NAME = "engagement/kitchen"

Setting = Literal["one-dish", "multi-dish"]

CASES: dict[Setting, int] = {"one-dish": 128, "multi-dish": 72}
"""The number of cases of a whole set."""

CALLS: dict[Setting, int] = {"one-dish": 40, "multi-dish": 60}
"""The most calls of the controller (appendix E)."""

METHODS = {
    "loop": "AgentLoop",
    "polling": "Periodic Poll",
    "reflex": "ReflexPatch",
    "event-driven": "EP",
}
"""The interfaces, and their names in tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Other rules than those of the method; not in the paper.

    It shows how much of a number is due to the policy.
    """

    setting: Setting
    interface: str
    cook: Cook = field(default_factory=Cook)


VARIANTS = {
    "quits": Variant(setting="one-dish", interface="loop", cook=Cook(quits=0.7)),
    "soft deferred": Variant(
        setting="multi-dish", interface="event-driven", cook=Cook(soft="deferred")
    ),
}

_WORLD = KitchenSettings()

_plain = lru_cache(1024)(asdict)

_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples fill the unit interval evenly, however many are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KitchenEpisode:
    """A controller cooks and tutors: dishes signal while tokens are written.

    Everything runs offline: rules cook and prose is tutored, both labelled as stand-ins. With
    --model openai:NAME and --base-url a language model decides; the key is read from
    OPENAI_API_KEY. An unusable answer costs its tokens and at least one tick, and the model is
    asked again with the reason.

    Raises:
        SettingsError: If a value is out of range.
    """

    setting: Setting = "one-dish"
    """Kind of cases."""
    interface: str = "event-driven"
    """Interface between the agent's time and the world's."""
    variant: str = option("", hidden=True)
    """Variant of the rules."""
    sample: int = option(0, flag="seeds")
    """Sets of cases; the first has the paper's seeds."""
    case: int = 0
    """Cases of each set, evenly spread."""
    menu: Case | None = option(None, hidden=True)
    """A case that belongs to no set."""
    variants: bool = option(
        True,
        needs=(lambda e: e.controller.is_stand_in, "--model rules; models have no variants"),
    )
    """Play the variants of the rules too."""
    world: KitchenSettings = option(factory=lambda: _WORLD, hidden=True)
    """World settings of appendix E."""
    interval: int = option(
        40,
        flag="poll-interval",
        needs=(lambda e: e.interface == "polling", "--interface polling"),
    )
    """Ticks between two polls."""
    delay: int = option(
        12,
        flag="reflex-delay",
        needs=(lambda e: e.interface == "reflex", "--interface reflex"),
    )
    """Ticks of the reflex."""
    answer_tokens: int = option(
        12, needs=(lambda e: e.controller.is_stand_in, "--model rules; models count tokens")
    )
    """Tokens of an answer of the rules."""
    calls: int | None = None
    """Most calls of the controller; 40 or 60 by default."""
    controller: ModelRole = option(factory=lambda: ModelRole(stand_in="rules"), flag="model")
    """Model that decides."""
    tutor: ModelRole = option(factory=lambda: ModelRole(stand_in="prose"))
    """Model that tutors."""
    resumption: Resumption = "stream"
    """Continuation of an interrupted text: from its token, or by a new prompt."""
    prompt: Literal["published", "neutral"] = option(
        "published",
        needs=(lambda e: not e.controller.is_stand_in, "a language model as --model"),
    )
    """Prompt with a sentence about the interface, as in the paper, or without."""
    transcripts: Transcripts = option("", flag="transcripts")
    """Content of records: answers for stand-ins and full otherwise by default."""

    def __post_init__(self) -> None:
        check_fits("kitchen", self.interface, among=tuple(METHODS))
        check_range("the interval between two polls", self.interval, above=0)
        check_range("the delay of a reflex", self.delay, least=0)
        if self.calls is not None:
            check_range("the number of calls", self.calls, least=1)
        Cook(tokens=self.answer_tokens)
        check_range("the number of a set or a case", min(self.sample, self.case), least=0)

    @property
    def method(self) -> str:
        """The name of the method in tables."""
        method = METHODS[self.interface]
        return f"{method}, {self.variant}" if self.variant else method

    @property
    def task(self) -> Case:
        """The dishes and problems."""
        return self.menu or cases_of(self.setting, self.sample)[self.case]

    @property
    def cook(self) -> Cook:
        """The rules of the stand-in."""
        cook = VARIANTS[self.variant].cook if self.variant else Cook()
        return replace(cook, tokens=self.answer_tokens)

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        method = self.method.lower().replace(", ", "-").replace(" ", "-")
        return f"{self.setting}-{method}-{self.task.name}-set{self.sample}"

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as its record begins."""
        is_stand_in = self.controller.is_stand_in
        return {
            "suite": NAME,
            "episode": {
                "setting": self.setting,
                "method": self.method,
                "law": self.interface,
                "case": self.task.name,
                "family": self.task.family,
                "sample": self.sample,
                "controller": self.controller.spec,
                "tutor": self.tutor.spec,
                "stand_in": is_stand_in,
            },
            "menu": _plain(self.task),
            "cook": _plain(self.cook) if is_stand_in else None,
            "controller": self.controller.settings(),
            "tutor": self.tutor.settings(),
            "world": _plain(self.world),
            "interval": ticks(self.interval),
            "delay": ticks(self.delay),
            "answer_tokens": self.answer_tokens,
            "calls": self.calls,
            "resumption": self.resumption,
            # Left out at its default, so that records keep their bytes.
            **({} if self.prompt == "published" else {"prompt": self.prompt}),
            "transcripts": self.transcripts,
        }


@cache
def cases_of(setting: Setting, sample: int) -> tuple[Case, ...]:
    """The cases of a set, ordered so that the first ones are spread evenly over the set.

    They have no fixed distance, which could leave a family out.
    """
    cases = (one_dish_cases if setting == "one-dish" else multi_dish_cases)(sample=sample)
    order = sorted(range(len(cases)), key=lambda index: index * _GOLDEN % 1)
    return tuple(cases[index] for index in order)


def resolve(episode: KitchenEpisode) -> KitchenEpisode | None:
    """Complete an episode; None for a case or a variant that does not exist."""
    if episode.menu is None and episode.case >= CASES[episode.setting]:
        return None
    is_stand_in = episode.controller.is_stand_in
    if episode.variant:
        variant = VARIANTS[episode.variant]
        is_fitting = (variant.setting, variant.interface) == (episode.setting, episode.interface)
        if not (episode.variants and is_stand_in and is_fitting):
            return None
    is_stand_in = is_stand_in and episode.tutor.is_stand_in
    return replace(
        episode, transcripts=episode.transcripts or ("answers" if is_stand_in else "full")
    )
