"""The inbox against the paper: bands, orders, and what holds of every single episode."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.core.units import seconds
from timeful.environments.inbox.settings import InboxSettings, Scoring
from timeful.environments.inbox.task import FITTED, Lengths
from timeful.errors import RecordError, SettingsError
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    Event,
    Happened,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.suites.engagement.inbox.numbers import COLUMNS, Cell, claims, make_cells, result_rows
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.published import BANDS, METRICS, MODELS, PUBLISHED
from timeful.suites.engagement.inbox.rows import InboxRow, summarize
from timeful.suites.engagement.inbox.spec import (
    METHODS,
    MODEL,
    POLICIES,
    InboxSpec,
    Sweep,
    episodes,
)
from timeful.suites.engagement.inbox.tables import outside, text_tables

LIKE = InboxSpec(
    decomposition="single", interface="event-driven", policy="stand-in", seed=0, episode=0
)
PAPER = ("event-driven", "polling", "loop")


def played(spec: InboxSpec) -> list[Event]:
    recorder = Recorder()
    assert play(spec, recorder), recorder.events[-2]
    return recorder.events


@cache
def cells(policy: str, seeds: int) -> Mapping[tuple[str, str], Cell]:
    sweep = Sweep(interfaces=PAPER, policies=(policy,), seeds=seeds, episodes=1)
    made = make_cells(summarize(played(spec)) for spec in episodes(sweep, LIKE))
    return {(cell.decomposition, cell.interface): cell for cell in made}


def test_the_stand_in_is_inside_every_band_and_the_interfaces_are_in_the_papers_order() -> None:
    made = list(cells("stand-in", 200).values())
    assert [(c.decomposition, c.interface, name, c.mean(name)) for c, name in outside(made)] == []
    orders = claims(made)
    assert len(orders) == 8
    assert [claim.text for claim in orders if not claim.holds] == []


def test_without_any_fitted_policy_the_order_of_the_interfaces_survives() -> None:
    """The honest headline: every email is handled, urgent ones first."""
    made = cells("urgent-first", 60)
    assert [claim.text for claim in claims(list(made.values())) if not claim.holds] == []
    for decomposition in ("single", "milestones"):
        assert made[decomposition, "event-driven"].mean("Timeout") < 0.02
        assert made[decomposition, "event-driven"].mean("Utility") > 6
    # With one decision point there is nothing that triage could change.
    single = [replace(LIKE, interface="loop", policy=policy) for policy in POLICIES]
    first, second = (msgspec.structs.asdict(summarize(played(spec))) for spec in single)
    assert {name for name in first if first[name] != second[name]} == {"policy", "sha256"}


def test_a_loop_with_one_decision_point_comes_out_as_published_without_any_triage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that it takes is a document of 980 tokens, give or take 280 (engagement facts, 3.1)."""
    monkeypatch.setitem(FITTED, "single", Lengths(mean=980, spread=280))
    sweep = Sweep(
        decompositions=("single",), interfaces=("loop",), policies=("urgent-first",), episodes=2
    )
    [cell] = make_cells(summarize(played(spec)) for spec in episodes(sweep, LIKE))
    assert 0.4 <= cell.mean("Utility") <= 1.1
    assert 0.36 <= cell.mean("Balanced") <= 0.43
    assert 0.56 <= cell.mean("Timeout") <= 0.63
    assert 13.0 <= cell.mean("Latency") <= 14.5


SPECS = st.builds(
    lambda decomposition, interface, policy, seed: replace(
        LIKE, decomposition=decomposition, interface=interface, policy=policy, seed=seed
    ),
    decomposition=st.sampled_from(["single", "milestones"]),
    interface=st.sampled_from(list(METHODS)),
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 10_000),
)


@settings(max_examples=60, deadline=None)
@given(SPECS)
def test_of_every_episode_the_record_tells_the_whole_story(spec: InboxSpec) -> None:
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
    spec: InboxSpec,
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
    with pytest.raises(RecordError, match="no end"):
        summarize(events[:-1])
    with pytest.raises(RecordError, match="not about an inbox"):
        summarize(events[-1:])


# --- numbers and tables -------------------------------------------------------------------------


def rows(policy: str = "stand-in", **changes: object) -> list[InboxRow]:
    sweep = Sweep(interfaces=PAPER, policies=(policy,), seeds=4, episodes=1)
    made = [summarize(played(spec)) for spec in episodes(sweep, LIKE)]
    return [msgspec.structs.replace(row, **changes) for row in made]


