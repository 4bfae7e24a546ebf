"""`timeful run`: run a suite."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from timeful.cli.suite import (
    FILE,
    batch_options,
    endpoint_options,
    is_given,
    live_needs,
    refuse_idle,
    run,
    show,
)
from timeful.errors import SettingsError, check_known

if TYPE_CHECKING:
    from timeful.agents.session import Transcripts
    from timeful.environments.game import Mode
    from timeful.suites.realtime.spec import Clock, EpisodeSpec, Sweep


@click.command()
@click.argument("experiments", nargs=-1)
@click.option(
    "--out",
    type=FILE,
    default="runs/realtime",
    show_default=True,
    help="The run folder; a run in it goes on.",
)
@click.option("--preset", default="paper", help="quick: one sampling seed. paper: four (default).")
@click.option("--game", "games", multiple=True, help="Only this game; repeatable.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    help="reactive, reactive-budget, planning, code-policy, agile, agile-concurrent or "
    "agile-reduced; repeatable.  [default: reactive, planning, agile]",
)
@click.option(
    "--difficulty", "difficulties", multiple=True, help="Only easy, medium or hard; repeatable."
)
@click.option(
    "--step",
    "steps",
    type=int,
    multiple=True,
    help="Only this length of a turn: tokens, or milliseconds outside token time; repeatable.",
)
@click.option("--seeds", default=8, show_default=True, help="How many game seeds.")
@click.option("--samples", type=int, help="Sampling seeds for each; else as the preset.")
@click.option("--seed", default=0, show_default=True, help="The seed of all sampling.")
@click.option("--mode", default="compat", show_default=True, help="compat (as published) or paper.")
@click.option(
    "--interface",
    default="fixed-rate",
    show_default=True,
    help="fixed-rate, frozen, event-driven, loop or polling:SPAN, in tokens or milliseconds.",
)
@click.option("--reserve", type=int, help="The reactor's share, at most the turn.  [default: 2048]")
@click.option(
    "--budget",
    type=int,
    help="A reactive agent's budget, at most the turn.  [default: 8k at 8k, else 4k]",
)
@click.option(
    "--model",
    default="search",
    show_default=True,
    help="search, openai:NAME, replay:FILE or local:PATH, for both roles; replay:FILE#NAME if a "
    "cassette holds several models.",
)
@click.option("--planner", help="Another model to plan.")
@click.option("--reactor", help="Another model to react.")
@endpoint_options
@click.option(
    "--clock",
    default="token",
    show_default=True,
    help="token (time is tokens), paced (virtual seconds) or wall.",
)
@click.option(
    "--pace",
    type=FILE,
    help="What tokens cost, of both models, as `timeful calibrate` measured it. With --clock "
    "wall, tokens of an endpoint or a local model come when they come.",
)
@click.option("--time-scale", default=1.0, show_default=True, help="The speed of a wall clock.")
@click.option("--transcripts", help="full or answers.  [default: answers for search, else full]")
@batch_options
def realtime(
    *,
    experiments: tuple[str, ...],
    out: Path,
    preset: str,
    games: tuple[str, ...],
    agents: tuple[str, ...],
    difficulties: tuple[str, ...],
    steps: tuple[int, ...],
    seeds: int,
    samples: int | None,
    seed: int,
    mode: str,
    interface: str,
    reserve: int | None,
    budget: int | None,
    model: str,
    planner: str | None,
    reactor: str | None,
    base_url: str | None,
    temperature: float | None,
    record: Path | None,
    clock: str,
    pace: Path | None,
    time_scale: float,
    transcripts: str | None,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """Freeway, Snake and Overcooked under cognitive load and time pressure.

    EXPERIMENTS are load, pressure, reserve and grid; load and pressure if none is given.

    Everything runs offline with the built-in search reasoner. With --model openai:NAME and
    --base-url the same runs on a language model; the key is read from OPENAI_API_KEY. A run
    that was stopped, by Ctrl-C or kill -9, goes on when the same command is given again.
    """
    from timeful.models.calibrate import load_calibration
    from timeful.models.model_spec import ModelSpec
    from timeful.models.pace import TOKEN_TIME
    from timeful.suites.realtime.run import experiment, identity
    from timeful.suites.realtime.spec import EpisodeSpec, Sweep, episodes
    from timeful.suites.realtime.tables import text_table

    check_known("preset", preset, ("quick", "paper"))
    if clock == "paced" and pace is None:
        raise SettingsError("paced time needs a pace: measure one with `timeful calibrate`")
    usual = Sweep()
    sweep = Sweep(
        experiments=experiments or (() if steps else usual.experiments),
        games=games or usual.games,
        agents=agents or usual.agents,
        difficulties=difficulties,
        steps=steps,
        seeds=seeds,
        samples=samples if samples is not None else 1 if preset == "quick" else 4,
        reserve=reserve,
        budget=budget,
    )

    def choice(spec: str) -> ModelSpec:
        live = spec.startswith("openai:")
        return ModelSpec(
            spec=spec,
            base_url=base_url if live else None,
            temperature=temperature if live or spec.startswith("local:") else None,
            record=str(record) if record is not None and live else None,
        )

    like = EpisodeSpec(
        game=sweep.games[0],
        difficulty="medium",
        agent=sweep.agents[0],
        step=1,
        game_seed=0,
        sample=0,
        # The spec checks them, and names the nearest ones.
        mode=cast("Mode", mode),
        clock=cast("Clock", clock),
        interface=interface,
        planner=choice(planner or model),
        reactor=choice(reactor or model),
        pace=load_calibration(pace).pace if pace else TOKEN_TIME if clock == "token" else None,
        time_scale=time_scale,
        seed=seed,
        transcripts=cast("Transcripts", transcripts or _transcripts(model, planner, reactor)),
    )
    _refuse_idle_options(sweep, like)
    finished = run(
        experiment,
        episodes(sweep, like),
        out,
        settings=identity(sweep, like),
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    show(finished, out, text_table(finished.rows))
    _say_what_next(like, out)


def _refuse_idle_options(sweep: "Sweep", like: "EpisodeSpec") -> None:
    """Refuse what was asked for on the command line and would change nothing."""
    from timeful.suites.realtime.spec import BUDGETED, TWO_THREADS, roles

    used = {role for agent in sweep.agents for role in roles(agent)}
    shared = {role for role in used if not is_given(role)}
    choices = {"planner": like.planner, "reactor": like.reactor}
    swept = bool(sweep.conditions())
    refuse_idle(
        {
            "planner": ("planner" in used, "an agent that plans"),
            "reactor": ("reactor" in used, "an agent that reacts with a model of its own"),
            "model": (bool(shared), "a role that has no model of its own"),
            **live_needs(
                any(choices[role].is_live for role in used),
                is_sampled=any(choices[role].is_sampled for role in used),
            ),
            "reserve": (
                swept and any(a in TWO_THREADS for a in sweep.agents),
                "an agile agent, outside of the sweep",
            ),
            "budget": (swept and any(a in BUDGETED for a in sweep.agents), "a reactive agent"),
        }
    )


def _transcripts(*models: str | None) -> str:
    """Words that cost money are kept; the search reasoner's can be had again for nothing."""
    return "answers" if all(model in (None, "search") for model in models) else "full"


def _say_what_next(like: "EpisodeSpec", out: Path) -> None:
    program = sys.argv[0] if Path(sys.argv[0]).name == "timeful" else "timeful"
    if like.planner.is_stand_in:
        print(f"next     {program} play snake --difficulty hard")
        print(f"         {program} run realtime --model openai:NAME --base-url URL --out runs/mine")
    else:
        record = next((out / "episodes").glob("*.jsonl"))
        print(f"next     {program} show {record}")
