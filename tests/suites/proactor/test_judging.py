"""PR: each case is rated once, whoever predicted it, and what was said is kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.suites.proactor.material import FAST, SLOW, SMALL, choose, run
from timeful.core.source import Chunk
from timeful.errors import RecordError
from timeful.experiments.estimate import estimate_run
from timeful.judges.settings import JudgeFile, Judger
from timeful.metrics.proactor.episodes import read_conversation
from timeful.metrics.proactor.spread import over_runs
from timeful.models.model import Model, Prompt
from timeful.models.scripted import ScriptedModel
from timeful.records.recorder import read_record
from timeful.suites.proactor.cells import main_groups
from timeful.suites.proactor.judging import (
    FILE,
    NO_JUDGE,
    Bench,
    Rating,
    describe_judges,
    find_judges,
    rate,
    read_bench,
)
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.suite import suite

SWEEP = {**SMALL, "agent": ["non-reasoning", "reasoning"], "timing": ["by-turn"]}
JUDGES = JudgeFile(judgers=(Judger(name="judge", model="m", base_url="http://127.0.0.1:1"),))


class Bar:
    """A judge by rule that counts how often it was asked."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def __call__(self, judger: Judger) -> Model:
        return ScriptedModel(self._say)

    def _say(self, prompt: Prompt) -> list[Chunk]:
        said = prompt.render()[1].content
        self.asked.append(said)
        return [Chunk(self._answer(said), 1)]


def rating(value: int) -> str:
    return msgspec.json.encode({"reasoning": "so", "rating": value}).decode()


def by_predictions(said: str) -> str:
    """5 for who predicts something, else 1; -1 at the first turn."""
    if "Turn 2," not in said:
        return rating(-1)
    return rating(5 if '"name"' in said else 1)


def judged(out: Path, rows: list[ProactorRow], bar: Bar, judges: JudgeFile = JUDGES) -> list[str]:
    return rate(out, rows, judges, bar, lambda _: None)


def bench(out: Path, rows: list[ProactorRow]) -> Bench:
    return read_bench(out, {group.method: group.runs for group in main_groups(rows)})


def test_a_case_is_rated_once_whoever_predicted_it_and_in_whichever_run(tmp_path: Path) -> None:
    rows = run(tmp_path, SWEEP, temperature=0.0).episodes
    said: list[str] = []
    bar = Bar(by_predictions)
    assert rate(tmp_path, rows, JUDGES, bar, said.append) == []
    turns = sum(row.turns for row in rows if row.agent == "reasoning" and row.run == 0)
    assert len(bar.asked) == len(set(bar.asked)) < turns, "where two thresholds agree, once"
    assert f"{len(bar.asked)} requests or more" in said[0]
    assert judged(tmp_path, rows, bar) == []
    assert len(bar.asked) == len((tmp_path / FILE).read_bytes().splitlines()), "nothing twice"
    found = bench(tmp_path, rows).ratings
    one, other = (found[f"{who}, eager 0.2"][0] for who in ("Non-Reasoning", "Reasoning"))
    assert one == other, "who says the same is rated the same"
    spread = one.spread
    assert spread is not None
    assert (spread.n, spread.std) == (2, 0)
    assert one.mean.n_unjudged == 2 * 2, "the first turn of two dialogues in two runs"
    assert one.n_missing == 0


def test_pr_is_the_mean_of_what_was_rated_from_1_to_5(tmp_path: Path) -> None:
    rows = run(tmp_path, SWEEP).episodes
    judged(tmp_path, rows, Bar(by_predictions))
    for group in main_groups(rows):
        (found,) = bench(tmp_path, rows).ratings[group.method]
        counts = found.mean.counts
        first, scored = len(group.rows), sum(row.scored for row in group.rows)
        assert counts[-1] == first, "nothing is predicted of a greeting"
        assert counts[5] == scored
        assert counts[1] == sum(row.turns for row in group.rows) - first - scored > 0
        assert found.spread is not None
        means = []
        for rows_of_run in group.runs:
            fives = sum(row.scored for row in rows_of_run)
            ones = sum(row.turns - row.scored - 1 for row in rows_of_run)
            means.append((5 * fives + ones) / (fives + ones))
        assert found.spread == over_runs(means)


def test_what_failed_is_counted_asked_for_again_and_in_no_mean(tmp_path: Path) -> None:
    rows = run(tmp_path, SWEEP).episodes
    wrong = judged(tmp_path, rows, Bar(lambda said: "no" if "Turn 5," in said else rating(3)))
    assert "cases without a rating" in wrong[0]
    (found,) = bench(tmp_path, rows).ratings["Reasoning, cautious 0.7"]
    assert found.n_missing > 0
    assert found.spread is not None
    assert found.spread.mean == 3
    again = Bar(lambda _: rating(3))
    assert judged(tmp_path, rows, again) == []
    assert again.asked
    assert all("Turn 5," in said for said in again.asked), "only what was missing"
    (found,) = bench(tmp_path, rows).ratings["Reasoning, cautious 0.7"]
    assert found.n_missing == 0


