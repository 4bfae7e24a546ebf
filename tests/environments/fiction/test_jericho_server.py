"""What the program around Jericho reads out of texts and memories, without Jericho."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from timeful.environments.fiction import jericho_server
from timeful.environments.fiction.jericho_server import (
    CPU_S,
    Playing,
    lasting,
    nouns,
    plain,
    read_end,
    read_globals,
    read_objects,
    read_score,
    read_status,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Your score is 35 (total of 350 points), in 11 moves.", (35, 350)),
        ("Your score would be 0 (total of 400 points), in 0 moves.", (0, 400)),
        ("Your potential is 0 of a possible 7, in 0 moves.", (0, 7)),
        ("You have so far scored 5 out of a possible 10,\nin 2 turns.", (5, 10)),
        ("In that game you scored 7 out of a possible 7, in 12 turns.", (7, 7)),
        ("Your score is -10 (total of 350 points), in 3 moves.", (-10, 350)),
        ("Your score is 10.", (10, None)),
        ("That's not a verb I recognise.", (None, None)),
        ("You scored the wall with the knife.", (None, None)),
        ("There is no score in this story.", (None, None)),
    ],
)
def test_scores_are_read_in_all_forms(text: str, found: tuple[int | None, int | None]) -> None:
    assert read_score(text) == found


def test_a_status_line_is_cut_off_and_its_score_kept() -> None:
    line = "> West of House          Score: 0        Moves: 0              \nTaken.\n"
    assert read_status(line.replace("\\\n", "\n")) == ("Taken.\n".replace("\\\n", "\n"), 0)
    assert read_status("Cellar   Score: -5   Moves: 12\nDark.") == ("Dark.", -5)
    assert read_status("> Tram        Time:  9:05 am\nIt stops.") == ("It stops.", None)
    assert read_status("A sign says:  Score 5") == ("A sign says:  Score 5", None)


def test_prompts_and_late_status_lines_are_cut_off() -> None:
    assert plain("\nTaken.\n\n>") == "Taken."
    assert plain("\nTaken.\n\n>        -= Bedroom =-0/3") == "Taken."
    assert plain("a > b\n\n\n\nc") == "a > b\n\nc"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("*** You have won ***\n\nWould you like to RESTART, RESTORE or QUIT?", (True, True)),
        ("*** The End ***\n\nWould you like to RESTART or QUIT?", (True, False)),
        ("**** You have died ****\n\nWould you like to restart, or quit?", (True, False)),
        ("*** The sign reads: KEEP OUT ***", (False, False)),
        ("Taken.", (False, False)),
    ],
)
def test_ends_are_seen(text: str, end: tuple[bool, bool]) -> None:
    assert read_end(text) == end


def test_things_are_runs_of_known_words_then_last_ones() -> None:
    words = {"antiq", "trunk", "refri", "the", "old", "key"}
    text = "The antique trunk, and a refrigerator. The old key is gone."
    assert nouns(text, words, 5, {"the", "a", "is"}) == [
        "antique trunk",
        "refrigerator",
        "old key",
        "trunk",
        "key",
    ]


def memory_of_version_3(score: int, *objects: bytes) -> bytes:
    """A header, three globals, and objects whose properties follow them."""
    memory = bytearray(400)
    memory[0] = 3
    memory[10:12] = (100).to_bytes(2, "big")
    memory[12:14] = (64).to_bytes(2, "big")
    memory[66:68] = (score & 0xFFFF).to_bytes(2, "big")
    at = 100 + 62
    properties = at + 9 * len(objects)
    for one in objects:
        memory[at : at + 9] = one + properties.to_bytes(2, "big")
        at += 9
    return bytes(memory)


LAMP = bytes([0, 0, 0, 1, 2, 0, 0])
ROOM = bytes([0, 0, 0, 0, 0, 0, 1])


def test_the_second_global_is_the_score_of_version_3_only() -> None:
    assert read_globals(memory_of_version_3(35)) == 35
    assert read_globals(memory_of_version_3(-3)) == -3
    assert read_globals(b"\x05" + memory_of_version_3(35)[1:]) is None
    assert read_globals(b"\x03\x02" + memory_of_version_3(35)[2:]) is None


def test_objects_are_read_up_to_the_first_properties() -> None:
    assert read_objects(memory_of_version_3(0, LAMP, ROOM)) == (LAMP + ROOM, 7)


def test_attributes_that_waiting_changes_are_left_out_everywhere() -> None:
    start = LAMP + ROOM
    noted = bytes([0, 0, 0, 3]) + LAMP[4:] + ROOM  # one attribute more, on the lamp
    opened = LAMP + bytes([128]) + ROOM[1:]
    noted_room = LAMP + bytes([0, 0, 0, 2]) + ROOM[4:]
    moved = LAMP[:4] + bytes([1]) + LAMP[5:] + ROOM
    mask = lasting([start, noted], 7)

    def mark(objects: bytes) -> int:
        return int.from_bytes(objects, "big") & mask

    assert mark(start) == mark(noted) == mark(noted_room)
    assert len({mark(start), mark(opened), mark(moved)}) == 3


class Halting:
    """An interpreter of a story that ends with its second command."""

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.memory = memory_of_version_3(0, LAMP, ROOM)

    def get_dictionary(self) -> list[str]:
        return []

    def reset(self) -> tuple[str, dict[str, int]]:
        self.typed = []
        return "Hall\n\n>", {}

    def step(self, action: str) -> tuple[str, float, bool, dict[str, int]]:
        self.typed.append(action)
        if action == "score":
            score = len(self.typed) - 1
            return f"Your score is {score} (total of 2 points), in 1 move.\n>", 0, False, {}
        end = "You scored 2 out of a possible 2, in 2 moves.\n" if self._emulator_halted() else ""
        return f"Done.\n{end}>", 0, False, {}

    def get_state(self) -> list[str]:
        return list(self.typed)

    def set_state(self, state: list[str]) -> None:
        self.typed = list(state)

    def _emulator_halted(self) -> bool:
        return [one for one in self.typed if one != "score"][1:] != []

    def _get_ram(self) -> bytes:
        return self.memory

    def game_over(self) -> bool:
        return False

    def victory(self) -> bool:
        return False


def test_the_score_is_asked_for_aside_and_read_from_the_last_words() -> None:
    env = Halting()
    playing = Playing(env)
    assert playing.reset() == {"said": "Hall", "score": 0, "max": 2, "over": False, "won": False}
    first = playing.step("take lamp")
    assert env.typed == ["take lamp"]
    assert (first["score"], first["over"]) == (1, False)
    last = playing.step("go")
    assert (last["score"], last["max"], last["over"], last["won"]) == (2, 2, True, True)


@pytest.mark.parametrize(
    "action", ["save", "SAVE it", "restore", "script", " transcript on", "quit", "Q", "restart"]
)
def test_commands_for_files_and_for_leaving_never_reach_the_game(action: str) -> None:
    env = Halting()
    playing = Playing(env)
    playing.reset()
    assert playing.step(action)["said"].startswith("There is no ")
    assert env.typed == []


JERICHO = """
import resource
class FrotzEnv:
    def __init__(self, story, seed):
        while story == "hang": pass
    get_dictionary = lambda self: []
    _emulator_halted = game_over = victory = lambda self: True
    def reset(self):
        return str(resource.getrlimit(resource.RLIMIT_CPU)[0]), {}
    def step(self, action):
        while True: pass
"""


@pytest.fixture(params=["fine", "hang"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process itself, with a Jericho that hangs as it begins, or at a command."""
    (tmp_path / "jericho.py").write_text(JERICHO)
    process = subprocess.Popen(
        [sys.executable, jericho_server.__file__, request.param, "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(tmp_path)},
    )
    with process:
        yield process
        process.kill()


def test_it_ends_with_its_input_whatever_the_game_does(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(b'{"do": "reset"}\n{"do": "step", "action": "look"}\n')
    server.stdin.flush()
    if server.args[-2] == "fine":  # type: ignore[index]
        assert 0 < int(json.loads(server.stdout.readline())["said"]) <= 2 * CPU_S
    server.stdin.close()
    watch = os.pidfd_open(server.pid)
    assert select.select([watch], [], [], 10)[0]
    os.close(watch)
