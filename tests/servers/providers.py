"""Servers on loopback that speak the dialects of providers, with the scripts of `fake`.

Written from their public documentation:

* Claude: https://platform.claude.com/docs/en/build-with-claude/streaming. Content blocks begin,
  grow and stop; counts come with `message_start` (prompt) and `message_delta` (cumulative).
* Gemini: https://ai.google.dev/api/generate-content, `streamGenerateContent?alt=sse`. Each message
  has parts and, if the script gives running totals, `usageMetadata`.
* Responses: https://platform.openai.com/docs/api-reference/responses-streaming. Items are added,
  grow by deltas and are done; counts come with `response.completed` alone.
"""

import json

from tests.servers.fake import Answer, Body, Status, Usage

MODEL = "fake"


class MessagesAnswer(Answer):
    """Claude's Messages API."""

    path = "/v1/messages"
    _block: str = ""
    _index = -1

    def refuse(self, status: Status) -> None:
        error = {"type": status.error_code or "invalid_request_error", "message": status.message}
        self._refuse(status, {"type": "error", "error": error})

    def _delta(self, delta: Body, tokens: int | None) -> None:
        self._request.sent += 1
        for piece in delta.get("tool_calls", ()):
            function = piece["function"]
            if "name" in function:
                block = {"type": "tool_use", "id": piece["id"], "name": function["name"]}
                self._open({**block, "input": {}})
            if "arguments" in function:
                self._grow({"type": "input_json_delta", "partial_json": function["arguments"]})
        if "reasoning_content" in delta:
            if self._block != "thinking":
                self._open({"type": "thinking", "thinking": "", "signature": ""})
            self._grow({"type": "thinking_delta", "thinking": delta["reasoning_content"]})
        if "content" in delta:
            if self._block != "text":
                self._open({"type": "text", "text": ""})
            self._grow({"type": "text_delta", "text": delta["content"]})

    def _end(self) -> None:
        self._close()
        reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
        if self._finish is not None:
            counts = self._usage
            usage: Body = {"output_tokens": counts.wire(self._request.sent)["completion_tokens"]}
            if counts.reasoning is not None:
                usage["output_tokens_details"] = {"thinking_tokens": counts.reasoning}
            reason = reasons.get(self._finish, self._finish)
            change = {"stop_reason": reason, "stop_sequence": None}
            self._say("message_delta", delta=change, usage=usage)
            self._say("message_stop")
        self._handler.wfile.write(b"0\r\n\r\n")

    def _start(self) -> None:
        if self._has_started:
            return
        super()._start()
        usage = {
            "input_tokens": self._usage.prompt - (self._usage.cached or 0),
            "cache_read_input_tokens": self._usage.cached or 0,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
        ends = {"stop_reason": None, "stop_sequence": None}
        self._say("message_start", message={**message, **ends, "content": [], "usage": usage})

    def _open(self, block: Body) -> None:
        self._close()
        self._block = block["type"]
        self._index += 1
        self._say("content_block_start", index=self._index, content_block=block)

    def _grow(self, delta: Body) -> None:
        self._say("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> None:
        if self._block == "thinking":
            self._grow({"type": "signature_delta", "signature": "signed"})
        if self._block:
            self._say("content_block_stop", index=self._index)
        self._block = ""

    def _say(self, name: str, **fields: object) -> None:
        data = json.dumps({"type": name, **fields}).encode()
        self._write(b"event: %s\ndata: %s\n\n" % (name.encode(), data))


class GeminiAnswer(Answer):
    """Gemini's streamGenerateContent."""

    path = f"/v1beta/models/{MODEL}:streamGenerateContent"

    def refuse(self, status: Status) -> None:
        error = {"code": status.code, "message": status.message, "status": status.error_code or ""}
        self._refuse(status, {"error": error})

    def _delta(self, delta: Body, tokens: int | None) -> None:
        self._request.sent += 1
        parts: list[Body] = []
        if "reasoning_content" in delta:
            parts.append({"text": delta["reasoning_content"], "thought": True})
        if "content" in delta:
            parts.append({"text": delta["content"]})
        for piece in delta.get("tool_calls", ()):
            function = piece["function"]
            call = {"name": function["name"], "args": json.loads(function["arguments"])}
            parts.append({"functionCall": call, "thoughtSignature": "c2lnbmVk"})
        self._event(self._message(parts, tokens))

    def _end(self) -> None:
        if self._finish is not None:
            reasons = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
            total = self._usage.wire(self._request.sent)["completion_tokens"]
            message = self._message([], total)
            message["candidates"][0]["finishReason"] = reasons[self._finish]
            self._event(message)
        self._handler.wfile.write(b"0\r\n\r\n")

    def _message(self, parts: list[Body], tokens: int | None) -> Body:
        candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
        message: Body = {"candidates": [candidate], "modelVersion": MODEL, "responseId": "r1"}
        if tokens is not None:
            thoughts = self._usage.reasoning or 0
            message["usageMetadata"] = {
                "promptTokenCount": self._usage.prompt,
                "cachedContentTokenCount": self._usage.cached or 0,
                "thoughtsTokenCount": thoughts,
                "candidatesTokenCount": tokens - thoughts,
                "totalTokenCount": self._usage.prompt + tokens,
            }
        return message


class ResponsesAnswer(Answer):
    """OpenAI's Responses API."""

    path = "/v1/responses"
    _number = 0
    _item: Body | None = None
    _items = 0
    _text = ""

    def _delta(self, delta: Body, tokens: int | None) -> None:
        self._request.sent += 1
        if "reasoning_content" in delta:
            self._open("reasoning", {"summary": [], "encrypted_content": "signed"})
            where = {"summary_index": 0, "delta": delta["reasoning_content"]}
            self._grow("response.reasoning_summary_text.delta", where)
        if "content" in delta:
            self._open("message", {"role": "assistant", "content": [], "status": "in_progress"})
            where = {"content_index": 0, "delta": delta["content"], "logprobs": []}
            self._grow("response.output_text.delta", where)
            self._text += delta["content"]
        for piece in delta.get("tool_calls", ()):
            function = piece["function"]
            if "name" in function:
                call = {"call_id": piece["id"], "name": function["name"], "arguments": ""}
                self._open("function_call", call)
            if "arguments" in function:
                assert self._item is not None
                self._item["arguments"] += function["arguments"]
                where = {"delta": function["arguments"]}
                self._grow("response.function_call_arguments.delta", where)

    def _end(self) -> None:
        self._close()
        if self._finish is not None:
            name = "completed" if self._finish == "stop" else "incomplete"
            reasons = {"length": "max_output_tokens"}
            response = self._response(name)
            if name == "incomplete":
                reason = reasons.get(self._finish, self._finish)
                response["incomplete_details"] = {"reason": reason}
            response["usage"] = self._counts(self._usage)
            self._say(f"response.{name}", response=response)
        self._handler.wfile.write(b"0\r\n\r\n")

    def _counts(self, usage: Usage) -> Body:
        total = usage.wire(self._request.sent)["completion_tokens"]
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached or 0},
            "output_tokens": total,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
            "total_tokens": usage.prompt + total,
        }

    def _start(self) -> None:
        if not self._has_started:
            super()._start()
            self._say("response.created", response=self._response("in_progress"))

    def _response(self, status: str) -> Body:
        fields = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL}
        settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {**fields, **settings, "output": [], "status": status}

    def _open(self, kind: str, fields: Body) -> None:
        if kind != "function_call" and self._item is not None and self._item["type"] == kind:
            return
        self._close()
        self._items += 1
        self._item = {"id": f"item_{self._items}", "type": kind, **fields}
        self._say("response.output_item.added", output_index=self._items - 1, item=self._item)

    def _grow(self, name: str, fields: Body) -> None:
        assert self._item is not None
        self._say(name, item_id=self._item["id"], output_index=self._items - 1, **fields)

    def _close(self) -> None:
        item, self._item = self._item, None
        if item is not None:
            if item["type"] == "message":
                text = {"type": "output_text", "text": self._text, "annotations": []}
                item |= {"content": [text], "status": "completed"}
            self._say("response.output_item.done", output_index=self._items - 1, item=item)

    def _say(self, name: str, **fields: object) -> None:
        self._number += 1
        event = {"type": name, "sequence_number": self._number, **fields}
        self._write(b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps(event).encode()))


DIALECTS = {"anthropic": MessagesAnswer, "google": GeminiAnswer, "responses": ResponsesAnswer}
