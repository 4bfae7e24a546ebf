"""`timeful run proactor`: agents that foresee what can be done, in conversations that go on."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from timeful.cli.proactor_plan import (
    asks_endpoint,
    judges_of,
    paces,
    pages_of,
    pages_option,
    rate_run,
    source_of,
    tempo,
    tempo_options,
)
from timeful.cli.suite import (
    FILE,
    batch_options,
    endpoint_options,
    is_given,
    refuse_idle,
    run,
    show,
)

if TYPE_CHECKING:
    from timeful.agents.proactive.agent import Policy
    from timeful.agents.session import Transcripts
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
    help="shop, loan or the folder of a domain: its catalog, its workflows, and its dialogues "
    "unless --data has others.  [default: what the YAML files of --agent say, else shop]",
)
@click.option(
    "--data", type=FILE, help="Dialogues with references: JSONL, or .json in ABCD's shape."
)
@click.option(
    "--abcd", type=FILE, help="The folder of ABCD's ontology, kb and guidelines, for --data."
)
@click.option(
    "--catalog", type=FILE, help="A catalog of your own, for --data, instead of the agents' files'."
)
@click.option(
    "--ontology", type=FILE, help="The workflows of --catalog, which the offline agent follows."
)
@click.option(
    "--split", help="Which split; all for all of it.  [default: test; all if --data has no such]"
)
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
    help="Who thinks for all agents: rules (offline), openai:NAME, replay:FILE[#NAME] or "
    "local:PATH.  [default: the llm of an agent's own YAML file that has a base_url, else rules]",
)
@endpoint_options
@tempo_options
@click.option(
    "--timing",
    "timings",
    multiple=True,
    help="by-turn (the conversation waits), timestamps (of the data) or pace (of reading and "
    "speaking); repeatable, the first is for Table 1.  [default: by-turn, and pace if all is "
    "offline]",
)
@click.option(
    "--token-ms",
    type=float,
    multiple=True,
    help="What a token of the model takes, in milliseconds; repeatable.  [default: 2 5 10 20]",
)
@click.option("--first-token-ms", default=0.0, help="What passes before the first token.")
@click.option("--pace", type=FILE, help="What tokens cost, as `timeful calibrate` measured it.")
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
@click.option(
    "--judge",
    help="Who rates proactiveness, PR: openai:NAME at --base-url, or a YAML file of judges. A "
    "request for each turn of Table 1 that is not rated yet.",
)
@pages_option
@click.option(
    "--transcripts", help="full or answers.  [default: answers if all is offline, else full]"
)
@batch_options
def proactor(
    *,
    out: Path,
    domain: str | None,
    data: Path | None,
    abcd: Path | None,
    catalog: Path | None,
    ontology: Path | None,
    split: str | None,
    dialogues: int | None,
    agents: tuple[str, ...],
    thresholds: tuple[float, ...],
    curve: bool,
    questions: bool,
    model: str | None,
    base_url: str | None,
    temperature: float | None,
    record: Path | None,
    speaking_wpm: float | None,
    reading_wpm: float | None,
    pause: float | None,
    spread: float | None,
    timings: tuple[str, ...],
    token_ms: tuple[float, ...],
    first_token_ms: float,
    pace: Path | None,
    policy: str,
    interface: str,
    clock: str,
    arrival: bool,
    thinking: int | None,
    runs: int,
    seed: int,
    judge: str | None,
    pages: str,
    transcripts: str | None,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """Agents that foresee what software could do, in conversations that do not wait.

    Everything runs offline: a rule that retrieves workflows answers, and is labelled as a
    stand-in; its --temperature (0.3 unless given) makes runs differ. A YAML file of --agent whose
    llm has a base_url asks that endpoint, with the key in the environment that its api_key_name
    names; several such files are compared in one run. With --model openai:NAME and --base-url one
    language model thinks for all agents, whatever their files say; the key is then read from
    OPENAI_API_KEY; without --base-url it is asked where the agents' files say, with their keys.
    --base-url without --model, unless it is for --judge openai:NAME, is where the
    files' models are asked; --temperature wins over the files' too. A run that was stopped goes on
    when the same command is given again.
    """
    from dataclasses import asdict
    from functools import partial

    from timeful.agents.proactive.settings import ALIASES
    from timeful.domains.dialogue_set import load_dialogue_set
    from timeful.models.role import read_role
    from timeful.runs.experiment import read_settings
    from timeful.suites.proactor.agents import digests, endpoints, key_names
    from timeful.suites.proactor.judging import read_bench
    from timeful.suites.proactor.numbers import main_cells, make_cells
    from timeful.suites.proactor.outlook import outlook
    from timeful.suites.proactor.report import write_report
    from timeful.suites.proactor.run import experiment
    from timeful.suites.proactor.spec import THINKING, Rig
    from timeful.suites.proactor.sweep import Sweep, episodes
    from timeful.suites.proactor.tables import text_tables

    usual = Sweep()
    listeners = tuple(ALIASES.get(name, name) for name in agents) or usual.agents
    tape = None if record is None else str(record)
    own = {}
    name = (model or "").partition("openai:")[2]
    if model is None or (name and not base_url):
        own = endpoints(
            listeners,
            model=name,
            # A judge without a file has no other place to be.
            base_url=base_url if is_given("base_url") and not asks_endpoint(judge) else None,
            temperature=temperature,
            record=tape,
        )
    who = read_role(
        "rules" if len(own) == len(listeners) else model or "rules",
        stand_in="rules",
        base_url=base_url,
        temperature=temperature,
        record=tape,
    )
    is_asked, is_modelled = bool(own) or who.is_live, bool(own) or not who.is_stand_in
    has_rules = who.is_stand_in and len(own) < len(listeners)
    laws = cast("tuple[Law, ...]", timings) or usual.timings[: 1 if is_modelled else None]
    refuse_idle(
        {
            "abcd": (data is not None, "--data"),
            "catalog": (data is not None and abcd is None, "--data, without --abcd"),
            "thresholds": (has_rules, "--model rules"),
            "curve": (has_rules, "--model rules"),
            "thinking": (has_rules, "--model rules; a language model thinks for itself"),
            "domain": (abcd is None and catalog is None, "a run without --abcd or --catalog"),
            "arrival": (who.is_sampled or bool(own), "an endpoint or a local:PATH model"),
            "speaking_wpm": (laws != ("by-turn",), "--timing pace or timestamps"),
            **dict.fromkeys(("reading_wpm", "pause", "spread"), ("pace" in laws, "--timing pace")),
            "token_ms": (pace is None, "a run without --pace"),
            "first_token_ms": (pace is None, "a run without --pace"),
            "record": (is_asked, "an endpoint"),
            "temperature": (
                is_asked or has_rules or who.is_sampled,
                "rules, an openai:NAME or a local:PATH model",
            ),
            "base_url": (
                is_asked or asks_endpoint(judge),
                "an openai:NAME model or judge, or an agent's own YAML file",
            ),
        }
    )
    judges = None if judge is None else judges_of(judge, base_url)
    sweep = Sweep(
        agents=listeners,
        thresholds=thresholds or usual.thresholds,
        curve=CURVE if curve and has_rules else (),
        timings=laws,
        paces=paces(token_ms, first_token_ms, pace),
        runs=runs,
    )
    rig = Rig(
        source=source_of(
            domain,
            data,
            abcd=abcd,
            catalog=catalog,
            ontology=ontology,
            split=split,
            dialogues=dialogues,
            seed=seed,
            agents=listeners,
        ),
        asks=questions,
        tempo=tempo(speaking_wpm, reading_wpm, pause, spread),
        policy=cast("Policy", policy),
        interface=interface,
        clock=cast("Clock", clock),
        arrival=arrival,
        thinking=THINKING if thinking is None else thinking,
        temperature=(temperature if has_rules and temperature is not None else Rig().temperature),
        seed=seed,
        # Words that cost money are kept; a rule's can be had again.
        transcripts=cast("Transcripts", transcripts or ("full" if is_modelled else "answers")),
        agents=digests(sweep.agents),
    )
    settings = {**rig.settings(), "sweep": asdict(sweep), "voice": who.settings()}
    if own:
        settings["voices"] = {agent: one.settings() for agent, one in own.items()}
    drawn = pages_of(pages)
    specs = episodes(sweep, rig, who, count=len(load_dialogue_set(rig.source).dialogues), own=own)
    for line in outlook(specs, workers=workers or os.cpu_count() or 1):
        print(line, file=sys.stderr)
    finished = run(
        partial(
            experiment,
            keys={name: os.environ.get(name, "") for name in key_names(own)},
            pages=drawn,
        ),
        specs,
        out,
        settings=settings,
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    wrong = [] if judges is None else rate_run(out, finished.rows, judges)
    if judges is not None:
        write_report(finished.rows, out, read_settings(out), pages=drawn)
    bench = read_bench(out, main_cells(make_cells(finished.rows)))
    show(finished, out, text_tables(finished.rows, settings, bench))
    for each in wrong:
        print(f"judge    {each}")
    if wrong:
        print("again    the same command asks for what is missing")
        raise SystemExit(1)