def test_rates_are_ratios_of_sums_and_not_means_of_ratios() -> None:
    made = rows()
    cell = make_cells(made)[0]
    own = [r for r in made if (r.decomposition, r.interface) == ("single", "event-driven")]
    assert cell.mean("Timeout") == sum(r.timed_out for r in own) / sum(r.emails for r in own)
    assert cell.mean("Latency") == pytest.approx(
        sum(r.latency for r in own) / sum(r.responses for r in own)
    )
    assert cell.mean("Utility") == pytest.approx(sum(r.utility for r in own) / 4)
    assert all(cell.numbers[m.name].low <= cell.mean(m.name) for m in COLUMNS)


def test_tables_do_not_depend_on_the_order_of_episodes() -> None:
    made = rows()
    assert text_tables(made) == text_tables(made[::-1])


def test_tables_fit_80_columns_and_say_what_was_no_language_model() -> None:
    text = text_tables([*rows(), *rows("urgent-first")])
    assert max(map(len, text.splitlines())) <= 80
    assert "Stand-in: rules sort the emails, no language model was run." in text
    assert "3.023±.102" in text
    assert "Band: where a number" in text
    assert "With fewer than 1,000 episodes, some may be outside by chance." in text
    assert "could not be used" not in text, "there is no language model"


def test_of_a_language_model_the_tables_say_what_could_not_be_used_and_what_was_free() -> None:
    change = msgspec.structs.replace
    spoken = [
        change(row, stand_in=False, policy=MODEL, model="openai:m", answers=10, malformed=4)
        for row in rows()
    ]
    text = text_tables(spoken)
    assert max(map(len, text.splitlines())) <= 80
    assert f"answers that could not be used: 40 % ({4 * len(spoken)} of {10 * len(spoken)})" in text
    assert "free of time" in text
    assert "--no-hints" in text
    plain = [change(r, hints=False, priced_by="tokens") for r in spoken]
    assert "free of time" not in text_tables(plain)
    assert "--no-hints" not in text_tables(plain)


def test_failed_episodes_are_left_out_of_numbers_and_counted() -> None:
    failed = rows(status="failed", error="model: no")
    made = make_cells(failed)
    assert all((cell.episodes, cell.failed, cell.numbers) == (0, 4, {}) for cell in made)
    assert "failed" in text_tables(failed)


def test_results_hold_every_published_number_of_models_that_were_not_run() -> None:
    made = result_rows(make_cells(rows()))
    qwen = [row for row in made if row.setting == "Qwen3.5-Plus"]
    assert len(qwen) == 30
    assert all(row.value is None and row.stand_in is None for row in qwen)
    ours = [row for row in made if row.setting == "stand-in" and row.published is not None]
    assert len(ours) == 30
    assert all(row.stand_in for row in ours)


def test_the_published_numbers_agree_with_what_the_text_says_of_their_means() -> None:
    """Section 5.2.1 and Appendix D give averages over both decompositions."""
    for model, interface, metric, mean in (
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
        both = [PUBLISHED[model][d, interface, metric].value for d in ("single", "milestones")]
        assert sum(both) / 2 == pytest.approx(mean, abs=0.006), (model, interface, metric)
    assert all(len(PUBLISHED[model]) == 6 * len(METRICS) for model in MODELS)
    assert all(band.low < band.high for band in BANDS.values())


# --- what may be asked for ----------------------------------------------------------------------


def refused(changes: Iterable[tuple[str, object]]) -> str:
    with pytest.raises(SettingsError) as caught:
        replace(LIKE, **dict(changes))  # type: ignore[arg-type]
    return str(caught.value)


def test_an_interface_that_an_inbox_cannot_have_is_refused_with_the_reason() -> None:
    assert "brings no email while it writes" in refused([("interface", "frozen")])
    assert "not at ticks" in refused([("interface", "fixed-rate")])
    assert "Did you mean 'polling'" in refused([("interface", "poling")])
    with pytest.raises(SettingsError, match="cannot have the interface 'frozen'"):
        Sweep(interfaces=("loop", "frozen"))


def test_an_episode_that_cannot_be_is_refused() -> None:
    assert "Did you mean 'milestones'" in refused([("decomposition", "milestone")])
    assert "Did you mean 'stand-in'" in refused([("policy", "standin")])
    assert "is not for the model 'rules'" in refused([("policy", "model")])
    assert "above 0 s" in refused([("poll", 0)])
    assert "0 or more" in refused([("seed", -1)])
    for wrong in ({"seeds": 0}, {"episodes": 0}, {"seeds": 10**6, "episodes": 10**6}):
        with pytest.raises(SettingsError):
            Sweep(**wrong)  # type: ignore[arg-type]


def test_every_episode_of_a_sweep_has_a_name_of_its_own() -> None:
    specs = episodes(Sweep(seeds=3, episodes=2), LIKE)
    assert len({spec.key for spec in specs}) == len(specs) == 2 * 2 * 4 * 3 * 2
