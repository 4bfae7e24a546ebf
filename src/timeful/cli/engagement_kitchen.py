"""`timeful run engagement/kitchen`, and `timeful draw` for one of its records."""

from functools import partial
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
from timeful.errors import check_known

if TYPE_CHECKING:
    from timeful.agents.controller import Resumption
    from timeful.agents.session import Transcripts
    from timeful.runs.experiment import Finished
    from timeful.suites.engagement.kitchen.rows import KitchenRow
    from timeful.suites.engagement.kitchen.spec import Wording

PRESETS = {"quick": (1, 24), "paper": (5, None)}
"""Sets of cases, and how many cases of each; None for all."""


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/engagement-kitchen",
    show_default=True,
    help="The run folder; a run in it goes on.",
)
@click.option(
    "--preset",
    default="paper",
    help="quick: 24 cases of each setting. paper: 5 sets of 128 and 72 cases (default).",
)
@click.option("--seeds", type=int, help="How many sets of cases; else as the preset.")
@click.option("--cases", type=int, help="How many cases of each set, evenly spread; else all.")
@click.option(
    "--setting", "settings", multiple=True, help="Only one-dish or multi-dish; repeatable."
)
@click.option(
    "--interface",
    "interfaces",
    multiple=True,
    help="Only loop, polling, reflex or event-driven; repeatable.",
)
@click.option(
    "--variants/--no-variants", default=True, help="With or without variants of the rule."
)
@click.option("--poll-interval", default=40, show_default=True, help="Ticks between two polls.")
@click.option("--reflex-delay", default=12, show_default=True, help="Ticks of the reflex.")
@click.option(
    "--answer-tokens", default=12, show_default=True, help="What an answer of the rule costs."
)
@click.option("--calls", type=int, help="The most controller calls.  [default: 40, or 60]")
@click.option(
    "--resumption",
    default="stream",
    show_default=True,
    help="How an interrupted text goes on: stream (from its token) or prompt (asked again).",
)
@click.option(
    "--prompt",
    default="published",
    show_default=True,
    help="published: it ends with a sentence about the interface, as the paper's. neutral: it does "
    "not, so that methods differ in their interface's law alone.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another kitchen, such as budget=4000 or judged=start; repeatable.",
)
@click.option(
    "--model",
    default="rules",
    show_default=True,
    help="Who decides: rules, openai:NAME, replay:FILE[#NAME] or local:PATH.",
)
@click.option(
    "--tutor",
    default="prose",
    show_default=True,
    help="Who tutors: prose (of drawn length), openai:NAME, replay:FILE[#NAME] or local:PATH.",
)
@endpoint_options
@click.option("--transcripts", help="full or answers.  [default: answers for rules, else full]")
@batch_options
def kitchen(
    *,
    out: Path,
    preset: str,
    seeds: int | None,
    cases: int | None,
    settings: tuple[str, ...],
    interfaces: tuple[str, ...],
    variants: bool,
    poll_interval: int,
    reflex_delay: int,
    answer_tokens: int,
    calls: int | None,
    resumption: str,
    prompt: str,
    changes: tuple[str, ...],
    model: str,
    tutor: str,
    base_url: str | None,
    temperature: float | None,
    record: Path | None,
    transcripts: str | None,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """A cook who also tutors: dishes signal while tokens are written.

    Everything runs offline: a rule decides and prose is tutored, both labelled as stand-ins.
    With --model openai:NAME and --base-url a language model decides; the key is read from
    OPENAI_API_KEY. Its answer that cannot be used costs its tokens and at least one tick, and it is
    asked again, told why. A run that was stopped goes on when the same command is given again.
    """
    from timeful.environments.kitchen.settings import KitchenSettings, ticks
    from timeful.models.role import read_role
    from timeful.suites.engagement.kitchen.run import experiment
    from timeful.suites.engagement.kitchen.settings import changed
    from timeful.suites.engagement.kitchen.spec import Rig, Sweep, episodes

    check_known("preset", preset, tuple(PRESETS))
    who = partial(
        read_role,
        base_url=base_url,
        temperature=temperature,
        record=None if record is None else str(record),
    )
    cook, writer = who(model, stand_in="rules"), who(tutor, stand_in="prose")
    refuse_idle(
        {
            "answer_tokens": (cook.is_stand_in, "--model rules; a language model's tokens count"),
            "variants": (cook.is_stand_in, "--model rules; a language model has no variants"),
            "prompt": (not cook.is_stand_in, "a language model; a rule reads no prompt"),
            **live_needs(
                cook.is_live or writer.is_live, is_sampled=cook.is_sampled or writer.is_sampled
            ),
            "poll_interval": (not interfaces or "polling" in interfaces, "the interface polling"),
            "reflex_delay": (not interfaces or "reflex" in interfaces, "the interface reflex"),
        }
    )
    usual = Sweep()
    sweep = Sweep(
        settings=settings or usual.settings,
        laws=interfaces or usual.laws,
        samples=PRESETS[preset][0] if seeds is None else seeds,
        cases=PRESETS[preset][1] if cases is None else cases,
        variants=variants,
    )
    is_plain = cook.is_stand_in and writer.is_stand_in
    rig = Rig(
        controller=cook,
        tutor=writer,
        world=changed(KitchenSettings(), changes),
        interval=ticks(poll_interval),
        delay=ticks(reflex_delay),
        answer_tokens=answer_tokens,
        calls=calls,
        # The rig checks them. Words that cost money are kept; a rule's can be had again.
        resumption=cast("Resumption", resumption),
        prompt=cast("Wording", prompt),
        transcripts=cast("Transcripts", transcripts or ("answers" if is_plain else "full")),
    )
    finished = run(
        experiment,
        episodes(sweep, rig),
        out,
        settings=rig.settings(),
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    show(finished, out, tables(finished))


def tables(finished: "Finished[KitchenRow]") -> str:
    """What the command prints of a run."""
    from timeful.suites.engagement.kitchen.tables import text_tables

    return text_tables(finished.rows)


@click.command()
@click.argument("records", nargs=-1, required=True, type=FILE)
@click.option(
    "--figure",
    type=FILE,
    default="timeline.svg",
    show_default=True,
    help="Where the figure goes.",
)
def draw(records: tuple[Path, ...], figure: Path) -> None:
    """Draw RECORDS of kitchen episodes as timelines, one below the other, as Figure 7 does."""
    from timeful.suites.engagement.kitchen import run as suite

    print(f"figure   {suite.draw(records, figure)}")
