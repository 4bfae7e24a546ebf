r"""Plans in words: how a search says one, and how another finds it in what was said.

A plan is one line, such as

    Best so far from turn 7 at y=0: U>y=1 U>y=2 S>y=2 (worth 2.1).

Each action stands with the label of the place that it leads to, so that a reader who comes
later can tell how far along it is, and whether the plan still holds.
"""

from dataclasses import dataclass

_BEGIN = "Best so far from turn "
_BOX = "\\boxed{"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A sequence of actions: `labels[i]` is the place before action i, and the last one the end."""

    turn: int
    letters: tuple[str, ...]
    labels: tuple[str, ...]
    solved: bool

    @property
    def end(self) -> int:
        """The turn in which it is used up."""
        return self.turn + len(self.letters)


def say_plan(turn: int, where: str, steps: list[tuple[str, str]], *, worth: str) -> str:
    """Say a plan in one line."""
    steps_text = " ".join([f"{letter}>{label}" for letter, label in steps])
    return f"{_BEGIN}{turn} at {where}: {steps_text} ({worth}).\n"


SOLVED = "solved"


def read_plan(text: str) -> Plan | None:
    """Find the last plan in a text that is said to its end; None if there is none."""
    end = len(text)
    while (begin := text.rfind(_BEGIN, 0, end)) >= 0:
        line, closed, _ = text[begin:end].partition(").")
        plan = _plan_in(line) if closed else None
        if plan is not None:
            return plan
        end = begin
    return None


def _plan_in(line: str) -> Plan | None:
    head, _, tail = line[len(_BEGIN) :].partition(": ")
    turn, _, where = head.partition(" at ")
    steps_text, _, worth = tail.rpartition(" (")
    steps = [step.split(">", 1) for step in steps_text.split()]
    if not turn.isdecimal() or not steps or any(len(step) != 2 for step in steps):
        return None
    return Plan(
        turn=int(turn),
        letters=tuple(letter for letter, _ in steps),
        labels=(where, *(label for _, label in steps)),
        solved=worth == SOLVED,
    )
