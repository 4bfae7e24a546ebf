"""Promises of the players that stand in for a model on problems of reasoning."""

import re
from functools import partial
from itertools import pairwise

import pytest

from timeful.agents.prompts.timely import BRIEFINGS
from timeful.agents.scripted_policies.solver import PLAYERS
from timeful.agents.tool_user import tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import Duration
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.problems import Problem, load
from timeful.environments.reasoning.task import ReasoningTask
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.rules import RuleModel
from timeful.records.events import Happened, ThoughtEnded
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode

PROBLEMS = load("mixed", size=84, seed=1)


class Kept(Recorder):
    def __init__(self):
        super().__init__()
        self.events = []

    def write(self, event):
        self.events.append(event)


class Played:
    """How one episode went."""

    def __init__(self, events):
        self.over = next(e for e in events if isinstance(e, Happened) and e.what == "over").data
        thoughts = [event for event in events if isinstance(event, ThoughtEnded)]
        self.said = [event.answer for event in thoughts]
        self.tokens = sum(event.tokens for event in thoughts)
        self.asked = sum(isinstance(e, Happened) and e.what == "reply" for e in events)
        self.is_late = self.over["reason"] == "deadline"
        self.counted = Duration(self.over["counted"])


def play(name, problem, *, budget=None, seed=1, pace=None, timer=None):
    player, kept = PLAYERS[name], Kept()
    time = TimeSettings(budget=budget, timer=timer or TimerSettings())
    model = RuleModel(player.make(problem), name=name, pace=pace or player.pace)
    assert play_episode(
        EpisodeSetting(settings={}, seed=seed),
        environment=TimedTask(ReasoningTask(problem, Checker()), time, seed=seed),
        interface=partial(EventDriven, full=False),
        agent=partial(tool_user, model=model, briefing=BRIEFINGS["reasoning"]),
        clock=VirtualClock(),
        recorder=kept,
    )
    return Played(kept.events)


@pytest.fixture(scope="module")
def table():
    """Each player on all problems: unhurried, and at each part of that time."""
    rows = {}
    for name in PLAYERS:
        free = [play(name, problem) for problem in PROBLEMS]
        rows[name, None] = free
        for part in (0.75, 1, 2, 3):
            rows[name, part] = [
                play(name, problem, budget=Duration(int(part * one.counted)))
                for problem, one in zip(PROBLEMS, free, strict=True)
            ]
    return rows


def accuracy(played):
    return sum(one.over["correct"] for one in played) / len(played)


def tokens(played):
    return sum(one.tokens for one in played) / len(played)


@pytest.mark.slow
def test_paced_is_never_late_and_asks_the_timer_always(table):
    for part in (0.75, 1, 2, 3):
        assert not any(one.is_late for one in table["paced", part])
        assert all(one.asked for one in table["paced", part])


@pytest.mark.slow
def test_paced_works_longer_the_more_time_there_is(table):
    lengths = [tokens(table["paced", part]) for part in (0.75, 1, 2, 3)]
    assert all(b > 1.2 * a for a, b in pairwise(lengths))


@pytest.mark.slow
def test_paced_is_right_more_often_the_more_time_there_is(table):
    rates = [accuracy(table["paced", part]) for part in (0.75, 1, 3)]
    assert rates == sorted(rates)
    assert rates[-1] > rates[0]


def test_steady_says_the_same_whatever_the_time_and_is_late_where_it_is_short(table):
    for late, free in zip(table["steady", 0.75], table["steady", None], strict=True):
        assert late.is_late
        assert 0.6 * free.tokens < late.tokens <= 0.75 * free.tokens
    for part in (1, 2, 3):
        for one, free in zip(table["steady", part], table["steady", None], strict=True):
            assert (one.said, one.asked, one.is_late) == (free.said, 0, False)


def test_curt_is_in_time_and_pays_for_it_where_problems_are_hard(table):
    played = table["curt", 0.75]
    assert not any(one.is_late for one in played)
    easy, hard = [], []
    for problem, one in zip(PROBLEMS, played, strict=True):
        (easy if len(problem.worked) <= 6 else hard).append(one)
    assert accuracy(hard) < 0.4 < accuracy(easy)
    assert tokens(played) < tokens(table["curt", None]) / 2


