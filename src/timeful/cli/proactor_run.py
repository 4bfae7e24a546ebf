"""`timeful run proactor`: agents that foresee what can be done, in conversations that go on."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from timeful.cli.suite import (
    FILE,
    batch_options,
    endpoint_options,
    live_needs,
    refuse_idle,
    run,
    show,
)

if TYPE_CHECKING:
    from timeful.agents.proactive.agent import Policy
    from timeful.agents.session import Transcripts
    from timeful.models.pace import Pace
    from timeful.suites.proactor.source import Source
    from timeful.suites.proactor.spec import Clock, Law

CURVE = tuple(tenth / 10 for tenth in range(1, 10))
"""The thresholds of the trade-off."""


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/proactor",
    show_default=True,
    help="The run folder; a run in it goes on.",
)
@click.option(
    "--domain",
    default="shop",
    show_default=True,
    help="shop, loan or the folder of a domain: its catalog, its workflows, and its dialogues "
    "unless --data has others.",
)
@click.option(
    "--data", type=FILE, help="Dialogues with references: JSONL, or .json in ABCD's shape."
)
@click.option(
    "--abcd", type=FILE, help="The folder of ABCD's ontology, kb and guidelines, for --data."
)
@click.option("--split", default="test", show_default=True, help="Which split; all for all of it.")
@click.option("--dialogues", type=int, help="At most so many.  [default: 20; of --data, all]")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    help="non-reasoning, reasoning, asg or a YAML file; repeatable.  [default: all three]",
)
@click.option(
    "--threshold",
    "thresholds",
    type=float,
    multiple=True,
    help="How sure the offline agent must be, 0 to 1; repeatable.  [default: 0.7 (cautious) and "
    "0.2 (eager)]",
)
@click.option("--curve/--no-curve", default=True, help="The trade-off over nine thresholds.")
@click.option("--questions", is_flag=True, help="Agents raise questions as well.")
@click.option(
    "--model",
    default="rules",
    show_default=True,
    help="Who thinks: rules (offline), openai:NAME or replay:FILE[#NAME].",
)
@endpoint_options
@click.option(
    "--timing",
    "timings",
    multiple=True,
    help="by-turn (the conversation waits), timestamps (of the data) or pace (of reading and "
    "speaking); repeatable, the first is for Table 1.  [default: by-turn, and pace for rules]",
)
@click.option(
    "--token-ms",
    type=float,
    multiple=True,
    help="What a token of the model takes, in milliseconds; repeatable.  [default: 2 5 10 20]",
)
@click.option("--first-token-ms", default=0.0, help="What passes before the first token.")
@click.option(
    "--policy",
    default="finish",
    show_default=True,
    help="What becomes of a thought when the next turn comes: finish or drop.",
)
@click.option(
    "--interface",
    default="event-driven",
    show_default=True,
    help="event-driven, polling[:S], loop, fixed-rate[:S] or frozen; S in seconds.",
)
@click.option("--clock", default="virtual", show_default=True, help="virtual or wall.")
@click.option(
    "--arrival", is_flag=True, help="With --clock wall, an endpoint's tokens come when they come."
)
@click.option(
    "--thinking", type=int, help="Tokens the offline agent is charged for thinking.  [default: 200]"
)
@click.option("--runs", default=3, show_default=True, help="How often.")
@click.option("--seed", default=0, show_default=True, help="The seed of all chance.")
@click.option("--transcripts", help="full or answers.  [default: answers for rules, else full]")
@batch_options
def proactor(
    *,
    out: Path,
    domain: str,
    data: Path | None,
    abcd: Path | None,
    split: str,
    dialogues: int | None,
    agents: tuple[str, ...],
    thresholds: tuple[float, ...],
    curve: bool,
    questions: bool,
    model: str,
    base_url: str | None,
    temperature: float | None,
    record: Path | None,
    timings: tuple[str, ...],
    token_ms: tuple[float, ...],
    first_token_ms: float,
    policy: str,
    interface: str,
    clock: str,
    arrival: bool,
    thinking: int | None,
    runs: int,
    seed: int,
    transcripts: str | None,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """Agents that foresee what software could do, in conversations that do not wait.

    Everything runs offline: a rule that retrieves workflows answers, and is labelled as a
    stand-in. With --model openai:NAME and --base-url a language model does; the key is read from
    OPENAI_API_KEY. A run that was stopped goes on when the same command is given again.
    """
    from dataclasses import asdict

    from timeful.suites.proactor.material import digests, material
    from timeful.suites.proactor.run import experiment
    from timeful.suites.proactor.spec import THINKING, Rig
    from timeful.suites.proactor.sweep import ALIASES, Sweep, episodes
    from timeful.suites.proactor.tables import text_tables
    from timeful.suites.voices import voice

    who = voice(
        model,
        stand_in="rules",
        base_url=base_url,
        temperature=temperature,
        record=None if record is None else str(record),
    )
    usual = Sweep()
    laws = cast("tuple[Law, ...]", timings) or (
        usual.timings if who.is_stand_in else usual.timings[:1]
    )
    refuse_idle(
        {
            "abcd": (data is not None, "--data"),
            "thresholds": (who.is_stand_in, "--model rules"),
            "curve": (who.is_stand_in, "--model rules"),
            "thinking": (who.is_stand_in, "--model rules; a language model thinks for itself"),
            "domain": (abcd is None, "a run without --abcd"),
            "arrival": (who.is_live, "an openai:NAME model"),
            **live_needs(who.is_live),
        }
    )
    sweep = Sweep(
        agents=tuple(ALIASES.get(name, name) for name in agents) or usual.agents,
        thresholds=thresholds or usual.thresholds,
        curve=CURVE if curve and who.is_stand_in else (),
        timings=laws,
        paces=paces(token_ms, first_token_ms),
        runs=runs,
    )
    rig = Rig(
        source=source_of(domain, data, abcd, split=split, dialogues=dialogues, seed=seed),
        asks=questions,
        policy=cast("Policy", policy),
        interface=interface,
        clock=cast("Clock", clock),
        arrival=arrival,
        thinking=THINKING if thinking is None else thinking,
        seed=seed,
        # Words that cost money are kept; a rule's can be had again.
        transcripts=cast("Transcripts", transcripts or ("answers" if who.is_stand_in else "full")),
        agents=digests(sweep.agents),
    )
    settings = {**rig.settings(), "sweep": asdict(sweep), "voice": who.settings()}
    finished = run(
        experiment,
        episodes(sweep, rig, who, count=len(material(rig.source).dialogues)),
        out,
        settings=settings,
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    show(finished, out, text_tables(finished.rows, settings))


def paces(token_ms: tuple[float, ...], first_ms: float) -> "tuple[Pace, ...]":
    """What tokens cost, as a command line says it."""
    from timeful.core.units import milliseconds
    from timeful.errors import SettingsError
    from timeful.models.pace import Pace
    from timeful.suites.proactor.sweep import PACES

    for given in (*token_ms, first_ms):
        if not 0 <= given < 1e6:
            raise SettingsError(f"what a token takes must be 0 ms or above, got {given:g}")
    first = milliseconds(first_ms)
    if not token_ms:
        return tuple(Pace(first=first, per_token=pace.per_token) for pace in PACES)
    return tuple(Pace(first=first, per_token=milliseconds(each)) for each in token_ms)


def source_of(
    domain: str,
    data: Path | None,
    abcd: Path | None,
    *,
    split: str,
    dialogues: int | None,
    seed: int,
) -> "Source":
    """Which conversations a command line names."""
    from timeful.suites.proactor.material import digest
    from timeful.suites.proactor.source import Source

    size = dialogues if data is not None or dialogues is not None else Source().size
    return Source(
        domain=domain,
        data=None if data is None else str(data),
        abcd=None if abcd is None else str(abcd),
        split="" if split == "all" else split,
        size=size,
        seed=seed,
        digest="" if data is None else digest(data),
    )
