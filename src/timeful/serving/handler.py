"""Completions of both kinds, whole and streamed, and the fields that their responses share."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import uuid4

from timeful.core.clock import unix_seconds
from timeful.models.local.request import Request
from timeful.serving.answers import Finish, Step, answer
from timeful.serving.engine import Engine
from timeful.serving.requests import Body
from timeful.serving.tokens import Tokens
from timeful.tools import ToolCall

Json = dict[str, Any]


@dataclass(slots=True)
class Choice:
    """One answer so far."""

    text: str = ""
    finish: Finish | None = None
    calls: list[ToolCall] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def token_ids(self) -> list[int]:
        """The tokens, the one that ended the answer included."""
        return [step.sample.token for step in self.steps]

    def add(self, step: Step) -> None:
        """Append a token."""
        self.text += step.text
        self.calls += step.calls
        self.finish = step.finish
        self.steps.append(step)


class CompletionHandler:
    """One checked request; `whole` or `streamed` answers it.

    Args:
        engine: Draws the tokens.
        tokens: Writes tokens as text and bytes.
        body: The client's request.
        prompts: Its prompts as tokens.
        requests: One for each choice of each prompt; none if no token is wanted.
        has_tools: Whether `<tool_call>` in an answer is a call.
    """

    prefix: ClassVar[str]
    kind: ClassVar[str]
    chunk_kind: ClassVar[str]

    def __init__(
        self,
        engine: Engine,
        tokens: Tokens,
        body: Body,
        *,
        prompts: Sequence[tuple[int, ...]],
        requests: Sequence[Request],
        has_tools: bool = False,
    ) -> None:
        self._engine = engine
        self._tokens = tokens
        self._options = body
        self._prompts = prompts
        self._requests = requests
        self._has_tools = has_tools
        self._count = len(prompts) * (body.n or 1)
        self._key = uuid4().hex
        self._created = unix_seconds()

    async def whole(self) -> Json:
        """The complete response."""
        choices = self._new_choices()
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                choices[step.index].add(step)
        return {
            **self._envelope(self.kind),
            "choices": [self._whole_choice(i, choice) for i, choice in enumerate(choices)],
            "usage": self._usage(sum(len(choice.steps) for choice in choices)),
        }

    async def streamed(self) -> AsyncGenerator[Json, None]:
        """The response in chunks: an opening where the kind has one, then token by token."""
        choices = self._new_choices()
        for index in range(self._count):
            if (opening := self._opening(index)) is not None:
                yield self._chunk(opening, 0)
        count = 0
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                count += 1
                choice = choices[step.index]
                if (delta := self._delta(step, choice)) is not None:
                    yield self._chunk(delta, count)
                choice.add(step)
        if self._options.streaming.include_usage:
            yield {**self._envelope(self.chunk_kind), "choices": [], "usage": self._usage(count)}

    # --- by kind ---------------------------------------------------------------------------------

    def _whole_choice(self, index: int, choice: Choice) -> Json:
        raise NotImplementedError

    def _opening(self, index: int) -> Json | None:
        """The fields of a chunk before all tokens of a choice; None for no such chunk."""
        raise NotImplementedError

    def _delta(self, step: Step, choice: Choice) -> Json | None:
        """The fields of the chunk of a token, added to a choice; None if it says nothing."""
        raise NotImplementedError

    # --- shared ----------------------------------------------------------------------------------

    def _new_choices(self) -> list[Choice]:
        return [Choice(finish=None if self._requests else "length") for _ in range(self._count)]

    def _steps(self) -> AsyncGenerator[Step, None]:
        stops = self._options.stops
        return answer(self._engine, self._requests, stops=stops, has_tools=self._has_tools)

    def _envelope(self, kind: str) -> Json:
        return {
            "id": f"{self.prefix}-{self._key}",
            "object": kind,
            "created": self._created,
            "model": self._engine.checkpoint.name,
        }

    def _chunk(self, fields: Json, count: int) -> Json:
        chunk = {**self._envelope(self.chunk_kind), **fields}
        if self._options.streaming.continuous_usage_stats:
            chunk["usage"] = self._usage(count)
        return chunk

    def _usage(self, completion: int) -> dict[str, int]:
        """The tokens of the request; a prompt with several choices counts once."""
        prompt = sum(map(len, self._prompts))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
