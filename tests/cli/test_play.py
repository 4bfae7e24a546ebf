"""`timeful play`: what a script gets, and what a person's terminal gets."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

import pytest

from timeful.cli.main import main
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.records.events import Turned
from timeful.records.recorder import read_record

COMMAND = [sys.executable, "-c", "from timeful.cli.main import main; main()", "play"]


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str], str]:
    monkeypatch.setattr(sys, "argv", ["timeful", "play", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out.splitlines(), err


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: run(monkeypatch, capsys, *arguments)


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("mode", ["compat", "paper"])
def test_a_script_gets_the_start_and_every_step_as_the_game_plays_them(
    play: Any, name: str, mode: str
) -> None:
    letters = {"freeway": "UUSD", "snake": "DRLU", "overcooked": "LIUS"}[name]
    code, lines, err = play(
        name,
        "--difficulty",
        "medium",
        "--seed",
        "0",
        "--mode",
        mode,
        "--actions",
        letters,
        "--json",
    )
    game = make_game(name, difficulty="medium", seed=0, mode=mode)  # type: ignore[arg-type]
    start = {"turn": 0, "state": game.summary(), "reward": 0.0, "return": game.score, "done": False}
    expected = [start]
    for letter in letters:
        reward = game.step(letter)
        expected.append(
            {
                "turn": game.turn,
                "state": game.summary(),
                "reward": reward,
                "return": game.score,
                "done": game.done,
            }
        )
    assert (code, err) == (0, "")
    # Through JSON, as the game's own summary may hold tuples.
    assert [json.loads(line) for line in lines] == json.loads(json.dumps(expected))
    assert [list(json.loads(line)) for line in lines] == [list(start)] * 5


def test_the_terminal_line_keeps_the_final_state(play: Any) -> None:
    code, lines, _ = play("snake", "--actions", "LLL", "--json")
    last = json.loads(lines[-1])
    assert code == 0
    assert last["done"]
    assert last["reward"] == -1
    assert last["state"]["body"] == [[1, 3], [2, 3]]


def test_actions_left_over_are_told_after_all_that_was_played(play: Any) -> None:
    code, lines, err = play("snake", "--actions", "LLLUU", "--json")
    assert code == 0
    assert [json.loads(line)["turn"] for line in lines] == [0, 1, 2, 3]
    assert err == "timeful: snake was over after turn 3; 2 of 5 actions were not used\n"


@pytest.mark.parametrize("letters", ["LXL", "LlL", "L L", "LéL"])
def test_an_illegal_letter_is_an_error_after_all_that_was_played(play: Any, letters: str) -> None:
    code, lines, err = play("snake", "--actions", letters, "--json")
    assert code == 2
    assert len(lines) == 2
    assert f"action 2 of 3 of snake: illegal action {letters[1]!r}" in err
    assert "legal actions are L, R, U, D" in err


def test_no_actions_give_the_start_alone(play: Any) -> None:
    code, lines, _ = play("overcooked", "--actions", "", "--json")
    assert code == 0
    assert [json.loads(line)["turn"] for line in lines] == [0]


def test_without_json_the_board_and_a_final_line_are_printed(play: Any) -> None:
    code, lines, _ = play("freeway", "--actions", "SSS")
    game = make_game("freeway", difficulty="easy", seed=0)
    for _ in range(3):
        game.step("S")
    assert code == 0
    assert "\n".join(lines[:-1]) == game.view().text()
    assert lines[-1] == "turn 3/100, return 97, not over"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("snak",), "unknown game 'snak'; there are: freeway, overcooked, snake. Did you mean"),
        (("snake", "--difficulty", "meduim"), "Did you mean 'medium'?"),
        (("snake", "--mode", "papre"), "Did you mean 'paper'?"),
        (("snake", "--seed", "32"), "snake has no seed 32 in mode 'compat'"),
        (("snake", "--seed", "1.5"), "--seed must be an integer, got '1.5'"),
        (("snake", "--tick", "soon"), "--tick must be a number, got 'soon'"),
        (("snake", "--tick", "0"), "--tick must be 0.05 to 3600 seconds, got 0"),
        (("snake", "--tick", "-1"), "--tick must be 0.05 to 3600 seconds, got -1"),
        (("snake", "--tick", "nan"), "--tick must be 0.05 to 3600 seconds, got nan"),
        (("snake", "--tick", "inf"), "--tick must be 0.05 to 3600 seconds, got inf"),
        (("snake", "--json"), "--json needs --actions"),
        (("snake", "--actions", "L", "--record", "x"), "--record requires a game by hand"),
        (("snake",), "playing by hand needs a terminal; from a script, give --actions"),
    ],
)
def test_a_wrong_input_is_one_clear_line(play: Any, arguments: tuple[str, ...], said: str) -> None:
    code, lines, err = play(*arguments)
    assert code == 2
    assert lines == []
    assert said in err
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "freeway", "--actions", "S" * 100, "--json"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode != 0


def at_a_terminal(*arguments: str, typed: tuple[tuple[bytes, bytes], ...]) -> tuple[int, str, bool]:
    """Play in a real pseudo-terminal of 80 x 24.

    Args:
        arguments: Of the command.
        typed: What to wait for on the screen, and what to type then.

    Returns:
        The exit code, all that was shown, and whether the terminal was given back as it was.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    shown = bytearray()
    to_type = list(typed)

    def watch() -> None:
        while True:
            try:
                shown.extend(os.read(master, 4096))
            except OSError:  # nobody has it open any more
                return
            if to_type and to_type[0][0] in shown:
                os.write(master, to_type.pop(0)[1])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        code = process.wait(60)
    finally:
        process.kill()
        restored = termios.tcgetattr(slave) == before
        os.close(slave)
        watcher.join(60)
        os.close(master)
    return code, shown.decode(), restored


