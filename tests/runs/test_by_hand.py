"""A person is an agent: their keys count in the turn in which they are pressed."""

import re
import threading
from pathlib import Path

import pytest

from timeful.core.clock import WallClock
from timeful.core.units import seconds
from timeful.environments.game import DIFFICULTIES, Game
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.errors import SettingsError, TimefulError
from timeful.records.events import Acted, EpisodeEnded, EpisodeStarted, Turned
from timeful.records.recorder import Recorder, read_record
from timeful.runs.board import Caption, draw, keys_of
from timeful.runs.by_hand import Sitting, open_record, play_by_hand

GIVE_UP_S = 30


class Desk:
    """A clock that jumps, and a person who presses keys at given instants of it.

    The clock goes no further than to the next key, and waits there until it has arrived, so
    that nothing depends on how fast threads are.
    """

    def __init__(self, *keys: tuple[float, str]) -> None:
        self.now = 0
        self.keys = [(round(at * 1e9), key) for at, key in keys]
        self.typing = iter(self.keys)
        self.due = next(self.typing, None)
        self.pressed: list[str] = []
        self.frames: list[tuple[int, list[str]]] = []
        self.window = (80, 24)
        self.broken_at: int | None = None
        self._may_read = threading.Semaphore(0)
        self._woken = False

    def clock(self) -> WallClock:
        return WallClock(read=lambda: self.now, wait=self._wait)

    def _wait(self, condition: threading.Condition, timeout_s: float | None) -> None:
        end = None if timeout_s is None else self.now + round(timeout_s * 1e9)
        if self.due is not None and (end is None or self.due[0] <= end):
            self.now = max(self.now, self.due[0])
            self.pressed.append(self.due[1])
            self.due = next(self.typing, None)
            self._may_read.release()
            assert condition.wait(GIVE_UP_S)
        elif end is not None:
            self.now = end

    # --- the screen ---------------------------------------------------------------------------

    def read_key(self, timeout_s: float | None = None) -> str:
        if timeout_s is not None:  # before the world starts
            assert self.due is not None
            key, self.due = self.due[1], next(self.typing, None)
            return key
        assert self._may_read.acquire(timeout=GIVE_UP_S)
        return self.pressed.pop(0) if self.pressed else ""

    def wake(self) -> None:
        self._may_read.release()

    def size(self) -> tuple[int, int]:
        return self.window

    def paint(self, lines: list[str]) -> None:
        if self.broken_at is not None and self.now >= self.broken_at:
            raise OSError("the terminal has gone")
        self.frames.append((self.now, lines))


def sit(
    desk: Desk, name: str = "freeway", *, recorder: Recorder | None = None, tick_s: float = 1.0
) -> Sitting:
    return play_by_hand(
        make_game(name, difficulty="easy", seed=0),
        desk,
        settings={"game": name, "difficulty": "easy", "seed": 0, "mode": "compat"},
        tick=seconds(tick_s),
        recorder=recorder or Recorder(),
        clock=desk.clock(),
        colour=False,
    )


def test_a_key_counts_in_the_turn_in_which_it_is_pressed() -> None:
    recorder = Recorder()
    desk = Desk((0, "x"), (0.5, "s"), (1.25, "down"), (1.75, "space"), (3.5, "U"), (4.5, "q"))
    sit(desk, recorder=recorder)
    turned = [event for event in recorder.events if isinstance(event, Turned)]
    assert [(event.action, event.late) for event in turned] == [
        ("S", False),
        ("S", False),  # the last of two keys
        ("U", True),
        ("U", False),
    ]
    acted = [event for event in recorder.events if isinstance(event, Acted)]
    assert [(event.at, event.turn, event.action) for event in acted] == [
        (seconds(0.5), 0, "S"),
        (seconds(1.25), 1, "D"),
        (seconds(1.75), 1, "S"),
        (seconds(3.5), 3, "U"),
    ]


def test_the_world_does_not_wait_for_a_person_who_does_nothing() -> None:
    recorder = Recorder()
    desk = Desk((0, "x"))
    sitting = sit(desk, "snake", recorder=recorder, tick_s=2.0)
    assert sitting == Sitting(turns=3, late=3, score=0.0, is_over=True)
    turned = [event.at for event in recorder.events if isinstance(event, Turned)]
    assert turned == [seconds(2), seconds(4), seconds(6)]


def test_a_whole_game_scores_as_its_actions_do() -> None:
    game = make_game("freeway", difficulty="easy", seed=0)
    keys = "USUUSDUUU"
    for key in keys:
        game.step(key)
    desk = Desk((0, "x"), *((turn + 0.5, key) for turn, key in enumerate(keys)), (9.5, "q"))
    sitting = sit(desk)
    assert sitting == Sitting(turns=9, late=0, score=game.score, is_over=False)


def test_the_first_key_only_starts_the_world() -> None:
    recorder = Recorder()
    sit(Desk((0, "down"), (1.5, "q")), recorder=recorder)
    assert [event.late for event in recorder.events if isinstance(event, Turned)] == [True]


@pytest.mark.parametrize("key", ["q", "Q", "ctrl-c", "ctrl-d", "end"])
def test_leaving_ends_the_record_at_the_turn_reached(key: str, tmp_path: Path) -> None:
    path = tmp_path / "left.jsonl"
    recorder = Recorder(path)
    sitting = sit(Desk((0, "x"), (2.5, key)), recorder=recorder)
    recorder.close()
    assert sitting == Sitting(turns=2, late=2, score=98.0, is_over=False)
    events = list(read_record(path))
    assert isinstance(events[0], EpisodeStarted)
    end = events[-1]
    assert isinstance(end, EpisodeEnded)
    assert (end.reason, end.turns, end.score) == ("the player left", 2, 98.0)


