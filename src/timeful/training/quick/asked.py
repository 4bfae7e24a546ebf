"""What an embedded run was asked for: arms, seeds and cold start fractions, and in which folder."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import RecordError, SettingsError, check_known
from timeful.runs.experiment import read_settings
from timeful.training.quick.recipe import Arm, Recipe
from timeful.training.quick.run import plan
from timeful.training.quick.stages import Stage, Tracker
from timeful.version import __version__

SUITE = "train/quick"
ABLATION = (0.0, 0.1, 0.25, 0.5)
"""The cold start fractions that are compared."""

ABLATED = "EP-aware"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run.

    Attributes:
        recipe: The settings of one seed.
        arms: The names of those of its arms that are learnt.
        seeds: For each of them everything is done.
        fractions: The cold start fractions of an ablation; empty for the run itself.

    Raises:
        SettingsError: If an arm is unknown, or something is named twice or not at all.
    """

    recipe: Recipe
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    fractions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in self.arms:
            check_known("arm", name, [arm.name for arm in self.recipe.arms])
        for what, given in (("arm", self.arms), ("seed", self.seeds)):
            if not given or len(set(given)) < len(given):
                raise SettingsError(f"a run has one {what} or more, each once; got {given}")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:  # what TRL takes
                raise SettingsError(f"a seed is from 0 to {2**32 - 1}, got {seed}")

    @property
    def learnt(self) -> tuple[Arm, ...]:
        """Its arms, in the recipe's order."""
        return tuple(arm for arm in self.recipe.arms if arm.name in self.arms)

    def settings(self) -> dict[str, Any]:
        """All that makes it what it is, as plain JSON values."""
        return {"suite": SUITE, "version": __version__, **asdict(self)}

    def parts(self, out: Path) -> Iterator[tuple[float | None, Recipe, Path]]:
        """The recipes that it has, each with its folder: one, or one for each fraction."""
        if not self.fractions:
            yield None, self.recipe, out
        for share in self.fractions:
            yield share, self.recipe.with_follow(share), out / f"fraction-{share:g}"

    def stages(self, out: Path, *, track: Tracker | None = None) -> list[Stage]:
        """All that is to be done."""
        return [
            stage
            for _, recipe, folder in self.parts(out)
            for stage in plan(recipe, self.learnt, self.seeds, folder, track=track)
        ]


def read_asked(out: Path) -> Asked:
    """What the run in a folder was asked for, whatever the recipe is by now.

    Raises:
        RecordError: If the folder holds none.
    """
    known = read_settings(out)
    if known.get("suite") != SUITE:
        raise RecordError(f"{out} holds a run of {known.get('suite')!r}, not of {SUITE!r}")
    try:
        return msgspec.convert(known, Asked)
    except msgspec.ValidationError as error:
        raise RecordError(f"the settings of {out} are of another version: {error}") from error
