"""The episodes of the kitchen experiments: settings, methods, cases, and what they share."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Literal, get_args

from timeful.agents.controller import Resumption
from timeful.agents.session import Transcripts
from timeful.core.units import Duration
from timeful.environments.kitchen.cases import multi_dish_cases, one_dish_cases
from timeful.environments.kitchen.settings import Case, KitchenSettings, in_ticks, ticks
from timeful.errors import SettingsError, check_known
from timeful.interfaces.compatibility import check_fits
from timeful.models.role import ModelRole
from timeful.suites.engagement.kitchen.rules import Cook

NAME = "engagement/kitchen"

Setting = Literal["one-dish", "multi-dish"]
Wording = Literal["published", "neutral"]
Law = Literal["loop", "polling", "reflex", "event-driven"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)
LAWS: tuple[Law, ...] = get_args(Law)

_INTERVAL, _DELAY = ticks(40), ticks(12)

CALLS = {"one-dish": 40, "multi-dish": 60}
"""The most controller calls (appendix E)."""

_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples fill the unit interval evenly, however many are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A row of the tables: an interface and, for a stand-in, a variant of its rule.

    A variant is not in the paper: it shows how much of a number is the policy's.
    """

    name: str
    law: Law
    setting: Setting | None = None
    cook: Cook = field(default_factory=Cook)
    is_variant: bool = False


