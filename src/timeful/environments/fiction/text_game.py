"""What every game of words can do, whoever made it and wherever it runs."""

from typing import Protocol


class TextGame(Protocol):
    """One game, deterministic given its seed and what is typed."""

    @property
    def opening(self) -> str:
        """What it says before anything is typed."""
        ...

    @property
    def score(self) -> int:
        """The points so far."""
        ...

    @property
    def start_score(self) -> int:
        """The points that it gives for nothing, at the start."""
        ...

    @property
    def max_score(self) -> int | None:
        """The most points; None if the game does not say."""
        ...

    @property
    def moves(self) -> int:
        """How many commands it was given."""
        ...

    @property
    def over(self) -> bool:
        """Whether it takes no more commands."""
        ...

    @property
    def won(self) -> bool:
        """Whether it was played to its good end."""
        ...

    def reset(self) -> None:
        """Go back to the start."""
        ...

    def step(self, action: str) -> str:
        """Type a command, and return what the game says.

        Any text is taken; what the game does not understand it answers in words.

        Raises:
            WorldError: If the game is over, or its process is gone.
        """
        ...

    def available_actions(self) -> tuple[str, ...]:
        """Commands that would change something now, each in another way; the state stays as it is.

        Raises:
            WorldError: If its process is gone.
        """
        ...

    def close(self) -> None:
        """Let go of its process, if it has one; harmless when called again."""
        ...
