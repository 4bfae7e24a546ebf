"""What the inbox world promises: durations, deadlines, and what counts."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.inbox.post import SETTINGS, at, do, email, world
from timeful.core.units import Duration, Instant, in_seconds, seconds
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.scoring import (
    Tally,
    balanced_score,
    email_score,
    main_score,
    utility,
)
from timeful.environments.inbox.settings import InboxSettings, Scoring
from timeful.environments.inbox.world import Inbox
from timeful.errors import IllegalActionError, SettingsError
from timeful.seeding import child

FAR = 60.0


@pytest.mark.parametrize(
    ("actions", "span"),
    [
        (["check"], 0.1),
        (["check", "open 1"], 0.2),
        (["check", "open 1", "handle 1"], 1.2),
        (["check", "open 1", "remind 1"], 0.3),
        (["check", "ignore 1"], 0.1),
        (["check", "return"], 0.2),
        (["deliver 1"], 0.0),
    ],
)
def test_each_action_takes_the_time_of_table_17(actions: list[str], span: float) -> None:
    inbox, now = world(email(1, 1, FAR)), 2.0
    for action in actions:
        now = in_seconds(do(inbox, action, now)[-1].at)
    assert now == pytest.approx(2 + span)


@pytest.mark.parametrize(
    ("action", "span"), [("open 1", 0.2), ("handle 1", 1.2), ("remind 1", 0.3), ("ignore 1", 0.1)]
)
def test_what_an_action_needs_beforehand_is_implied_and_takes_its_time(
    action: str, span: float
) -> None:
    inbox = world(email(1, 1, FAR))
    assert do(inbox, action, 2)[-1].at == at(2 + span)


def test_an_email_handled_at_its_very_deadline_is_on_time() -> None:
    inbox = world(email(1, 1, 4.2))
    seen = do(inbox, "handle 1", 4.0)
    assert [(one.event, in_seconds(one.at)) for one in seen] == [("email", 1.0), ("handled", 5.2)]
    assert inbox.view().letter(1).state == "handled"


def test_an_email_handled_a_nanosecond_later_is_late_and_neither_pays_nor_costs() -> None:
    one = email(1, 1, 4.2)
    inbox = world(replace(one, deadline=Instant(one.deadline - 1)))
    assert do(inbox, "handle 1", 4.0)[-1].event == "late"
    assert inbox.score == pytest.approx(-0.01), "one switch and one interruption"
    assert inbox.next_change() == SETTINGS.horizon, "it does not time out as well"


def test_at_the_instant_of_a_deadline_the_agent_comes_first() -> None:
    inbox = world(email(1, 1, 5))
    inbox.advance(Instant(at(6) - 1))
    inbox.intervene(("handle 1",), at=at(6))
    assert inbox.advance(at(6)) == ()
    assert inbox.view().letter(1).state == "open"


def test_an_email_that_nobody_handles_times_out_once_and_is_then_closed() -> None:
    inbox = world(email(1, 1, 5))
    seen = inbox.advance(at(10))
    assert [(one.event, one.at, one.reward) for one in seen] == [
        ("email", at(1), 0.0),
        ("expired", at(6), -0.5),
    ]
    assert not seen[0].is_quiet
    assert seen[1].is_quiet, "a deadline that was known calls nobody away"
    for action in ("open 1", "handle 1", "remind 1", "ignore 1"):
        with pytest.raises(IllegalActionError, match="email 1 is expired"):
            inbox.intervene((action,), at=at(10))


def test_a_reminder_comes_when_it_is_due_unless_the_email_was_dealt_with() -> None:
    inbox = world(email(1, 1, FAR), email(2, 1.5, FAR))
    do(inbox, "remind 1 3", 2)
    do(inbox, "remind 2 3", 3)
    do(inbox, "ignore 2", 4)
    assert [one.event for one in inbox.advance(at(20))] == ["reminder"]
    assert inbox.view().letter(1).set_aside == ""
    assert inbox.view().letter(2).set_aside == "ignore"


def test_an_action_under_way_lets_no_other_begin_and_still_ends() -> None:
    inbox = world(email(1, 1, FAR))
    do(inbox, "check", 2)
    inbox.intervene(("handle 1",), at=at(3))
    with pytest.raises(IllegalActionError, match="'handle' is still under way"):
        inbox.intervene(("check",), at=at(3.5))
    assert [one.event for one in inbox.advance(at(9))] == ["handled"]


def test_the_horizon_cuts_what_is_under_way() -> None:
    inbox = world(email(1, 80, 9.9), email(2, 81, FAR))
    do(inbox, "check", 88.9)
    inbox.intervene(("handle 2",), at=at(89.5))
    seen = inbox.advance(at(1000))
    assert [(one.event, in_seconds(one.at)) for one in seen] == [("expired", 89.9), ("over", 90.0)]
    assert inbox.next_change() is None
    assert inbox.view().letter(2).state == "open"
    with pytest.raises(IllegalActionError, match="over"):
        inbox.intervene(("check",), at=at(91))


@pytest.mark.parametrize(
    "action",
    [
        "",
        "Check",
        "check ",
        "check 1",
        "open",
        "open 0",
        "open 01",
        "open 1.0",
        "open -1",
        "open ٣",
        "open 1 2",
        "handle one",
        "handle 1 1",
        "remind 1 x",
        "remind 1 0",
        "remind 1 0.0",
        "remind 1 -3",
        "remind 1 inf",
        "remind 1 1e9",
        "deliver",
        "return 1",
        '<handle id="1"/>',
        "open 99999999999999999999",
    ],
)
def test_a_malformed_action_names_those_there_are_and_changes_nothing(action: str) -> None:
    inbox = world(email(1, 1, FAR))
    inbox.advance(at(2))
    before = inbox.view(), inbox.next_change()
    with pytest.raises(IllegalActionError, match="legal actions are check, open N"):
        inbox.intervene((action,), at=at(2))
    assert (inbox.view(), inbox.next_change()) == before


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        (["open 2"], "no such email"),
        (["check", "deliver 1"], "return. first"),
        (["deliver 2"], "0 of 1 parts"),
        (["deliver 1", "deliver 1"], "1 of 1 parts"),
        (["deliver 1", "deliver 2"], "1 of 1 parts"),
    ],
)
def test_an_action_that_makes_no_sense_now_says_why(actions: list[str], why: str) -> None:
    inbox = world(email(1, 1, FAR))
    for action in actions[:-1]:
        do(inbox, action, 2)
    with pytest.raises(IllegalActionError, match=why):
        do(inbox, actions[-1], 3)


def test_switches_and_interruptions_are_counted_where_attention_changes() -> None:
    inbox = world(email(1, 1, FAR), units=(1, 1, 1, 1))
    for action, when, switched, interrupted in (
        ("check", 2.0, True, True),
        ("check", 3.0, False, False),  # it is there already
        ("return", 4.0, True, False),
        ("check", 4.1, True, False),  # back at this very instant: nothing was written
        ("return", 5.0, True, False),
        ("check", 6.0, True, True),
        ("return", 7.0, True, False),
        ("deliver 1", 9.0, None, None),
        ("check", 9.0, True, False),  # between two parts
        ("return", 9.5, True, False),
        ("deliver 2", 10.0, None, None),
        ("deliver 3", 11.0, None, None),
        ("deliver 4", 12.0, None, None),
        ("check", 13.0, True, False),  # nothing is left to write
    ):
        data = do(inbox, action, when)[-1].data
        assert (data.get("switched"), data.get("interrupted")) == (switched, interrupted), when
    assert inbox.score == pytest.approx(4 * 0.4 + 0.8 - 9 * 0.005 - 2 * 0.005)


def test_a_small_episode_is_worth_what_equations_1_to_4_say() -> None:
    inbox = world(
        email(1, 1, 10, "high"),  # handled at once
        email(2, 2, 20, "medium"),  # times out
        email(3, 3, 30, "low"),  # handled after the main task
        email(4, 4, 8.5, "high"),  # late
    )
    for action, when in (
        ("check", 1.0),
        ("open 1", 1.1),
        ("handle 1", 1.4),
        ("return", 2.4),
        ("handle 4", 11.8),
        ("return", 13.0),
        ("deliver 1", 25.0),
        ("check", 25.0),
        ("open 3", 25.1),
        ("handle 3", 25.2),
        ("end", 26.2),
    ):
        seen = do(inbox, action, when)
    assert seen[-1].event == "over"
    # 4 units and the bonus, 2 on time, 1 timed out, 5 switches, 2 interruptions.
    expected = 4 * 0.4 + 0.8 + 2 * 0.4 - 0.5 - 5 * 0.005 - 2 * 0.005
    assert inbox.score == pytest.approx(expected) == pytest.approx(2.665)
    states = [(letter.urgency, letter.state == "handled") for letter in inbox.view().letters]
    email_part = email_score(SETTINGS.scoring, states)
    assert email_part == pytest.approx((1.2 + 0.1) / (1.2 + 0.5 + 0.1 + 1.2))
    main = main_score(SETTINGS.scoring, 4)
    balanced = balanced_score(SETTINGS.scoring, main=main, email=email_part)
    assert balanced == pytest.approx(0.6 + 0.4 * email_part - 0.5 * (1 - email_part))


@pytest.mark.parametrize(
    ("main", "email_part", "balanced"), [(1, 0, 0.1), (0, 1, -0.1), (0.5, 1, 0.45), (1, 1, 1)]
)
def test_a_gap_costs_the_same_to_either_side(
    main: float, email_part: float, balanced: float
) -> None:
    found = balanced_score(SETTINGS.scoring, main=main, email=email_part)
    assert found == pytest.approx(balanced)


def test_without_an_email_the_email_score_is_1() -> None:
    assert email_score(SETTINGS.scoring, []) == 1.0


def test_progress_beyond_the_target_is_no_more_than_all_of_it() -> None:
    assert [main_score(SETTINGS.scoring, units) for units in (0, 1, 4, 5)] == [0, 0.25, 1, 1]


def test_the_bonus_is_for_the_whole_main_task_and_not_for_a_part() -> None:
    worth = [utility(SETTINGS.scoring, Tally(progress=units)) for units in range(6)]
    assert worth == pytest.approx([0, 0.4, 0.8, 1.2, 1.6 + 0.8, 2.0 + 0.8])


def test_the_body_can_be_read_once_an_email_is_opened() -> None:
    inbox = world(email(1, 1, FAR))
    inbox.advance(at(1))
    assert "secret" not in json.dumps(inbox.view().json_state())
    assert "email 1: high urgency, due at 61.0 (in 60.0), from Ada" in inbox.view().text()
    do(inbox, "open 1", 2)
    assert inbox.view().letter(1).body == "secret 1"


def test_the_post_is_drawn_as_table_17_says() -> None:
    posts = [draw_mail(SETTINGS, child(seed, "post")) for seed in range(400)]
    emails = [one for post in posts for one in post]
    # Means of 400 episodes: five standard errors are 0.0118 of the rate and 0.029 of a share.
    assert len(emails) / (400 * 90) == pytest.approx(0.2, abs=0.012)
    for urgency, share in (("high", 0.4), ("medium", 0.4), ("low", 0.2)):
        own = [one for one in emails if one.urgency == urgency]
        assert len(own) / len(emails) == pytest.approx(share, abs=0.03)
        least, most = SETTINGS.slack(urgency)  # type: ignore[arg-type]
        slacks = [one.slack for one in own]
        assert least <= min(slacks) < least + seconds(0.1)
        assert most - seconds(0.1) < max(slacks) <= most
        assert np.mean(slacks) == pytest.approx((least + most) / 2, rel=0.05)
    assert all(sum(share for _, share in one.recommended) == pytest.approx(1) for one in emails)


def test_the_same_seed_draws_the_same_post_and_another_another() -> None:
    first, again, other = (draw_mail(SETTINGS, child(seed, "post")) for seed in (1, 1, 2))
    assert first == again != other


def test_nobody_writes_at_rate_0() -> None:
    assert draw_mail(InboxSettings(arrival_rate=0), child(0)) == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"horizon": seconds(0)}, "horizon in s"),
        ({"token": Duration(0)}, "token in s"),
        ({"handle": Duration(-1)}, "handle in s"),
        ({"arrival_rate": -0.1}, "arrival rate"),
        ({"arrival_rate": float("nan")}, "arrival rate"),
        ({"arrival_rate": 1e6}, "too many"),
        ({"urgency": (0.4, 0.4, 1.2)}, "urgency probabilities.*1.2"),
        ({"urgency": (0.4, 0.4, 0.3)}, "add up to 1"),
        ({"high_slack": (seconds(15), seconds(5))}, "greatest high_slack"),
        ({"recommended_handle": (1.1, 0.0, 0.0)}, "recommended_handle.*1.1"),
        ({"recommended_remind": -0.1}, "recommended_remind"),
    ],
)
def test_a_world_that_cannot_be_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        InboxSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"timeout_penalty": -0.5}, "timeout_penalty"),
        ({"main_weight": 1.5}, "main_weight"),
        ({"urgency_weights": (1.0, 0.5)}, "for high, medium and low"),
        ({"urgency_weights": (0.0, 0.0, 0.0)}, "a weight above 0"),
        ({"target": 0}, "target"),
    ],
)
def test_a_score_that_cannot_be_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Scoring(**wrong)  # type: ignore[arg-type]


def test_parts_that_are_not_worth_the_target_together_are_refused() -> None:
    for units in ((), (1, 1, 1), (5,), (4, 0)):
        with pytest.raises(SettingsError, match="worth its target"):
            Inbox(SETTINGS, (), units)


def test_a_post_out_of_order_is_refused() -> None:
    with pytest.raises(SettingsError, match="numbered from 1"):
        world(email(2, 1, 5))
    with pytest.raises(SettingsError, match="order of arrival"):
        world(email(1, 3, 5), email(2, 1, 5))


ACTIONS = st.sampled_from(
    ["check", "return", "deliver 1", "remind 2 4", *(f"{verb} {n}" for verb in
     ("open", "handle", "remind", "ignore") for n in (1, 2, 3, 7))]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), plan=st.lists(st.tuples(ACTIONS, st.floats(0, 9)), max_size=40))
def test_whatever_is_done_every_email_comes_to_one_end_and_the_score_is_the_sum_of_rewards(
    seed: int, plan: list[tuple[str, float]]
) -> None:
    mail = draw_mail(SETTINGS, child(seed, "post"))
    inbox, now, score = Inbox(SETTINGS, mail, (4,)), 0, 0.0
    ends: dict[int, list[str]] = {}
    events = []
    for action, pause in [*plan, ("end", 100.0)]:
        now = min(now + seconds(pause), SETTINGS.horizon)
        events += inbox.advance(Instant(now))
        if inbox.busy:
            continue
        with suppress(IllegalActionError):
            inbox.intervene((action,), at=Instant(now))
    events += inbox.advance(at(90))
    for one in events:
        score += one.reward
        if one.event in ("handled", "late", "expired"):
            ends.setdefault(one.data["email"], []).append(one.event)
    assert inbox.next_change() is None
    assert all(len(ended) == 1 for ended in ends.values())
    assert [one.at for one in events] == sorted(one.at for one in events)
    assert inbox.score == pytest.approx(score, abs=1e-9)
    for letter in inbox.view().letters:
        assert ends.get(letter.number, ["open"]) == [letter.state]
        assert (letter.arrived, letter.deadline) == (
            mail[letter.number - 1].arrives,
            mail[letter.number - 1].deadline,
        )
    inbox.reset()
    assert (inbox.score, inbox.view().letters, inbox.busy) == (0, (), False)