def test_what_was_not_worked_out_is_not_known(table):
    """An answer without all of the steps is the latest figure, or any of the choices."""
    seen = 0
    for problem, one in zip(PROBLEMS, table["curt", 1], strict=True):
        figures = re.findall(r"(-?\d+)\.$", one.said[0], re.MULTILINE)
        if len(problem.worked) > 6 and not problem.choices:
            assert one.over["answer"] == figures[5]
            seen += 1
    assert seen > 20


def test_an_unworked_choice_is_a_guess_at_random():
    problems = load("choices:12", size=200, seed=3)
    played = [play("curt", problem, budget=Duration(10**10)) for problem in problems]
    answers = [one.over["answer"] for one in played]
    # Each letter, and the right one, 50 times of 200: within 4 standard deviations (6 each).
    assert all(26 <= answers.count(letter) <= 74 for letter in "ABCD")
    assert 26 <= sum(one.over["correct"] for one in played) <= 74


def test_slips_of_one_seed_fall_on_other_steps_of_other_problems(table):
    # 2 % a step and about eight steps: 15 % of the 84, within 4 standard deviations (4 % each).
    assert 0.7 < accuracy(table["steady", None]) < 0.99


def test_a_slip_is_carried_to_the_answer_and_going_over_it_again_mends_it():
    (problem,) = load("sums:12", size=1, seed=4)
    wrong = mended = 0
    for seed in range(60):
        free = play("paced", problem, seed=seed)
        figures = [int(f) for said in free.said for f in re.findall(r"(-?\d+)\.$", said, re.M)]
        assert free.over["answer"] == str(figures[-1])
        slipped = figures[-1] != int(problem.answer)
        assert free.over["correct"] != slipped
        if slipped:
            wrong += 1
            mended += play("paced", problem, seed=seed, budget=Duration(4 * free.counted)).over[
                "correct"
            ]
    assert wrong > 5
    assert mended > wrong / 2


def test_tokens_are_the_words_that_are_said(table):
    for key in (("paced", 3), ("steady", 0.75), ("steady", 1), ("curt", 1)):
        for one in table[key]:
            assert one.tokens == sum(len(said.split()) for said in one.said)


@pytest.mark.parametrize("name", PLAYERS)
def test_the_same_seed_says_the_same(name):
    a, b = (play(name, PROBLEMS[0], budget=Duration(3_000_000_000)) for _ in range(2))
    assert (a.said, a.over) == (b.said, b.over)


def test_the_timer_is_believed_and_nothing_else_is_known_of_the_time():
    """With one that is three times too fast all is shorter; with one too slow it is late."""
    problems = [problem for problem in PROBLEMS if len(problem.worked) > 6][:12]
    for problem in problems:
        budget = Duration(2 * play("paced", problem).counted)
        true, fast, slow = (
            play("paced", problem, budget=budget, timer=TimerSettings(scale=scale))
            for scale in (1.0, 3.0, 0.2)
        )
        assert fast.tokens < true.tokens
        assert slow.is_late


def test_in_token_time_too_it_is_in_time():
    for problem in PROBLEMS[:28]:
        free = play("paced", problem, pace=TOKEN_TIME)
        hurried = play("paced", problem, budget=Duration(free.counted * 3 // 4), pace=TOKEN_TIME)
        assert not hurried.is_late


@pytest.mark.parametrize("name", PLAYERS)
def test_a_problem_without_a_worked_solution_is_refused(name):
    problem = Problem(id="p", family="f", question="q", answer="1", kind="exact")
    with pytest.raises(SettingsError, match="no worked solution"):
        PLAYERS[name].make(problem)


def test_a_timer_that_shows_no_time_yet_is_asked_again():
    fast = Pace(per_token=Duration(1000))  # so fast that it shows 0.00 seconds
    for problem in PROBLEMS[:14]:
        played = play("paced", problem, budget=Duration(10_000_000), pace=fast)
        assert played.asked == len(problem.worked)
        assert played.over["reason"] == "answered"
