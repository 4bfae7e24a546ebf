"""A z-machine game in a process of its own: a program, run by its path, never imported to play.

It is the only file that imports Jericho, which is under the GPL; what it says to its parent are
lines of JSON over a pipe, one for each line that it is sent. It reads the score by asking the
game itself (save, type `score`, read, put back), since Jericho knows it for 57 files only, and
finds what can be done by trial, since Jericho's own way needs a language model to be downloaded.
Nothing of timeful is imported here, so that it runs under any Python that has Jericho. It ends
with its input, also in the middle of a command, and each command has a limit of CPU time.

    python -I jericho_server.py STORY SEED

| line | answer |
| --- | --- |
| `{"do": "reset"}` | what the game says, its score and its end, as for a step |
| `{"do": "step", "action": "..."}` | `{"said", "score", "max", "over", "won"}` |
| `{"do": "actions"}` | `{"actions": [...]}` |
"""

import json
import os
import re
import resource
import sys
import threading
from collections.abc import Sequence, Set
from importlib import import_module
from queue import SimpleQueue
from typing import Any

DIRECTIONS = "north south east west northeast northwest southeast southwest up down in out"
VERBS = "take open close push pull turn light read enter climb eat wear unlock drop"
PAIRED = "put {} in {}|put {} on {}|unlock {} with {}|give {} to {}"
MOST_TRIALS = 420
MOST_ACTIONS = 40
MOST_HELD = 4
MOST_NEAR = 12
IDLE = ("wait", "look", "examine me")
"""Commands that change nothing to speak of."""

CPU_S = 60
"""The most for a command, or to load Jericho and a story."""

FILES = frozenset({"save", "restore", "script", "unscript", "transcript", "record", "replay"})
"""Commands that would write or read files."""

LEAVING = frozenset({"quit", "q", "restart"})
"""Commands that Jericho does not survive: it does not stop where a game stops."""

_SCORE = re.compile(r"(?:score (?:is|would be|stands at)|scored|score of|potential is)\s+(-?\d+)")
_MOST = re.compile(
    r"(?:total of|out of|of a possible|of a maximum|maximum of)"
    r"(?: a)?(?: total)?(?: possible| maximum)?(?: of)?\s+(\d+)"
)
_STATUS = re.compile(
    r"\A\s*>?\s*\S.{0,60}?\s{2,}"
    r"(?:Score:\s*(-?\d+)\s+(?:Moves|Turns):\s*\d+|Time:\s*\d+:\d+(?:\s*[ap]m)?)\s*"
)
_END = re.compile(r"\*\*\*+\s*(.+?)\s*\*\*\*+", re.S)
_AFTER_END = re.compile(r"restart\b.*\b(?:quit|undo)|\bquit\b.*\brestart", re.I | re.S)
_GOOD_END = re.compile(r"\bwon\b|\bwin\b|victor|congratul", re.I)


# --- what a game says ----------------------------------------------------------------------------


def read_score(text: str) -> tuple[int | None, int | None]:
    """The score and the most points that a text names; None for what it does not name."""
    line = " ".join(text.split())
    match = _SCORE.search(line)
    if match is None:
        return None, None
    most = _MOST.search(line, match.end())
    return int(match.group(1)), int(most.group(1)) if most else None


def read_status(text: str) -> tuple[str, int | None]:
    """A text of a version 3 game without its status line, and the score that stood there."""
    match = _STATUS.match(text)
    if match is None:
        return text, None
    return text[match.end() :], int(match.group(1)) if match.group(1) else None


def plain(text: str) -> str:
    """What a game said without the prompt, and what a later version's status line puts there."""
    text = re.sub(r"\n>[^\n]*\Z", "", text.rstrip())
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def read_end(text: str) -> tuple[bool, bool]:
    """Whether a text ends the game, and whether it ends well."""
    match = _END.search(text)
    over = match is not None and _AFTER_END.search(text, match.end()) is not None
    return over, bool(over and match and _GOOD_END.search(match.group(1)))


# --- what a game is ------------------------------------------------------------------------------


def _word(memory: bytes, at: int) -> int:
    return memory[at] << 8 | memory[at + 1]


def read_globals(memory: bytes) -> int | None:
    """The score of a version 3 game from its second global; None for others and timed games."""
    if memory[0] > 3 or memory[1] & 2:
        return None
    score = _word(memory, _word(memory, 12) + 2)
    return score - 0x10000 if score & 0x8000 else score


def read_objects(memory: bytes) -> tuple[bytes, int]:
    """Attributes and places of all objects, one after the other, and the bytes of each."""
    size, first = (9, 62) if memory[0] <= 3 else (14, 126)
    at, end = _word(memory, 10) + first, len(memory)
    objects = bytearray()
    while at + size <= end:  # the first properties come right after the last object
        end = min(end, _word(memory, at + size - 2) or end)
        objects += memory[at : at + size - 2]
        at += size
    return bytes(objects), size - 2


