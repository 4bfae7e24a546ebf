"""Mutated files through the command line: `python -m benchmarks.fuzz --seconds 60 --seed 0`.

Valid files of each kind that a command reads are made once, by the commands themselves. Case N of
a seed mutates one of them and calls its command in this process. A case ends `fine`, in a clear
error, or in a traceback, which is printed with its case: `--case N` repeats it alone. A case that
takes longer than 20 s counts as a traceback.
"""

import argparse
import json
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from traceback import extract_tb
from types import FrameType
from typing import Any

import yaml

from timeful.cli.main import main as timeful
from timeful.core.clock import monotonic_ns

LIMIT_S = 20

KITCHEN = "run engagement/kitchen --setting one-dish --cases 1 --seeds 1 --workers 1 --out kitchen"
REASONING = (
    "run timely/reasoning --case mixed --size 2 --transcripts full --workers 1 --out reasoning"
)
PROACTOR = (
    "run proactor --dialogues 1 --runs 1 --agent non-reasoning --no-curve --timing by-turn "
    "--workers 1 --out proactor"
)
SNAKE = (
    "run realtime --game snake --difficulty easy --agent reactive --seeds 1 --samples 1 --workers 1"
)

TEXTS: dict[str, str] = {
    "api.yaml": """
openapi: 3.0.0
servers: [{url: https://shop.example}]
security: [{key: []}]
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Base: {type: object, properties: {id: {type: integer}}, required: [id]}
    Order: {allOf: [{$ref: '#/components/schemas/Base'}, {properties: {note: {type: string}}}]}
paths:
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: get-order, parameters: [{name: full, in: query, schema: {type: boolean}}]}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
""",
    "sources.yaml": """
catalog_metadata: {name: desk, version: 2.0.0, domain: retail}
sources: [{openapi: {file: api.yaml, prefix: shop-}}, {domain: loan}]
samples: samples.jsonl
""",
    "samples.jsonl": '{"action": "shop-get-order", "parameters": ["id"]}\n',
    "problems.jsonl": "".join(
        json.dumps({"id": n, "question": f"{n} + 1?", "answer": str(n + 1), "type": "exact"}) + "\n"
        for n in range(3)
    )
    + '{"question": "Which?", "answer": "A", "choices": ["x", "y"]}\n',
    "problems.csv": "id,question,answer\n1,2 + 2?,4\n2,3 + 3?,6\n",
    "results.csv": "name,ac,max_ac,difference,pt,ftr,rar\na,1,2,3,4,5,6\nb,2,3,4,5,6,7\n",
    "turns.jsonl": '{"dialogue": "7", "turn": 3, "predictions": [], "references": [], '
    '"ready_ranges": {"x": [1, 2]}}\n',
    "traces.toml": "[problems]\nsets = ['mixed']\nsize = 2\n",
    "train.toml": """
model = {path = 'kitchen'}
run = {out = 'o'}
cases = {budgets = ['10s']}
reward = {name = 'timely'}
""",
    "annotate.yaml": """
dialogues: {file: talks.jsonl}
llm: {model: x, base_url: http://127.0.0.1:9/v1}
tool_catalog: {domain: loan}
""",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A file, and the command that reads it; the folder that it is in is fresh in each case."""

    file: str
    command: str


TARGETS = (
    Target("record.jsonl", "show record.jsonl"),
    Target("reasoning/record.jsonl", "rewards correctness reasoning"),
    Target("dish.jsonl", "draw dish.jsonl"),
    Target("talk.jsonl", "metrics proactor talk.jsonl"),
    *(
        Target(f"{run}/{part}", f"report {run}")
        for run in ("kitchen", "reasoning", "proactor", "snake")
        for part in ("settings.json", "record.jsonl")
    ),
    *(Target(f"kitchen/{part}", KITCHEN) for part in ("rows.jsonl", "settings.json")),
    *(
        Target(f"reasoning/{part}", "export reasoning --as prompts --out e.jsonl")
        for part in ("settings.json", "record.jsonl")
    ),
    *(
        Target(file, "catalog make sources.yaml --out new.json")
        for file in ("sources.yaml", "api.yaml", "samples.jsonl")
    ),
    *(Target("catalog.json", f"catalog {name} catalog.json") for name in ("show", "check")),
    Target("talks.jsonl", "align talks.jsonl"),
    *(Target(f"abcd.json{end}", f"ec abcd.json{end}") for end in ("", ".gz")),
    Target("abcd.json", "align abcd.json"),
    Target("turns.jsonl", "metrics proactor-turns turns.jsonl"),
    Target("results.csv", "pri results.csv"),
    *(
        Target(file, f"run timely/reasoning --problems {file} --workers 1 --out o")
        for file in ("problems.jsonl", "problems.csv")
    ),
    Target("traces.toml", "traces traces.toml --workers 1 --out o"),
    Target("train.toml", "train train.toml --dry-run"),
    Target("annotate.yaml", "annotate annotate.yaml --oracle rules --out a.jsonl"),
)

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**18, 1e300, 0.5, "", "x", "\x1b[2J", "\u202e", "=1+1", "\x00"),
    *([], [[]], {}, {"": None}, {"a": []}, "9" * 5000, 10**30, "ä" * 300, "../../x"),
)
TOKENS = (
    *(b"\xff", b"\x00", b"\xef\xbb\xbf", b"[" * 20_000, b'{"a":' * 20_000, b"9" * 5_000, b"1e999"),
    *(
        b"NaN",
        b"null",
        b'"',
        b"'",
        b"\\ud800",
        b"\r",
        b"\n",
        b"- ",
        b"{",
        b"}",
        b": ",
        b",",
        b"&a *a",
    ),
    *(b"a." * 20_000, b"!!int x", b"=", b"\x1f\x8b", b"<<: 1\n"),
)


def mutate(content: bytes, name: str, chance: Random) -> bytes:
    """Change the values of a file, or its bytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        kind = chance.random()
        if kind < 0.8 and name.endswith((".json", ".jsonl", ".yaml")):
            content = _change_value(content, name, chance)
        else:
            content = _change_bytes(content, chance)
    return content


def _change_bytes(content: bytes, chance: Random) -> bytes:
    start = chance.randint(0, len(content))
    end = min(len(content), start + chance.choice((0, 1, 5, 50, 10_000)))
    middle = chance.choice((b"", chance.choice(TOKENS), content[start:end] * 2))
    return content[:start] + middle + content[end:]


def _change_value(content: bytes, name: str, chance: Random) -> bytes:
    """Replace, delete or rename a value of a tree; of a file of lines, in one line."""
    lines = content.split(b"\n") if name.endswith(".jsonl") else [content]
    index = chance.randrange(max(1, len(lines) - 1))
    try:
        tree = [
            yaml.safe_load(lines[index]) if name.endswith(".yaml") else json.loads(lines[index])
        ]
    except Exception:  # noqa: BLE001 - it is no tree any more
        return content
    parents = list(_parents(tree))
    parent, key = chance.choice(parents)
    action = chance.random()
    if action < 0.6:
        parent[key] = chance.choice(VALUES)
    elif action < 0.8:
        other, place = chance.choice(parents)
        parent[key] = json.loads(json.dumps(other[place], default=str))
    elif parent is not tree:
        value = parent.pop(key)
        if isinstance(parent, dict) and action < 0.9:
            parent[chance.choice(("x", "", "name", "at"))] = value
    dump = yaml.safe_dump if name.endswith(".yaml") else json.dumps
    lines[index] = dump(tree[0]).encode()
    return b"\n".join(lines)


def _parents(node: Any) -> Iterator[tuple[Any, Any]]:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from _parents(node[key])


def call(command: str) -> tuple[int | None, str]:
    """Call a command: its exit code, None after a traceback; and what it printed as errors."""
    said = StringIO()
    sys.argv = ["timeful", *command.split()]
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(StringIO()))
        stack.enter_context(redirect_stderr(said))
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        signal.alarm(LIMIT_S)
        try:
            timeful()
        except SystemExit as end:
            return (end.code if isinstance(end.code, int) else 0), said.getvalue()
        except BaseException as error:  # noqa: BLE001 - a traceback, which is what is counted
            place = [f for f in extract_tb(error.__traceback__) if "timeful" in f.filename][-1]
            where = f"{place.filename.rpartition('timeful/')[2]}:{place.lineno}"
            return None, f"{where} {type(error).__name__}: {str(error)[:100]}"
        finally:
            signal.alarm(0)
    return 0, said.getvalue()


