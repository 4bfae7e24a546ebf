"""The players that pick ready scripts: what they read of the time, and what they do with it."""

import ast
import json
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.environments.coding.runners import FakeRan, FakeRunner, wrote
from timeful.agents.scripted_policies.ladder import PACE as OWN
from timeful.agents.scripted_policies.ladder import PLAYERS
from timeful.agents.scripted_policies.scripts import ladder
from timeful.agents.tool_user import Reply, Round, Transcript, tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import milliseconds, seconds
from timeful.environments.coding.cases import SYNTHETIC, Case, open_case
from timeful.environments.coding.task import EXECUTE, CodingTask
from timeful.environments.timed.latency import Measured
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.interfaces.event_driven import EventDriven
from timeful.models.model import Message
from timeful.models.pace import Pace
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.tools import ToolCall

PACE = Pace(per_token=milliseconds(1))


@pytest.fixture(scope="module")
def case() -> Case:
    return open_case("iris")


def played(
    case: Case,
    player: str,
    folder: Path,
    *,
    budget: float | None,
    more: float = 0.0,
    slower: float = 1.0,
    tells: str = "elapsed",
    fails: str = "",
    pace: Pace = PACE,
) -> tuple[list[str], dict]:
    """The scripts that were run, by their names, and how it ended.

    Each takes `slower` times as long as the ladder says, which it prints, and then `more`; it
    submits its rung as its accuracy.
    """
    rungs = {rung.code: rung for rung in ladder(case)}
    names = [rung.name for rung in rungs.values()]
    ids, labels = case.answers.ids, case.answers.truth[:, 0]

    def of(code: str) -> FakeRan:
        rung = rungs[code]
        took = rung.seconds * slower
        if rung.name == fails:
            return FakeRan("", "exit code 1", took + more)
        right = len(ids) * (names.index(rung.name) + 1) // len(names)
        said = [str(int(one)) if i < right else "9" for i, one in enumerate(labels)]
        lines = ["id,label", *(f"{i},{one}" for i, one in zip(ids, said, strict=True))]
        return wrote("\n".join(lines).encode(), took + more, stdout=f"took {took:.3f} s\n")

    runner = FakeRunner(of)
    time = TimeSettings(
        budget=None if budget is None else seconds(budget),
        latency=Measured(),
        timer=TimerSettings(tells=tells),
    )
    path = folder / "record.jsonl"
    path.unlink(missing_ok=True)
    with closing(Recorder(path)) as recorder:
        play_episode(
            EpisodeSetting(settings={}, seed=1),
            environment=TimedTask(CodingTask(case, runner), time, seed=1),
            interface=partial(EventDriven, full=False),
            agent=partial(
                tool_user,
                model=RuleModel(PLAYERS[player].make(case), name=player, pace=pace),
                briefing=lambda view, calls: [Message("user", view.text())],
            ),
            clock=VirtualClock(),
            recorder=recorder,
        )
    events = map(json.loads, path.read_text().splitlines())
    (over,) = [one["data"] for one in events if one.get("what") == "over"]
    return [rungs[code].name for code, _ in runner.ran], over


def test_the_climber_takes_the_best_that_fits(case, tmp_path):
    play = partial(played, case, "climber", tmp_path, pace=OWN)
    assert {b: play(budget=b)[0] for b in (0.6, 1.5, 2, 2.5, 4, 6, None)} == {
        0.6: [],
        1.5: ["prior"],
        2: ["bayes"],
        2.5: ["middle"],
        4: ["forest"],
        6: ["search"],
        None: ["search"],
    }


def test_the_climber_does_not_look_at_the_time_if_that_costs_its_only_submission(case, tmp_path):
    ran, over = played(case, "climber", tmp_path, budget=1.5, pace=OWN)
    assert (ran, over["valid_runs"]) == (["prior"], 1)


def test_the_climber_submits_something_before_if_there_is_time_for_both(case, tmp_path):
    play = partial(played, case, "climber", tmp_path, pace=OWN)
    assert play(budget=5)[0] == ["bayes", "forest"]
    assert play(budget=8)[0] == ["bayes", "search"]
    assert play(budget=20)[0] == ["bayes", "search"]


@pytest.mark.parametrize("slower", [0.5, 1, 1.4])
@pytest.mark.parametrize("budget", [2, 2.5, 3, 4, 5, 6, 8, 12])
@pytest.mark.parametrize("pace", [OWN, PACE])
def test_the_climber_is_in_time_and_ends_with_its_best(case, tmp_path, budget, slower, pace):
    ran, over = played(case, "climber", tmp_path, budget=budget, slower=slower, pace=pace)
    names = [rung.name for rung in ladder(case)]
    assert over["reason"] == "answered"
    assert over["valid_runs"] == len(ran) > 0
    assert over["reward_accuracy"] == max(names.index(one) + 1 for one in ran) / len(names)


