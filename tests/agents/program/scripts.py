"""Programs as agents, of the standard library alone."""

import sys
from pathlib import Path
from typing import Any

from timeful.agents.program.agent import Program, program

CLIENT = """
import json, os, re, sys, threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

BASE, KEY = urlsplit(os.environ["OPENAI_BASE_URL"]), os.environ["OPENAI_API_KEY"]
TOOLS = urlsplit(os.environ["TIMEFUL_MCP_URL"]).path


def send(path, body, *, key=KEY, method="POST"):
    connection = HTTPConnection(BASE.netloc)
    data = body if isinstance(body, str) else json.dumps(body)
    connection.request(method, path, data, {"authorization": f"Bearer {key}"})
    reply = connection.getresponse()
    return reply.status, json.loads(reply.read() or "null")


def call(name, **arguments):
    params = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return send(TOOLS, body)[1]["result"]


def tool(name, **arguments):
    return json.loads(call(name, **arguments)["content"][0]["text"])


def think(text, **fields):
    messages = [{"role": "user", "content": text}]
    body = {"model": "any", "messages": messages, **fields}
    return send("/v1/chat/completions", body)[1]["choices"][0]["message"]["content"]
"""

PLAYER = """
state = tool("look")
while not state["over"]:
    move = re.search(r"boxed\\{(\\w)", think(state["view"]))
    if move is None:
        break
    tool("act", action=move[1])
    state = tool("wait")
print("played")
"""


def write_program(folder: Path, script: str, **options: Any) -> Program:
    """A program of a script, which has the functions of the client."""
    path = folder / "agent.py"
    path.write_text(CLIENT + script)
    return program([sys.executable, "-I", "-S", str(path)], **options)
