"""The progress of a run on endpoints."""

import re

import pytest

from timeful.cli.progress import Progress, describe_spent
from timeful.models.spending import Spent


class Counts:
    """Spending whose numbers are set by hand."""

    def __init__(self) -> None:
        self.now = self.total = Spent()


def test_a_run_without_requests_shows_episodes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.start(20)
    progress.follow(Counts())  # type: ignore[arg-type]
    for _ in range(20):
        progress.count(has_failed=False)
    progress.end()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert all(";" not in line for line in lines)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_requests_tokens_and_cost_are_shown(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "200")
    counts, progress = Counts(), Progress()
    progress.start(4)
    progress.follow(counts)  # type: ignore[arg-type]
    counts.now = Spent(requests=5, in_flight=2, prompt=100, completion=20)
    counts.total = Spent(
        requests=12_345, retries=7, limited=3, prompt=2e6, completion=5e5, cost=1.5
    )
    progress.count(has_failed=True)
    progress.end()
    last = capsys.readouterr().err.rstrip("\n").splitlines()[-1]
    assert re.search(
        r"1 of 4 episodes, 1 failed; 1\.50 USD, 2\.5 M tokens, .+/s, 2 in flight", last
    )
    assert last.endswith("2 in flight, 3 rate limits, 12,345 requests, 4 retries")


def test_a_cost_is_shown_only_if_it_is_known() -> None:
    assert "USD" not in describe_spent(Spent(requests=1, prompt=10), rate=0, in_flight=1)
