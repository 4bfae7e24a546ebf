"""Cancellation of a model's requests from any thread, and requests in many threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from threading import Event, Lock
from typing import TypeVar

from timeful.core.source import Source
from timeful.errors import ModelError, SettingsError
from timeful.models.live_answer import LiveModel
from timeful.models.model import Model, Prompt
from timeful.models.traffic import TRAFFIC

Case = TypeVar("Case")
Result = TypeVar("Result")
_WORKERS = 64


class CancellableModel:
    """A model that answers until `stop` is called."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name, self.pace, self.live = model.name, model.pace, model.live
        self._is_stopped = Event()

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering.

        Raises:
            ModelError: After `stop`.
        """
        if self._is_stopped.is_set():
            raise ModelError(f"{self.name} was stopped")
        return self._model.open(prompt, max_tokens=max_tokens, seed=seed)

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._is_stopped.is_set()

    def stop(self) -> None:
        """Open nothing more, and end the streams of an endpoint.

        A thread that was about to open one may still do so: call it again until all have ended.
        """
        self._is_stopped.set()
        if isinstance(self._model, LiveModel):
            self._model.close()


def ask_concurrently(
    model: Model,
    ask: Callable[[Model, Case], Result],
    cases: Iterable[Case],
    *,
    workers: int | None = None,
    done: Callable[[Result], object] = lambda _: None,
) -> list[Result]:
    """Ask a model about cases, several at a time.

    Args:
        model: The model to ask.
        ask: Asks about one case.
        cases: The cases.
        workers: The number of cases in progress, at least 1; by default as many as there may be
            connections, at most 64.
        done: Called with each result, one at a time, before its thread asks about another case;
            not called after the model was stopped.

    Returns:
        The results, in the order of the cases.

    Raises:
        SettingsError: If there are no workers.
        ModelError: If the model refused a case, after all cases in flight have ended.
        KeyboardInterrupt: After the model was stopped, like every other exception.
    """
    traffic = TRAFFIC.get()
    if workers is None:
        workers = min(traffic.limits.connections, _WORKERS)
    if workers < 1:
        raise SettingsError(f"at least one worker is needed, got {workers}")
    cancellable, lock = CancellableModel(model), Lock()

    def ask_one(case: Case) -> Result:
        result = ask(cancellable, case)
        with lock:
            if not cancellable.is_stopped:
                done(result)
        return result

    threads = ThreadPoolExecutor(
        workers, thread_name_prefix="asking", initializer=TRAFFIC.set, initargs=(traffic,)
    )
    with threads as pool:
        futures = [pool.submit(ask_one, case) for case in cases]
        try:
            for future in as_completed(futures):
                if not isinstance(future.exception(), ModelError):  # what is in flight is kept
                    future.result()  # the first error ends the others
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while unfinished := [future for future in futures if not future.done()]:
                # Again and again: a thread may have been about to open another stream.
                cancellable.stop()
                wait(unfinished, timeout=0.1)
            raise
