"""A model that can be told, from any thread, to answer nothing more: for work in many threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from threading import Event
from typing import TypeVar

from timeful.core.source import Source
from timeful.errors import ModelError, SettingsError
from timeful.models.chat import OpenAIModel
from timeful.models.model import Model, Prompt
from timeful.models.pace import Pace

Case = TypeVar("Case")
Found = TypeVar("Found")


class CancellableModel:
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


def ask_concurrently(
    model: Model,
    ask: Callable[[Model, Case], Found],
    cases: Iterable[Case],
    *,
    workers: int,
    done: Callable[[Found], object] = lambda _: None,
) -> list[Found]:
    """Ask a model about cases, some at a time.

    Args:
        model: Whom to ask.
        ask: Asks about one case.
        cases: The cases.
        workers: How many are asked about at a time, at least 1.
        done: Called in this thread with each result as it comes.

    Returns:
        What was found, in the order of the cases.

    Raises:
        SettingsError: If there are no workers.
        KeyboardInterrupt: After everything was stopped; so is whatever else is raised.
    """
    if workers < 1:
        raise SettingsError(f"a judge needs at least one worker, got {workers}")
    stoppable = CancellableModel(model)
    with ThreadPoolExecutor(workers, thread_name_prefix="asking") as pool:
        futures = [pool.submit(ask, stoppable, case) for case in cases]
        try:
            for future in as_completed(futures):
                done(future.result())
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while unfinished := [future for future in futures if not future.done()]:
                # Again and again: a thread may have been about to open another stream.
                stoppable.stop()
                wait(unfinished, timeout=0.1)
            raise