ANY_KEY = b"Press any key"


def test_a_person_plays_to_the_end_and_sees_the_agents_scores(tmp_path: Path) -> None:
    record = tmp_path / "snake.jsonl"
    code, shown, restored = at_a_terminal(
        "snake", "--tick", "0.05", "--record", str(record), typed=((ANY_KEY, b" "),)
    )
    screen, final = shown.split("\x1b[?1049l")  # the game's own screen is left
    assert code == 0
    assert restored
    assert "turn 1/100" in screen
    assert "time left" in screen
    assert "snake, easy: over." in final
    for name in ("you", "agile", "planning", "reactive"):
        assert name in final
    assert "return 0, 3 turns, 3 late" in final
    events = list(read_record(record))
    assert type(events[0]).__name__ == "EpisodeStarted"
    assert [type(event).__name__ for event in events].count("Turned") == 3


def test_an_arrow_key_moves_the_player_in_the_turn_under_way(tmp_path: Path) -> None:
    record = tmp_path / "freeway.jsonl"
    code, _, restored = at_a_terminal(
        *("freeway", "--tick", "0.5", "--record", str(record)),
        typed=((ANY_KEY, b" "), (b"Your move?", b"\x1b[B"), (b"Last turn", b"q")),
    )
    turned = [event for event in read_record(record) if isinstance(event, Turned)]
    assert code == 0
    assert restored
    assert (turned[0].action, turned[0].late) == ("D", False)


@pytest.mark.parametrize("key", [b"q", b"\x03", b"\x04"])
def test_leaving_gives_the_terminal_back(key: bytes) -> None:
    code, shown, restored = at_a_terminal(
        "overcooked", "--tick", "60", typed=((ANY_KEY, b" "), (b"Your move?", key))
    )
    assert code == 0
    assert restored
    assert shown.endswith("You left after 0 turns, with a return of 0 so far.\r\n")


def test_a_record_is_not_written_over(tmp_path: Path) -> None:
    record = tmp_path / "kept.jsonl"
    record.write_text("kept")
    code, shown, _ = at_a_terminal("snake", "--record", str(record), typed=())
    assert code == 2
    assert "exists already" in shown
    assert record.read_text() == "kept"
