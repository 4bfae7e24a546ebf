"""`timeful run`: run a suite."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from timeful.suites.realtime.spec import EpisodeSpec, Sweep

_EXPERIMENTS = "load, pressure, reserve or grid; several may be given. Default: load pressure."


def realtime(
    experiments: Annotated[list[str] | None, typer.Argument(help=_EXPERIMENTS)] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder. Default: runs/realtime.")
    ] = None,
    preset: Annotated[str, typer.Option(help="quick: one sampling seed. paper: four.")] = "paper",
    game: Annotated[list[str] | None, typer.Option(help="Only this game; repeatable.")] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="reactive, reactive-budget, planning, code-policy, agile, agile-concurrent or "
            "agile-reduced; repeatable. Default: reactive, planning, agile."
        ),
    ] = None,
    difficulty: Annotated[
        list[str] | None, typer.Option(help="Only easy, medium or hard; repeatable.")
    ] = None,
    step: Annotated[
        list[int] | None,
        typer.Option(
            help="Length of a turn: tokens, or milliseconds outside token time; repeatable."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Game seeds.")] = 8,
    samples: Annotated[int | None, typer.Option(help="Sampling seeds for each.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all sampling.")] = 0,
    mode: Annotated[str, typer.Option(help="compat (as published) or paper.")] = "compat",
    interface: Annotated[str, typer.Option(help="fixed-rate or frozen.")] = "fixed-rate",
    reserve: Annotated[int | None, typer.Option(help="Reactor's share of a turn.")] = None,
    budget: Annotated[int | None, typer.Option(help="A reactive agent's budget.")] = None,
    model: Annotated[
        str, typer.Option(help="search, openai:NAME or replay:FILE, for both roles.")
    ] = "search",
    planner: Annotated[str | None, typer.Option(help="Another model to plan.")] = None,
    reactor: Annotated[str | None, typer.Option(help="Another model to react.")] = None,
    base_url: Annotated[
        str | None, typer.Option(envvar="OPENAI_BASE_URL", help="The endpoint.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Record the endpoint's answers to this cassette.")
    ] = None,
    clock: Annotated[
        str, typer.Option(help="token (time is tokens), paced (measured pace) or wall.")
    ] = "token",
    pace: Annotated[
        Path | None, typer.Option(help="A pace that `timeful calibrate` measured.")
    ] = None,
    time_scale: Annotated[float, typer.Option(help="Speed of a wall clock.")] = 1.0,
    transcripts: Annotated[
        str | None, typer.Option(help="full or answers. Default: full but for search.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes. Default: one a core.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Start afresh if the folder holds another run.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Play failed episodes again.")
    ] = False,
) -> None:
    """Freeway, Snake and Overcooked, under cognitive load and time pressure.

    Everything runs offline with the built-in search reasoner. With --model openai:NAME and
    --base-url the same runs on a language model; the key is read from OPENAI_API_KEY. A run
    that was stopped, by Ctrl-C or kill -9, goes on when the same command is given again.
    """
    from timeful.errors import SettingsError, unknown
    from timeful.models.calibrate import load_calibration
    from timeful.models.choice import ModelChoice
    from timeful.models.pace import TOKEN_TIME
    from timeful.suites.realtime.spec import EpisodeSpec, Sweep

    if preset not in ("quick", "paper"):
        raise SettingsError(unknown("preset", preset, ("quick", "paper")))
    if clock == "paced" and pace is None:
        raise SettingsError("paced time needs a pace: measure one with `timeful calibrate`")
    usual = Sweep()
    sweep = Sweep(
        experiments=tuple(experiments or (() if step else usual.experiments)),
        games=tuple(game or usual.games),
        agents=tuple(agent or usual.agents),
        difficulties=tuple(difficulty or ()),
        steps=tuple(step or ()),
        seeds=seeds,
        samples=samples if samples is not None else 1 if preset == "quick" else 4,
        reserve=reserve,
        budget=budget,
    )

    def choice(spec: str) -> ModelChoice:
        live = spec.startswith("openai")
        return ModelChoice(
            spec=spec,
            base_url=base_url if live else None,
            temperature=temperature if live else None,
            record=str(record) if record is not None and live else None,
        )

    like = EpisodeSpec(
        game=sweep.games[0],
        difficulty="medium",
        agent=sweep.agents[0],
        step=1,
        game_seed=0,
        sample=0,
        mode=mode,  # type: ignore[arg-type]  # checked by the spec itself
        clock=clock,  # type: ignore[arg-type]
        interface=interface,  # type: ignore[arg-type]
        planner=choice(planner or model),
        reactor=choice(reactor or model),
        pace=load_calibration(pace).pace if pace else TOKEN_TIME if clock == "token" else None,
        time_scale=time_scale,
        seed=seed,
        transcripts=transcripts or _transcripts(model, planner, reactor),  # type: ignore[arg-type]
    )
    _run(
        sweep,
        like,
        out or Path("runs/realtime"),
        workers=workers or os.cpu_count() or 1,
        replace=replace,
        retry_failed=retry_failed,
    )


def _transcripts(*models: str | None) -> str:
    """Words that cost money are kept; the search reasoner's can be had again for nothing."""
    return "answers" if all(model in (None, "search") for model in models) else "full"


def _run(
    sweep: "Sweep",
    like: "EpisodeSpec",
    out: Path,
    *,
    workers: int,
    replace: bool,
    retry_failed: bool,
) -> None:
    from timeful.cli.progress import Progress
    from timeful.suites.realtime.run import run_suite
    from timeful.suites.realtime.tables import text_table

    with Progress() as progress:
        try:
            finished = run_suite(
                sweep,
                like,
                out,
                workers=workers,
                replace=replace,
                retry_failed=retry_failed,
                api_key=os.environ.get("OPENAI_API_KEY", ""),
                watcher=progress,
            )
        except KeyboardInterrupt:
            progress.stopped(out)
            raise typer.Exit(130) from None
    print(text_table(finished.rows))
    print(f"report   {finished.report}")
    print(f"records  {out / 'episodes'}")
    if finished.failed:
        print(f"failed   {finished.failed} of {len(finished.rows)} episodes; the report says why")
        raise typer.Exit(1)
    print(f"next     {_next(like, out)}")


def _next(like: "EpisodeSpec", out: Path) -> str:
    """The command to try after this one."""
    if like.planner.is_stand_in:
        return "timeful run realtime --model openai:NAME --base-url URL --out runs/mine"
    return f"timeful run realtime grid reserve --out {out}   (with the same model)"
