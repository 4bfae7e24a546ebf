"""The real-time suite: what a run needs of it."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from timeful.environments.registry import make_game
from timeful.errors import SettingsError
from timeful.records.rows import EpisodeRow
from timeful.records.summary import summarize
from timeful.runs.experiment import Experiment
from timeful.sandbox.policy import unavailable
from timeful.suites.realtime.play import play
from timeful.suites.realtime.report import write_report
from timeful.suites.realtime.spec import EpisodeSpec, Sweep, roles

_VARIED = ("game", "difficulty", "agent", "step", "reserve", "budget", "game_seed", "sample")


def experiment(api_key: str = "") -> Experiment[EpisodeSpec, EpisodeRow]:
    """How the suite is run; the key goes to the endpoint and is never written down."""
    return Experiment(
        name="realtime",
        play=partial(play, api_key=api_key),
        summarize=summarize,
        row=EpisodeRow,
        check=check,
        write_report=write_report,
    )


def identity(sweep: Sweep, like: EpisodeSpec) -> dict[str, Any]:
    """What episodes of one run folder have in common; a sweep may be widened, this may not."""
    common = {name: value for name, value in asdict(like).items() if name not in _VARIED}
    # An address may hold a password, and the settings stand in files and in the report.
    common["planner"]["base_url"] = like.planner.endpoint
    common["reactor"]["base_url"] = like.reactor.endpoint
    if like.pace is not None:
        common["pace"] = {"first_ns": like.pace.first, "per_token_ns": like.pace.per_token}
    return {"budget": sweep.budget, **common}


def check(specs: Sequence[EpisodeSpec]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a game has no such seed, a model cannot be made (no client, a cassette
            without a pace), or policies cannot be run on this machine.
        RecordError: If a cassette cannot be read.
    """
    for game, difficulty, seed, mode in {
        (spec.game, spec.difficulty, spec.game_seed, spec.mode): None for spec in specs
    }:
        make_game(game, difficulty=difficulty, seed=seed, mode=mode)
    made = {
        (role, choice): spec
        for spec in specs
        for role, choice in zip(roles(spec.agent), spec.models, strict=True)
    }
    for (role, choice), spec in made.items():
        choice.try_out(role, pace=spec.pace)
    if any(spec.agent == "code-policy" for spec in specs):
        reason = unavailable()
        if reason is not None:
            raise SettingsError(f"code-policy cannot run here: {reason}")