METHODS = (
    Method(name="AgentLoop", law="loop"),
    Method(
        name="AgentLoop, quits",
        law="loop",
        setting="one-dish",
        cook=Cook(quits=0.7),
        is_variant=True,
    ),
    Method(name="Periodic Poll", law="polling"),
    Method(name="ReflexPatch", law="reflex"),
    Method(name="EP", law="event-driven"),
    Method(
        name="EP, soft deferred",
        law="event-driven",
        setting="multi-dish",
        cook=Cook(soft="deferred"),
        is_variant=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """What all episodes of a run have in common.

    Attributes:
        controller: Who decides.
        tutor: Who writes what is tutored.
        world: The laws of the kitchen.
        interval: The span between two polls, above 0.
        delay: How long a reflex takes, 0 or more.
        answer_tokens: What an answer of the rule costs.
        calls: The most controller calls; None takes those of the setting.
        resumption: How an interrupted text goes on.
        prompt: "published" tells the controller of its interface, as the paper's prompts do
            (appendix E, the rule of each variant); "neutral" leaves that out, so that methods
            differ in their interface's law alone.
        transcripts: "full" keeps every chunk and prompt in the records.

    Raises:
        SettingsError: If one of them cannot be.
    """

    controller: ModelRole = field(default_factory=lambda: ModelRole(stand_in="rules"))
    tutor: ModelRole = field(default_factory=lambda: ModelRole(stand_in="prose"))
    world: KitchenSettings = field(default_factory=KitchenSettings)
    interval: Duration = _INTERVAL
    delay: Duration = _DELAY
    answer_tokens: int = 12
    calls: int | None = None
    resumption: Resumption = "stream"
    prompt: Wording = "published"
    transcripts: Transcripts = "answers"

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise SettingsError(
                f"the interval between two polls must be above 0, got {in_ticks(self.interval):g}"
            )
        if self.delay < 0:
            raise SettingsError(
                f"the delay of a reflex must not be negative, got {in_ticks(self.delay):g}"
            )
        if self.calls is not None and self.calls < 1:
            raise SettingsError(f"a controller needs at least 1 call, got {self.calls}")
        check_known("resumption", self.resumption, get_args(Resumption))
        check_known("prompt", self.prompt, get_args(Wording))
        check_known("transcripts", self.transcripts, get_args(Transcripts))
        Cook(tokens=self.answer_tokens)

    def settings(self) -> dict[str, Any]:
        """It as plain JSON values, without credentials."""
        values = asdict(replace(self, controller=_NOBODY, tutor=_NOBODY))
        return {
            **values,
            "controller": self.controller.settings(),
            "tutor": self.tutor.settings(),
        }


_NOBODY = ModelRole(stand_in="")


@dataclass(frozen=True, slots=True, kw_only=True)
class KitchenSpec:
    """One episode: a case under a method."""

    setting: Setting
    case: Case
    sample: int
    method: Method
    rig: Rig

    @property
    def key(self) -> str:
        """A name that no other episode of a run has."""
        method = self.method.name.lower().replace(", ", "-").replace(" ", "-")
        return f"{self.setting}-{method}-{self.case.name}-set{self.sample}"

    @property
    def calls(self) -> int:
        """The most controller calls."""
        return CALLS[self.setting] if self.rig.calls is None else self.rig.calls

    @property
    def cook(self) -> Cook:
        """The rule of the stand-in."""
        return replace(self.method.cook, tokens=self.rig.answer_tokens)

    def settings(self) -> dict[str, Any]:
        """What stands in the episode's record."""
        common = self.rig.settings()
        if self.rig.prompt == "published":
            del common["prompt"]  # unsaid where it is as ever, so that records stay the same bytes
        return {
            "suite": NAME,
            "episode": {
                "setting": self.setting,
                "method": self.method.name,
                "law": self.method.law,
                "case": self.case.name,
                "family": self.case.family,
                "sample": self.sample,
                "controller": self.rig.controller.spec,
                "tutor": self.rig.tutor.spec,
                "stand_in": self.rig.controller.is_stand_in,
            },
            "menu": asdict(self.case),
            "cook": asdict(self.cook) if self.rig.controller.is_stand_in else None,
            **common,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which part of the experiments to run. The defaults are all of it.

    Attributes:
        settings: One-dish, multi-dish or both.
        laws: Which interfaces.
        samples: How many sets of cases; the first is that of the paper's seeds, 128 and 72
            cases, and the others are drawn like it.
        cases: How many cases of each set, evenly spread; None takes all.
        variants: Whether the stand-in's variants run too.

    Raises:
        SettingsError: If a part is unknown or empty.
    """

    settings: Sequence[str] = SETTINGS
    laws: Sequence[str] = LAWS
    samples: int = 5
    cases: int | None = None
    variants: bool = True

    def __post_init__(self) -> None:
        for setting in self.settings:
            check_known("setting", setting, SETTINGS)
        for law in self.laws:
            check_fits("kitchen", law, among=LAWS)
        if self.samples < 1:
            raise SettingsError(f"a run needs at least 1 set of cases, got {self.samples}")
        if self.cases is not None and self.cases < 1:
            raise SettingsError(f"a run needs at least 1 case, got {self.cases}")


def episodes(sweep: Sweep, rig: Rig) -> list[KitchenSpec]:
    """Spell out a sweep: every method plays the same cases."""
    return list(_episodes(sweep, rig))


def _episodes(sweep: Sweep, rig: Rig) -> Iterator[KitchenSpec]:
    for setting, sample in product(SETTINGS, range(sweep.samples)):
        if setting not in sweep.settings:
            continue
        cases = _spread(cases_of(setting, sample), sweep.cases)
        for method, case in product(METHODS, cases):
            if method.law not in sweep.laws or method.setting not in (None, setting):
                continue
            if method.is_variant and not (sweep.variants and rig.controller.is_stand_in):
                continue
            yield KitchenSpec(setting=setting, case=case, sample=sample, method=method, rig=rig)


def cases_of(setting: Setting, sample: int) -> list[Case]:
    """The cases of a set."""
    draw = one_dish_cases if setting == "one-dish" else multi_dish_cases
    return draw(sample=sample)


def _spread(cases: list[Case], count: int | None) -> list[Case]:
    """So many cases, evenly spread but at no fixed distance, which could leave a family out."""
    ranked = sorted(range(len(cases)), key=lambda place: place * _GOLDEN % 1)
    return [cases[place] for place in sorted(ranked[:count])]