def lasting(objects: Sequence[bytes], size: int) -> int:
    """A mask of what tells two states apart, from states that differ by nothing to speak of.

    Some attributes are notes that the game makes for itself ("mentioned just now"): one that
    waiting or looking changes in any object is left out in all of them.
    """
    flags = 4 if size == 7 else 6
    passing = 0
    for state in objects[1:]:
        for at in range(0, len(state), size):
            was, now = objects[0][at : at + flags], state[at : at + flags]
            passing |= int.from_bytes(was, "big") ^ int.from_bytes(now, "big")
    mask = ~passing & ((1 << 8 * flags) - 1)
    row = mask.to_bytes(flags, "big") + b"\xff" * (size - flags)
    return int.from_bytes(row * (len(objects[0]) // size), "big")


def nouns(text: str, words: Set[str], length: int, dull: Set[str]) -> list[str]:
    """Names of things in a text: runs of words that the game knows, then their last words.

    Args:
        text: A description.
        words: The words that the game knows, cut to `length`.
        length: The letters of a word that count.
        dull: Words that name nothing.
    """
    runs, run = list[str](), list[str]()
    for word in [*re.findall(r"[a-z][a-z'-]*|[.,;:!?\n]", text.lower()), "."]:
        if word[:length] in words and word not in dull and word[0].isalpha():
            run.append(word)
        elif run:
            runs.append(" ".join(run[-3:]))
            run = []
    return list(dict.fromkeys([*runs, *(phrase.split()[-1] for phrase in runs)]))


_SAID = """
a an the and or but of to in on at is are it you i your my this that there here with from for by
as not no all one some any me he she they him her them was were be been have has had will would
can could do does did so if then than too very up down out into off over under now what which who
where when how other another see make like normal kind place
"""
_DULL = frozenset(_SAID.split()) | frozenset(DIRECTIONS.split())


class Playing:
    """A game that is being played."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.score = 0
        self.most: int | None = None
        words = env.get_dictionary()
        self.words = {
            str(entry) for entry in words if entry.is_noun or not (entry.is_verb or entry.is_prep)
        }
        self.length = max((len(word) for word in self.words), default=9)

    def reset(self) -> dict[str, Any]:
        """Begin again."""
        self.score, self.most = 0, None
        return self._tell(self.env.reset()[0])

    def step(self, action: str) -> dict[str, Any]:
        """Type a command."""
        verb = next(iter(action.lower().split()), "")
        if verb in FILES | LEAVING:
            return self._tell(f"There is no {verb} here.")
        return self._tell(self.env.step(action)[0])

    def _tell(self, text: str) -> dict[str, Any]:
        text, status = read_status(text)
        over, won = read_end(text)
        halted = bool(self.env._emulator_halted())
        answer = (None, None) if over or halted else read_score(self._aside("score"))
        score = answer if answer[0] is not None else read_score(text)
        if score[0] is None and status is None and not halted:
            status = read_globals(self._memory())
        scores = [value for value in (score[0], status) if value is not None]
        self.score = scores[0] if scores else self.score
        self.most = score[1] or self.most
        over = over or halted or bool(self.env.game_over() or self.env.victory())
        won = won or bool(self.env.victory()) or (over and self.score == self.most)
        return {
            "said": plain(text), "score": self.score, "max": self.most, "over": over, "won": won,
        }  # fmt: skip

    def _memory(self) -> bytes:
        return bytes(self.env._get_ram())

    def _aside(self, action: str) -> str:
        """What the game says to a command that then was never typed."""
        state = self.env.get_state()
        text = str(self.env.step(action)[0])
        self.env.set_state(state)
        return text

    def actions(self) -> list[str]:
        """Commands that change something, each in another way."""
        state = self.env.get_state()
        carried = self._nouns(self._aside("inventory"))
        near = self._nouns(read_status(self._aside("look"))[0])
        start, size = read_objects(self._memory())
        idle = [self._after(action, state) for action in IDLE]
        mask = lasting([start, *(objects for objects, _ in idle)], size)
        actions = {
            (int.from_bytes(command, "big") & mask, False): "" for command in (start, idle[0][0])
        }
        for action in _ideas(near, carried)[:MOST_TRIALS]:
            objects, halted = self._after(action, state)
            actions.setdefault((int.from_bytes(objects, "big") & mask, halted), action)
        return [command for command in actions.values() if command][:MOST_ACTIONS]

    def _nouns(self, text: str) -> list[str]:
        return nouns(plain(text), self.words, self.length, _DULL)

    def _after(self, action: str, state: Any) -> tuple[bytes, bool]:
        self.env.step(action)
        mark = read_objects(self._memory())[0], bool(self.env._emulator_halted())
        self.env.set_state(state)
        return mark


def _ideas(near: list[str], carried: list[str]) -> list[str]:
    """What to try: directions, a verb with each thing, then held things with those near."""
    things = list(dict.fromkeys([*near, *carried]))
    pairs = [
        form.format(noun, target)
        for noun in carried[:MOST_HELD]
        for target in near[:MOST_NEAR]
        for form in PAIRED.split("|")
        if noun != target
    ]
    single = [f"{verb} {thing}" for thing in things for verb in VERBS.split()]
    room = max(MOST_TRIALS - len(pairs) - 12, MOST_TRIALS // 2)
    return [*DIRECTIONS.split(), *single[:room], *pairs]


def _listen() -> "SimpleQueue[str]":
    """Lines of standard input; its end is that of this process, even while a game computes."""
    lines = SimpleQueue[str]()

    def listen() -> None:
        with open(0, closefd=False) as requests:  # unlike sys.stdin, free to be left at the end
            for line in requests:
                lines.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return lines


def _limit_cpu() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime) + CPU_S
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def main(story: str, seed: int) -> None:
    """Answer lines."""
    lines = _listen()
    _limit_cpu()
    # What Frotz itself prints must not come between the lines.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def write(answer: dict[str, Any]) -> None:
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()

    try:
        jericho = import_module("jericho")
    except ImportError as error:
        write({"missing": str(error)})
        return
    import_module("warnings").simplefilter("ignore")  # that it does not know the file
    playing = Playing(jericho.FrotzEnv(story, seed=seed))
    while True:
        _limit_cpu()
        request = json.loads(lines.get())
        if request["do"] == "reset":
            write(playing.reset())
        elif request["do"] == "step":
            write(playing.step(request["action"]))
        else:
            write({"actions": playing.actions()})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
