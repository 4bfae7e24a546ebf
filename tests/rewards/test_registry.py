"""Rewards by name: what they need, what is refused, and one entry to all of them."""

import copy
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.rewards.material import CODE, GAME, RIGHT, WRONG, failed, one, says, talk, task
from timeful.errors import RecordError, SettingsError
from timeful.records.events import Acted, Entry, Noted
from timeful.records.recorder import Recorder, read_record
from timeful.registry import BUILT_IN
from timeful.rewards import registry
from timeful.rewards.proactor import LOST
from timeful.rewards.registry import REWARDS, WHOLE, Reward, reward_of
from timeful.rewards.turns import read_turns

PAPER = (
    "rac_score",
    "max_rac_score",
    "ruler",
    "weighted_rac_score",
    "weighted_max_rac_score",
    "adaptive_metric_score",
    "hybrid_ruler_weighted_rac_score",
    "hybrid_ruler_weighted_max_rac_score",
    "schedule_ruler_weighted_rac_score",
    "schedule_ruler_weighted_max_rac_score",
)
JUDGED = tuple(name for name in PAPER if "ruler" in name)
STAGED = tuple(name for name in PAPER if name.startswith(("adaptive", "schedule")))

OPEN, PAY, FALSE = (
    one("open", "ready_to_trigger", "Ada"),
    one("pay", "ready_to_trigger", "Ada"),
    one("send", "ready_to_trigger"),
)
RANGES = {"open": (1, 2)}

# Turn 1: open, which is right, and send, which is never ready: RAC 1/2, Max RAC 1, PT 1/2, FTR 1/2.
# Turn 2: nothing, and nothing was to be: RAC and Max RAC 1. Turn 3 is lost.
TALK = talk(
    (says(1, OPEN, FALSE), (OPEN,)),
    (says(2), ()),
    (None, (OPEN,)),
    ranges=RANGES,
)
RULER = {1: 0.9, 2: 0.4, 3: 1.0}


def of(name: str, events: list[Entry] = TALK, **given: Any) -> float | None:
    parameters = given.pop("parameters", {})
    kind = REWARDS[name]
    if kind.needs_progress:
        given.setdefault("progress", 0.0)
    if kind.needs_judge:
        given.setdefault("ruler", RULER)
    return reward_of(events, Reward(name=name, parameters=parameters), **given)


def test_the_table_has_the_papers_names_and_what_they_need() -> None:
    assert tuple(name for name in REWARDS if REWARDS[name].of != "task") == PAPER
    assert tuple(name for name in REWARDS if REWARDS[name].needs_judge) == JUDGED
    assert tuple(name for name in REWARDS if REWARDS[name].needs_progress) == STAGED
    assert [name for name in REWARDS if REWARDS[name].of == "either"] == ["ruler"]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("rac_score", 0.5, 1.0),
        ("max_rac_score", 1.0, 1.0),
        ("ruler", 0.9, 0.4),
        # 0.5 + 0.05 / 2 - 0.01 / 2 = 0.52; 1.02; of nothing, PT and FTR are 0.
        ("weighted_rac_score", 0.52, 1.0),
        ("weighted_max_rac_score", 1.02, 1.0),
        # Progress 0: 0.8 x 1 + 0.2 x 0.5 = 0.9; 0.8.
        ("adaptive_metric_score", 0.9, 0.8),
        # lambda 0.5: (0.5 + 0.9) / 2, (1 + 0.4) / 2; (1 + 0.9) / 2.
        ("hybrid_ruler_weighted_rac_score", 0.7, 0.7),
        ("hybrid_ruler_weighted_max_rac_score", 0.95, 0.7),
        # Progress 0: lambda 0, the metric alone.
        ("schedule_ruler_weighted_rac_score", 0.5, 1.0),
        ("schedule_ruler_weighted_max_rac_score", 1.0, 1.0),
    ],
)
def test_each_of_the_ten_by_hand(name: str, first: float, second: float) -> None:
    assert of(name, turn=1) == pytest.approx(first)
    assert of(name, turn=2) == pytest.approx(second)
    # A lost turn earns nothing, whatever a judge thinks of words that came too late.
    assert of(name, turn=3) == 0.0
    # Equation 25: the mean over the turns.
    assert of(name) == pytest.approx((first + second) / 3)


def test_stages_follow_the_progress() -> None:
    # Balanced: 0.6 x 0.5 + 0.3 x 0.5 - 0.1 x 0.5 = 0.4; conservative: 0.3 - 0.4 x 0.5 = 0.1.
    assert of("adaptive_metric_score", turn=1, progress=0.5) == pytest.approx(0.4)
    assert of("adaptive_metric_score", turn=1, progress=1.0) == pytest.approx(0.1)
    # lambda = 0.3 u/U: at the end 0.7 x 0.5 + 0.3 x 0.9 = 0.62; half way 0.85 x 0.5 + 0.135 = 0.56.
    assert of("schedule_ruler_weighted_rac_score", turn=1, progress=1) == pytest.approx(0.62)
    assert of("schedule_ruler_weighted_rac_score", turn=1, progress=0.5) == pytest.approx(0.56)