def test_what_was_slow_is_expected_to_be_slow_again(case, tmp_path):
    play = partial(played, case, "climber", tmp_path, pace=OWN)
    double = Pace(first=2 * OWN.first, per_token=2 * OWN.per_token)
    assert (play(budget=7)[0], play(budget=6)[0]) == (["bayes", "search"], ["search"])
    ran, over = play(budget=7, slower=2)
    assert (ran, over["reason"]) == (["bayes", "forest"], "answered")
    ran, over = play(budget=6, pace=double)
    assert (ran, over["reason"]) == (["forest"], "answered")


def test_three_of_its_own_steps_are_enough_for_the_best(case, tmp_path):
    _, over = played(case, "climber", tmp_path, budget=None, pace=OWN)
    ran, _ = played(case, "climber", tmp_path, budget=3 * over["counted"] / 2e9, pace=OWN)
    assert ran[-1] == "search"


@pytest.mark.parametrize("tells", ["elapsed", "remaining", "both", "nothing"])
def test_the_climber_asks_the_timer_first_and_then_if_replies_do_not_tell(case, tmp_path, tells):
    ran, over = played(case, "climber", tmp_path, budget=8, tells=tells, pace=OWN)
    assert ran == ["bayes", "search"]
    assert over["reason"] == "answered"
    asked = (tmp_path / "record.jsonl").read_text().count('"tool":"get_duration"')
    assert asked == (3 if tells == "nothing" else 1)


def test_a_timer_that_does_not_tell_is_asked_once(case):
    task = TimedTask(CodingTask(case, FakeRunner(lambda code: FakeRan())), TimeSettings(), seed=0)
    rule = PLAYERS["climber"].make(case)
    rng = np.random.Generator(np.random.PCG64(0))
    code = {"code": ladder(case)[0].code}
    replies = [ToolCall(name=EXECUTE.name, arguments=code), ToolCall(name="get_duration")]
    rounds = tuple(
        Round(message="", replies=(Reply(call=call, text="no idea"),)) for call in replies
    )
    asks = rule(Transcript(view=task.view(), rounds=rounds[:1]), rng).text
    assert '"get_duration"' in asks
    assert "<conclusion>" in rule(Transcript(view=task.view(), rounds=rounds), rng).text


def test_a_script_that_failed_is_not_run_again(case, tmp_path):
    ran, over = played(case, "climber", tmp_path, budget=20, fails="search")
    assert ran == ["bayes", "search", "forest"]
    assert over["reward_accuracy"] == 0.8


def test_where_the_best_failed_the_next_best_is_submitted(case, tmp_path):
    play = partial(played, case, "climber", tmp_path, fails="search", pace=OWN)
    assert play(budget=6)[0] == ["search", "bayes"]
    assert play(budget=None)[0] == ["search", "forest"]


def test_one_shot_chooses_by_the_budget_alone(case, tmp_path):
    play = partial(played, case, "one-shot", tmp_path)
    assert [play(budget=b)[0] for b in (0.1, 0.5, 1, 2, 9, None)] == [
        [],
        ["bayes"],
        ["middle"],
        ["forest"],
        ["search"],
        ["search"],
    ]


def test_the_stubborn_one_is_late_and_has_nothing(case, tmp_path):
    ran, over = played(case, "stubborn", tmp_path, budget=2)
    assert ran == ["search"]
    assert (over["reason"], over["reward_accuracy"], over["runs"]) == ("deadline", 0.0, 0)
    assert played(case, "stubborn", tmp_path, budget=4)[1]["reward_accuracy"] == 1


def test_last_words_are_the_time_and_the_accuracy(case, tmp_path):
    played(case, "climber", tmp_path, budget=20)
    record = (tmp_path / "record.jsonl").read_text()
    assert "<accuracy>1.0000</accuracy>" in record
    assert "<conclusion>total duration: 2." in record or "duration: 3." in record


@pytest.mark.parametrize("name", SYNTHETIC)
def test_scripts_are_whole_programs_quick_ones_first(name):
    rungs = ladder(open_case(name))
    assert [rung.name for rung in rungs] == ["prior", "bayes", "middle", "forest", "search"]
    assert [rung.seconds for rung in rungs] == sorted(rung.seconds for rung in rungs)
    for rung in rungs:
        ast.parse(rung.code)
        assert "data/public/train.csv" in rung.code
        assert "submission.csv" in rung.code
