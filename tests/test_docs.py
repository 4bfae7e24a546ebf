"""Every example, and every block of code in the documents, runs and prints what it says."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.servers.fake import FakeServer, Say
from timeful.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str | None]]:
    """Each python block with the text block that follows it directly, if one does."""
    found = []
    for page in PAGES:
        text = page.read_text()
        fences = list(FENCE.finditer(text))
        for number, fence in enumerate(fences):
            if fence[1] == "python":
                after = fences[number + 1] if number + 1 < len(fences) else None
                joined = after is not None and not text[fence.end() : after.start()].strip()
                said = after[2] if after is not None and joined and after[1] == "text" else None
                line = text[: fence.start()].count("\n") + 2
                found.append((f"{page.name}:{line}", fence[2], said))
    return found


@pytest.mark.parametrize(("place", "code", "output"), blocks(), ids=lambda value: str(value)[:40])
def test_a_block_of_code_runs_and_prints_what_it_says(
    place: str, code: str, output: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, place, "exec"), {"__name__": "__main__"})
    if output is not None:
        assert said.getvalue() == output


def commands() -> list[tuple[str, str]]:
    """Each command of a console block with its output."""
    found = []
    for page in PAGES:
        for fence in FENCE.finditer(page.read_text()):
            if fence[1] == "console":
                for part in re.split(r"^\$ ", fence[2], flags=re.MULTILINE)[1:]:
                    command, _, output = part.partition("\n")
                    found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), commands())
def test_a_command_prints_what_the_page_says(command: str, output: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(command)
    assert program == "timeful"
    run = subprocess.run(
        [sys.executable, "-m", "timeful", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout + run.stderr == output


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_an_example_runs_and_prints_what_its_last_lines_say(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(example.parent)
    source = example.read_text()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, str(example), "exec"), {"__name__": "__main__"})
    expected = [line[4:] for line in source.splitlines() if line.startswith("# > ")]
    assert said.getvalue().splitlines() == expected


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def words(body: dict[str, Any]) -> Iterator[Say]:
    yield Say("\\boxed{U}")


@pytest.mark.slow
def test_the_commands_for_a_real_model_run_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "models.md").read_text()
    [block] = [f[2] for f in FENCE.finditer(text) if "--record tape.jsonl" in f[2]]
    lines = block.replace("\\\n", " ").splitlines()
    # A shell's comment begins with a # after a space; `tape.jsonl#name` holds none.
    told = [re.sub(r"\s#.*", "", line) for line in lines]
    commands = [shlex.split(line) for line in told if line.startswith("timeful ")]
    few = {
        "realtime": shlex.split("--game freeway --agent agile --seeds 1 --samples 1"),
        "engagement/inbox": ["--decomposition", "single", "--seeds", "1"],
        "timely/reasoning": ["--case", "sums", "--size", "1"],
    }
    with FakeServer(words) as server:
        for command in commands:
            here = [server.base_url if word.startswith("https:") else word for word in command]
            run = CliRunner().invoke(app, [*here[1:], *few[here[2]], "--workers", "1"])
            assert run.exit_code == 0, run.output
    models = {request.body["model"] for request in server.requests}
    assert models == {"deepseek-chat", "deepseek-reasoner"}
    tables = [(tmp_path / run / "table.csv").read_text() for run in ("runs/deepseek", "runs/again")]
    scores = [
        [line.split(",")[6:10] for line in table.splitlines() if ",spending," not in line]
        for table in tables
    ]
    assert scores[0] == scores[1], "the replay comes to the same"
