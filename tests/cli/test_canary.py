"""A key and a password, in the environment and in an address, reach no screen and no file.

Each command of the parser is here: with an endpoint that repeats the key in its answers and errors,
or, if it asks none, on what such commands wrote.
"""

import gzip
import json
import lzma
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from traceback import format_exception
from typing import Any
from urllib.parse import quote

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("openai")
pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.servers.fake import Body, FakeServer, Raw, Say, Start, Status, Step
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.models import answer_stream

KEY = "sk-CANARY/7+key"
PASSWORD = "p@ss:CANARY-word"
USER = f"me:{PASSWORD}"
PLAIN = (KEY, f"{KEY}\n\t", PASSWORD, USER)
FORMS = {
    form
    for text in PLAIN
    for form in (
        text,
        repr(text)[1:-1],
        quote(text),
        quote(text, safe=""),
        b64encode(text.encode()).decode(),
        b64encode(text.encode()).decode().rstrip("="),
    )
}

ONE = "--workers 1 --out o"
FEW = f"--seeds 1 --episodes 1 --set horizon=20 {ONE}"
MODEL = "--model openai:m --base-url URL --record tape.jsonl"
SUMS = "--case sums --size 1 --baselines b.json"
ONLINE = {
    "annotate": "annotate.yaml",
    "baseline timely/coding": f"--case iris {MODEL} --baselines b.json {ONE}",
    "baseline timely/fiction": f"--game skerry {MODEL} --baselines b.json {ONE}",
    "baseline timely/reasoning": f"{SUMS} {MODEL} {ONE}",
    "calibrate": "m --base-url URL --length 4 --length 2000 --repeats 1 --out o/pace.json",
    "run engagement/inbox": f"{MODEL} --writer openai:m --interface event-driven {FEW}",
    "run engagement/kitchen": f"{MODEL} --setting one-dish --cases 1 --seeds 1 {ONE}",
    "run proactor": f"--dialogues 1 --runs 1 --agent non-reasoning --timing by-turn "
    f"{MODEL} --judge openai:j {ONE}",
    "run realtime": "--game freeway --difficulty easy --agent agile --agent reactive --seeds 1 "
    f"--samples 1 {MODEL} {ONE}",
    "run timely/coding": f"--case iris --budget 9s {MODEL} {ONE}",
    "run timely/fiction": f"--game skerry --budget 90s --latency none {MODEL} {ONE}",
    "run timely/reasoning": f"{SUMS} --budget 20s {MODEL} {ONE}",
    "traces": f"traces.toml {ONE}",
}
"""The commands that ask an endpoint."""

OFFLINE = {
    "align": "talks.jsonl",
    "catalog check": "catalog.json",
    "catalog make": "sources.yaml --out catalog.json",
    "catalog show": "catalog.json",
    "completion": "bash",
    "dialogues make": "shop --n 1 --seed 1 --out talks.jsonl",
    "draw": "RECORD",
    "ec": "talks.jsonl",
    "export": "o --as sft --out rows.jsonl",
    "games add": "mine game.z3",
    "games fetch": "none",
    "games list": "",
    "list": "",
    "metrics proactor": "RECORD",
    "metrics proactor-turns": "talks.jsonl",
    "new": "agent mine.py",
    "play": "snake --keys wasd",
    "prepare": "none",
    "pri": "results.csv",
    "report": "o",
    "rewards": "correctness RECORD",
    "run engagement/toys": f"--seeds 1 --set episodes=2 {ONE}",
    "serve": "none",
    "run train/quick": "--help",
    "show": "RECORD",
    "train ep": "--dry-run",
    "train proactor": "--dry-run",
    "train quick": "--help",
    "train timely": "--dry-run",
    "view": "o --export page",
}
"""Those that ask none; their own inputs need not be right."""

GROUPS = ("run engagement", "run timely")
"""Those that run several others, each with its defaults."""

FILES = {
    "traces.toml": 'source = "teacher"\n[problems]\nsets = ["sums"]\nsize = 2\n[time]\n'
    'budget = ["20s", "30s"]\n[teacher]\nmodel = "m"\nbase_url = "URL"\n[splits]\ntrain = 1.0\n'
    'validation = 0.0\ntest = 0.0\n[judge]\nmodel = "m"\nbase_url = "URL"\n',
    "annotate.yaml": "dialogues: {file: talks.jsonl}\nllm: {model: m, base_url: 'URL'}\n"
    "tool_catalog: {domain: shop}\nlogging: {log_file: log.txt}\n",
    "sources.yaml": "catalog_metadata: {name: desk, version: 1.0.0, domain: retail}\n"
    "sources: [{domain: loan}]\n",
    "results.csv": "name,ac,max_ac,difference,pt,ftr,rar\na,1,2,3,4,5,6\nb,2,3,4,5,6,7\n",
}

_FORM = sorted(FORMS)


def answers(number: int, body: Body) -> Iterator[Step]:
    form = _FORM[number % len(_FORM)]
    yield from [Say("and so ")] * (1000 if body.get("max_tokens") == 2000 else 0)
    yield Say(f"<answer>{form[:7]}")
    yield Say(f"{form[7:]}</answer>")


