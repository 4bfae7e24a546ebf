"""The settings of an embedded run, and its steps in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from timeful.errors import RecordError, SettingsError, check_known
from timeful.experiments.options import option
from timeful.records.folder import read_settings
from timeful.training.quick.recipe import Arm, Recipe, find_recipe
from timeful.training.quick.steps import EXAMS, Kind, Step, Tracker

SUITE = "train/quick"
ABLATION = (0.0, 0.1, 0.25, 0.5)
"""The cold start fractions that `--ablation` compares."""

ABLATED = "EP-aware"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickRun:
    """An embedded run.

    Attributes:
        recipe: The settings of one seed.
        arms: The names of the arms that are trained; by default all of the recipe.
        seeds: The seeds, by default those of the recipe; each has all steps.
        fractions: The cold start fractions of an ablation; empty for the run itself.
        track: The service that metrics are sent to, in addition to the file.
        records: Whether the records of rollouts are kept, for `timeful view`.

    Raises:
        SettingsError: If an arm is unknown, or a list names a value twice.
    """

    recipe: Recipe = field(default_factory=find_recipe)
    arms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    fractions: tuple[float, ...] = ()
    track: Tracker | None = option(None, identifies=False)
    records: bool = option(False, identifies=False)

    def __post_init__(self) -> None:
        kinds = {"recipe": Recipe, "arms": tuple, "seeds": tuple, "fractions": tuple}
        for name, kind in kinds.items():
            if not isinstance(value := getattr(self, name), kind):
                advice = "from Python, give a list with the tuple, as in seeds=[(11, 12)]"
                raise SettingsError(f"{name} must be a {kind.__name__}, got {value!r}; {advice}")
        if not self.arms:
            object.__setattr__(self, "arms", tuple(arm.name for arm in self.recipe.arms))
        if not self.seeds:
            object.__setattr__(self, "seeds", self.recipe.seeds)
        for name in self.arms:
            check_known("arm", name, [arm.name for arm in self.recipe.arms])
        for noun, values in (("arm", self.arms), ("seed", self.seeds)):
            if len(set(values)) < len(values):
                raise SettingsError(f"each {noun} is given once; got {values}")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:  # the range of TRL
                raise SettingsError(f"a seed is from 0 to {2**32 - 1}, got {seed}")

    @property
    def trained_arms(self) -> list[Arm]:
        """The arms that are trained, in the order of the recipe."""
        return [arm for arm in self.recipe.arms if arm.name in self.arms]

    def steps(self, out: Path) -> list[Step]:
        """All steps in a run folder, each after those that it needs."""
        variants: list[tuple[float | None, Recipe, Path]] = [
            (share, self.recipe.with_follow(share), out / f"fraction-{share:g}")
            for share in self.fractions
        ]
        return [
            Step(
                kind=kind,
                recipe=recipe,
                seed=seed,
                out=folder,
                arm=arm,
                fraction=fraction,
                track=self.track,
                has_records=self.records,
            )
            for fraction, recipe, folder in variants or [(None, self.recipe, out)]
            for kind, arms in self._kinds()
            for seed in self.seeds
            for arm in arms
        ]

    def _kinds(self) -> Iterator[tuple[Kind, list[Arm | None]]]:
        arms, exams = self.trained_arms, list[tuple[Kind, list[Arm | None]]]()
        late = [arm for arm in arms if arm.is_relative]
        if self.recipe.language.opening:
            exams = [(kind, [None, *arms]) for kind in ("grade", "hurry", "mislead")]
        else:
            exams = [("grade", [None, *(arm for arm in arms if not arm.is_relative)])]
            # The arm that is rewarded for correctness alone, with the longest cap, is the GRPO of
            # the papers.
            plain = sorted((a for a in arms if a.reward == "correctness"), key=lambda a: -a.cap)
            exams += [("hurry", [None, *plain[:1], *late])] if late else []
        yield "teach", [None]
        if any(kind == "hurry" for kind, _ in exams):
            yield "measure", [None]
        yield "learn", [*arms]
        yield from exams

    def exams(self, out: Path) -> list[Step]:
        """The gradings, done or not."""
        return [step for step in self.steps(out) if step.kind in EXAMS]


def read_run(out: Path) -> QuickRun:
    """Read the settings of the run in a folder, also of a recipe that has changed since.

    Raises:
        RecordError: If the folder holds no such run.
    """
    settings = read_settings(out)
    if settings.get("suite") != SUITE:
        raise RecordError(f"{out} holds a run of {settings.get('suite')!r}, not of {SUITE!r}")
    try:
        return msgspec.convert(settings, QuickRun)
    except msgspec.ValidationError as error:
        raise RecordError(f"the settings of {out} are of another version: {error}") from error
