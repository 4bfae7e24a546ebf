"""Cold-start traces of worked solutions: what they tell is what happened, and none is late."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.training.data.making import files, rows_of, saved, timeful
from timeful.agents.tool_user import Transcript
from timeful.core.units import in_seconds, milliseconds
from timeful.environments.reasoning.problems import load
from timeful.environments.reasoning.split import SPLITS, split_of
from timeful.environments.timed.view import TimedView
from timeful.errors import SettingsError
from timeful.models.pace import Pace
from timeful.records.events import Happened
from timeful.records.recorder import read_record
from timeful.training.data.generate import specs_of
from timeful.training.data.settings import read_settings
from timeful.training.data.solution_writer import SOLUTION_WRITER, time_in_full

MIXED = """
each = 2
[problems]
sets = ["mixed"]
size = 42
"""


def made(folder: Path, text: str = MIXED, *options: object) -> dict[str, list[dict[str, Any]]]:
    found = timeful(
        "traces", saved(folder, text), "--out", folder / "out", "--workers", 1, *options
    )
    assert found.exit_code == 0, found.output
    return {split: rows_of(folder / "out" / f"{split}.jsonl") for split in SPLITS}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    made(folder)
    return folder / "out"


def all_rows(out: Path) -> list[dict[str, Any]]:
    return [row for split in SPLITS for row in rows_of(out / f"{split}.jsonl")]


def test_every_trace_is_right_in_time_and_tells_what_the_timer_said(mixed: Path) -> None:
    answers = {problem.id: problem.answer for problem in load("mixed", size=42, seed=0)}
    rows = all_rows(mixed)
    assert len(rows) > 60
    for row in rows:
        events = list(read_record(mixed / "episodes" / f"{row['episode']}.jsonl"))
        [over] = [e.data for e in events if isinstance(e, Happened) and e.what == "over"]
        said = [e.data["text"] for e in events if isinstance(e, Happened) and e.what == "reply"]
        shown = [m["content"] for m in row["messages"] if m["role"] == "user"][1:]
        assert [f"<tool_response>\n{text}\n</tool_response>" for text in said] == shown
        last = row["messages"][-1]["content"]
        assert last.endswith(f"<answer>{answers[row['problem']]}</answer>")
        assert said, "a trace of time asks for it"
        assert f"total duration: {said[-1].removesuffix('.')}" in last
        assert over["reason"] == "answered"
        assert over["counted"] <= row["budget_s"] * 1e9


def test_each_trace_has_a_budget_a_speed_and_a_timer_of_its_own_within_the_bounds(
    mixed: Path,
) -> None:
    rows = all_rows(mixed)
    for name, (low, high) in {"alpha": (0.5, 2.0), "jitter_s": (0.0, 0.3)}.items():
        drawn = [row[name] for row in rows]
        assert all(low <= value <= high for value in drawn)
        assert len(set(drawn)) > len(rows) / 2
    problems = {problem.id: problem for problem in load("mixed", size=42, seed=0)}
    pace = Pace(first=milliseconds(100), per_token=milliseconds(25))
    shares = [row["budget_s"] / time_in_full(problems[row["problem"]], pace) for row in rows]
    assert all(0.39 < share < 1.51 for share in shares)


def test_half_as_fast_is_as_likely_as_twice_as_fast(tmp_path: Path) -> None:
    config = saved(tmp_path, 'each = 10\n[problems]\nsets = ["sums"]\nsize = 60\n')
    alphas = [spec.shared.alpha for spec in specs_of(read_settings(config))]
    slower = sum(alpha < 1 for alpha in alphas) / len(alphas)
    assert abs(slower - 0.5) < 5 * 0.5 / len(alphas) ** 0.5  # a third, were it not by ratios


def test_the_less_time_there_is_the_less_is_told(mixed: Path) -> None:
    """By the budget as the solver feels it: in seconds of its own thinking."""
    rows = all_rows(mixed)
    pace = Pace(first=milliseconds(100), per_token=milliseconds(25))
    problems = {problem.id: problem for problem in load("mixed", size=42, seed=0)}
    means = []
    for low, high in ((0.0, 0.5), (0.5, 1.0), (1.0, 9.0)):
        told = []
        for row in rows:
            full = time_in_full(problems[row["problem"]], pace)
            if low <= row["budget_s"] / row["alpha"] / full < high:
                told.append(row["tokens"] * 0.025 / full)
        means.append(sum(told) / len(told))
    assert means[0] < means[1] < means[2]


def test_there_is_an_answer_also_where_there_is_no_time_for_it(mixed: Path) -> None:
    """In full, by the sums alone, or at once; what is late all the same is a tenth at most."""
    rows = all_rows(mixed)
    at_once = [row for row in rows if "no time for all steps" in row["messages"][-1]["content"]]
    in_short = [row for row in rows if row not in at_once and is_short(row)]
    assert min(len(at_once), len(in_short), len(rows) - len(at_once) - len(in_short)) > 5
    assert len(rows_of(mixed / "rejected.jsonl")) < 0.1 * 84


def is_short(row: dict[str, Any]) -> bool:
    """Whether its last step is a sum alone: in full, there are words before it."""
    steps = re.findall(r"^Step \d+\. (.*)$", str(row["messages"][-3]["content"]), re.MULTILINE)
    return ": " not in steps[-1]


def test_splits_are_those_of_the_problems_words_and_share_none(mixed: Path) -> None:
    words = {problem.id: problem.question for problem in load("mixed", size=42, seed=0)}
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        rows = rows_of(mixed / f"{split}.jsonl")
        assert all(row["split"] == split == split_of(words[row["problem"]]) for row in rows)
        seen[split] = {row["problem"] for row in rows}
    assert not seen["train"] & seen["validation"] | seen["train"] & seen["test"]
    assert not seen["validation"] & seen["test"]


def test_an_export_of_traces_keeps_their_sides(tmp_path: Path) -> None:
    shares = "[splits]\ntrain = 0.4\nvalidation = 0.3\ntest = 0.3\n"
    rows = made(tmp_path, MIXED + shares)
    sides = {row["episode"]: split for split in SPLITS for row in rows[split]}
    out = tmp_path / "x.jsonl"
    found = timeful("export", tmp_path / "out", "--as", "sft", "--out", out)
    assert found.exit_code == 0, found.output
    told = {row["episode"]: row["split"] for row in rows_of(out)}
    assert sides.items() <= told.items()
    assert set(sides.values()) == set(SPLITS)


def test_the_same_seed_makes_the_same_bytes_whoever_works(tmp_path: Path, mixed: Path) -> None:
    made(tmp_path / "again", MIXED, "--workers", 2)
    assert files(tmp_path / "again" / "out") == files(mixed)
    made(tmp_path / "other", "seed = 1\n" + MIXED)
    assert files(tmp_path / "other" / "out") != files(mixed)


def test_a_trace_depends_on_its_problem_alone(tmp_path: Path) -> None:
    """Not on how many others there are, nor on how often each is solved."""
    few = made(tmp_path / "few", 'each = 1\n[problems]\nsets = ["sums"]\nsize = 6\n')
    many = made(tmp_path / "many", 'each = 2\n[problems]\nsets = ["dates", "sums"]\nsize = 9\n')
    for split in SPLITS:
        known = {row["episode"]: row for row in many[split]}
        assert all(known[row["episode"]] == row for row in few[split])


def test_the_card_says_how_many_there_are_and_what_they_were_rejected_for(mixed: Path) -> None:
    card = (mixed / "README.md").read_text()
    counts = {split: len(rows_of(mixed / f"{split}.jsonl")) for split in SPLITS}
    rejected = rows_of(mixed / "rejected.jsonl")
    assert sum(counts.values()) + len(rejected) == 84
    for split, count in counts.items():
        assert f"| {split} | {count} |" in card
        assert f"  - split: {split}\n    path: {split}.jsonl" in card
    rules = [row["rule"] for row in rejected]
    assert f"| late | {rules.count('late')} |" in card
    assert "no language model" in card
    assert "| seed | 0 |" in card
    assert str(mixed) not in card, "a card names no place on a machine"


@pytest.mark.parametrize("family", ["sums", "modular", "linear", "counting", "paths", "dates"])
def test_the_teller_tells_every_step_when_nothing_hurries_it(family: str) -> None:
    import numpy as np

    from timeful.agents.tool_user import Reply, Round
    from timeful.core.units import Duration, Instant

    problem = load(family, size=3, seed=2)[2]
    rule = SOLUTION_WRITER.make(problem)
    rounds: tuple[Round, ...] = ()
    for _ in range(20):
        view = TimedView(
            at=Instant(0), turn=0, opening="", tools=(), budget=None, elapsed=Duration(0)
        )
        said = rule(Transcript(view=view, rounds=rounds), np.random.default_rng(0)).text
        if "<answer>" in said:
            break
        rounds += (Round(message=said, replies=(Reply(call=None, text="1.00 seconds."),)),)
    told = re.findall(
        r"^Step (\d+)\. (.*)$", "\n".join(round_.message for round_ in rounds), re.MULTILINE
    )
    assert [text for _, text in told] == list(problem.worked)
    assert [int(number) for number, _ in told] == list(range(1, len(problem.worked) + 1))
    assert said.endswith(f"<answer>{problem.answer}</answer>")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "[problems]"),
        ('[problems]\nsets = ["sumz"]', "Did you mean 'sums'"),
        ('[problems]\nsets = ["sums"]\nfile = "x.jsonl"', "give one of both"),
        ('source = "teacher"\n[problems]\nsets = ["sums"]', "[teacher]"),
        ('[problems]\nsets = ["sums"]\n[teacher]\nmodel = "m"\nbase_url = "http://x"', "[teacher]"),
        ('[problems]\nsets = ["sums"]\n[time]\nbudget = ["5s", "2x"]', "both"),
        ('[problems]\nsets = ["sums"]\n[time]\nbudget = ["0s", "2s"]', "budget"),
        ('[problems]\nsets = ["sums"]\n[time]\nalpha = [2.0, 1.0]', "least first"),
        ('[problems]\nsets = ["sums"]\n[time]\nalpha = [0.0, 1.0]', "alpha"),
        ('[problems]\nsets = ["sums"]\n[splits]\ntrain = 0.5', "sum to 1"),
        ('[problems]\nsets = ["sums"]\n[time]\npace_ms = [nan, 25.0]', "pace_ms"),
        ('[problems]\nsets = ["sums"]\n[time]\npace_ms = [100.0, inf]', "pace_ms"),
        ('[problems]\nsets = ["sums"]\n[judge]\nmodel = "m"', "base_url"),
        ('[problems]\nsets = ["sums"]\n[judge]\nmodel = "m"\nbase_url = "host"', "base_url"),
        ('[problems]\nsets = ["sums"]\n[judge]\nbase_url = "http://x/v1"', "model"),
        ('[problems]\nsets = ["sums"]\nsizes = 3', "sizes"),
        ("each = 0\n[problems]\nsets = ['sums']", "each"),
        ("problems = ", "traces.toml"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_played(
    tmp_path: Path, text: str, says: str
) -> None:
    found = timeful("traces", saved(tmp_path, text), "--out", tmp_path / "out")
    assert isinstance(found.exception, SettingsError), found.output
    assert says in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_problems_without_a_worked_solution_need_a_teacher(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"question": "1+1?", "answer": "2", "kind": "exact"}\n')
    found = timeful(
        "traces", saved(tmp_path, '[problems]\nfile = "mine.jsonl"'), "--out", tmp_path / "out"
    )
    assert isinstance(found.exception, SettingsError)
    assert "worked solution" in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_traces_with_other_settings_are_not_written_over(tmp_path: Path) -> None:
    made(tmp_path)
    before = files(tmp_path / "out")
    other = saved(tmp_path, MIXED + "[time]\nalpha = [1.0, 1.0]\n")
    found = timeful("traces", other, "--out", tmp_path / "out")
    assert isinstance(found.exception, SettingsError)
    assert "differs in: traces" in str(found.exception)
    assert files(tmp_path / "out") == before
    assert timeful("traces", other, "--out", tmp_path / "out", "--replace").exit_code == 0


def test_a_jitter_of_nothing_reads_what_counts(tmp_path: Path) -> None:
    found = made(tmp_path, '[problems]\nsets = ["sums"]\nsize = 8\n[time]\njitter_s = [0.0, 0.0]\n')
    [row, *_] = found["train"]
    path = tmp_path / "out" / "episodes" / f"{row['episode']}.jsonl"
    for event in read_record(path):
        if isinstance(event, Happened) and event.what == "reply":
            counted = row["alpha"] * in_seconds(event.at)
            assert event.data["text"] == f"{counted:.2f} seconds."