def asked_otherwise(**changes: Any) -> JudgeFile:
    return JudgeFile(judgers=(msgspec.structs.replace(JUDGES.judgers[0], **changes),))


@pytest.mark.parametrize(
    "other",
    [
        JudgeFile(judgers=JUDGES.judgers, system_prompt="Be kind."),
        asked_otherwise(extra={"top_k": 5}),
        asked_otherwise(max_tokens=None),
    ],
)
def test_another_way_of_asking_is_another_judge(tmp_path: Path, other: JudgeFile) -> None:
    rows = run(tmp_path, SWEEP).episodes
    judged(tmp_path, rows, Bar(lambda _: rating(2)))
    bar = Bar(lambda said: "no" if "Turn 5," in said else rating(5))
    judged(tmp_path, rows, bar, other)
    assert bar.asked
    (found,) = bench(tmp_path, rows).ratings["Reasoning, cautious 0.7"]
    assert found.spread is not None
    assert found.spread.mean == 5, "the last way counts"
    assert found.n_missing > 0, "and what it lacks is not taken from the first"


def test_only_the_turns_of_table_1_that_were_not_lost_are_rated(tmp_path: Path) -> None:
    sweep = {**SWEEP, "timing": ["pace"], "token_ms": [SLOW, FAST], "run": range(1)}
    rows = run(tmp_path, sweep).episodes
    bar = Bar(lambda _: rating(3))
    judged(tmp_path, rows, bar)
    main = [row for row in rows if row.part == "main"]
    assert 0 < sum(row.lost for row in main) < sum(row.turns for row in main)
    found = bench(tmp_path, rows).ratings
    kept = sum(row.turns - row.lost for row in main)
    assert sum(each.mean.n_rated for (each,) in found.values()) == kept
    expected = set()
    for row in main:
        conversed = read_conversation(read_record(tmp_path / "episodes" / f"{row.key}.jsonl"))
        assert conversed is not None
        expected |= {
            (row.dialogue, turn.turn, turn.predictions)
            for turn in conversed.turns
            if turn.turn not in conversed.lost
        }
    assert len(bar.asked) == len(expected), "and nothing of the other paces"


def test_another_file_than_ratings_is_refused(tmp_path: Path) -> None:
    rows = run(tmp_path, SWEEP).episodes
    (tmp_path / FILE).write_bytes(b"{}\n")
    with pytest.raises(RecordError, match="line 1"):
        bench(tmp_path, rows)


def test_the_tables_name_the_judge_its_cost_and_say_where_there_was_none(tmp_path: Path) -> None:
    rows = run(tmp_path, SWEEP).episodes
    assert bench(tmp_path, rows) == NO_JUDGE
    assert "no judge was asked" in describe_judges(NO_JUDGE)
    judged(tmp_path, rows, Bar(lambda _: rating(4)))
    lines = [
        msgspec.json.decode(line, type=Rating)
        for line in (tmp_path / FILE).read_bytes().splitlines()
    ]
    said = describe_judges(bench(tmp_path, rows))
    assert f"PR by judge (m), {len(lines)} requests" in said


def test_the_estimate_of_a_run_has_the_requests_of_its_judge(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    choice = choose(**SWEEP, judge="openai:m", base_url=url)
    (line,) = estimate_run(suite, choice, tmp_path).lines
    rows = run(tmp_path, SWEEP).episodes
    bar = Bar(by_predictions)
    half = [row for row in rows if row.run == 0]
    assert judged(tmp_path, half, bar, find_judges("openai:m", url)) == []
    assert (line.model, line.role) == ("m", "judge")
    turns = sum(row.turns for row in rows)
    assert line.requests == pytest.approx(turns, rel=0.2)
    sent = sum(len(said.encode()) for said in bar.asked) / len(bar.asked)
    assert sent / 4 < line.prompt / line.requests < sent / 2, "with the system prompt"
    assert 0 < line.completion < (line.most or 0)
    left, before = estimate_run(suite, choice, tmp_path).total.requests, len(bar.asked)
    assert judged(tmp_path, rows, bar, find_judges("openai:m", url)) == []
    assert left == len(bar.asked) - before > 0
    assert estimate_run(suite, choice, tmp_path).total.requests == 0, "all cases are rated"
