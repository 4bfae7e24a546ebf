"""The inbox against the paper: bands, orders, and what holds of every single episode."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.core.units import seconds
from timeful.environments.inbox.settings import InboxSettings, Scoring
from timeful.environments.inbox.task import FITTED, Lengths
from timeful.errors import RecordError, SettingsError
from timeful.experiments.report import make_sections
from timeful.experiments.suite import ReportData
from timeful.experiments.sweep import Choice, plan_episodes
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    Happened,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.reports.claims import check_claims
from timeful.reports.results import ResultRow
from timeful.reports.text import render_text
from timeful.suites.engagement.inbox.episode import METHODS, InboxEpisode
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.rows import InboxRow, summarize
from timeful.suites.engagement.inbox.suite import POLICIES, suite

LIKE = InboxEpisode(transcripts="answers")
PAPER = ("event-driven", "polling", "loop")


def played(spec: InboxEpisode) -> list[Entry]:
    recorder = Recorder()
    assert play(spec, recorder), recorder.events[-2]
    return recorder.events


def swept(**values: object) -> list[InboxRow]:
    planned = plan_episodes(suite, Choice(values=values))  # type: ignore[arg-type]
    return [summarize(played(each.episode)) for each in planned]


@cache
def cells(policy: str, seeds: int) -> list[ResultRow]:
    return suite.make_cells(
        swept(interface=PAPER, policy=(policy,), seed=range(seeds), episode=range(1))
    )


def mean(cells: Iterable[ResultRow], metric: str, **where: object) -> float:
    [value] = [c.value for c in cells if c.metric == metric and c.n and c.matches(where)]  # type: ignore[arg-type]
    assert value is not None
    return value


def failing_claims(cells: list[ResultRow]) -> list[str]:
    claims = check_claims(suite.claims, cells, suite.context)
    assert len(claims) == 8
    return [claim.text for claim in claims if not claim.holds]


@pytest.mark.slow
def test_the_stand_in_is_inside_every_band_and_the_interfaces_are_in_the_papers_order() -> None:
    made = cells("stand-in", 200)
    banded = [(c, band) for c in made if (band := suite.reference.band(c))]
    assert len(banded) == 17
    outside = [c for c, band in banded if c.value is None or not band.holds(c.value)]
    assert outside == []
    assert failing_claims(made) == []


@pytest.mark.slow
def test_without_any_fitted_policy_the_order_of_the_interfaces_survives() -> None:
    """The honest headline: every email is handled, urgent ones first."""
    made = cells("urgent-first", 60)
    assert failing_claims(made) == []
    for name in ("single", "milestones"):
        where = {"decomposition": name, "interface": "event-driven"}
        assert mean(made, "Timeout", **where) < 0.02
        assert mean(made, "Utility", **where) > 6
    # With one decision point there is nothing that triage could change.
    single = [replace(LIKE, interface="loop", policy=policy) for policy in POLICIES]  # type: ignore[arg-type]
    first, second = (msgspec.structs.asdict(summarize(played(spec))) for spec in single)
    assert {name for name in first if first[name] != second[name]} == {"policy", "sha256"}


@pytest.mark.slow
def test_a_loop_with_one_decision_point_comes_out_as_published_without_any_triage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that it takes is a document of 980 tokens, give or take 280 (engagement facts, 3.1)."""
    monkeypatch.setitem(FITTED, "single", Lengths(mean=980, spread=280))
    rows = swept(
        decomposition=("single",), interface=("loop",), policy=("urgent-first",), episode=range(2)
    )
    made = suite.make_cells(rows)
    where = {"policy": "urgent-first"}
    assert 0.4 <= mean(made, "Utility", **where) <= 1.1
    assert 0.36 <= mean(made, "Balanced", **where) <= 0.43
    assert 0.56 <= mean(made, "Timeout", **where) <= 0.63
    assert 13.0 <= mean(made, "Latency", **where) <= 14.5


SPECS = st.builds(
    lambda decomposition, interface, policy, seed: replace(
        LIKE, decomposition=decomposition, interface=interface, policy=policy, seed=seed
    ),
    decomposition=st.sampled_from(["single", "milestones"]),
    interface=st.sampled_from(list(METHODS)),
    policy=st.sampled_from(list(POLICIES)),
    seed=st.integers(0, 10_000),
)


