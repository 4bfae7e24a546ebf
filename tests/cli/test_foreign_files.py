"""Files of strangers: every command that reads one refuses it in a line, and lives."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from timeful.cli.main import main

API = """
openapi: "3.0.0"
paths: {/orders: {get: %s}}
"""


@pytest.fixture
def timeful(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line in this process; gives its exit code."""

    def call(*arguments: object) -> int | str | None:
        monkeypatch.setattr(sys, "argv", ["timeful", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return call


@pytest.mark.parametrize("line", [b"\xff", b'{"a":' * 200_000, b"", b"[1]"])
@pytest.mark.parametrize("command", ["show", "rewards", "draw"])
def test_a_damaged_record_is_named(
    tmp_path: Path, timeful: Any, capsys: pytest.CaptureFixture[str], command: str, line: bytes
) -> None:
    record = tmp_path / "x.jsonl"
    record.write_bytes(line + b"\n")
    command_line = {"rewards": ["rewards", "correctness", record], "draw": ["draw", record]}
    assert timeful(*command_line.get(command, ["show", record])) == 2
    assert "x.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"\xff", b'{"suite": "realtime", "version": 1}', b'{"suite": ["realtime"]}', b"[]"]
)
def test_settings_of_another_run_are_refused(tmp_path: Path, timeful: Any, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "a.jsonl").write_bytes(b"")
    assert timeful("report", tmp_path) == 2


@pytest.mark.parametrize("url", ["htp://u:PW@h/v1", "http://u:PW@/v1", "http://u:PW@h:99x/v1"])
def test_an_address_that_cannot_be_is_refused_before_the_first_episode(
    tmp_path: Path, timeful: Any, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    out = tmp_path / "o"
    for address in (url, "http://u:PW@[::1/v1"):
        model = ["--model", "openai:x", "--base-url", address, "--out", out]
        assert timeful("run", "realtime", "--game", "snake", "--agent", "reactive", *model) == 2
        assert "PW" not in capsys.readouterr().err
    assert not out.exists()


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30_000,
        "- " * 30_000,
        "a: " + "9" * 5_000,
        "a: !!int x",
        "a: !!timestamp x",
        "a: " + "1:" * 400 + "1.0",
        "a: 2020-13-45",
        BOMB,
        "\ufeffa: \x00",
    ],
    ids=["flow", "block", "digits", "int", "timestamp", "base60", "date", "aliases", "nul"],
)
def test_yaml_of_any_depth_is_refused(tmp_path: Path, timeful: Any, text: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    assert timeful("catalog", "make", file, "--out", tmp_path / "c.json") == 2


@pytest.mark.parametrize("name", ["s.json", "s.json.gz", "s.yaml"])
@pytest.mark.parametrize("text", ["[" * 200_000, '{"a": ' + "9" * 5_000 + "}", " " * (17 << 20)])
def test_json_of_any_depth_and_size_is_refused(
    tmp_path: Path, timeful: Any, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())
    assert timeful("catalog", "make", file, "--out", tmp_path / "c.json") == 2


@pytest.mark.parametrize(
    "text", ["a = " + "9" * 5_000, "a = " + "[" * 100_000, "a." * 50_000 + "a = 1", "a = \ud800"]
)
def test_toml_of_any_depth_is_refused(tmp_path: Path, timeful: Any, text: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert timeful("train", file, "--dry-run") == 2
    assert timeful("traces", file, "--out", tmp_path / "o.jsonl") == 2


def test_settings_that_are_not_text_are_not_printed(tmp_path: Path, timeful: Any) -> None:
    file = tmp_path / "t.toml"
    file.write_bytes(b"\xff")
    assert timeful("train", file, "--print") == 2


def test_a_file_without_an_end_is_refused(tmp_path: Path, timeful: Any) -> None:
    zero = Path("/dev/zero")
    assert timeful("catalog", "show", zero) == 2
    assert timeful("metrics", "proactor-turns", zero) == 2


@pytest.mark.parametrize(
    "operation",
    [
        "[]",
        "{parameters: {}}",
        "{parameters: [{name: a, in: query, content: []}]}",
        "{parameters: [{name: a, in: query, content: {x: []}}]}",
        "{requestBody: []}",
        "{requestBody: {content: {x: []}}}",
        "{requestBody: {content: {x: {schema: []}}}}",
        "{requestBody: {content: {x: {schema: {allOf: {}}}}}}",
        "{requestBody: {content: {x: {schema: {allOf: [1]}}}}}",
        "{requestBody: {content: {x: {schema: {allOf: [{properties: []}]}}}}}",
        "{requestBody: {content: {x: {schema: {allOf: [{required: [{}]}]}}}}}",
        "{requestBody: {content: {x: {schema: {anyOf: 1}}}}}",
        "{requestBody: {content: {x: {schema: {type: {}}}}}}",
        "{security: {}}",
        "{security: [[]], servers: []}",
        "{security: [1]}",
        "{security: [{a: []}]}\ncomponents: {securitySchemes: {a: []}}",
        "{security: [{a: []}]}\ncomponents: []",
        "{servers: {}}",
        "{servers: [1]}",
        "{operationId: [1]}",
        "{operationId: {}}",
    ],
)
def test_an_openapi_file_of_another_shape_is_no_traceback(
    tmp_path: Path, timeful: Any, operation: str
) -> None:
    head, _, tail = operation.partition("\n")
    (tmp_path / "api.yaml").write_text(API % head + tail)
    sources = tmp_path / "s.yaml"
    sources.write_text("{catalog_metadata: {name: x}, sources: [{openapi: {file: api.yaml}}]}")
    assert timeful("catalog", "make", sources, "--out", tmp_path / "c.json") in (0, 2)


def test_parts_of_a_schema_doubled_without_end_are_refused(tmp_path: Path, timeful: Any) -> None:
    ref = {"$ref": "#/components/schemas/s0"}
    schemas: dict[str, Any] = {
        f"s{n}": {"allOf": [{"$ref": f"#/components/schemas/s{n + 1}"}] * 4} for n in range(14)
    }
    media = {"schema": ref}
    post = {"requestBody": {"content": {"application/json": media}}}
    api = {
        "openapi": "3.1.0",
        "paths": {"/a": {"post": post}},
        "components": {"schemas": {**schemas, "s14": {"type": "object"}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(api))
    sources = tmp_path / "s.yaml"
    sources.write_text("{catalog_metadata: {name: x}, sources: [{openapi: {file: api.json}}]}")
    assert timeful("catalog", "make", sources, "--out", tmp_path / "c.json") == 2


@pytest.mark.parametrize("field", ['"choices": [[1], [2]]', '"choices": [{}, []]', '"type": []'])
def test_a_problem_of_another_shape_is_refused(tmp_path: Path, timeful: Any, field: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"question": "x", "answer": "A", ' + field + "}\n")
    command = ["run", "timely/reasoning", "--problems", file, "--out", tmp_path / "o"]
    assert timeful(*command) == 2
