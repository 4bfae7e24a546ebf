"""Plain completions, whole and streamed; with `echo`, how probable a given text is."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from timeful.models.local.request import Request, Scored
from timeful.serving.answers import Finish, Step, answer
from timeful.serving.engine import Engine
from timeful.serving.envelope import Envelope, usage
from timeful.serving.prompts import write_text
from timeful.serving.requests import CompletionBody
from timeful.serving.sampling_params import AnswerLimits, check_room, plan_requests
from timeful.serving.tokens import Columns, Tokens, offsets

DEFAULT_MAX_TOKENS = 16
"""Where a client says nothing, as the API has it."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt as tokens and as text."""

    ids: tuple[int, ...]
    text: str


@dataclass(slots=True)
class _Choice:
    """One completion, as far as it came; it begins with what is echoed."""

    text: str = ""
    finish: Finish | None = None
    columns: Columns = field(default_factory=Columns)
    ids: list[int] = field(default_factory=list)


class TextCompletion:
    """One request, checked; `whole` or `streamed` answers it.

    Args:
        engine: Who answers.
        tokens: How tokens are shown.
        body: What was asked.
        heading: What each part of the response says of itself.

    Raises:
        RequestError: If it cannot be answered.
    """

    def __init__(
        self, engine: Engine, tokens: Tokens, body: CompletionBody, heading: Envelope
    ) -> None:
        self._engine = engine
        self._tokens = tokens
        self._body = body
        self._heading = heading
        special = body.add_special_tokens is not False
        self._prompts = [
            _Prompt(*write_text(engine.checkpoint, one, special=special)) for one in body.prompts
        ]
        limit = DEFAULT_MAX_TOKENS if body.max_tokens is None else body.max_tokens
        self._count = len(self._prompts) * (body.n or 1)
        ids = [one.ids for one in self._prompts]
        self._requests: list[Request] = []
        if limit:
            wanted = AnswerLimits(max_tokens=limit, top=body.logprobs or 0)
            self._requests = plan_requests(engine, body, ids, wanted)
        for one in ids:
            check_room(engine, one, 0)

    async def whole(self) -> dict[str, Any]:
        """The response as one."""
        choices = [await self._begun(i) for i in range(self._count)]
        count = 0
        async with aclosing(answer(self._engine, self._requests, stops=self._body.stops)) as steps:
            async for step in steps:
                self._add(choices[step.place], step)
                count += 1
        body = self._heading.body("text_completion")
        body["choices"] = [self._told(i, one) for i, one in enumerate(choices)]
        body["usage"] = usage(self._given, count)
        return body

    async def streamed(self) -> AsyncGenerator[dict[str, Any], None]:
        """The response in parts: what is echoed, then each token as it comes."""
        ends = [0] * self._count
        for place in range(self._count):
            choice = await self._begun(place)
            ends[place] = len(choice.text)
            if self._body.echo or self._body.return_token_ids or not self._requests:
                yield self._part(place, choice, 0, is_first=True)
        count = 0
        async with aclosing(answer(self._engine, self._requests, stops=self._body.stops)) as steps:
            async for step in steps:
                count += 1
                choice = _Choice()
                self._add(choice, step, at=ends[step.place])
                ends[step.place] += len(step.text)
                tells = self._body.logprobs is not None or self._body.return_token_ids
                if step.text or step.finish or tells:
                    yield self._part(step.place, choice, count)
        if self._body.streaming.include_usage:
            last = self._heading.body("text_completion")
            yield {**last, "choices": [], "usage": usage(self._given, count)}

    @property
    def _given(self) -> int:
        return sum(len(one.ids) for one in self._prompts)

    def _prompt(self, place: int) -> _Prompt:
        return self._prompts[place // (self._body.n or 1)]

    async def _begun(self, place: int) -> _Choice:
        """A choice with what is echoed, and what comes of it if nothing is to be drawn."""
        choice = _Choice(finish=None if self._requests else "length")
        prompt, top = self._prompt(place), self._body.logprobs
        if not self._body.echo:
            return choice
        choice.text = prompt.text
        if top is None:
            return choice
        scored = await self._engine.score(prompt.ids, top=top)
        # All tokens of a long prompt take a while to be read; others are answered meanwhile.
        await asyncio.to_thread(self._echo, choice.columns, prompt, scored)
        return choice

    def _echo(self, columns: Columns, prompt: _Prompt, scored: Scored) -> None:
        """Write down how probable a prompt is."""
        of = self._engine.checkpoint
        special = of.texts.decode(prompt.ids, special=True) == prompt.text
        places = offsets(of, prompt.ids, special=special)
        logprobs = (None, *scored.logprobs)
        best = ((), *scored.top)
        for token, logprob, others, at in zip(prompt.ids, logprobs, best, places, strict=True):
            columns.add(self._tokens, token, logprob, others, at=at)

    def _add(self, choice: _Choice, step: Step, *, at: int | None = None) -> None:
        """Take what a token adds; `at` is where it begins if the choice is only a part."""
        drawn = step.drawn
        where = len(choice.text) if at is None else at
        if self._body.logprobs is not None:
            choice.columns.add(self._tokens, drawn.token, drawn.logprob, drawn.top, at=where)
        choice.text += step.text
        choice.ids.append(drawn.token)
        choice.finish = step.finish

    def _told(self, index: int, choice: _Choice) -> dict[str, Any]:
        told = self._choice(index, choice)
        if self._body.return_token_ids:
            told["prompt_token_ids"] = self._prompt(index).ids
        return told

    def _part(
        self, index: int, choice: _Choice, count: int, *, is_first: bool = False
    ) -> dict[str, Any]:
        told = self._told(index, choice) if is_first else self._choice(index, choice)
        part = {**self._heading.body("text_completion"), "choices": [told]}
        if self._body.streaming.continuous_usage_stats:
            part["usage"] = usage(self._given, count)
        return part

    def _choice(self, index: int, choice: _Choice) -> dict[str, Any]:
        told = {
            "index": index,
            "text": choice.text,
            "logprobs": None if self._body.logprobs is None else choice.columns.body(),
            "finish_reason": choice.finish,
        }
        if self._body.return_token_ids:
            told["token_ids"] = choice.ids
        return told