@pytest.mark.parametrize("key", ["q", "ctrl-c", "end"])
def test_leaving_before_the_start_plays_no_turn(key: str) -> None:
    recorder = Recorder()
    assert sit(Desk((0, key)), recorder=recorder).turns == 0
    assert recorder.events == []


def test_keys_that_mean_nothing_do_nothing() -> None:
    recorder = Recorder()
    sit(Desk((0, "x"), (0.2, "left"), (0.4, "z"), (0.6, ""), (1.5, "q")), recorder=recorder)
    assert not [event for event in recorder.events if isinstance(event, Acted)]


def test_a_person_sees_the_clock_run_and_their_choice() -> None:
    desk = Desk((0, "x"), (0.5, "down"), (1.5, "q"))
    sit(desk)

    def shown(at_s: float) -> str:
        return "\n".join([lines for now, lines in desk.frames if now <= at_s * 1e9][-1])

    left = [
        float(found[1])
        for now, lines in desk.frames
        if 0 < now < 1e9 and (found := re.search(r"time left +([\d.]+) s", "\n".join(lines)))
    ]
    assert len(left) >= 20
    assert left == sorted(left, reverse=True)
    assert left[0] - left[-1] > 0.8
    assert "turn 1/100" in shown(0.45)
    assert "Your move? Else up (U)" in shown(0.45)
    assert "Your move: down (D)" in shown(0.55)
    assert "turn 2/100" in shown(1.1)
    assert "Last turn: down (D); reward -1." in shown(1.1)
    assert "Your move? Else up (U)" in shown(1.1)


def test_a_screen_that_breaks_ends_the_game_with_an_error() -> None:
    desk = Desk((0, "x"))
    desk.broken_at = 2_000_000_000
    with pytest.raises(TimefulError, match="the terminal has gone"):
        sit(desk)


def test_a_record_that_exists_or_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text("kept")
    with pytest.raises(SettingsError, match="exists already"):
        open_record(path)
    assert path.read_text() == "kept"
    with pytest.raises(SettingsError, match="cannot be written"):
        open_record(path / "below.jsonl")
    open_record(None).close()


CAPTION = Caption(
    title="a game, seed 0, compat",
    left_s=0.5,
    tick_s=1.0,
    message="Your move: interact (I)",
    last="Last turn: interact (I), as no key came in time; reward +20.",
)


def game_after(name: str, difficulty: str, turns: int = 0) -> Game:
    game = make_game(name, difficulty=difficulty, seed=0)  # type: ignore[arg-type]
    for _ in range(turns):
        if not game.done:
            game.step(game.default_action)
    return game


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_every_game_fits_80_by_24_with_nothing_cut_off(name: str, difficulty: str) -> None:
    game = game_after(name, difficulty, turns=2)
    lines = draw(game, CAPTION, columns=80, rows=24, colour=False)
    assert len(lines) <= 24
    assert max(map(len, lines)) < 80
    for text in (CAPTION.title, CAPTION.message, CAPTION.last, "time left", "q: leave"):
        assert any(text in line for line in lines)
    for row in game.view().text().splitlines():
        assert f"  {row.rstrip()}" in lines


@pytest.mark.parametrize("name", GAME_NAMES)
def test_colours_change_no_character(name: str) -> None:
    game = game_after(name, "medium", turns=4)
    plain = draw(game, CAPTION, columns=80, rows=24, colour=False)
    coloured = draw(game, CAPTION, columns=80, rows=24, colour=True)
    assert coloured != plain
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured] == plain


def test_a_window_that_is_too_small_says_so_and_draws_nothing_beyond_it() -> None:
    game = game_after("overcooked", "hard")
    assert len(draw(game, CAPTION, columns=50, rows=24, colour=True)) == 1
    for columns in range(1, 62, 7):
        for rows in range(1, 24):
            small = draw(game, CAPTION, columns=columns, rows=rows, colour=False)
            assert len(small) <= rows
            assert all(len(line) < max(columns, 2) for line in small)


def letters(text: str) -> dict[str, str]:
    return {key: letter for letter in text for key in (letter, letter.lower())}


def every_key(name: str) -> dict[str, str]:
    return keys_of(make_game(name, difficulty="easy", seed=0))


def test_arrows_letters_and_space_mean_the_games_actions() -> None:
    arrows = {"up": "U", "down": "D", "left": "L", "right": "R"}
    freeway, snake, cook = map(every_key, ("freeway", "snake", "overcooked"))
    assert freeway == {"up": "U", "down": "D", "space": "S"} | letters("UDS")
    assert snake == arrows | letters("LRUD")
    assert cook == arrows | {"space": "I"} | letters("UDLRIS")


def test_a_player_who_is_hit_is_told() -> None:
    # Nobody touches a key but to begin, so the player walks up into the traffic.
    desk = Desk((0, "x"), (11.5, "q"))
    sit(desk)
    frames = [" ".join(" ".join(frame).split()) for _, frame in desk.frames]
    assert any("Hit: back to the start." in frame for frame in frames)
    assert not all("Hit: back" in frame for frame in frames)
