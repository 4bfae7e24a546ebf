"""A sampler that draws what it is told to, behind a real batcher and a real tokenizer."""

from collections.abc import Sequence
from contextlib import nullcontext

from tests.models.local.tiny import checkpoint
from timeful.models.local.batching import Batcher
from timeful.models.local.model import LocalModel
from timeful.models.local.request import Completion, TokenSample


def ids_of(text: str) -> tuple[int, ...]:
    return tuple(checkpoint().tokenizer(text, add_special_tokens=False)["input_ids"])


class WholeBatch:
    """A batch that answers all who joined in one step, by its sampler's `generate`."""

    free = 256

    def __init__(self, sampler):
        self._sampler = sampler
        self._joined = []

    @property
    def is_alive(self):
        return bool(self._joined)

    def join(self, requests, listeners):
        rows = [Done() for _ in requests]
        self._joined += zip(rows, requests, listeners, strict=True)
        return rows

    def step(self):
        rows, requests, listeners = zip(*self._joined, strict=True)
        self._joined = []
        answers = self._sampler.generate(requests, listeners=listeners)
        for row, answer in zip(rows, answers, strict=True):
            row.answer = answer
        return rows


class Done:
    """A row of it."""

    def completion(self):
        return self.answer


class ScriptedSampler:
    """Draws the words of each text in turn; "length" if a text does not end with <eos>."""

    policy = 7
    rows = 256

    def __init__(self, texts: Sequence[str]):
        self._texts = list(texts)
        self.asked: list[tuple[int, ...]] = []
        self.checkpoint = checkpoint()

    def check(self, request):
        pass

    def batch(self):
        return nullcontext(WholeBatch(self))

    def generate(self, requests, *, listeners=()):
        return [
            self._answer(one, listener)
            for one, listener in zip(requests, listeners or [None] * len(requests), strict=True)
        ]

    def _answer(self, request, listener):
        self.asked.append(request.prompt_ids)
        ids = ids_of(self._texts.pop(0))[: request.sampling.max_tokens]
        finish = "stop" if ids[-1] in (self.checkpoint.stop_ids[0], 4) else "length"
        logprobs = tuple(-0.5 - i / 8 for i in range(len(ids)))
        for i, token in enumerate(ids):
            last = finish if i == len(ids) - 1 else None
            if listener is not None and not listener(TokenSample(token, logprobs[i], last)):
                break
        return Completion(ids=ids, logprobs=logprobs, finish=finish, policy=self.policy)


def scripted(*texts: str, policy="together", **how):
    """A model that says these texts, its sampler and its batcher; close the batcher."""
    sampler = ScriptedSampler(texts)
    batcher = Batcher(sampler, policy=policy)
    (slot,) = batcher.slots(1)
    return LocalModel(sampler.checkpoint, slot, **how), sampler, batcher