@settings(max_examples=60, deadline=None)
@given(SPECS)
def test_of_every_episode_the_record_tells_the_whole_story(spec: InboxEpisode) -> None:
    events = played(spec)
    row = summarize(events)
    end = next(event for event in events if isinstance(event, EpisodeEnded))
    assert row.utility == end.score, "equation (1), from the record alone"
    assert row.emails == row.on_time + row.late + row.timed_out + row.open
    assert sum(row.arrived_by_urgency) == row.emails
    assert sum(row.on_time_by_urgency) == row.on_time
    assert 0 <= row.email <= 1
    assert row.main in (0, 0.25, 0.5, 0.75, 1)
    assert (row.malformed, row.illegal) == (0, 0)
    assert row.ended <= 90

    arrived = {e.data["email"]: e for e in events if isinstance(e, Happened) and e.what == "email"}
    for event in events:
        if isinstance(event, Acted) and event.action.split()[0] in ("open", "handle", "remind"):
            assert arrived[int(event.action.split()[1])].at <= event.at, "nothing before it came"
        if isinstance(event, Happened) and event.what in ("handled", "reminded", "expired"):
            assert event.what == "expired" or event.at >= arrived[event.data["email"]].at
    longest = sum(e.data["deadline"] - e.at for e in arrived.values()) / 1e9
    assert 0 <= row.latency <= longest + 1e-6, "nobody waits beyond a deadline"


@settings(max_examples=30, deadline=None)
@given(SPECS)
def test_the_main_task_is_interrupted_as_often_as_is_counted_and_resumes_where_it_was(
    spec: InboxEpisode,
) -> None:
    events = played(spec)
    row = summarize(events)
    main = {e.thought for e in events if isinstance(e, ThoughtStarted) and e.purpose == "main"}
    begun: dict[int, int] = {}
    left: dict[int, int] = {}
    paused = 0
    for event in events:
        match event:
            case ThoughtStarted():
                begun[event.thought] = event.at
            case ThoughtPaused() if event.at > begun[event.thought]:
                left[event.thought] = event.at
                paused += 1
            case ThoughtResumed():
                # A poll that finds nothing takes no time, and interrupts nobody.
                paused -= left.pop(event.thought, None) == event.at
                begun[event.thought] = event.at
            case ThoughtEnded() if event.thought in main:
                assert event.state == "completed" or row.progress < 4
    # At the horizon the thought is paused and nobody looks any more.
    assert paused - row.interruptions in ((0,) if row.ended < 90 else (0, 1))
    if spec.interface == "loop":
        assert row.interruptions == 0
    if spec.interface != "polling":
        assert not any(isinstance(event, Polled) for event in events)


def test_all_methods_and_policies_meet_the_same_post_and_the_same_task() -> None:
    posts, tokens = set(), set()
    for interface in METHODS:
        events = played(replace(LIKE, interface=interface, seed=4))
        came = [e for e in events if isinstance(e, Happened) and e.what == "email"]
        posts.add(tuple((e.at, e.data["urgency"], e.data["deadline"]) for e in came)[:5])
        tokens.add(summarize(events).tokens)
    assert len(posts) == len(tokens) == 1


def test_the_same_seed_gives_the_same_record_and_another_another() -> None:
    hashes = [
        summarize(played(replace(LIKE, seed=seed, episode=episode))).sha256
        for seed, episode in ((3, 1), (3, 1), (3, 2), (4, 1))
    ]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_no_interface_ever_shows_an_email_before_it_came_or_event_driven_after() -> None:
    for interface in METHODS:
        spec = replace(LIKE, interface=interface, seed=2, transcripts="full")
        seen = [e for e in played(spec) if e.__class__.__name__ == "Observed"]
        delays = [e.at - e.happened_at for e in seen]  # type: ignore[attr-defined]
        assert min(delays) == 0
        if interface in ("event-driven", "reflex"):
            assert max(delays) == 0
        if interface == "polling":
            assert 0 < max(delays) <= spec.poll


# --- scoring by the record's own settings ----------------------------------------------------


def test_a_row_counts_by_the_scoring_that_its_record_names() -> None:
    world = InboxSettings(scoring=Scoring(timeout_penalty=2.0))
    usual, dear = (
        summarize(played(replace(LIKE, interface="loop", world=w)))
        for w in (InboxSettings(), world)
    )
    assert usual.timed_out == dear.timed_out > 0
    assert dear.utility == pytest.approx(usual.utility - 1.5 * usual.timed_out)


def test_latency_counts_a_reminder_as_a_response_and_a_timeout_at_its_deadline() -> None:
    def happened(at: float, what: str, **data: object) -> Happened:
        return Happened(at=seconds(at), number=1, what=what, data=data, reward=0, score=0)

    [started, *_, _, _] = played(LIKE)
    due = {"urgency": "high", "deadline": seconds(20)}
    events = [
        started,
        happened(1, "email", email=1, **due),
        happened(2, "email", email=2, **due),
        happened(3, "email", email=3, **due),
        happened(4, "email", email=4, **due),
        happened(6, "reminded", email=1),
        happened(9, "handled", email=2),
        happened(19, "handled", email=1),
        happened(20, "expired", email=3),
        happened(21, "late", email=4),
        happened(22, "email", email=5, urgency="low", deadline=seconds(50)),
        EpisodeEnded(at=seconds(30), reason="over", turns=9, score=0.0),
    ]
    row = summarize(events)
    assert (row.latency, row.responses) == (5 + 7 + 17 + 16, 4)
    assert (row.on_time, row.late, row.timed_out, row.open, row.reminders) == (2, 1, 1, 1, 1)
    with pytest.raises(RecordError):
        summarize(events[:-1])
    with pytest.raises(RecordError):
        summarize(events[-1:])


