"""What a rollout is an episode of: ordinary cases, played by a model that is learning."""

from dataclasses import dataclass
from typing import Protocol

from timeful.models.model import Model
from timeful.records.recorder import Recorder
from timeful.tasks.episode import TaskEpisode
from timeful.tasks.play import play


class RolloutTask(Protocol):
    """A case with its budget and its luck. Played again, the world does the same again."""

    @property
    def key(self) -> str:
        """A name that no other scene of a training has."""
        ...

    @property
    def turn(self) -> int | None:
        """The turn of a conversation that it is about; None for all of an episode."""
        ...

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play it and write the whole record.

        Args:
            model: Who acts.
            recorder: Where the record is written.
            sampling: The seed of what the model samples, apart from the world's luck.

        Returns:
            Whether it came to its end; False if it failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TimelyTask:
    """A game, a problem or an ML task with tools under a budget of time.

    Args:
        spec: The episode; who works is left to whoever plays it.
    """

    spec: TaskEpisode

    @property
    def key(self) -> str:
        """The episode without whoever works: the same one samples the same in another folder."""
        return self.spec.scope

    @property
    def turn(self) -> None:
        """All of it."""

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        """Play it."""
        return play(self.spec, recorder, model=model, sampling=sampling)
