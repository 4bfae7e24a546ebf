"""A dialogue as plain text, for prompts: `{dialogue_context}`."""

from collections.abc import Iterable

from timeful.dialogues.dialogue import Turn


def transcript(turns: Iterable[Turn], *, until: int | None = None) -> str:
    """A line for each turn, with its observed actions.

    Args:
        turns: The turns.
        until: The last turn to show; None shows all.
    """
    return "\n".join(line(turn) for turn in turns if until is None or turn.number <= until)


def line(turn: Turn) -> str:
    """A turn in one line: `Turn 7, action: Account opened. [took find-account: Ada Lind]`."""
    done = "".join(
        f" [took {action.name}{': ' + ', '.join(action.values) if action.values else ''}]"
        for action in turn.observed
    )
    return f"Turn {turn.number}, {turn.speaker}: {' '.join(turn.text.split())}{done}"
