"""The subset of MCP (streamable HTTP) by which a program calls its tools: JSON in, JSON out.

There are no sessions and no streams from here, so one POST calls a tool, also without a handshake.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from timeful.agents.program.dialect import Body, Reply, json_reply, read_body
from timeful.agents.program.door import Exchange
from timeful.agents.program.tools import Json, order_of
from timeful.version import __version__

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol, the latest first."""

_NO_METHOD, _BAD_PARAMS = -32601, -32602


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call of a tool; `id` is that of its JSON-RPC request."""

    id: object
    name: str
    arguments: dict[str, Any]

    def write(self, result: Json, *, is_error: bool = False) -> Reply:
        """The reply with the result of the call."""
        text = json.dumps(result, ensure_ascii=False)
        content = [{"type": "text", "text": text}]
        return _result(self.id, {"content": content, "isError": is_error})


def make_route(
    tools: Sequence[Json], rank: Callable[[str], int]
) -> Callable[[bytes], Exchange | Reply]:
    """What reads the requests of an MCP client.

    Args:
        tools: The tools.
        rank: The place of a call among those that the model has just asked for, by `order_of`.
    """

    def route(data: bytes) -> Exchange | Reply:
        body = read_body(data)
        identity, method = body.get("id"), body.get("method")
        if identity is None:
            return Reply(body=b"", status=202)  # a notification
        params = body.get("params") or {}
        match method:
            case "initialize":
                return _result(identity, _initialize(params))
            case "ping":
                return _result(identity, {})
            case "tools/list":
                return _result(identity, {"tools": list(tools)})
            case "tools/call":
                name, arguments = params.get("name"), params.get("arguments") or {}
                if not isinstance(name, str) or not isinstance(arguments, dict):
                    return _error(identity, _BAD_PARAMS, "a call has a name and arguments")
                text = order_of(name, arguments)
                request = ToolRequest(id=identity, name=name, arguments=arguments)
                return Exchange(order=(rank(text), "tool", text), content=request)
        return _error(identity, _NO_METHOD, f"there is no method {method!r}")

    return route


def _initialize(params: Body) -> Json:
    version = params.get("protocolVersion")
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "timeful", "version": __version__},
    }


def _result(identity: object, result: Json) -> Reply:
    return json_reply({"jsonrpc": "2.0", "id": identity, "result": result})


def _error(identity: object, code: int, message: str) -> Reply:
    error = {"code": code, "message": message}
    return json_reply({"jsonrpc": "2.0", "id": identity, "error": error})