def malformed(number: int, _: Body) -> Iterator[Step]:
    yield Raw(f"data: [{json.dumps(_FORM[number % len(_FORM)])}]\n\n".encode())


def no_stream(number: int, _: Body) -> Iterator[Step]:
    yield Start()
    yield Raw(f"Authorization: {_FORM[number % len(_FORM)]}\n\n".encode())


def refusal(number: int, _: Body) -> Iterator[Step]:
    yield Status(401, f"wrong key {_FORM[number % len(_FORM)]}")


def failure(number: int, _: Body) -> Iterator[Step]:
    yield Status(500, f"failed with {' '.join(PLAIN)} {_FORM[number % len(_FORM)]}")


Script = Callable[[int, Body], Iterator[Step]]


def commands() -> Iterator[str]:
    """The commands of the parser, by their words."""

    def walk(command: click.Command, parent: click.Context, words: str) -> Iterator[str]:
        if not isinstance(command, click.Group):
            yield words
            return
        for name in command.list_commands(parent):
            try:
                inner = command.get_command(parent, name)
            except SettingsError:  # a suite without a baseline
                continue
            assert inner is not None
            yield from walk(inner, click.Context(inner, parent=parent), f"{words} {name}".strip())

    return walk(app, click.Context(app), "")


def invoke(words: str, folder: Path, url: str) -> str:
    """What a command says, errors with their causes."""
    record = next(folder.glob("o/episodes/*.jsonl"), folder / "none.jsonl")
    parts = words.replace("RECORD", str(record)).replace("URL", url).split()
    result = CliRunner().invoke(app, parts)
    chain = format_exception(result.exception) if result.exception else []
    return result.output + "".join(chain)


def check(folder: Path, text: str) -> None:
    """Look for the canaries, also in packed files and in names of files."""
    texts = {"the screen": text}
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
            texts[str(path)] = f"{path} {unpack(data).decode('utf-8', 'replace')}"
    for place, content in texts.items():
        for form in FORMS:
            assert form not in content, f"{form!r} is in {place}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "TIMEFUL"):
        monkeypatch.setenv(f"{name}_API_KEY", f"{KEY}\n\t")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    async def no_pause(_: float) -> None: ...

    monkeypatch.setattr(answer_stream, "_pause", no_pause)
    return tmp_path


def run(command: str, folder: Path, script: Script, *, is_probed: bool) -> int:
    """Run an online command against a server, and look for the canaries; the requests."""
    numbers = count()

    def answer(body: Body) -> Iterator[Step]:
        if is_probed and "ready" in json.dumps(body["messages"]) and body.get("max_tokens") == 16:
            return iter([Say("ready")])
        return script(next(numbers), body)

    with FakeServer(answer) as server:
        url = server.base_url.replace("://", f"://me:{quote(PASSWORD, safe='')}@")
        for name, text in FILES.items():
            (folder / name).write_text(text.replace("URL", url))
        invoke("dialogues make shop --n 1 --seed 1 --out talks.jsonl", folder, url)
        said = invoke(f"{command} {ONLINE[command]}", folder, url)
    for name in FILES:
        (folder / name).unlink()
    check(folder, said)
    return len(server.requests)


def tiers(*fast: str) -> list[Any]:
    """The commands that ask an endpoint; all but these are in the slow tier."""
    return [pytest.param(c, marks=() if c in fast else pytest.mark.slow) for c in ONLINE]


def test_each_command_is_covered() -> None:
    assert sorted(commands()) == sorted({*ONLINE, *OFFLINE, *GROUPS})


@pytest.mark.parametrize("command", tiers("annotate", "run timely/reasoning", "traces"))
def test_an_answer_with_the_key_is_written_without_it(command: str, folder: Path) -> None:
    assert run(command, folder, answers, is_probed=True) > (command != "calibrate")


@pytest.mark.parametrize("command", tiers("annotate", "run realtime", "traces"))
def test_a_refused_key_is_not_shown_and_leaves_nothing(command: str, folder: Path) -> None:
    assert run(command, folder, refusal, is_probed=False)
    left = {path.name for path in folder.iterdir()} - {"talks.jsonl", "tape.jsonl", "log.txt"}
    assert left <= ({"o"} if command == "calibrate" else set())


@pytest.mark.parametrize("script", [malformed, no_stream, failure])
@pytest.mark.parametrize("command", tiers("run timely/reasoning"))
def test_an_error_that_quotes_the_key_is_kept_without_it(
    command: str, script: Script, folder: Path
) -> None:
    assert run(command, folder, script, is_probed=True)


def test_a_command_to_type_next_has_no_password(folder: Path) -> None:
    url = f"http://me:{quote(PASSWORD)}@127.0.0.1:1/v1"
    words = f"run timely/reasoning {SUMS} --budget 2x --model openai:m --base-url {url}"
    said = invoke(words, folder, url)
    assert "--base-url" in said
    check(folder, said)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["run realtime", "run proactor", "run timely/reasoning"])
def test_commands_that_read_a_run_show_no_key(source: str, folder: Path) -> None:
    run(source, folder, answers, is_probed=True)
    for command, arguments in OFFLINE.items():
        check(folder, invoke(f"{command} {arguments}", folder, ""))
