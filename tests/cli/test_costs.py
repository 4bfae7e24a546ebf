"""Runs on paid endpoints: nothing burned by a refusal, budgets that stop and resume a run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import timeful
from tests.experiments.flight_suite import suite
from tests.servers.fake import Body, Die, FakeServer, Hang, Say, Status, Step, Think, Usage
from timeful.cli.options import read_limits
from timeful.cli.suite_command import load_command
from timeful.errors import BudgetError, ModelError, ModelRefusedError, SettingsError
from timeful.experiments.run import report_suite
from timeful.models.chat import OpenAIModel
from timeful.models.ledger import read_accounts
from timeful.models.preflight import is_loopback, probe_model
from timeful.models.prices import ANY, Price
from timeful.models.spending import Budget
from timeful.models.traffic import Limits
from timeful.reports.results import read_results
from timeful.reports.text import render_text
from timeful.reports.usage import usage_sections

FEW = ["--agent", "reactive", "--game", "freeway", "--seeds", "2", "--samples", "2"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def run(server: FakeServer | str, out: Path, *options: str) -> Result:
    url = server if isinstance(server, str) else server.base_url
    arguments = [*FEW, "--model", "openai:m", "--base-url", url, "--out", str(out), *options]
    return CliRunner().invoke(load_command("realtime"), [*arguments, "--workers", "1"])


def records(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "episodes").glob("*.jsonl")}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_a_refusal_ends_the_run_before_an_episode(tmp_path: Path, status: int) -> None:
    with FakeServer([Status(status, "no")]) as server:
        result = run(server, tmp_path / "runs" / "a")
        assert len(server.requests) == 1
    assert isinstance(result.exception, ModelRefusedError)
    assert not any(tmp_path.iterdir())


def test_a_refused_connection_ends_the_run_before_an_episode(tmp_path: Path) -> None:
    with FakeServer([]) as server:
        url = server.base_url
    assert isinstance(run(url, tmp_path / "a").exception, ModelError)
    assert not any(tmp_path.iterdir())


def test_a_missing_key_is_found_before_a_request(tmp_path: Path) -> None:
    result = run("http://192.0.2.1/v1", tmp_path / "a")
    assert isinstance(result.exception, SettingsError)
    assert not any(tmp_path.iterdir())


def test_a_missing_key_is_found_before_an_estimate_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://api.example.com/v1"
    assert run(url, tmp_path / "a", "--dry-run").exit_code == 0, "nothing is sent"
    monkeypatch.setattr("timeful.experiments.estimate._play_dry", None)
    result = run(url, tmp_path / "a")
    assert isinstance(result.exception, SettingsError)
    assert not result.output, "neither an estimate nor a price"


def test_a_key_that_no_header_takes_is_found_before_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk\nx")
    with FakeServer([]) as server:
        assert isinstance(run(server, tmp_path / "a").exception, SettingsError)
        assert not server.requests
    assert not any(tmp_path.iterdir())


def test_other_work_in_the_folder_is_found_before_a_request(tmp_path: Path) -> None:
    with FakeServer([]) as server:
        (tmp_path / "file").touch()
        assert isinstance(run(server, tmp_path).exception, SettingsError)
        assert not server.requests
    assert is_loopback("http://localhost:8000/v1")
    assert is_loopback("http://[::1]/v1")
    assert not is_loopback("https://api.example.com/v1")


def play(server: FakeServer, out: Path, **options: Any) -> Any:
    """Play 24 episodes of three requests; each answer scores."""
    return timeful.evaluate(
        None, suite, out=out, url=server.base_url, **{"workers": 1, "number": range(24), **options}
    )


def script(_: Body) -> Sequence[Step]:
    return [Say("1", tokens=3)]


@pytest.mark.parametrize("connections", [1, 4])
def test_a_refusal_in_the_middle_keeps_what_is_finished(tmp_path: Path, connections: int) -> None:
    requests = 0

    def expire(body: Body) -> Sequence[Step]:
        nonlocal requests
        requests += 1
        return [Status(401, "expired")] if requests > 40 else script(body)

    with FakeServer(expire) as server:
        with pytest.raises(ModelRefusedError):
            play(server, tmp_path / "a", limits=Limits(connections=connections))
        assert 0 < len(records(tmp_path / "a")) < 24
        requests = -10_000
        again, whole = play(server, tmp_path / "a"), play(server, tmp_path / "b")
    assert again.rows == whole.rows
    assert not again.failed


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_larger_budget_resumes_with_the_same_bytes(tmp_path: Path, workers: int) -> None:
    with FakeServer(script) as server:
        small = {"budget": Budget(tokens=400), "limits": Limits(connections=2), "workers": workers}
        with pytest.raises(BudgetError):
            play(server, tmp_path / "a", **small)
        finished = records(tmp_path / "a")
        assert 0 < len(finished) < 24
        assert all(b'"episode-failed"' not in record for record in finished.values())
        spent = read_accounts(tmp_path / "a").total
        assert 400 <= spent.prompt + spent.completion <= 420
        with pytest.raises(BudgetError):
            play(server, tmp_path / "a", **small)
        assert records(tmp_path / "a") == finished
        again = play(server, tmp_path / "a", budget=Budget(tokens=10_000))
        whole = play(server, tmp_path / "b")
    assert again.rows == whole.rows
    assert not again.failed


def test_a_cost_without_a_price_is_refused_before_a_request(tmp_path: Path) -> None:
    with FakeServer(script) as server:
        for options in (["--max-cost", "1"], ["--max-cost", "0", "--price", "1,2"]):
            result = run(server, tmp_path / "a", *options)
            assert isinstance(result.exception, SettingsError)
        assert isinstance(run(server, tmp_path / "a", "--price", "n=1,2").exception, SettingsError)
        assert not server.requests
    assert not (tmp_path / "a").exists()


def test_a_limited_cost_ends_the_command_and_a_larger_one_resumes_it(tmp_path: Path) -> None:
    options = ["--price", "openai:m=1000000,1000000"]
    counts = []
    with FakeServer([Say("\\boxed{U}"), Usage(3, prompt=7)]) as server:
        for most in ("100", "100", "200"):
            result = run(server, tmp_path, *options, "--max-cost", most)
            assert isinstance(result.exception, BudgetError)
            assert "given by hand" in result.output
            counts.append(len(server.requests))
    assert 10 <= counts[0] == counts[1] < counts[2]  # a spent budget sends not even a probe
    accounts = read_accounts(tmp_path)
    assert [expense.role for expense in accounts.expenses] == ["probe", "react"]
    assert accounts.total.requests == counts[2]
    assert 200 <= accounts.total.cost <= 200 + 10
    assert max(map(len, render_text(usage_sections([], accounts)).splitlines())) <= 80


def test_retries_and_timeouts_of_a_command_are_limits_of_its_run() -> None:
    limits = read_limits({"retries": 0, "timeouts": "5,0.5", "rpm": None}, connections=7)
    assert limits == Limits(connections=7, retries=0, first_token_s=5, idle_s=0.5)
    assert read_limits({"retries": None}, connections=7) is None


@pytest.mark.parametrize("text", ["5", "5,0", "a,b", "1,2,3", "5,nan", ""])
def test_timeouts_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    result = run("http://127.0.0.1:9/v1", tmp_path / "a", "--timeouts", text)
    assert isinstance(result.exception, SettingsError)
    assert not (tmp_path / "a").exists()


def test_a_run_has_the_timeouts_and_retries_of_its_limits(tmp_path: Path) -> None:
    limits = Limits(connections=1, retries=0, first_token_s=0.2)
    with FakeServer([Hang()]) as server:
        results = play(server, tmp_path, limits=limits, number=range(2))
        assert len(server.requests) == 2
    assert len(results.failed) == 2
    (total,) = results.spending.expenses
    assert (total.failed, total.retries) == (2, 0)


def test_failed_and_cut_requests_are_in_the_tables_of_the_run_and_of_its_report(
    tmp_path: Path,
) -> None:
    requests = 0

    def answer(_: Body) -> Sequence[Step]:
        nonlocal requests
        requests += 1
        if requests % 9 == 0:
            return [Status(503, "busy")]
        if requests % 5 == 0:
            return [Say("1"), Die()]
        return [Think("hm"), Say("1"), Usage(20, prompt=10, reasoning=15, cached=4)]

    budget = Budget(prices={"fake": Price(prompt=1, cached=0.5, completion=2)})
    with FakeServer(answer) as server:
        results = play(server, tmp_path, budget=budget, limits=Limits(connections=1))
        (total,) = results.spending.expenses
        sent = len(server.requests)
    assert not results.failed
    whole = 24 * 3
    assert total.requests == sent > whole
    assert total.retries == total.failed == sent - whole
    broken = total.estimated
    assert 0 < broken < total.failed
    assert (total.cached, total.reasoning) == (4 * whole, 15 * whole)
    assert (total.prompt, total.completion) == (10 * whole + 4 * broken, 20 * whole + broken)
    assert total.wall_s > 0
    (usage,) = results.usage
    assert (usage.thoughts, usage.prompt) == (whole, 10 * whole)
    rows = [row for row in read_results(tmp_path / "results.json") if row.experiment == "spending"]
    values = {row.metric: row.value for row in rows}
    assert values["retries"] == total.retries
    assert values["cost USD"] == pytest.approx(total.cost)
    again = report_suite(suite, tmp_path)
    assert again.spending == results.spending
    assert again.text == results.text
    assert max(map(len, results.text.splitlines())) <= 80


@pytest.mark.parametrize("lie", [-5, 1 << 50, 10**400])
def test_counts_that_cannot_be_true_are_estimates(tmp_path: Path, lie: int) -> None:
    budget = Budget(prices={ANY: Price(prompt=1, completion=2)})
    with FakeServer([Say("1"), Usage(lie, prompt=lie, cached=lie, reasoning=lie)]) as server:
        results = play(server, tmp_path, budget=budget, number=range(1))
    assert not results.failed
    (total,) = results.spending.expenses
    assert (total.requests, total.estimated, total.cached, total.reasoning) == (3, 3, None, None)
    assert 0 < total.cost < 0.001


@pytest.mark.parametrize(
    ("field", "words"),
    [("temperature", "temperature"), ("max_tokens", "max_completion_tokens"), ("seed", "seed")],
)
def test_a_refused_field_is_left_out_and_named(field: str, words: str) -> None:
    def answer(body: Body) -> Sequence[Step]:
        return [Status(400, f"use no {field}: {words}")] if field in body else script(body)

    with FakeServer(answer) as server:
        model = OpenAIModel(model="m", base_url=server.base_url, temperature=0.5)
        probe = probe_model(model)
        model.close()
    assert not isinstance(probe, ModelError)
    assert probe.refused == {field}
    assert len(list(probe.lines())) == 3


def test_a_probe_shows_reasoning_tools_and_counts() -> None:
    def answer(body: Body) -> Sequence[Step]:
        return [Status(400, "no tools here")] if "tools" in body else [Think("hm"), Say("ready")]

    with FakeServer(answer) as server:
        model = OpenAIModel(model="m", base_url=server.base_url)
        probe = probe_model(model)
        model.close()
    assert not isinstance(probe, ModelError)
    assert (probe.has_tools, probe.has_reasoning, probe.chunks) == (False, True, 2)
    assert probe.usage is not None
    assert probe.usage.counted == "settled"


def read_body(detail: Any) -> Callable[[Body], Sequence[Step]]:
    return lambda _: [Status(422, body=detail)]


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
        {"detail": "body.seed: Extra inputs are not permitted"},
        {"message": "body.seed: Extra inputs are not permitted"},
        {"error": "body.seed: Extra inputs are not permitted"},
        {"error": {"message": "body.seed: Extra inputs are not permitted"}},
        {"errors": [{"field": "body.seed", "message": "Extra inputs are not permitted"}]},
        ["body.seed: Extra inputs are not permitted"],
    ],
)
def test_the_words_of_a_server_are_shown_whatever_their_shape(body: Any) -> None:
    with FakeServer(read_body(body)) as server:
        model = OpenAIModel(model="m", base_url=server.base_url)
        with pytest.raises(ModelRefusedError, match=r"body\.seed: Extra inputs are not permitted"):
            probe_model(model)
        model.close()
