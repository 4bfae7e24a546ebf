"""docs/annotation.md: its settings and commands run as they stand, against a server on loopback."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("openai")

from tests.annotation.annotating import annotated, good, timeful
from tests.servers.fake import FakeServer
from timeful.annotation.settings import Settings
from timeful.catalogs.reading import read_as

PAGE = Path(__file__).parents[2] / "docs" / "annotation.md"


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_pages_commands_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for block in fenced("yaml"):
        name = block.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(block)
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


def test_the_page_names_every_field_of_the_settings(tmp_path: Path) -> None:
    listed = set(re.findall(r"`(\w+)`", PAGE.read_text().split("## Settings")[1]))
    listed |= {"folder", "samples"}  # of abcd, in one cell with it
    (tmp_path / "a.yaml").write_text("tool_catalog: {domain: shop}")
    settings = read_as(tmp_path / "a.yaml", Settings)
    for section in settings.__struct_fields__:
        assert section in listed
        for field in getattr(settings, section).__struct_fields__:
            assert field in listed | {"abcd"}, f"{section}.{field}"