def test_parameters_change_what_they_are_called() -> None:
    # 0.5 + 1 x 0.5 - 0 x 0.5 = 1; 0.5 + 0 - 0.5 = 0
    assert of("weighted_rac_score", turn=1, parameters={"w1": 1, "w2": 0}) == pytest.approx(1.0)
    assert of("weighted_rac_score", turn=1, parameters={"w1": 0, "w2": 1}) == pytest.approx(0.0)
    hybrid = {"lambda": 1.0}
    assert of("hybrid_ruler_weighted_rac_score", turn=1, parameters=hybrid) == pytest.approx(0.9)
    whole = {"lambda_max": 1.0}
    name = "schedule_ruler_weighted_max_rac_score"
    assert of(name, turn=1, parameters=whole, progress=0.5) == pytest.approx(0.95)
    # Exploration with w1 = 0.2: 0.2 x 1 + 0.8 x 0.5 = 0.6
    assert of("adaptive_metric_score", turn=1, parameters={"w1": 0.2}) == pytest.approx(0.6)


def test_tasks_by_name() -> None:
    third = {"counted": 10, "budget": 30}
    assert of("correctness", task(RIGHT)) == 1.0
    assert of("ep_aware", task(RIGHT, counted=21)) == 0.0
    # 0.1 + 0.5 + 0.4 x 0.5; 0.1 + 1 x (8/64)^(1/3) + 0.2; 0.1 + 0.5 x 0.8 + 0.2
    assert of("timely", task(RIGHT, **third)) == pytest.approx(0.8)
    assert of("timely", task({**GAME, "final_score": 8}, **third)) == pytest.approx(0.8)
    assert of("timely", task(CODE, **third)) == pytest.approx(0.7)
    mine = {
        "r_f": 0.2,
        "lambda": 0.1,
        "weight_reasoning": 0.6,
        "weight_fiction": 0.4,
        "weight_coding": 1,
    }
    # 0.2 + 0.6 + 0.05; 0.2 + 0.4 / 2 + 0.05; 0.2 + 0.8 + 0.05
    assert of("timely", task(RIGHT, **third), parameters=mine) == pytest.approx(0.85)
    game = task({**GAME, "final_score": 8}, **third)
    assert of("timely", game, parameters=mine) == pytest.approx(0.45)
    assert of("timely", task(CODE, **third), parameters=mine) == pytest.approx(1.05)


@pytest.mark.parametrize("name", REWARDS)
def test_a_failed_episode_has_no_reward_which_is_not_zero(name: str) -> None:
    events = failed(TALK if REWARDS[name].of != "task" else task(RIGHT))
    assert of(name, events) is None
    if name == "ruler":
        assert of(name, failed(task(RIGHT)), ruler={WHOLE: 0.7}) is None


@pytest.mark.parametrize("name", JUDGED)
def test_a_turn_whose_group_was_dropped_has_no_reward(name: str) -> None:
    assert of(name, turn=1, ruler={2: 0.4}) is None
    assert of(name, ruler={}) is None
    # The mean is over those that have one.
    assert of(name, ruler={2: 0.4}) == of(name, turn=2)


def test_a_judge_can_score_a_whole_episode_of_any_kind() -> None:
    assert of("ruler", task(WRONG), ruler={WHOLE: 0.7}) == 0.7
    assert of("ruler", task(WRONG), ruler={}) is None
    with pytest.raises(RecordError, match="incomplete"):
        of("ruler", task(WRONG)[:-1], ruler={WHOLE: 0.7})


def test_what_stands_late_is_lost_and_what_was_said_last_in_time_stands() -> None:
    late = [*TALK]
    acted = next(event for event in TALK if type(event).__name__ == "Acted")
    late.insert(4, acted)  # the prediction for turn 1 again, when turn 2 has begun
    assert read_turns(late) == read_turns(TALK)
    turns = read_turns(TALK)
    assert turns is not None
    assert turns[3] is LOST
    assert turns[2] is not LOST


def test_the_last_answer_in_time_says_whether_an_empty_set_is_silence() -> None:
    quiet = talk((says(1), ()), (says(2), ()))
    first, second = (event for event in quiet if isinstance(event, Acted))
    bad, more = (Noted(at=1, topic=topic, text="") for topic in ("no-json", "skipped-turns"))
    refused = msgspec.structs.replace(first, legal=False, error="no")

    def lost(before: Entry, *said: Entry) -> list[int]:
        place = quiet.index(before)
        turns = read_turns([*quiet[:place], *said, *quiet[place:]]) or {}
        return [number for number, one in turns.items() if one is LOST]

    assert lost(first) == lost(first, more) == []
    assert lost(first, bad, more) == [1]
    assert lost(first, bad, refused) == [], "what was noted of one answer says nothing of another"
    assert lost(first, bad, first) == [], "a better one in time stands"
    assert lost(second, bad, first) == [], "and one that comes late does not"


def test_a_rollout_of_one_turn_is_worth_that_turn() -> None:
    rollout = [msgspec.structs.replace(TALK[0], settings={"episode": {"turn": 2}}), *TALK[1:]]
    assert of("rac_score", rollout) == of("rac_score", turn=2) == 1.0
    assert of("rac_score", rollout, turn=1) == 0.5


