"""`timeful run engagement/inbox`: the digital assistant with asynchronous emails."""

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
from timeful.errors import SettingsError, check_known

if TYPE_CHECKING:
    from timeful.agents.prompts.inbox import PricedBy
    from timeful.agents.session import Transcripts
    from timeful.environments.inbox.task import Decomposition
    from timeful.runs.experiment import Finished
    from timeful.suites.engagement.inbox.rows import InboxRow

PRESETS = {"quick": (40, 1), "paper": (200, 5)}
"""Seeds, and episodes for each."""


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/engagement-inbox",
    show_default=True,
    help="The run folder; a run in it goes on.",
)
@click.option(
    "--preset", default="paper", help="quick: 40 seeds x 1 episode. paper: 200 x 5 (default)."
)
@click.option("--seeds", type=int, help="How many seeds; else as the preset.")
@click.option("--episodes", type=int, help="Episodes for each seed; else as the preset.")
@click.option(
    "--decomposition",
    "decompositions",
    multiple=True,
    help="Only single or milestones; repeatable.",
)
@click.option(
    "--interface",
    "interfaces",
    multiple=True,
    help="Only event-driven, polling, loop or reflex; repeatable.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="Only the rules stand-in or urgent-first; repeatable.",
)
@click.option("--poll-interval", default=15.0, show_default=True, help="Seconds between two polls.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another world, such as arrival-rate=0.3 or high-slack=5,15; repeatable.",
)
@click.option(
    "--model",
    default="rules",
    show_default=True,
    help="Who sorts emails: rules, openai:NAME, replay:FILE[#NAME] or local:PATH.",
)
@click.option(
    "--writer",
    default="prose",
    show_default=True,
    help="Who writes the main task: prose (of drawn length), openai:NAME, replay:FILE[#NAME] or "
    "local:PATH.",
)
@click.option(
    "--hints/--no-hints",
    default=True,
    help="Show a language model what is recommended about an email, or not: the paper's emails "
    "carry such odds; these are the fitted rule's own.  [default: hints]",
)
@click.option(
    "--triage-pace",
    default="decision",
    show_default=True,
    help="What the time of a decision is: decision (0.2 s, however long the answer, as in Table "
    "17: reasoning about emails is free of time) or tokens (0.05 s each, as in writing).",
)
@endpoint_options
@click.option("--transcripts", help="full or answers.  [default: answers for rules, else full]")
@batch_options
def inbox(
    *,
    out: Path,
    preset: str,
    seeds: int | None,
    episodes: int | None,
    decompositions: tuple[str, ...],
    interfaces: tuple[str, ...],
    policies: tuple[str, ...],
    poll_interval: float,
    changes: tuple[str, ...],
    model: str,
    writer: str,
    hints: bool,
    triage_pace: str,
    base_url: str | None,
    temperature: float | None,
    record: Path | None,
    transcripts: str | None,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """A digital assistant writes a long document while emails arrive.

    Everything runs offline: rules sort the emails, and are labelled as a stand-in. With --model
    openai:NAME and --base-url a language model does; the key is read from OPENAI_API_KEY. Its
    answer that cannot be used costs its time and does nothing: the email stays as it is, and the
    next question about it says why. A run that was stopped goes on when the same command is given
    again.
    """
    from timeful.core.units import seconds as to_span
    from timeful.environments.inbox.settings import InboxSettings
    from timeful.models.role import read_role
    from timeful.suites.engagement.inbox.run import experiment
    from timeful.suites.engagement.inbox.settings import changed
    from timeful.suites.engagement.inbox.spec import MODEL, InboxSpec, Sweep
    from timeful.suites.engagement.inbox.spec import episodes as episodes_of

    check_known("preset", preset, tuple(PRESETS))
    who = partial(
        read_role,
        base_url=base_url,
        temperature=temperature,
        record=None if record is None else str(record),
    )
    sorter, author = who(model, stand_in="rules"), who(writer, stand_in="prose")
    refuse_idle(
        {
            "policies": (sorter.is_stand_in, "--model rules; a language model has its own"),
            "hints": (not sorter.is_stand_in, "a language model; a rule reads no prompt"),
            **live_needs(
                sorter.is_live or author.is_live,
                is_sampled=sorter.is_sampled or author.is_sampled,
            ),
            "poll_interval": (not interfaces or "polling" in interfaces, "the interface polling"),
        }
    )
    usual = Sweep()
    sweep = Sweep(
        decompositions=decompositions or usual.decompositions,
        interfaces=interfaces or usual.interfaces,
        policies=(policies or usual.policies) if sorter.is_stand_in else (MODEL,),
        seeds=PRESETS[preset][0] if seeds is None else seeds,
        episodes=PRESETS[preset][1] if episodes is None else episodes,
    )
    if not 0 < poll_interval < 1e9:
        raise SettingsError(
            f"the interval between two polls must be above 0 and below 1e9 s, got {poll_interval}"
        )
    is_plain = sorter.is_stand_in and author.is_stand_in
    like = InboxSpec(
        decomposition=cast("Decomposition", sweep.decompositions[0]),
        interface=sweep.interfaces[0],
        policy=sweep.policies[0],
        seed=0,
        episode=0,
        world=changed(InboxSettings(), changes),
        poll=to_span(poll_interval),
        triage=sorter,
        writer=author,
        hints=hints,
        # The spec checks them. Words that cost money are kept; a rule's can be had again.
        priced_by=cast("PricedBy", triage_pace),
        transcripts=cast("Transcripts", transcripts or ("answers" if is_plain else "full")),
    )
    finished = run(
        experiment,
        episodes_of(sweep, like),
        out,
        settings=like.common(),
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    show(finished, out, tables(finished))


def tables(finished: "Finished[InboxRow]") -> str:
    """What the command prints of a run."""
    from timeful.suites.engagement.inbox.tables import text_tables

    return text_tables(finished.rows)
