"""Chat completions, whole and streamed."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from timeful.models.local.request import Request
from timeful.serving.answers import Finish, Step, answer
from timeful.serving.engine import Engine
from timeful.serving.envelope import Envelope, usage
from timeful.serving.errors import RequestError
from timeful.serving.prompts import write_chat
from timeful.serving.requests import ChatBody
from timeful.serving.sampling_params import AnswerLimits, plan_requests
from timeful.serving.tokens import Tokens
from timeful.tools import ToolCall

_CALL_END = "</tool_call>"


class ChatCompletion:
    """One request, checked; `whole` or `streamed` answers it.

    Args:
        engine: Who answers.
        tokens: How tokens are shown.
        body: What was asked.
        heading: What each part of the response says of itself.

    Raises:
        RequestError: If it cannot be answered.
    """

    def __init__(self, engine: Engine, tokens: Tokens, body: ChatBody, heading: Envelope) -> None:
        if body.top_logprobs is not None and not body.logprobs:
            raise RequestError("top_logprobs needs logprobs: true", param="top_logprobs")
        self._engine = engine
        self._tokens = tokens
        self._body = body
        self._heading = heading
        self._has_tools = bool(body.tools) and body.tool_choice != "none"
        # Models in this process end their turn with a call (see Style), and are trained so: what
        # one would say beyond it was never looked at. Who knows better says so.
        ends = self._has_tools and not body.parallel_tool_calls
        self._prompt = write_chat(engine.checkpoint, body)
        limit = body.max_completion_tokens
        wanted = AnswerLimits(
            max_tokens=body.max_tokens if limit is None else limit,
            top=(body.top_logprobs or 0) if body.logprobs else 0,
            stop=(_CALL_END,) if ends else (),
        )
        self._requests: list[Request] = plan_requests(engine, body, [self._prompt], wanted)

    async def whole(self) -> dict[str, Any]:
        """The response as one."""
        choices = [_Choice() for _ in self._requests]
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                choices[step.place].add(step)
        body = self._heading.body("chat.completion")
        body["choices"] = [self._told(i, choice) for i, choice in enumerate(choices)]
        body["usage"] = usage(len(self._prompt), sum(len(one.steps) for one in choices))
        if self._body.return_token_ids:
            body["prompt_token_ids"] = self._prompt
        return body

    async def streamed(self) -> AsyncGenerator[dict[str, Any], None]:
        """The response in parts: each token as it comes, if there is something to say of it."""
        begun = [self._part(i, {"role": "assistant", "content": ""}) for i in self._places]
        if self._body.return_token_ids:
            begun[0]["prompt_token_ids"] = self._prompt
        for part in begun:
            yield self._counted(part, 0)
        called = [0] * len(self._requests)
        count = 0
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                count += 1
                said: dict[str, Any] = {"content": step.text} if step.text else {}
                if step.calls:
                    first = called[step.place]
                    called[step.place] += len(step.calls)
                    said["tool_calls"] = [
                        {"index": i, **self._call(step.place, i, call)}
                        for i, call in enumerate(step.calls, first)
                    ]
                part = self._part(step.place, said, step)
                if said or step.finish or self._body.logprobs or self._body.return_token_ids:
                    yield self._counted(part, count)
        if self._body.streaming.include_usage:
            last = self._heading.body("chat.completion.chunk")
            yield {**last, "choices": [], "usage": usage(len(self._prompt), count)}

    @property
    def _places(self) -> range:
        return range(len(self._requests))

    def _steps(self) -> AsyncGenerator[Step, None]:
        stops, has_tools = self._body.stops, self._has_tools
        return answer(self._engine, self._requests, stops=stops, has_tools=has_tools)

    def _told(self, index: int, choice: "_Choice") -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": choice.text}
        if choice.calls:
            message["content"] = choice.text.strip() or None
            message["tool_calls"] = [
                self._call(index, i, call) for i, call in enumerate(choice.calls)
            ]
        told = {
            "index": index,
            "message": message,
            "logprobs": self._logprobs(choice.steps),
            "finish_reason": choice.finish,
        }
        if self._body.return_token_ids:
            told["token_ids"] = [step.drawn.token for step in choice.steps]
        return told

    def _part(self, index: int, said: dict[str, Any], step: Step | None = None) -> dict[str, Any]:
        steps = [] if step is None else [step]
        choice = {
            "index": index,
            "delta": said,
            "logprobs": self._logprobs(steps) if steps else None,
            "finish_reason": step.finish if step else None,
        }
        if self._body.return_token_ids and step is not None:
            choice["token_ids"] = [step.drawn.token]
        return {**self._heading.body("chat.completion.chunk"), "choices": [choice]}

    def _counted(self, part: dict[str, Any], count: int) -> dict[str, Any]:
        if self._body.streaming.continuous_usage_stats:
            part["usage"] = usage(len(self._prompt), count)
        return part

    def _logprobs(self, steps: list[Step]) -> dict[str, Any] | None:
        if not self._body.logprobs:
            return None
        drawn = [step.drawn for step in steps]
        entries = [self._tokens.entry(one.token, one.logprob, one.top) for one in drawn]
        return {"content": entries, "refusal": None}

    def _call(self, index: int, number: int, call: ToolCall) -> dict[str, Any]:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return {
            "id": f"call_{self._heading.key}_{index}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }


@dataclass(slots=True)
class _Choice:
    """One answer, as far as it came."""

    text: str = ""
    finish: Finish | None = None
    calls: list[ToolCall] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Take what a token adds."""
        self.text += step.text
        self.calls += step.calls
        self.finish = step.finish
        self.steps.append(step)