def test_rewards_are_pure(tmp_path: Path) -> None:
    before = copy.deepcopy(TALK)
    recorder = Recorder(tmp_path / "a.jsonl")
    for event in TALK:
        recorder.write(event)
    recorder.close()
    for name in PAPER:
        again = reward_of(
            read_record(tmp_path / "a.jsonl"), Reward(name=name), progress=0.4, ruler=RULER
        )
        assert again == of(name, progress=0.4) == of(name, progress=0.4)
    assert before == TALK


@pytest.mark.parametrize(
    ("name", "parameters", "reason"),
    [
        ("ep-aware", {}, "Did you mean 'ep_aware'"),
        ("weighted_rac_score", {"w3": 0.1}, "unknown parameter of weighted_rac_score 'w3'"),
        ("rac_score", {"w1": 0.1}, "has no parameters"),
        ("ruler", {"lambda": 0.1}, "has no parameters"),
        ("timely", {"lambda": 1.01}, "from 0 to 1, got 1.01"),
        ("timely", {"r_f": -0.1}, "from 0 to 1, got -0.1"),
        ("timely", {"r_f": float("nan")}, "a number from 0 to 1"),
        ("timely", {"r_f": True}, "a number from 0 to 1"),
        ("timely", {"r_f": "0.1"}, "a number from 0 to 1"),
        ("adaptive_metric_score", {"w2": 0.8}, "w2 \\+ w3"),
        ("hybrid_ruler_weighted_rac_score", {"lambda_max": 0.1}, "Did you mean 'lambda'"),
    ],
)
def test_a_reward_that_cannot_be_is_refused(
    name: str, parameters: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        Reward(name=name, parameters=parameters)


def test_weights_may_use_up_all_there_is() -> None:
    Reward(name="adaptive_metric_score", parameters={"w2": 0.7})
    Reward(name="hybrid_ruler_weighted_rac_score", parameters={"lambda": 0})


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("progress", [None, -0.1, 1.1, float("nan")])
def test_a_stage_aware_reward_has_to_know_the_stage(name: str, progress: float | None) -> None:
    with pytest.raises(SettingsError, match="0 to 1"):
        reward_of(TALK, Reward(name=name), progress=progress, ruler=RULER)


@pytest.mark.parametrize("name", JUDGED)
def test_a_judged_reward_has_to_have_scores_in_their_range(name: str) -> None:
    with pytest.raises(SettingsError, match="judge's scores"):
        reward_of(TALK, Reward(name=name), progress=0.0)
    with pytest.raises(SettingsError, match="score of turn 2"):
        reward_of(TALK, Reward(name=name), progress=0.0, ruler={1: 0.5, 2: 1.5})


@pytest.mark.parametrize("name", [name for name in JUDGED if name != "ruler"])
def test_a_score_of_the_whole_is_no_score_of_a_turn(name: str) -> None:
    # It would silently leave every episode without a reward.
    with pytest.raises(SettingsError, match="of turns"):
        of(name, ruler={WHOLE: 0.5})


@pytest.mark.parametrize("name", ["correctness", "ep_aware", "timely"])
def test_a_task_has_no_turns(name: str) -> None:
    with pytest.raises(SettingsError, match="no turn 1"):
        of(name, task(RIGHT), turn=1)


@pytest.mark.parametrize("name", PAPER)
def test_a_record_of_something_else_is_refused(name: str) -> None:
    with pytest.raises(RecordError):
        of(name, task(RIGHT))
    with pytest.raises(RecordError):
        of("timely", TALK)


def test_a_turn_that_there_is_not_is_refused() -> None:
    with pytest.raises(RecordError, match="no turn 4"):
        of("rac_score", turn=4)


def test_where_only_ready_ranges_are_known_silence_is_not_paid() -> None:
    without = talk((says(1), ()), (says(2), ()), ranges=RANGES)
    with pytest.raises(RecordError, match="references"):
        of("rac_score", without)
    # A judge's score alone does not ask what was right.
    assert of("ruler", without, ruler={1: 0.5, 2: 1.0}) == 0.75
    # A conversation with nothing to do at all is another matter.
    assert of("rac_score", talk((says(1), ()))) == 1.0


def test_the_docstring_lists_every_reward_with_its_parameters() -> None:
    text = (registry.__doc__ or "").replace("`..._max_rac_score`", "").splitlines()
    rows = {name: line for line in text for name in re.findall(r"`(\w+)`", line)}
    for name, kind in REWARDS.items():
        row = rows.get(name) or rows[name.replace("max_rac", "rac")]
        _, _, of_what, parameters, judge, progress, _ = (cell.strip() for cell in row.split("|"))
        assert kind.of in of_what
        assert parameters.split(", ") == (list(kind.parameters) or [""])
        assert (judge, progress) == (
            "yes" * kind.needs_judge,
            "yes" * kind.needs_progress,
        )


def test_the_registry_of_all_kinds_has_every_reward() -> None:
    assert set(BUILT_IN["reward"]) == set(REWARDS)
