"""docs/annotation.md: its settings and commands run as they stand, against a server on loopback."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("openai")

from tests.annotation.annotating import annotated, good, timeful
from tests.catalogs.test_mcp import SERVER, served
from tests.catalogs.test_openapi import SHOP
from tests.servers.fake import FakeServer
from timeful.annotation.settings import Settings
from timeful.catalogs.catalog import read_catalog
from timeful.catalogs.reading import read_as
from timeful.dialogues.jsonl import read_dialogue
from timeful.dialogues.opportunity import read_opportunity

__all__ = ["served"]  # a fixture

PAGE = Path(__file__).parents[2] / "docs" / "annotation.md"


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def saved(folder: Path) -> None:
    """The page's files of settings, by the name in their first line."""
    for block in fenced("yaml"):
        (folder / block.splitlines()[0].removeprefix("# ")).write_text(block)


def test_the_pages_commands_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    saved(tmp_path)
    with FakeServer(good) as server:
        settings = tmp_path / "annotate.yaml"
        text = settings.read_text()
        assert "https://api.openai.com/v1" in text
        settings.write_text(text.replace("https://api.openai.com/v1", server.base_url))
        for line in fenced("sh")[0].splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "timeful"
            run = timeful(*arguments)
            assert run.exit_code == 0, run.output
    whole = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert [len(one.turns) > 0 for one in whole] == [True] * 6
    assert (tmp_path / "talks_filtered.jsonl.gz").exists()


def test_every_source_of_tools_that_the_page_shows_is_read(
    tmp_path: Path, served: tuple[str, object]
) -> None:
    saved(tmp_path)
    (tmp_path / "api.yaml").write_text(SHOP)
    shutil.copy(SERVER, tmp_path / "server.py")
    own = tmp_path / "own.yaml"
    text = own.read_text()
    for shown, real in (("http://127.0.0.1:8000/mcp", served[0]), ("python", sys.executable)):
        assert text.count(shown) == 1
        text = text.replace(shown, real)
    own.write_text(text)
    made = timeful("catalog", "make", own, "--out", tmp_path / "mine.json")
    assert made.exception is None, made.output
    actions = read_catalog(tmp_path / "mine.json").actions
    assert {"desk-find_account", "find_account", "getOrder", "write-letter"} < set(actions)
    room = actions["find-room"].parameters
    assert [(one.name, one.type, one.required) for one in room] == [
        ("date", "string", True),
        ("beds", "integer", False),
    ]
    settings = tmp_path / "annotate.yaml"
    settings.write_text(
        "dialogues: {file: talks.jsonl}\nannotation: {oracle: rules}\n"
        "tool_catalog: {catalog: mine.json, ontology: workflows.yaml}\n"
    )
    line = '{"id": "1", "turns": [{"number": 1, "speaker": "customer", "text": "A room, please."}]}'
    (tmp_path / "talks.jsonl").write_text(line)
    assert timeful("annotate", settings).exit_code == 0


def test_the_pages_dialogue_and_opportunity_are_ones() -> None:
    dialogue, opportunity = fenced("json")
    assert [name.name for _, name in read_dialogue(dialogue.encode()).observed] == ["find-account"]
    assert read_opportunity(json.loads(opportunity)).is_ready


def test_the_page_names_every_field_of_the_settings(tmp_path: Path) -> None:
    listed = set(re.findall(r"`(\w+)`", PAGE.read_text().split("## Settings")[1]))
    listed |= {"folder", "samples"}  # of abcd, in one cell with it
    (tmp_path / "a.yaml").write_text("tool_catalog: {domain: shop}")
    settings = read_as(tmp_path / "a.yaml", Settings)
    for section in settings.__struct_fields__:
        assert section in listed
        for field in getattr(settings, section).__struct_fields__:
            assert field in listed | {"abcd"}, f"{section}.{field}"