# --- numbers and tables -------------------------------------------------------------------------


def rows(policy: str = "stand-in", **changes: object) -> list[InboxRow]:
    made = swept(interface=PAPER, policy=(policy,), seed=range(4), episode=range(1))
    return [msgspec.structs.replace(row, **changes) for row in made]


def text(rows: list[InboxRow]) -> str:
    data = ReportData(
        rows=rows,
        cells=suite.make_cells(rows),
        settings={},
        out=Path(),
        context=suite.context,
    )
    return render_text(make_sections(suite, data))


def test_rates_are_ratios_of_sums_and_not_means_of_ratios() -> None:
    made = rows()
    cells = suite.make_cells(made)
    where = {"policy": "stand-in", "decomposition": "single", "interface": "event-driven"}
    own = [r for r in made if (r.decomposition, r.interface) == ("single", "event-driven")]
    assert mean(cells, "Timeout", **where) == sum(r.timed_out for r in own) / sum(
        r.emails for r in own
    )
    assert mean(cells, "Latency", **where) == pytest.approx(
        sum(r.latency for r in own) / sum(r.responses for r in own)
    )
    assert mean(cells, "Utility", **where) == pytest.approx(sum(r.utility for r in own) / 4)


def test_a_report_names_stand_ins_and_of_models_what_was_unusable_and_free_of_time() -> None:
    made = rows()
    shown = text(made)
    assert max(map(len, shown.splitlines())) <= 80
    assert suite.notice in shown
    assert "3.023±.102" in shown
    assert "Unusable" not in shown
    model = {"stand_in": False, "policy": "model", "model": "openai:m", "answers": 10}
    spoken = [msgspec.structs.replace(row, malformed=4, **model) for row in made]
    assert f"({4 * len(spoken)} of {10 * len(spoken)})" in text(spoken)
    assert "--no-hints" in text(spoken)
    assert suite.notice not in text(spoken)
    plain = [msgspec.structs.replace(r, hints=False, priced_by="tokens") for r in spoken]
    assert "--no-hints" not in text(plain)


def test_results_hold_every_published_number_of_models_that_were_not_run() -> None:
    made = suite.make_cells(rows())
    qwen = [row for row in made if row.setting == "Qwen3.5-Plus"]
    assert len(qwen) == 30
    assert all(row.value is None and row.stand_in is None for row in qwen)
    ours = [row for row in made if row.setting == "stand-in" and row.published is not None]
    assert len(ours) == 30
    assert all(row.stand_in for row in ours)


def test_the_published_numbers_agree_with_the_means_in_the_text() -> None:
    """Section 5.2.1 and Appendix D give averages over both decompositions."""
    for model, interface, metric, value in (
        ("DeepSeek-V3.2", "event-driven", "Timeout", 0.310),
        ("DeepSeek-V3.2", "polling", "Timeout", 0.435),
        ("DeepSeek-V3.2", "loop", "Timeout", 0.533),
        ("DeepSeek-V3.2", "event-driven", "Latency", 6.92),
        ("DeepSeek-V3.2", "polling", "Latency", 10.74),
        ("DeepSeek-V3.2", "loop", "Latency", 12.71),
        ("Qwen3.5-Plus", "event-driven", "Timeout", 0.258),
        ("Qwen3.5-Plus", "polling", "Timeout", 0.396),
        ("Qwen3.5-Plus", "loop", "Timeout", 0.520),
        ("Qwen3.5-Plus", "event-driven", "Latency", 7.38),
        ("Qwen3.5-Plus", "polling", "Latency", 11.05),
        ("Qwen3.5-Plus", "loop", "Latency", 12.93),
    ):
        both = [
            n.value
            for n in suite.reference.numbers
            if (n.model, n.metric, n.where["interface"]) == (model, metric, interface)
        ]
        assert sum(both) / 2 == pytest.approx(value, abs=0.006), (model, interface, metric)
    assert len(suite.reference.numbers) == 60


# --- settings -----------------------------------------------------------------------------------


def test_an_episode_that_cannot_be_is_refused() -> None:
    wrong: list[dict[str, object]] = [
        {"interface": "frozen"},
        {"interface": "fixed-rate"},
        {"interface": "poling"},
        {"poll": 0},
        {"seed": -1},
    ]
    for changes in wrong:
        with pytest.raises(SettingsError):
            replace(LIKE, **changes)  # type: ignore[arg-type]
    for name in ("decomposition", "policy"):
        with pytest.raises(SettingsError):
            plan_episodes(suite, Choice(values={name: ("model",)}))
