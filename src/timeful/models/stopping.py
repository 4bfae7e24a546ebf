"""A model that can be told, from any thread, to answer nothing more: for work in many threads."""

from threading import Event

from timeful.core.source import Source
from timeful.errors import ModelError
from timeful.models.chat import OpenAIModel
from timeful.models.model import Model, Prompt
from timeful.models.pace import Pace


class StoppableModel:
    """Another model, until `stop`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._is_stopped = Event()

    @property
    def name(self) -> str:
        """The other's name."""
        return self._model.name

    @property
    def pace(self) -> Pace | None:
        """The other's pace."""
        return self._model.pace

    @property
    def live(self) -> bool:
        """As the other."""
        return self._model.live

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering.

        Raises:
            ModelError: After `stop`.
        """
        if self._is_stopped.is_set():
            raise ModelError(f"{self.name} was stopped")
        return self._model.open(prompt, max_tokens=max_tokens, seed=seed)

    def stop(self) -> None:
        """Open nothing more, and end the streams of an endpoint.

        A thread that was about to open one may still do so: whoever waits for it stops again.
        """
        self._is_stopped.set()
        if isinstance(self._model, OpenAIModel):
            self._model.close()
