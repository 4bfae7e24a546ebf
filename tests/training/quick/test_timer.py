"""The embedded run with a timer on the way, by its smallest recipe: killed, and played."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from click.testing import CliRunner

from tests.training.quick.material import begin, work, write_report
from timeful.cli.main import app
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.models.local.checkpoint import load
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.records.events import EpisodeStarted
from timeful.rewards.registry import Reward
from timeful.training.quick.cases import Limit, in_turn, relative, scenes
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.recipe import BASE, find_recipe
from timeful.training.quick.rows import make_row, read_rows
from timeful.training.quick.steps import Step
from timeful.training.reward_functions import RecordReward
from timeful.training.rollouts import Player, Rollout
from timeful.training.tiny.language import eighths, ids
from timeful.training.trajectory import read_sequences

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

TIMER, TIMER_SMOKE = (find_recipe(name, timer=True) for name in ("quick", "smoke"))
LANGUAGE = TIMER_SMOKE.language
WHAT = QuickRun(recipe=TIMER_SMOKE, arms=("GRPO", "Timely-RL"), seeds=(1,))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    out = tmp_path_factory.mktemp("whole")
    begin(out, WHAT)
    work(out, WHAT)
    write_report(out)
    return out


def test_who_is_graded_by_a_wrong_timer_is_so_in_every_room(whole: Path) -> None:
    rows = read_rows(whole / "seed-1" / "misled" / "GRPO.jsonl")
    assert {row.scale for row in rows} == set(TIMER_SMOKE.lies)
    each = Counter((row.scale, row.alpha, row.room(LANGUAGE.pace)) for row in rows)
    assert set(each.values()) == {TIMER_SMOKE.problems // len(LANGUAGE.devices)}
    assert len(each) == 12


def played(model: Path, limits: list[Limit], scale: float = 1.0) -> list[Rollout]:
    """Each limit once, by a model that asks the timer now and then."""
    timer = TimerSettings(scale=scale)
    some = scenes(TIMER_SMOKE, "train", limits, model=model, seed=3, cap=16, timer=timer)
    player = Player(Sampler(load(model)), generation=GenerationConfig(), pace=LANGUAGE.pace)
    return player.play([(one, i) for i, one in enumerate(some)])


def test_the_world_answers_with_the_eighths_that_are_gone_and_learns_nothing_of_it(
    whole: Path,
) -> None:
    limits = in_turn(TIMER_SMOKE, 96)
    found = played(whole / "seed-1" / BASE, limits)
    clocks = ids([eighths(k) for k in range(9)], LANGUAGE)
    asked = 0
    for one, limit in zip(found, limits, strict=True):
        told, (row, *others) = make_row(one.events), read_sequences(one.events)
        if others:  # it was silent, and its conversation was rewritten
            continue
        heard = [i for i, token in enumerate(row.completion_ids) if not row.mask[i]]
        assert told.counted_ns == round(limit.alpha * told.tokens * LANGUAGE.pace.per_token)
        assert told.tokens == sum(row.mask)
        assert bool(heard) == (told.heard is not None)
        if heard:
            asked += 1
            assert row.completion_ids[heard[0]] == clocks[told.clock or 0]
            assert told.before == heard[0]
            assert told.after == sum(row.mask[heard[0] :])
            assert {row.logprobs[i] for i in heard} == {0.0}
    assert asked > 5


def test_a_group_shares_its_device_which_nobody_tells(whole: Path) -> None:
    (slow, fast) = (
        Limit(one.budget, one.span, a) for one in in_turn(TIMER_SMOKE, 1) for a in (2, 0.5)
    )
    a, b = (played(whole / "seed-1" / BASE, [limit])[0] for limit in (slow, fast))
    assert [
        e.settings["alpha"] for e in (*a.events, *b.events) if isinstance(e, EpisodeStarted)
    ] == [2, 0.5]
    assert a.sequence is not None
    assert b.sequence is not None
    assert a.sequence.prompt_ids == b.sequence.prompt_ids
    given = RecordReward(Reward(name="timely"))([[a], [b]], 0, 0.0)
    for one, limit, (reward,) in ((a, slow, given[0]), (b, fast, given[1])):
        told = make_row(one.events)
        assert limit.span is not None
        is_late = limit.alpha * told.tokens * LANGUAGE.pace.per_token > limit.span
        assert (reward == 0) == (is_late or told.checked == "none")


def test_a_clock_that_lies_changes_what_is_heard_and_nothing_before(whole: Path) -> None:
    limits = in_turn(TIMER_SMOKE, 48)
    true, fast = (
        [make_row(one.events) for one in played(whole / "seed-1" / BASE, limits, scale)]
        for scale in (1.0, 2.0)
    )
    for honest, liar in zip(true, fast, strict=True):
        assert (honest.heard is None) == (liar.heard is None)
        assert honest.before == liar.before
        if honest.heard is not None:
            assert liar.heard == pytest.approx(2 * honest.heard)


def test_every_room_comes_on_every_device_in_each_update() -> None:
    limits = in_turn(TIMER, TIMER.cases)
    rooms = {(one.span / one.alpha / 1e8, one.alpha) for one in limits if one.span}
    assert rooms == set(product((10, 14, 20, 28, 56), (0.5, 1, 2)))
    assert {str(one.budget) for one in limits} == {TIMER.budget(n) for n in TIMER.language.budgets}


def test_a_multiple_is_not_cut_where_the_clock_tells_the_rest() -> None:
    limits = relative(TIMER, [48, 9, 28], (0.75,))
    assert [(one.span, one.alpha) for one in limits] == [
        (1_800_000_000, 0.5),  # 36 tokens
        (675_000_000, 1.0),
        (4_200_000_000, 2.0),
    ]


def test_the_command_of_the_timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = CliRunner().invoke(app, ["train", "quick", "--timer", "--ablation"])
    assert "--timer" in str(both.exception)
    seen: list[Step] = []

    def run(todo: list[Step], *_: object) -> list[str]:
        seen.extend(todo)
        todo.clear()
        return []

    monkeypatch.setattr("timeful.training.quick.run._do_steps", run)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["train", "quick", "--timer", "--seeds", "1"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "runs/quick-timer/settings.json").exists()
    assert {step.recipe for step in seen} == {TIMER}
    assert {step.kind for step in seen} == {
        "teach",
        "measure",
        "learn",
        "grade",
        "hurry",
        "mislead",
    }
