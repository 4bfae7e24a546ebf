"""The offline players of games of words: rules over the transcript, and over nothing else."""

import re
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest

from timeful.agents.prompts.timely import BRIEFINGS
from timeful.agents.scripted_policies.explorer import PLAYERS
from timeful.agents.scripted_policies.reading import (
    ending,
    first_title,
    is_harmful,
    is_way,
    read_commands,
    read_text,
)
from timeful.agents.tool_user import Reply, Round, Transcript, find_calls, tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import START, Duration, seconds
from timeful.environments.fiction.library import open_game
from timeful.environments.fiction.task import FictionTask
from timeful.environments.timed.latency import Constant
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.interfaces.event_driven import EventDriven
from timeful.models.rules import Answer, RuleModel
from timeful.records.recorder import Recorder, read_record
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child
from timeful.tools import ToolCall, read_call

NAMES = sorted(PLAYERS)
STEP = {"hasty": 0.4, "careful": 5.0}
"""Seconds that a thought of theirs takes."""


class Played:
    """An episode: every transcript that its player saw, what it answered, and how it ended."""

    def __init__(
        self, player: str, folder: Path, *, game: str = "skerry", budget: float, latency: float = 0,
        seed: int = 1,
    ) -> None:  # fmt: skip
        self.seen: list[tuple[Transcript, int]] = []
        self.answers: list[Answer] = []
        make = PLAYERS[player]
        rule = make.make()

        def watched(transcript: Transcript, rng: object) -> Answer:
            self.seen.append((transcript, len(self.seen)))
            chance = child(seed, "test", len(self.seen))
            self.answers.append(rule(transcript, chance))
            return self.answers[-1]

        self.task = FictionTask(open_game(game, seed=seed))
        time = TimeSettings(budget=seconds(budget), latency=Constant(seconds(latency)))
        record = folder / f"{player}-{game}-{budget:g}-{latency:g}-{seed}.jsonl"
        with closing(Recorder(record)) as recorder:
            play_episode(
                EpisodeSetting(settings={}, seed=seed),
                environment=TimedTask(self.task, time, seed=seed),
                interface=partial(EventDriven, full=False),
                agent=partial(
                    tool_user,
                    model=RuleModel(watched, name=player, pace=make.pace),
                    briefing=BRIEFINGS["fiction"],
                ),
                clock=VirtualClock(),
                recorder=recorder,
            )
        overs = [one for one in read_record(record) if getattr(one, "what", "") == "over"]
        self.over = overs[-1].data


@pytest.mark.parametrize("game", ["skerry", "cave"])
@pytest.mark.parametrize("player", NAMES)
def test_they_finish_in_time_with_the_words_that_are_asked_for(
    player: str, game: str, tmp_path: Path
) -> None:
    for latency, budget in ((0.0, 40 * STEP[player]), (20.0, 800.0)):
        played = Played(player, tmp_path, game=game, budget=budget, latency=latency)
        assert played.over["reason"] == "answered"
        last = played.answers[-1].text
        found = re.fullmatch(
            r"<conclusion>total duration: (\d+\.\d\d) seconds</conclusion>\n<score>(-?\d+)</score>",
            last,
        )
        assert found
        assert budget / 2 <= float(found.group(1)) <= budget
        assert int(found.group(2)) == played.over["final_score"]


@pytest.mark.parametrize("player", NAMES)
def test_the_same_transcript_gets_the_same_answer_from_a_new_player(
    player: str, tmp_path: Path
) -> None:
    played = Played(player, tmp_path, budget=40 * STEP[player])
    assert len(played.seen) > 20
    shared = PLAYERS[player].make()
    for transcript, number in reversed(played.seen):  # backwards, so that nothing kept can help
        for rule in (shared, PLAYERS[player].make()):
            assert rule(transcript, child(1, "test", number + 1)) == played.answers[number]


