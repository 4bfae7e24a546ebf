"""Conversations to annotate, settings, and a server that annotates them in its own simple way."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.servers.fake import Body, FakeServer, Say, Step
from timeful.cli.main import app
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_jsonl, write_jsonl
from timeful.domains.generator import generate
from timeful.domains.library import load_domain

KEY = "sk-very-private-5e1f"


def talks(path: Path, *, n: int = 5, domain: str = "shop", seed: int = 1) -> list[Dialogue]:
    """Conversations in a file, without the references that they were made with."""
    made = list(generate(load_domain(domain), n=n, seed=seed))
    write_jsonl(path, made)
    return made


def saved(folder: Path, server: FakeServer | None = None, **sections: dict[str, Any]) -> Path:
    """Settings as a file; of each section what is given wins."""
    base: dict[str, dict[str, Any]] = {
        "dialogues": {"file": "talks.jsonl"},
        "tool_catalog": {"domain": "shop"},
        "llm": {"model": "fake", "base_url": server.base_url if server else "http://localhost:1"},
        "annotation": {"batch_size": 50, "max_workers": 1},
    }
    data = {name: {**base.get(name, {}), **sections.get(name, {})} for name in base | sections}
    path = folder / "annotate.yaml"
    path.write_text(json.dumps(data))  # which is YAML as well
    return path


def timeful(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env=env)


def question(body: Body) -> str:
    """What was first asked, also where it is asked again."""
    text: str = body["messages"][1]["content"]
    return text


def asked_turns(body: Body) -> list[int]:
    """The turns that a request is about."""
    listed = question(body).split("TURNS TO ANNOTATE\n")[1].split("\n\nTOOLS")[0]
    return [int(number) for number in re.findall(r"^Turn (\d+), ", listed, re.MULTILINE)]


def opportunity(name: str = "find-account", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "x",
        "inputs": {
            "required": [],
            "optional": [{"input_name": "customer_name", "provided": True, "value": "Ada"}],
        },
        "readiness_maturity": "high",
        "trigger_confidence": "medium",
        "action_trigger_status": "ready_to_trigger",
        **fields,
    }


def annotation(turns: list[int], **fields: Any) -> str:
    """An answer: at every even turn the account could be found."""
    entries = []
    for number in turns:
        some = [{"action_opportunity": opportunity(**fields)}] if number % 2 == 0 else []
        entries.append({"dialogue_turn": number, "proactive_annotations": some})
    return json.dumps(entries)


def good(body: Body) -> Iterator[Step]:
    yield Say(annotation(asked_turns(body)))


def annotated(path: Path) -> list[Dialogue]:
    return list(read_jsonl(path))
