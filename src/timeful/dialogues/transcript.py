"""A dialogue as plain text, for prompts: `{dialogue_context}`."""

from collections.abc import Iterable

from timeful.dialogues.dialogue import Turn


def transcript(turns: Iterable[Turn], *, until: int | None = None) -> str:
    """A line for each turn, with what was seen to be done in it.

    Args:
        turns: The turns.
        until: The last turn that is shown; None shows all.
    """
    return "\n".join(line(turn) for turn in turns if until is None or turn.number <= until)


def line(turn: Turn) -> str:
    """A turn in one line: `Turn 7, action: Account opened. [took find-account: Ada Lind]`."""
    done = "".join(
        f" [took {one.name}{': ' + ', '.join(one.values) if one.values else ''}]"
        for one in turn.observed
    )
    return f"Turn {turn.number}, {turn.speaker}: {' '.join(turn.text.split())}{done}"
