"""Any program as an agent: this file plays snake over HTTP, with the standard library alone.

The program asks a model at OPENAI_BASE_URL and calls tools at TIMEFUL_MCP_URL, as it would ask any
endpoint and any MCP server. Time stands still while it computes, and a model call takes its tokens.
"""

import json
import os
import re
import sys
from urllib.request import Request, urlopen


def post(url: str, body: object) -> dict:
    headers = {
        "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
        "content-type": "application/json",
    }
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)


def ask(text: str) -> str:
    body = {"model": "any", "messages": [{"role": "user", "content": text}]}
    answer = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
    return answer["choices"][0]["message"]["content"]


def call(tool: str, **arguments: object) -> dict:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    result = post(os.environ["TIMEFUL_MCP_URL"], body)["result"]
    return json.loads(result["content"][0]["text"])


def run() -> None:
    state = call("look")
    while not state["over"]:
        answer = ask(f"{os.environ['TIMEFUL_PROMPT']}\n\nNow:\n{state['view']}")
        if move := re.search(r"boxed\{(\w)\}", answer):
            call("act", action=move[1])
        state = call("wait")


def show() -> None:
    from timeful import SearchModel, play, program, tokens  # noqa: PLC0415 - not in the program

    agent = program([sys.executable, show.__code__.co_filename], model=SearchModel.shallow())
    for step in (8192, 512):
        episode = play(agent, "snake", step=tokens(step))
        print(f"turns of {step} tokens: score {episode.score:+.0f}, {episode.late} turns late")


if __name__ == "__main__":
    run() if "TIMEFUL_MCP_URL" in os.environ else show()
# It prints:
# > turns of 8192 tokens: score +8, 0 turns late
# > turns of 512 tokens: score +1, 3 turns late