def make_files(folder: Path) -> None:
    """Make a valid file of each kind."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for command in (
        *(KITCHEN, REASONING, PROACTOR, f"{SNAKE} --out snake"),
        "dialogues make loan --n 2 --out talks.jsonl",
        *(f"dialogues make shop --n 2 --out abcd.json{end}" for end in ("", ".gz")),
        "catalog make sources.yaml --out catalog.json",
    ):
        code, said = call(command)
        assert code == 0, f"{command}: {said}"
    for run, name in (("snake", "record"), ("kitchen", "dish"), ("proactor", "talk")):
        shutil.copy(min((folder / run / "episodes").glob("*.jsonl")), folder / f"{name}.jsonl")


def play_case(files: Path, target: Target, number: int, seed: int) -> tuple[str, str]:
    """Play a case: how it ended, and where if in a traceback."""
    chance = Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(files, name, dirs_exist_ok=True)
        path = Path(name, target.file)
        if path.name == "record.jsonl" and path.parent != Path(name):
            path = min(path.parent.glob("episodes/*.jsonl"))
        path.write_bytes(mutate(path.read_bytes(), target.file, chance))
        with chdir(name):
            code, said = call(target.command)
    if code is None or "Traceback" in said:
        return "traceback", re.sub(r"\s+", " ", said)[-300:]
    return ("fine" if code == 0 else "clear"), ""


def fuzz(
    seconds: float, seed: int, cases: Sequence[int] = ()
) -> Iterator[tuple[int, str, str, str]]:
    """Play cases until the time is over: number, target, how each ended, and where."""
    signal.signal(signal.SIGALRM, _stop)
    with tempfile.TemporaryDirectory() as name:
        with chdir(name):
            make_files(Path(name))
        end = monotonic_ns() + int(seconds * 1e9)
        for number in cases or range(10**9):
            if not cases and monotonic_ns() > end:
                return
            target = TARGETS[number % len(TARGETS)]
            yield (
                number,
                f"{target.file}: {target.command[:30]}",
                *play_case(Path(name), target, number, seed),
            )


def _stop(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not over after {LIMIT_S} s")


def main(report: Callable[[str], object] = print) -> int:
    """Fuzz, and print the counts of each target; 1 after a traceback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, action="append", default=[])
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for number, target, ending, place in fuzz(options.seconds, options.seed, options.case):
        counts.setdefault(target, Counter())[ending] += 1
        if ending == "traceback":
            report(f"TRACEBACK seed {options.seed} case {number} ({target}): {place}")
    report(f"{'target':<56}{'fine':>7}{'clear':>7}{'traceback':>11}")
    counts["all"] = sum(counts.values(), Counter())
    for target, count in counts.items():
        numbers = f"{count['fine']:>7}{count['clear']:>7}{count['traceback']:>11}"
        report(f"{target[:54]:<56}{numbers}")
    return int(counts["all"]["traceback"] > 0)


if __name__ == "__main__":
    sys.exit(main())
