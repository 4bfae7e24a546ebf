"""The inbox of the Engagement Process (arXiv 2605.11484, section 5.2.1, Appendix D)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from timeful.environments.inbox.settings import URGENCIES
from timeful.environments.inbox.task import DECOMPOSITIONS
from timeful.experiments.suite import ReportData, Suite, load_notes
from timeful.registry import load
from timeful.reports.claims import Order
from timeful.reports.cube import CellName
from timeful.reports.estimate import EpisodeBootstrap
from timeful.reports.metric import Metric
from timeful.reports.published import load_reference
from timeful.reports.results import Where
from timeful.reports.table import Table
from timeful.suites.engagement.inbox.episode import ASSISTANT, METHODS, InboxEpisode, resolve
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.rows import InboxRow, summarize
from timeful.suites.remarks import count_unusable

POLICIES = {
    "stand-in": "stand-in: fitted rules sort the emails",
    "urgent-first": "ablation: all emails are handled, urgent first",
}


def check(episodes: Sequence[InboxEpisode]) -> None:
    """Find what would make episodes fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made.
        RecordError: If a cassette cannot be read.
    """
    roles = {(episode.triage, episode.triage_pace) for episode in episodes}
    roles |= {(episode.writer, episode.writing_pace) for episode in episodes}
    for role, pace in roles:
        role.check(pace=pace)
    for name in {episode.agent for episode in episodes} - {ASSISTANT}:
        load("agent", name)


def groups(row: InboxRow) -> list[Where]:
    """The cell of an episode."""
    policy = row.model if row.policy == "model" else row.policy
    return [{"policy": policy, "decomposition": row.decomposition, "interface": row.interface}]


def name_cell(where: Where) -> CellName:
    """The names of a cell in results; published numbers have a model in the place of a policy."""
    return CellName(
        experiment=f"inbox/{where['decomposition']}",
        setting=str(where.get("policy", where.get("model"))),
        method=METHODS[str(where["interface"])],
    )


def make_remarks(data: ReportData) -> Iterator[str]:
    """What a reader must know about a run with a language model."""
    rows = [row for row in data.rows if row.policy == "model"]
    if not rows:
        return
    yield count_unusable(sum(row.malformed for row in rows), sum(row.answers for row in rows))
    if any(row.hints for row in rows):
        yield "Emails came with a recommendation: the fitted rule's odds (--no-hints)."
    if any(row.priced_by == "decision" for row in rows):
        yield (
            "A decision took the same time for every answer: reasoning about emails was free of "
            "time, as in Table 17 (--triage-pace tokens)."
        )


suite = Suite(
    name="engagement/inbox",
    title="the inbox of the Engagement Process",
    subtitle="Engagement Process, section 5.2.1 and Appendix D",
    episode=InboxEpisode,
    play=play,
    takes_key=True,
    summarize=summarize,
    resolve=resolve,
    check=check,
    sweep={
        "decomposition": DECOMPOSITIONS,
        "policy": tuple(POLICIES),
        "interface": tuple(METHODS),
        "seed": range(200),
        "episode": range(5),
    },
    presets={
        "quick": {"seed": range(40), "episode": range(1)},
        "paper": {"seed": range(200), "episode": range(5)},
    },
    keys=("policy", "decomposition", "interface"),
    groups=groups,
    naming=name_cell,
    order=("seed", "episode", "decomposition", "policy", "interface"),
    labels={"interface": METHODS, "policy": POLICIES},
    estimator=EpisodeBootstrap(seed=42, purpose=("inbox", "bootstrap")),
    metrics=(
        Metric("Utility", "utility", digits=3),
        Metric("Balanced", "balanced", digits=3),
        Metric("Timeout", "timed_out", per="emails", digits=3, better="lower"),
        Metric("Latency", "latency", per="responses", better="lower"),
        Metric("Main", "main", digits=3),
        Metric("emails", "emails", digits=1, is_further=True),
        *(
            Metric(
                f"{urgency} on time",
                f"on_time_by_urgency.{index}",
                per=f"arrived_by_urgency.{index}",
                is_further=True,
            )
            for index, urgency in enumerate(URGENCIES)
        ),
        Metric("late", "late", per="emails", digits=3, is_further=True),
        Metric("open", "open", per="emails", digits=3, is_further=True),
        *(
            Metric(name, name, digits=1, is_further=True)
            for name in ("reminders", "looks", "switches", "interruptions")
        ),
        Metric("malformed", "malformed", is_further=True),
        Metric("end", "ended", digits=1, is_further=True),
    ),
    reference=load_reference(Path(__file__).with_name("published.toml")),
    tables=(Table("Tables 3 and 18", rows="interface", split_by=("decomposition", "policy")),),
    claims=(
        Order(
            column="interface",
            order=("event-driven", "polling", "loop"),
            metrics=("Utility", "Balanced", "Timeout", "Latency"),
            within=("decomposition", "policy"),
        ),
    ),
    notice="Stand-in: rules sort the emails, no language model was run.",
    notes=load_notes(Path(__file__).with_name("notes.md")),
    remarks=make_remarks,
)
