"""A model in this process: chunks of one token each, with their token ids."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition

from timeful.core.source import Channel, Chunk, End, Sampled
from timeful.errors import ModelError
from timeful.models.local.batching import PendingRequest, Slot
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.prefix_cache import CachedAnswer, PrefixCache
from timeful.models.local.request import GenerationConfig, Request, TokenSample
from timeful.models.model import Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.sse import Thinking, ThinkSplitter


class LocalModel:
    """A `Model` over a slot of a batcher: cheap, one for each episode.

    It remembers its conversations by their tokens, so a prompt that continues one holds the very
    tokens that were drawn (see `prefix_cache.py`). Two episodes therefore never share one.

    Args:
        checkpoint: The model and its tokenizer.
        slot: Where it asks.
        generation: How it answers; None leaves it to the checkpoint.
        pace: What a token costs; None if only a wall clock shall tell.
        name: For records and tables; None means the checkpoint's.
    """

    live = True

    def __init__(
        self,
        checkpoint: Checkpoint,
        slot: Slot,
        *,
        generation: GenerationConfig | None = None,
        pace: Pace | None = TOKEN_TIME,
        name: str | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._slot = slot
        self._generation = generation or checkpoint.generation
        self._conversations = PrefixCache(checkpoint)
        self.name = name or checkpoint.name
        self.pace = pace

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> LocalSource:
        """Start answering.

        Args:
            prompt: What is asked.
            max_tokens: The most tokens to draw; None for what the context holds.
            seed: Of all chance in the answer.

        Raises:
            ModelError: If the prompt leaves no room in the context, or its messages do not fit
                the chat template.
        """
        ids, kept_count = self._conversations.write(prompt.messages, prompt.tools)
        room = self._checkpoint.check_room(len(ids), 1)
        cached = CachedAnswer(prompt.messages, prompt.tools, ids)
        self._conversations.remember(cached)
        source = LocalSource(
            self._checkpoint, cached, kept_count=kept_count, thinking=self._generation.thinking
        )
        limit = room if max_tokens is None else min(room, max_tokens)
        if limit > 0:
            sampling = self._generation.sampling(
                max_tokens=limit, seed=seed, stop_ids=self._checkpoint.stop_ids
            )
            source.ask(self._slot, Request(prompt_ids=ids, sampling=sampling))
        return source


class LocalSource:
    """The chunks of one thought; a `TokenSource`.

    A token that ends the thought, or is part of a character, is a chunk without text: it takes
    its time, too.

    Args:
        checkpoint: Whose tokens they are.
        answered: What later prompts are told of it.
        kept_count: How many of the prompt's tokens were kept from an earlier thought.
        thinking: What `<think>` tags mean.
    """

    def __init__(
        self, checkpoint: Checkpoint, cached: CachedAnswer, *, kept_count: int, thinking: Thinking
    ) -> None:
        self._answered = cached
        self._kept = kept_count
        self._reader = checkpoint.detokenizer.reader()
        self._splitter = ThinkSplitter(thinking)
        self._channel: Channel = "answer"
        self._pieces: deque[Chunk] = deque()
        self._slot: Slot | None = None
        self._pending: PendingRequest | None = None
        self._policy = 0
        # Shared with the thread that samples:
        self._changed = Condition()
        self._drawn: list[TokenSample] = []
        self._error: ModelError | None = None
        self._notify: Callable[[], None] | None = None
        self._is_closed = False

    def ask(self, slot: Slot, request: Request) -> None:
        """Send the request; without one, the thought ends at once for want of room."""
        self._slot, self._policy = slot, slot.policy
        self._pending = slot.submit(request, listener=self._hear)
        if slot.streams:
            self._pending.when_done(self._settle)

    @property
    def sampled(self) -> Sampled:
        """The prompt's tokens, and those drawn so far."""
        samples = list(self._drawn)
        return Sampled(
            prompt_ids=self._answered.prompt_ids,
            ids=tuple(sample.token for sample in samples),
            logprobs=tuple(sample.logprob for sample in samples),
            policy=self._policy,
            kept=self._kept,
        )

    # --- the thread that pulls ---------------------------------------------------------------

    def pull(self) -> Chunk | End:
        """Return the next piece, waiting until it is known; after `close`, a closed end.

        Raises:
            ModelError: If the sampler failed or was closed.
        """
        if self._is_closed:
            return End("closed")
        if self._pieces:
            return self._pieces.popleft()
        count = len(self._answered.ids)
        if self._pending is None:
            return End("length", tokens=0, attempts=0)
        if count and (finish := self._drawn[count - 1].finish) is not None:
            return End(finish, tokens=count, prompt_tokens=len(self._answered.prompt_ids))
        if len(self._drawn) <= count:
            self._wait(self._pending, count)
        if self._is_closed:
            return End("closed")
        self._read(self._drawn[count])
        return self._pieces.popleft()

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, as soon as `pull` would not wait."""
        if self._pending is not None and self._slot is not None and not self._slot.streams:
            self._pending.when_done(notify)
            return
        with self._changed:
            count = len(self._answered.ids)
            ended = bool(count) and self._drawn[count - 1].finish is not None
            is_known = self._pending is None or self._pieces or len(self._drawn) > count or ended
            if not (is_known or self._is_closed or self._error):
                self._notify = notify
                return
        notify()

    def close(self) -> None:
        """Draw no more; harmless when called again."""
        with self._changed:
            self._is_closed = True
        self._wake()
        if self._pending is not None:
            self._pending.withdraw()

    def _wait(self, pending: PendingRequest, count: int) -> None:
        """Wait until the next token is known."""
        if self._slot is not None and not self._slot.streams:
            done = pending.result()
            last = len(done.ids) - 1
            self._policy = done.policy
            self._drawn = [
                TokenSample(token, logprob, done.finish if i == last else None)
                for i, (token, logprob) in enumerate(zip(done.ids, done.logprobs, strict=True))
            ]
            return
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._drawn) > count or self._error or self._is_closed
            )
            if len(self._drawn) <= count and self._error and not self._is_closed:
                raise self._error

    def _read(self, sample: TokenSample) -> None:
        """Turn a token into its chunk, or into two at the end of the reasoning."""
        text = self._reader.feed(sample.token)
        if sample.finish is not None:
            text += self._reader.flush()
        pieces = self._splitter.feed(text)
        if sample.finish is not None:
            pieces += self._splitter.flush()
        for channel, piece in pieces or [(self._channel, "")]:
            self._pieces.append(Chunk(piece, 0 if self._pieces else 1, channel))
            self._channel = channel
        self._answered.ids.append(sample.token)
        answer = [text for channel, text in pieces if channel == "answer"]
        self._answered.texts.append("".join(answer))

    # --- the thread that samples -------------------------------------------------------------

    def _hear(self, sample: TokenSample) -> bool:
        with self._changed:
            self._drawn.append(sample)
        self._wake()
        return not self._is_closed

    def _settle(self) -> None:
        """The request was answered, or failed."""
        assert self._pending is not None
        try:
            self._pending.result()
        except ModelError as error:
            with self._changed:
                self._error = error
            self._wake()

    def _wake(self) -> None:
        with self._changed:
            notify, self._notify = self._notify, None
            self._changed.notify_all()
        if notify is not None:
            notify()
