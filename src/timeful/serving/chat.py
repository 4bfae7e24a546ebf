"""Chat completions: conversations by the checkpoint's chat template."""

import json
from collections.abc import Sequence

from timeful.serving.answers import Step
from timeful.serving.engine import Engine
from timeful.serving.errors import RequestError
from timeful.serving.handler import Choice, CompletionHandler, Json
from timeful.serving.prompts import write_chat
from timeful.serving.requests import ChatBody
from timeful.serving.sampling_params import plan_requests
from timeful.serving.tokens import Tokens
from timeful.tools import ToolCall

_CALL_END = "</tool_call>"


class ChatCompletion(CompletionHandler):
    """A request for chat completions.

    Args:
        engine: Draws the tokens.
        tokens: Writes tokens as text and bytes.
        body: The client's request.

    Raises:
        RequestError: If it cannot be answered.
    """

    prefix = "chatcmpl"
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def __init__(self, engine: Engine, tokens: Tokens, body: ChatBody) -> None:
        if body.top_logprobs is not None and not body.logprobs:
            raise RequestError("top_logprobs needs logprobs: true", param="top_logprobs")
        self._body = body
        has_tools = bool(body.tools) and body.tool_choice != "none"
        # Models in this process are trained to end their turn with a call (see GenerationConfig):
        # text after it was never evaluated. `parallel_tool_calls` overrides that.
        ends_with_call = has_tools and not body.parallel_tool_calls
        prompt = write_chat(engine.checkpoint, body)
        limit = body.max_completion_tokens
        requests = plan_requests(
            engine,
            body,
            [prompt],
            max_tokens=body.max_tokens if limit is None else limit,
            top=(body.top_logprobs or 0) if body.logprobs else 0,
            stop=(_CALL_END,) if ends_with_call else (),
        )
        super().__init__(
            engine, tokens, body, prompts=[prompt], requests=requests, has_tools=has_tools
        )

    async def whole(self) -> Json:
        """The complete response."""
        response = await super().whole()
        if self._body.return_token_ids:
            response["prompt_token_ids"] = self._prompts[0]
        return response

    def _whole_choice(self, index: int, choice: Choice) -> Json:
        message: Json = {"role": "assistant", "content": choice.text}
        if choice.calls:
            message["content"] = choice.text.strip() or None
            message["tool_calls"] = [
                self._call(index, i, call) for i, call in enumerate(choice.calls)
            ]
        fields = {
            "index": index,
            "message": message,
            "logprobs": self._logprobs(choice.steps),
            "finish_reason": choice.finish,
        }
        if self._body.return_token_ids:
            fields["token_ids"] = choice.token_ids
        return fields

    def _opening(self, index: int) -> Json | None:
        delta = {"role": "assistant", "content": ""}
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}
        fields: Json = {"choices": [choice]}
        if index == 0 and self._body.return_token_ids:
            fields["prompt_token_ids"] = self._prompts[0]
        return fields

    def _delta(self, step: Step, choice: Choice) -> Json | None:
        delta: Json = {"content": step.text} if step.text else {}
        if step.calls:
            delta["tool_calls"] = [
                {"index": i, **self._call(step.index, i, call)}
                for i, call in enumerate(step.calls, len(choice.calls))
            ]
        if not (delta or step.finish or self._body.logprobs or self._body.return_token_ids):
            return None
        fields = {
            "index": step.index,
            "delta": delta,
            "logprobs": self._logprobs([step]),
            "finish_reason": step.finish,
        }
        if self._body.return_token_ids:
            fields["token_ids"] = [step.sample.token]
        return {"choices": [fields]}

    def _logprobs(self, steps: Sequence[Step]) -> Json | None:
        if not self._body.logprobs:
            return None
        return {"content": [self._tokens.entry(step.sample) for step in steps], "refusal": None}

    def _call(self, index: int, number: int, call: ToolCall) -> Json:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        return {
            "id": f"call_{self._key}_{index}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }
