"""The estimate of a run tells what the run asks, and sends nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.servers.fake import Body, FakeServer, Say, Step
from timeful.cli.estimate import ask_before
from timeful.cli.main import app
from timeful.experiments.estimate import Estimate, estimate_run
from timeful.experiments.run import run_suite
from timeful.experiments.sweep import Choice
from timeful.models.ledger import read_accounts
from timeful.models.model_spec import ModelSpec
from timeful.models.prices import ANY, Price
from timeful.models.traffic import Limits
from timeful.suites.engagement.inbox.suite import suite as inbox
from timeful.suites.realtime.suite import suite as realtime

NOWHERE = "http://127.0.0.1:9/v1"
FEW = {"game": ("freeway",), "agent": ("reactive",), "difficulty": ("easy",), "step": (2048,)}


def choose(base_url: str, seeds: int = 3) -> Choice:
    model = ModelSpec(spec="openai:fake", base_url=base_url)
    values = {**FEW, "game_seed": range(seeds), "sample": range(1)}
    return Choice(values=values, fixed={"planner": model, "reactor": model})


def moves(_: Body) -> list[Step]:
    return [Say("\\boxed{U}")]


def test_requests_are_those_of_the_run_and_none_is_sent(tmp_path: Path) -> None:
    with FakeServer(moves) as server:
        choice = choose(server.base_url)
        expected = estimate_run(realtime, choice, tmp_path / "run")
        assert (server.requests, list(tmp_path.iterdir())) == ([], [])
        run_suite(realtime, choice, tmp_path / "run", workers=1)
        sent = len(server.requests)
    assert (expected.episodes, expected.finished, expected.sampled) == (3, 0, 3)
    total = expected.total
    assert 0 < total.requests <= sent, "the stand-in reaches its goal, the model never"
    assert total.prompt > 0
    assert total.most == 2048 * sent
    assert 0 < total.completion <= total.most
    assert total.cost is None


def test_finished_episodes_tell_more_than_stand_ins(tmp_path: Path) -> None:
    with FakeServer(moves) as server:
        run_suite(realtime, choose(server.base_url, 1), tmp_path, workers=1)
        expected = estimate_run(realtime, choose(server.base_url, 4), tmp_path)
    spent = read_accounts(tmp_path).total
    assert (expected.episodes, expected.finished, expected.is_measured) == (3, 1, True)
    assert expected.total.requests == 3 * spent.requests
    assert expected.total.completion == 3 * spent.completion


def test_prices_and_rates_count(tmp_path: Path) -> None:
    choice, limits = choose(NOWHERE), Limits(connections=2, rpm=1)
    price = Price(prompt=1, completion=10)
    expected = estimate_run(realtime, choice, tmp_path, limits=limits, prices={ANY: price})
    total = expected.total
    assert total.cost == pytest.approx(price.cost(total.prompt, total.completion))
    assert total.most is not None
    assert total.most_cost == pytest.approx(price.cost(total.prompt, total.most))
    assert expected.seconds == pytest.approx(60 * total.requests)
    assert expected.connections == 2


def test_each_role_has_a_line_and_a_replaced_run_begins_again(tmp_path: Path) -> None:
    choice = Choice(
        values={"seed": range(1), "episode": range(2)},
        fixed={"triage": read("a"), "writer": read("b")},
    )
    expected = estimate_run(inbox, choice, tmp_path, replace_run=True)
    assert [(line.model, line.role) for line in expected.lines] == [("a", "triage"), ("b", "main")]
    assert all(line.requests > 0 and line.prompt > 0 for line in expected.lines)


def read(name: str) -> Any:
    from timeful.models.role import read_role

    return read_role(f"openai:{name}", stand_in="rules", base_url=NOWHERE)


def test_stand_ins_ask_nobody(tmp_path: Path) -> None:
    values = {**FEW, "game_seed": range(1), "sample": range(1)}
    expected = estimate_run(realtime, Choice(values=values), tmp_path)
    assert (expected.episodes, expected.lines) == (0, [])


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "realtime", "--preset", "quick", "--clock", "wall", "--step", "500"],
        ["run", "engagement/kitchen", "--preset", "quick"],
        ["run", "proactor"],
        ["baseline", "timely/reasoning", "--case", "sums", "--size", "2"],
    ],
)
def test_a_command_prints_a_table_of_80_columns(arguments: list[str], tmp_path: Path) -> None:
    options = ["--model", "openai:m", "--base-url", NOWHERE, "--dry-run", "--price", "1,2"]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [*arguments, *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert any(line.startswith("m ") for line in done.stdout.splitlines())
    assert not out.exists()


def test_traces_of_a_teacher_have_an_estimate(tmp_path: Path) -> None:
    config, out = tmp_path / "traces.toml", tmp_path / "out"
    config.write_text(
        'source = "teacher"\n[problems]\nsets = ["sums"]\nsize = 3\n'
        f'[time]\nbudget = ["20s", "30s"]\n[teacher]\nmodel = "m"\nbase_url = "{NOWHERE}"\n'
    )
    done = CliRunner().invoke(app, ["traces", str(config), "--out", str(out), "--dry-run"])
    assert done.exit_code == 0, done.output
    assert any(line.split()[:2] == ["m", "work"] for line in done.stdout.splitlines())
    assert not out.exists()


def test_a_calibration_has_an_estimate(tmp_path: Path) -> None:
    options = ["--length", "10", "--length", "30", "--repeats", "2", "--out", str(tmp_path / "p")]
    command = ["calibrate", "openai:m", "--base-url", NOWHERE, "--price", "1,2", "--dry-run"]
    done = CliRunner().invoke(app, [*command, *options])
    assert done.exit_code == 0, done.output
    (row,) = (line.split() for line in done.stdout.splitlines() if line.startswith("m "))
    assert (row[2], row[4], row[5]) == ("5", "90", "90")
    assert not list(tmp_path.iterdir())


VALUES = {"yes": False, "no_key": False, "max_tokens_total": None, "max_cost": None, "price": ()}


def estimate(tokens: float) -> Estimate:
    from timeful.experiments.estimate import Line

    line = Line(
        model="m",
        role="plan",
        requests=10,
        prompt=tokens,
        completion=0,
        most=None,
        cost=None,
        most_cost=None,
    )
    return Estimate(
        episodes=1,
        finished=0,
        sampled=1,
        is_measured=False,
        lines=[line],
        connections=1,
        seconds=1,
    )


def test_a_small_budget_of_tokens_can_be_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    expensive = replace(estimate(1e7), lines=[replace(estimate(1e7).lines[0], cost=100.0)])
    questions: list[str] = []
    monkeypatch.setattr(click, "confirm", lambda text, **_: questions.append(text))
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    models = [ModelSpec(spec="openai:m", base_url="https://api.example.com/v1")]
    ask_before(lambda: expensive, models, VALUES | {"max_tokens_total": 1_000_000})
    assert len(questions) == 1, "a tenth of 100 USD"
    ask_before(lambda: expensive, models, VALUES | {"max_tokens_total": 400_000})
    assert len(questions) == 1


@pytest.mark.parametrize(
    ("tokens", "base_url", "values", "is_asked"),
    [
        (6e6, "https://api.example.com/v1", {}, True),
        (4e6, "https://api.example.com/v1", {}, False),
        (6e6, "https://api.example.com/v1", {"yes": True}, False),
        (6e6, "https://api.example.com/v1", {"max_tokens_total": 1000}, False),
        (6e6, "https://api.example.com/v1", {"max_tokens_total": 5_500_000}, True),
        (6e6, NOWHERE, {}, False),
        (6e6, NOWHERE, {"price": ("1,2",)}, True),
    ],
)
def test_a_terminal_asks_before_an_expensive_run(
    tokens: float,
    base_url: str,
    values: dict[str, Any],
    is_asked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    models = [ModelSpec(spec="openai:m", base_url=base_url)]
    questions: list[str] = []
    monkeypatch.setattr(click, "confirm", lambda text, **_: questions.append(text))
    ask_before(lambda: estimate(tokens), models, VALUES | values)
    assert not questions, "a script is not asked"
    assert bool(capsys.readouterr().err) == is_asked
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    ask_before(lambda: estimate(tokens), models, VALUES | values)
    assert bool(questions) == is_asked