@pytest.mark.parametrize("player", NAMES)
def test_every_answer_but_the_last_is_one_call_of_a_tool_there_is(
    player: str, tmp_path: Path
) -> None:
    played = Played(player, tmp_path, budget=40 * STEP[player])
    tools = {tool.name for tool in played.task.tools}
    for answer in played.answers[:-1]:
        (text,) = find_calls(answer.text)
        assert read_call(text).name in tools
    pace = PLAYERS[player].pace
    assert {pace(answer.tokens) for answer in played.answers} == {seconds(STEP[player])}


@pytest.mark.parametrize("player", NAMES)
def test_refused_calls_teach_nothing_and_stop_nobody(player: str) -> None:
    view = TimedView(
        at=START, turn=0, opening="A story\n\nHall\nBare.", tools=(), budget=None,
        elapsed=Duration(0),
    )  # fmt: skip
    call = ToolCall(name="step", arguments={"action": "north"})
    rounds = (
        Round(message="?", replies=(Reply(call=None, text="Error: no JSON"),)),
        Round(message="?", replies=(Reply(call=call, text="Error: step is still running"),)),
        Round(message="?", replies=()),
    )
    rule = PLAYERS[player].make()
    fresh = rule(Transcript(view=view), child(1, "a"))
    assert rule(Transcript(view=view, rounds=rounds), child(1, "a")) == fresh
    assert "get_available_actions" in fresh.text
    asked = Round(message="?", replies=(reply("get_available_actions", "You could try: north"),))
    knows = rule(Transcript(view=view, rounds=(asked,)), child(1, "a"))
    assert rule(Transcript(view=view, rounds=(asked, *rounds)), child(1, "a")) == knows
    assert '"north"' in knows.text


@pytest.mark.slow
@pytest.mark.parametrize(("latency", "ahead"), [(0, "hasty"), (50, "careful")])
def test_latency_turns_the_order_round(latency: int, ahead: str, tmp_path: Path) -> None:
    """Figure 2 of the Timely Machine, by eight seeds of our own game, at 30 steps of both."""
    means = {
        name: fmean(
            Played(name, tmp_path, budget=30 * (2.7 + latency), latency=latency, seed=seed).over[
                "final_score"
            ]
            for seed in range(8)
        )
        for name in NAMES
    }
    assert max(means, key=lambda name: means[name]) == ahead


# --- reading -------------------------------------------------------------------------------------


def reply(tool: str, text: str) -> Reply:
    return Reply(call=ToolCall(name=tool), text=text)


@pytest.mark.parametrize(
    "time",
    [
        "",
        "\nYou have spent 3.60 seconds.",
        "\nYou have 3.60 seconds left.",
        "\nYou have spent 3.60 seconds. You have 6.40 seconds left.",
    ],
)
def test_the_time_is_no_part_of_what_the_game_says(time: str) -> None:
    text = "Taken.\nYou have spent all your money."
    assert read_text(reply("step", text + time)) == text


def test_lists_are_read_and_other_replies_are_none() -> None:
    tool = "get_available_actions"
    assert read_commands(
        reply(tool, "You could try: north; take lamp\nYou have spent 1.00 seconds.")
    ) == (
        "north",
        "take lamp",
    )
    assert read_commands(reply(tool, "Nothing comes to mind.\nYou have spent 1.00 seconds.")) == ()
    assert read_commands(reply("step", "You could try: north")) is None
    assert read_commands(reply(tool, "Error: step is still running")) is None


def test_ways_and_harm_are_told_by_words() -> None:
    assert is_way("northeast")
    assert is_way("xyzzy")
    assert not is_way("take lamp")
    assert not is_way("yes")
    assert is_harmful("drop lamp")
    assert is_harmful("lock grate")
    assert not is_harmful("unlock grate")
    assert first_title("The game begins.\n\nA TALE\nby us\n\nHall\nA bare hall.") == "hall"


def test_without_a_limit_only_boredom_ends_a_game() -> None:
    view = TimedView(
        at=START, turn=3, opening="", tools=(), budget=None, elapsed=seconds(1000)
    )  # fmt: skip
    rounds = (Round(message="", replies=(reply("step", "x"),)),)
    assert ending(Transcript(view=view, rounds=rounds), 5) is None
    end = ending(Transcript(view=view, rounds=rounds), 5, bored=True)
    assert end is not None
    assert "get_score" in end.text
