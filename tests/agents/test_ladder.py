"""The players that pick ready scripts: what they read of the time, and what they do with it."""

import ast
import json
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.environments.coding.runners import FakeRan, FakeRunner, wrote
from timeful.agents.players.ladder import PLAYERS
from timeful.agents.players.scripts import ladder
from timeful.agents.tool_user import Reply, Round, Transcript, tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import milliseconds, seconds
from timeful.environments.coding.cases import MADE, Case, open_case
from timeful.environments.coding.task import CodingTask
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
                model=RuleModel(PLAYERS[player].make(case), name=player, pace=PACE),
                briefing=lambda view, calls: [Message("user", view.text())],
            ),
            clock=VirtualClock(),
            recorder=recorder,
        )
    events = map(json.loads, path.read_text().splitlines())
    (over,) = [one["data"] for one in events if one.get("what") == "over"]
    return [rungs[code].name for code, _ in runner.ran], over


def test_the_climber_submits_quickly_and_then_takes_the_best_that_fits(case, tmp_path):
    play = partial(played, case, "climber", tmp_path)
    assert play(budget=20)[0] == ["prior", "search"]
    assert play(budget=2.5)[0] == ["prior", "forest"]
    assert play(budget=1.5)[0] == ["prior", "middle"]
    assert play(budget=0.6)[0] == ["prior"]


@pytest.mark.parametrize("budget", [0.6, 0.9, 1.2, 1.5, 2, 2.5, 3, 4, 5, 8])
def test_the_climber_is_in_time(case, tmp_path, budget):
    ran, over = played(case, "climber", tmp_path, budget=budget)
    assert over["reason"] == "answered"
    assert over["valid_runs"] == len(ran)


def test_the_climber_expects_what_slowed_it_down_again(case, tmp_path):
    assert played(case, "climber", tmp_path, budget=4)[0] == ["prior", "search"]
    for slow in ({"more": 0.4}, {"slower": 2}):
        ran, over = played(case, "climber", tmp_path, budget=4, **slow)
        assert ran == ["prior", "forest"]
        assert over["reason"] == "answered"


@pytest.mark.parametrize("tells", ["elapsed", "remaining", "both", "nothing"])
def test_the_climber_asks_the_timer_only_if_replies_do_not_tell(case, tmp_path, tells):
    ran, over = played(case, "climber", tmp_path, budget=4, tells=tells)
    assert ran == ["prior", "search"]
    assert over["reason"] == "answered"
    asked = over["counted"] - played(case, "climber", tmp_path, budget=4)[1]["counted"]
    assert (asked > 0) == (tells == "nothing")


def test_a_timer_that_does_not_tell_is_asked_once(case):
    task = TimedTask(CodingTask(case, FakeRunner(lambda code: FakeRan())), TimeSettings(), seed=0)
    rule = PLAYERS["climber"].make(case)
    rng = np.random.Generator(np.random.PCG64(0))
    replies = [ToolCall(name="execute_code_and_get_duration"), ToolCall(name="get_duration")]
    rounds = tuple(Round(said="", replies=(Reply(call=call, text="no idea"),)) for call in replies)
    asks = rule(Transcript(view=task.view(), rounds=rounds[:1]), rng).text
    assert '"get_duration"' in asks
    assert "<conclusion>" in rule(Transcript(view=task.view(), rounds=rounds), rng).text


def test_without_a_limit_the_climber_takes_the_best(case, tmp_path):
    ran, over = played(case, "climber", tmp_path, budget=None, tells="remaining")
    assert ran == ["prior", "search"]
    assert over["reward_accuracy"] == 1


def test_a_script_that_failed_is_not_run_again(case, tmp_path):
    ran, over = played(case, "climber", tmp_path, budget=20, fails="search")
    assert ran == ["prior", "search"]
    assert over["reward_accuracy"] == 0.2


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


@pytest.mark.parametrize("name", MADE)
def test_scripts_are_whole_programs_quick_ones_first(name):
    rungs = ladder(open_case(name))
    assert [rung.name for rung in rungs] == ["prior", "bayes", "middle", "forest", "search"]
    assert [rung.seconds for rung in rungs] == sorted(rung.seconds for rung in rungs)
    for rung in rungs:
        ast.parse(rung.code)
        assert "data/public/train.csv" in rung.code
        assert "submission.csv" in rung.code


def test_players_say_that_they_are_stand_ins():
    assert list(PLAYERS) == ["climber", "one-shot", "stubborn"]
    for name, player in PLAYERS.items():
        assert player.name == name
        assert player.says.startswith("stand-in")
