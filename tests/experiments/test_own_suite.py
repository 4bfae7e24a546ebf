"""A suite of a user's own, in a file: run, swept, resumed, reported again, and in error."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import timeful
from timeful.cli.main import app
from timeful.environments.conformance import World, check_environment
from timeful.errors import SettingsError, TimefulError
from timeful.registry import load, registered

PAGER = Path(__file__).parents[2] / "examples" / "pager.py"


def run_alone(*arguments: str, code: int = 0) -> str:
    """Run a suite in a process of its own, in which no file was imported before."""
    command = [sys.executable, "-m", "timeful", "run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["run", *arguments, "--workers", "1"])
    if code == 2:
        assert isinstance(result.exception, TimefulError), result.output
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.output


def write(folder: Path, **changes: str) -> str:
    """The pager with other source text."""
    text = PAGER.read_text()
    for old, new in changes.values():  # type: ignore[misc]
        assert old in text
        text = text.replace(old, new)
    path = folder / "own.py"
    path.write_text(text)
    return str(path)


def test_a_file_gives_a_table_a_figure_and_rows_that_name_their_episodes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    text = run(str(PAGER), "--seeds", "2", "--out", str(out))
    assert "Fixed in time" in text
    assert max(map(len, text.splitlines()[:6])) <= 80
    assert (out / "report.html").read_text().count("<figure>") == 1
    cells = json.loads((out / "results.json").read_text())
    assert len(cells) == 9
    assert {cell["where"]["interface"] for cell in cells} == {
        "event-driven",
        "polling:20s",
        "loop",
    }
    assert all(cell["n"] == 2 for cell in cells)


def test_any_field_can_be_swept_and_a_run_is_resumed_and_reported_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    sweep = [str(PAGER), "--sweep", "rate=2,4", "--interface", "loop", "--out", str(out)]
    run(*sweep, "--seeds", "1")
    first = {path: path.stat().st_mtime_ns for path in (out / "episodes").iterdir()}
    run(*sweep, "--seeds", "2")
    assert len(list((out / "episodes").iterdir())) == 4
    assert {path: path.stat().st_mtime_ns for path in first} == first
    page = (out / "report.html").read_bytes()
    (out / "rows.jsonl").unlink()
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    assert (out / "report.html").read_bytes() == page


def test_results_of_two_versions_of_a_file_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    few = ["--seeds", "1", "--rate", "1", "--interface", "loop", "--out", str(tmp_path / "run")]
    run(write(tmp_path / "a"), *few)
    changed = write(tmp_path / "b", world=("seconds(5)", "seconds(6)"))  # type: ignore[arg-type]
    assert "code" in run(changed, *few, code=2)
    run(changed, *few, "--replace")


@pytest.mark.slow
def test_a_run_moves_with_its_file_and_belongs_to_one_version_of_its_neighbours(
    tmp_path: Path,
) -> None:
    few = ("--interface", "frozen", "--out", str(tmp_path / "run"))
    for folder in ("first", "moved", "edited"):
        (tmp_path / folder).mkdir()
        for name in ("own_suite.py", "own_world.py"):
            text = (PAGER.parent / name).read_text()
            (tmp_path / folder / name).write_text(text)
    neighbour = tmp_path / "edited" / "own_world.py"
    neighbour.write_text(neighbour.read_text().replace("horizon = 9", "horizon = 12"))
    first, moved, edited = (
        str(tmp_path / f / "own_suite.py") for f in ("first", "moved", "edited")
    )
    run_alone(first, *few)
    table = run_alone(moved, *few)
    assert "own_world.py" in run_alone(edited, *few, code=2)
    assert run_alone(edited, *few, "--replace") != table


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("report = session.think", "report = session.nothing"),  # an agent that raises
        ("list(self.waiting)}", "self.nothing}"),  # a broken world
        ("timeful.play(on_call", "str(on_call"),  # nothing was played
    ],
)
def test_an_error_in_an_episode_is_a_failed_episode(tmp_path: Path, old: str, new: str) -> None:
    path = write(tmp_path, change=(old, new))  # type: ignore[arg-type]
    out = tmp_path / "run"
    run(path, "--seeds", "1", "--rate", "1", "--out", str(out), code=1)
    rows = (out / "rows.jsonl").read_text().splitlines()
    assert len(rows) == 3
    assert all('"failed"' in row for row in rows)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ('"rate": (1.0, 3.0, 9.0)', '"rat": (1.0,)', "rat"),
        ('per="alerts"', 'per="alarms"', "alarms"),
        ('y="Fixed in time"', 'y="Fixed"', "Fixed"),
        ("suite = Suite(", "sweet = Suite(", "suite"),
        ("import timeful\n", "import timefool\n", "line"),
        ("episode=PagerEpisode,", "episode=dict,", "dataclass"),
    ],
)
def test_a_broken_file_is_one_line_that_names_the_fault(
    tmp_path: Path, old: str, new: str, value: str
) -> None:
    path = write(tmp_path, change=(old, new))  # type: ignore[arg-type]
    message = run(path, "--seeds", "1", "--rate", "1", "--out", str(tmp_path / "run"), code=2)
    assert value in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--set", "colour=red"],
        ["--set", "rate=fast"],
        ["--sweep", "colour=red"],
        ["--seeds", "0"],
        ["--sweep", "seed=" + ",".join(map(str, range(99))), "--seeds", "100000000"],
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_played(
    tmp_path: Path, arguments: list[str]
) -> None:
    if "100000000" in arguments:
        arguments = arguments[2:]
    run(str(PAGER), *arguments, "--out", str(tmp_path / "run"), code=2)
    assert not (tmp_path / "run").exists()


def test_the_pager_keeps_the_contract_of_environments() -> None:
    pager: Any = load("world", f"{PAGER}:Pager")
    check_environment(
        World(
            make=lambda: pager(6.0, 1),
            actions=lambda view, rng: [*map(str, view.waiting), "nothing"],
        )
    )


def test_evaluate_gives_rows_as_a_table(tmp_path: Path) -> None:
    results = timeful.evaluate(
        None, str(PAGER), out=tmp_path, workers=1, seed=range(2), rate=[1.0], interface=["loop"]
    )
    assert [row["seed"] for row in results.rows] == [0, 1]
    assert results.report().is_file()
    with pytest.raises(SettingsError):
        timeful.evaluate("agile", str(PAGER), out=tmp_path / "b", workers=1)


def test_an_own_agent_is_a_row_next_to_a_built_in_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "async def agent(session):\n"
        "    while not session.over:\n"
        "        session.act('U')\n"
        "        await session.wait_for_tick()\n"
    )
    few = ["--game", "freeway", "--difficulty", "easy", "--step", "8192", "--seeds", "1"]
    out = tmp_path / "run"
    agents = ["--agent", f"{path}:agent", "--agent", "reactive"]
    run("realtime", *few, "--samples", "1", *agents, "--out", str(out))
    cells = json.loads((out / "results.json").read_text())
    assert {cell["method"] for cell in cells if cell["n"]} == {"agent", "reactive"}


def test_a_broken_or_doubled_plug_in_is_named_with_its_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Distribution:
        name = "acme-suites"

    def point(name: str, value: str) -> EntryPoint:
        made = EntryPoint(name, value, "timeful.suites")
        vars(made).update(dist=Distribution())
        return made

    points = [point("acme", "acme.nothing:suite"), point("realtime", "acme.nothing:suite")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    items = {(item.name, item.origin): item.problem for item in registered("suite")}
    assert items["acme", "acme-suites"] == ""
    assert items["realtime", "acme-suites"]
    assert not items["realtime", "timeful"]
    with pytest.raises(SettingsError, match="acme-suites"):
        load("suite", "acme")
    for command in (["list"], ["run", "--help"]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert "acme-suites" in result.output
        assert "engagement/inbox" in result.output


def test_a_world_of_events_is_no_game_of_the_real_time_suite(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(PAGER.read_text() + "\n\ndef world(seed):\n    return Pager(3.0, seed)\n")
    agent = ["--agent", f"{path}:on_call", "--game", f"{path}:world", "--seeds", "1"]
    assert "step" in run("realtime", *agent, "--out", str(tmp_path / "run"), code=2)


def test_an_own_model_plays_a_role(tmp_path: Path) -> None:
    path = tmp_path / "models.py"
    path.write_text(
        "from timeful import ScriptedModel\n"
        "def model(role, pace):\n"
        "    return ScriptedModel(lambda prompt: r'\\boxed{U}', pace=pace)\n"
    )
    few = ["--game", "freeway", "--difficulty", "easy", "--step", "8192", "--seeds", "1"]
    own = ["--agent", "reactive", "--samples", "1", "--model", f"{path}:model"]
    run("realtime", *few, *own, "--out", str(tmp_path / "run"))
    record = next((tmp_path / "run" / "episodes").glob("*.jsonl")).read_text()
    assert '"stand_in":false' in record.splitlines()[0]


def test_every_built_in_name_can_be_loaded() -> None:
    for kind in ("world", "agent", "interface", "suite", "reward", "judge"):
        for item in registered(kind):  # type: ignore[arg-type]
            if item.origin == "timeful":
                assert load(kind, item.name) is not None  # type: ignore[arg-type]


def test_a_field_with_fields_of_its_own_can_be_swept(tmp_path: Path) -> None:
    path = tmp_path / "roles.py"
    path.write_text("""
from dataclasses import dataclass
import timeful
from timeful import Metric, Suite, Table
from timeful.models.role import ModelRole

@dataclass(frozen=True)
class RoleEpisode:
    \"\"\"An episode.\"\"\"
    model: ModelRole = ModelRole(stand_in="rules")
    \"\"\"Model.\"\"\"

async def idle(session):
    while not session.over:
        await session.wait_for_tick()

def play(episode, recorder):
    timeful.play(idle, "freeway", difficulty="easy", record=recorder)

suite = Suite(
    name="roles",
    episode=RoleEpisode,
    play=play,
    sweep={"model": tuple(ModelRole(stand_in=name) for name in ("rules", "prose"))},
    metrics=[Metric("Score", "score")],
    tables=[Table("", rows="model")],
)
""")
    lines = run(str(path), "--out", str(tmp_path / "run")).splitlines()
    assert {"rules", "prose"} <= {line.split()[0] for line in lines if line}
