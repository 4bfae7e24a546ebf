"""A catalog from a file of settings: all sources in one, on the command line."""

import json
import sys
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result

from tests.catalogs.test_mcp import SERVER
from tests.catalogs.test_openapi import SHOP
from timeful.annotation.catalog_builder import build_catalog
from timeful.catalogs.catalog import read_catalog
from timeful.catalogs.mcp_source import McpSource, mcp_types
from timeful.cli.main import app
from timeful.domains.library import load_domain
from timeful.errors import SettingsError

CONFIG = f"""
catalog_metadata: {{name: desk, version: 2.0.0, domain: retail}}
sources:
  - openapi: {{file: api.yaml, include: [getOrder]}}
  - agents: agents.yaml
  - types: types.yaml
  - mcp: {{name: desk, command: ['{sys.executable}', '{SERVER}'], timeout_s: 120}}
ontology: ontology.json
samples: samples.jsonl
overrides: overrides.yaml
"""
FILES = {
    "catalog.yaml": CONFIG,
    "api.yaml": SHOP,
    "agents.yaml": "[{name: write-letter, description: Write., steps: [draft, read, send]}]",
    "types.yaml": "send-link: {description: Send., parameters: [{name: page}, {name: note}]}",
    "ontology.json": '{"workflows": {"all": {"actions": ["getOrder", "send-link"]}}}',
    "samples.jsonl": (
        '{"action": "send-link", "parameters": ["page"]}\n\n'
        '{"action": "send-link", "parameters": ["note", "page"]}\n'
    ),
    "overrides.yaml": "send-link: {properties: {note: required}}",
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for module in ("mcp", "jinja2", "yaml"):
        pytest.importorskip(module)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "catalog.yaml"


def timeful(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_catalog_is_made_checked_and_shown_by_command(config: Path) -> None:
    out = config.parent / "out.json"
    made = timeful("catalog", "make", config, "--out", out, "--table")
    assert made.exception is None, made.output
    summary = "desk 2.0.0: 5 actions; 3 tools, 1 REST, 1 agents"
    assert made.output.splitlines()[-2:] == [summary, f"catalog  {out}"]
    assert "send-link     page           2/2   optional  required  samples" in made.output
    assert timeful("catalog", "check", out).output == summary + "\n"
    shown = timeful("catalog", "show", out).output
    assert "send-link  (mcp)\n    Send.\n    page*  string\n    note*  string\n" in shown
    required = {
        action.name: [one.name for one in action.parameters if one.required]
        for action in read_catalog(out).actions.values()
    }
    assert required == {
        "find_account": ["customer_name"],
        "list_orders": [],
        "send-link": ["page", "note"],
        "getOrder": ["id", "X-Trace"],
        "write-letter": [],
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "catalog.yaml",
            "- types: types.yaml",
            "- {types: a, agents: b}",
            r"sources\[2\].*exactly",
        ),
        ("catalog.yaml", "ontology:", "ontologie:", r"catalog\.yaml: .*unknown field `ontologie`"),
        ("catalog.yaml", "agents.yaml", "agent.yaml", r"cannot read .*agent\.yaml"),
        ("types.yaml", "send-link", "getOrder", r"sources\[2\]: 'getOrder' is also an action of"),
        (
            "types.yaml",
            "Send., ",
            "Send., kind: api, ",
            r"types\.yaml: .*needs a method and a path",
        ),
        (
            "ontology.json",
            "send-link",
            "sendlink",
            r"ontology\.json: workflows\.all: .*'send-link'",
        ),
        ("samples.jsonl", '["page"]', "3", r"samples\.jsonl, line 1: parameters: "),
        ("overrides.yaml", "note", "nott", r"'send-link'.*'nott'; .*Did you mean 'note'"),
    ],
)
def test_what_is_wrong_is_named(config: Path, name: str, old: str, new: str, said: str) -> None:
    path = config.parent / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    # The server is another test's matter, and slow to start.
    lines = config.read_text().splitlines()
    config.write_text("\n".join(line for line in lines if "mcp:" not in line))
    with pytest.raises(SettingsError, match=said):
        build_catalog(config)


def test_the_catalog_of_a_domain_is_that_of_its_types(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    path = tmp_path / "c.yaml"
    path.write_text("{catalog_metadata: {name: mine}, sources: [{domain: loan}]}")
    found = build_catalog(path).catalog
    assert found.actions == load_domain("loan").knowledge.catalog.actions
    with as_file(files("timeful.domains") / "bundled" / "loan") as folder:
        copytree(folder, tmp_path / "mine")
    path.write_text("{catalog_metadata: {name: mine}, sources: [{domain: mine}]}")
    assert build_catalog(path).catalog == found, "a folder is sought from the file's own"


@pytest.mark.parametrize("module", ["yaml", "jinja2"])
def test_a_missing_extra_is_said_with_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=rf"needs {module}: pip install 'timeful\[proactor\]'"):
        load_domain("loan")


def test_a_missing_mcp_is_said_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(SettingsError, match=r"needs mcp: pip install 'timeful\[proactor\]'"):
        mcp_types(McpSource(url="http://127.0.0.1:9/mcp"))


def test_what_is_no_catalog_is_said_by_command(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"catalog_metadata": {"name": "x"}, "mcp_tools": [{"name": "y"}]}))
    run = timeful("catalog", "check", path)
    assert isinstance(run.exception, SettingsError)
    assert "c.json: mcp_tools[0] ('y'): " in str(run.exception)
