"""Records as data sets: what is chosen, in which form, and what is left out."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.training.data.making import game, rows_of, run_of, thought, timeful
from timeful.errors import RecordError, RewardError, SettingsError
from timeful.records.events import Entry, EpisodeEnded, EpisodeFailed, EpisodeStarted
from timeful.training.data.conversations import conversations

OPENING = [("system", "You play."), ("user", "A cave.")]


def start(**settings: Any) -> EpisodeStarted:
    return EpisodeStarted(at=0, version="0", settings=settings)


def exported(run: Path, kind: str, *options: object) -> list[dict[str, Any]]:
    out = run.parent / f"{kind}.jsonl"
    found = timeful("export", run, "--as", kind, "--out", out, "--replace", *options)
    if found.exception is not None:
        raise found.exception
    return rows_of(out)


def is_empty(run: Path, kind: str, *options: object) -> bool:
    """Whether there is nothing to export, which writes nothing."""
    out = run.parent / "none.jsonl"
    found = timeful("export", run, "--as", kind, "--out", out, *options)
    wrote = out.exists() or out.with_name("none.jsonl.md").exists()
    return found.exit_code == 1 and "no file was written" in found.output and not wrote


# --- conversations -------------------------------------------------------------------------------


def test_a_conversation_goes_on_as_long_as_it_is_shown_what_was_said() -> None:
    reply = [("assistant", "look"), ("user", "It is dark.")]
    events = [*thought(1, OPENING, "look"), *thought(2, OPENING + reply, "<answer>5</answer>")]
    [found] = conversations(events)
    assert found.prompt == [{"role": role, "content": text} for role, text in OPENING]
    assert [(one["role"], one["content"]) for one in found.completion] == [
        *reply,
        ("assistant", "<answer>5</answer>"),
    ]
    assert found.tokens == 10


def test_a_prompt_of_its_own_begins_another_conversation() -> None:
    other = [("system", "You play."), ("user", "A hill.")]
    events = [*thought(1, OPENING, "look"), *thought(2, other, "climb"), *thought(3, OPENING, "x")]
    assert [one.completion[-1]["content"] for one in conversations(events)] == [
        "look",
        "climb",
        "x",
    ]


def test_a_prompt_that_grew_by_other_words_than_ones_own_is_no_continuation() -> None:
    """As where a conversation is told turn by turn, to an agent that is not shown its answers."""
    more = [*OPENING, ("user", "It is dark.")]
    found = conversations([*thought(1, OPENING, "look"), *thought(2, more, "go")])
    assert [len(one.prompt) for one in found] == [2, 3]
    assert [one.completion[0]["content"] for one in found] == ["look", "go"]


def test_what_was_thought_stands_in_tags_before_what_was_said() -> None:
    reply = [("assistant", "look"), ("user", "It is dark.")]
    events = [
        *thought(1, OPENING, "look", thinking="hm\n"),
        *thought(2, OPENING + reply, "go", thinking="well"),
    ]
    [found] = conversations(events)
    said = [one["content"] for one in found.completion if one["role"] == "assistant"]
    assert said == ["<think>\nhm\n</think>\n\nlook", "<think>\nwell\n</think>\n\ngo"]


def test_replies_of_tools_by_the_api_become_words_of_the_user() -> None:
    shown = [
        *OPENING,
        ("assistant", '<tool_call>{"name": "a"}</tool_call><tool_call>{"name": "b"}</tool_call>'),
        ("tool", '<tool_response id="1">one\ntwo</tool_response>'),
        ("tool", '<tool_response id="2">three</tool_response>'),
    ]
    [found] = conversations([*thought(1, OPENING, shown[2][1]), *thought(2, shown, "done")])
    assert found.completion[1] == {
        "role": "user",
        "content": "<tool_response>\none\ntwo\n</tool_response>\n"
        "<tool_response>\nthree\n</tool_response>",
    }


def test_a_thought_that_was_cut_is_no_whole_conversation() -> None:
    [found] = conversations(thought(1, OPENING, "I th", state="cancelled"))
    assert not found.has_ended
    assert conversations(thought(1, OPENING, "", state="failed")) == []


# --- sft -----------------------------------------------------------------------------------------

GAMES = {
    "a0": game("poor", 1.0, run=0),
    "a1": game("best", 5.0, run=1),
    "a2": game("late", 7.0, run=2, reason="deadline"),
    "a3": game("best again", 5.0, run=3),
    "b0": game("other", 2.0, case="hill"),
    "c0": game("more time", 3.0, budget_s=20),
    "d0": game("cut of", 9.0, case="moor", state="cancelled"),
}


def said(rows: list[dict[str, Any]]) -> list[str]:
    return [row["messages"][-1]["content"] for row in rows]


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return run_of(tmp_path / "run", "timely/fiction", GAMES)


def test_every_conversation_that_ended_is_an_example(games: Path) -> None:
    rows = exported(games, "sft")
    assert said(rows) == ["poor", "best", "late", "best again", "other", "more time"]
    assert rows[0]["messages"] == [
        {"role": "user", "content": "Play cave in 10 s."},
        {"role": "assistant", "content": "poor"},
    ]
    first = {name: rows[0][name] for name in ("reward", "tokens", "model", "episode", "budget_s")}
    assert first == {"reward": 1.0, "tokens": 5, "model": "m", "episode": "a0", "budget_s": 10.0}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--minimum", 5), ["best", "late", "best again"]),
        (("--in-time",), ["poor", "best", "best again", "other", "more time"]),
        (("--best",), ["late", "other", "more time"]),
        (("--best", "--in-time"), ["best", "other", "more time"]),
        (("--best", "--in-time", "--minimum", 3), ["best", "more time"]),
    ],
)
def test_examples_are_chosen_by_what_they_are_worth_and_whether_they_were_in_time(
    games: Path, options: tuple[object, ...], expected: list[str]
) -> None:
    assert said(exported(games, "sft", *options)) == expected


def test_a_split_takes_whole_cases_and_together_they_are_all(tmp_path: Path) -> None:
    records = {f"g{n}": game(str(n), 1.0, case=f"case {n // 2}") for n in range(80)}
    run = run_of(tmp_path / "run", "timely/fiction", records)
    found = {
        name: exported(run, "sft", "--split", name) for name in ("train", "validation", "test")
    }
    cases = {name: {row["case"] for row in rows} for name, rows in found.items()}
    assert sum(map(len, cases.values())) == 40
    assert sum(map(len, found.values())) == 80
    assert all(row["split"] == name for name, rows in found.items() for row in rows)


# --- preference ----------------------------------------------------------------------------------


def test_pairs_have_one_beginning_one_budget_and_a_better_one(tmp_path: Path) -> None:
    records = {
        "a0": game("worst", 0.0),
        "a1": game("best", 4.0),
        "a2": game("second", 3.0),
        "a3": game("cut", 1.0, state="cancelled"),
        "b0": game("tie", 2.0, case="hill"),
        "b1": game("tie", 2.0, case="hill"),
        "c0": game("alone", 9.0, budget_s=20),
        "d0": game("middle", 2.0, case="lake"),
        "d1": game("top", 3.0, case="lake"),
        "d2": game("low", 1.0, case="lake"),
    }
    rows = exported(run_of(tmp_path / "run", "timely/fiction", records), "preference")
    pairs = [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows]
    assert pairs == [("best", "worst"), ("second", "cut"), ("top", "low")]
    assert rows[0]["prompt"] == [{"role": "user", "content": "Play cave in 10 s."}]
    assert (rows[0]["chosen_reward"], rows[0]["rejected_reward"]) == (4.0, 0.0)
    assert (rows[1]["chosen_episode"], rows[1]["rejected_episode"]) == ("a2", "a3")


@pytest.mark.parametrize("difference", ["cut", "latency", "prompt"])
def test_what_was_cut_is_never_better_and_episodes_of_other_conditions_are_no_pair(
    tmp_path: Path, difference: str
) -> None:
    best = game("best", 5.0, state="cancelled" if difference == "cut" else "completed")
    other = game("other", 1.0)
    assert isinstance(other[0], EpisodeStarted)
    if difference == "latency":
        other[0].settings["episode"]["latency"] = "5s"
    if difference == "prompt":
        other[1] = msgspec.structs.replace(other[1], messages=[("user", "Play on.")])
    run = run_of(tmp_path / "run", "timely/fiction", {"a0": best, "a1": other})
    assert is_empty(run, "preference")


# --- prompts -------------------------------------------------------------------------------------


def test_each_prompt_comes_once_with_its_budget(games: Path) -> None:
    rows = exported(games, "prompts")
    assert [(row["case"], row["budget_s"]) for row in rows] == [
        ("cave", 10.0),
        ("hill", 10.0),
        ("cave", 20.0),
        ("moor", 10.0),
    ]
    assert rows[0]["answer"] is None


def played(folder: Path, *options: object) -> Path:
    found = timeful(
        *("run", "timely/reasoning", "--case", "sums", "--size", 3, "--player", "curt"),
        *("--player", "steady", "--budget", "3s", "--out", folder, "--workers", 1, *options),
    )
    assert found.exit_code == 0, found.output
    return folder


def test_prompts_of_problems_bring_their_answers(tmp_path: Path) -> None:
    from timeful.environments.reasoning.problems import load

    run = played(tmp_path / "run", "--transcripts", "full")
    rows = exported(run, "prompts")
    known = {f"sums/{problem.id}": problem for problem in load("sums", size=3, seed=0)}
    assert len(rows) == 3
    for row in rows:
        problem = known[row["case"]]
        assert row["answer"] == problem.answer
        assert row["prompt"][-1]["content"].startswith(problem.question)
        assert "Finish within 3.00 seconds." in row["prompt"][-1]["content"]


def test_a_reward_by_name_pays_what_training_would(tmp_path: Path) -> None:
    run = played(tmp_path / "run", "--transcripts", "full")
    scores = [row["reward"] for row in exported(run, "sft")]
    aware = exported(run, "sft", "--reward", "ep_aware", "--minimum", 1)
    assert 0 < len(aware) < 6
    assert scores.count(1.0) >= len(aware)
    assert all(row["reward"] == 1.0 for row in aware)


def test_a_reward_of_ones_own_pays_and_stands_in_the_card_without_its_place(
    tmp_path: Path,
) -> None:
    run, path = played(tmp_path / "run", "--transcripts", "full"), tmp_path / "mine.py"
    path.write_text("def of(events, *, each=0.25): return each")
    rows = exported(run, "sft", "--reward", f"{path}:of")
    assert {row["reward"] for row in rows} == {0.25}
    [card] = [one for one in tmp_path.rglob("*.md") if "mine.py:of" in one.read_text()]
    assert str(tmp_path) not in card.read_text()
    path.write_text("def of(events): return 1 / 0")
    broken = timeful(
        "export", run, "--as", "sft", "--out", tmp_path / "x", "--reward", f"{path}:of"
    )
    assert isinstance(broken.exception, RewardError)
    assert re.match(r"\S+\.jsonl: .*line 1: ZeroDivisionError", str(broken.exception))


# --- what cannot be exported ---------------------------------------------------------------------


def refused(*arguments: object) -> str:
    found = timeful("export", *arguments)
    assert isinstance(found.exception, SettingsError | RecordError), found.output
    return str(found.exception)


def test_records_without_transcripts_name_the_option_that_keeps_them(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    for kind in ("sft", "preference", "prompts"):
        said = refused(run, "--as", kind, "--out", tmp_path / "x.jsonl")
        assert "--transcripts full" in said
        assert ".jsonl: " in said, "the record is named"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run"]


def test_private_problems_are_never_exported(tmp_path: Path) -> None:
    line = {"question": "What is one and one?", "answer": "2", "kind": "exact"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(line) + "\n")
    run = run_of(
        tmp_path / "run",
        "timely/reasoning",
        {"a": game("secret", 1.0)},
        source={"is_private": True},
    )
    said = refused(run, "--as", "sft", "--out", tmp_path / "x.jsonl")
    assert "private" in said
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--as", "sft", "--reward", "timly"), "Did you mean 'timely'"),
        (("--as", "sft", "--reward", "ruler"), "judge"),
        (("--as", "sft", "--reward", "rac_score"), "conversations"),
        (("--as", "prompts", "--reward", "timely"), "--reward has no effect"),
        (("--as", "preference", "--best"), "--best has no effect"),
        (("--as", "prompts", "--minimum", "1"), "--minimum has no effect"),
        (("--as", "sft", "--minimum", "nan"), "got nan"),
    ],
)
def test_what_would_change_nothing_or_cannot_be_is_refused(
    games: Path, options: tuple[str, ...], says: str
) -> None:
    assert says in refused(games, *options, "--out", games.parent / "x.jsonl")
    assert not (games.parent / "x.jsonl").exists()


def test_a_folder_that_is_no_run_or_has_no_records_is_named(tmp_path: Path) -> None:
    assert "holds no run" in refused(tmp_path, "--as", "sft", "--out", tmp_path / "x.jsonl")
    toys = run_of(tmp_path / "toys", "engagement/toys", {})
    assert "engagement/toys" in refused(toys, "--as", "sft", "--out", tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("x.csv", "--format"),
        (".", "is a folder"),
        ("taken.jsonl", "--replace"),
        ("taken.jsonl/x.jsonl", "is a file"),
        ("run/settings.json", "--replace"),
    ],
)
def test_a_file_that_cannot_be_written_or_is_there_is_refused_and_kept(
    games: Path, out: str, says: str
) -> None:
    (games.parent / "taken.jsonl").write_text("dear")
    before = sorted(path for path in games.parent.rglob("*"))
    settings = (games / "settings.json").read_bytes()
    assert says in refused(games, "--as", "sft", "--out", games.parent / out)
    assert sorted(path for path in games.parent.rglob("*")) == before
    assert (games.parent / "taken.jsonl").read_text() == "dear"
    assert (games / "settings.json").read_bytes() == settings


def test_without_a_row_what_is_there_stays(games: Path) -> None:
    kept = exported(games, "sft")
    out = games.parent / "sft.jsonl"
    options = ("--minimum", 99, "--replace")
    found = timeful("export", games, "--as", "sft", "--out", out, *options)
    assert found.exit_code == 1
    assert "left out   7 conversations" in found.output
    assert rows_of(out) == kept


def test_the_records_of_a_training_are_data_too(tmp_path: Path) -> None:
    """Its settings name no suite, and each update has a folder."""
    run = run_of(
        tmp_path / "run", "none", {"00000/a": game("bad", 1.0), "00001/a": game("good", 2)}
    )
    (run / "settings.json").write_text('{"cases": {"sets": ["cave"]}, "run": {"seed": 0}}')
    for path in run.rglob("a.jsonl"):
        text = path.read_text().replace('"calls":"text"', '"calls":"text","suite":"timely/fiction"')
        path.write_text(text)
    assert [row["episode"] for row in exported(run, "sft")] == ["00000/a", "00001/a"]
    [pair] = exported(run, "preference")
    assert (pair["chosen_episode"], pair["rejected_episode"]) == ("00001/a", "00000/a")
    for path in run.rglob("a.jsonl"):
        path.unlink()
    assert "run.records = true" in refused(run, "--as", "sft", "--out", tmp_path / "x.jsonl")


def test_records_of_a_training_are_kept_with_what_was_asked() -> None:
    from tests.training.material import config
    from timeful.training.config import RunPart
    from timeful.training.rollout_tasks import make_rollout_tasks

    for keeps, transcripts in ((True, "full"), (False, "answers")):
        settings = config(Path("m"), Path("o"), run=RunPart(out="o", records=keeps))
        [told, *_] = [one.spec.shared.transcripts for one in make_rollout_tasks(settings).values()]  # type: ignore[attr-defined]
        assert told == transcripts


@pytest.mark.parametrize("kind", ["sft", "preference", "prompts"])
def test_the_card_says_what_each_column_holds_who_spoke_and_whose_it_is(
    games: Path, kind: str
) -> None:
    rows = exported(games, kind)
    card = (games.parent / f"{kind}.jsonl.md").read_text()
    assert all(f"\n| {name} | " in card for name in rows[0])
    assert card.count("| m | 7 |") == 1
    assert f"{len(rows)} rows" in card
    assert "## Licence" in card


def test_failed_episodes_are_counted_and_broken_records_named(tmp_path: Path) -> None:
    failed: list[Entry] = [
        start(episode={"case": "cave"}),
        *thought(1, OPENING, "x"),
        EpisodeFailed(at=5, boundary="model", error="gone"),
    ]
    torn = game("torn", 3.0)[:-1]
    headless = [EpisodeEnded(at=0, reason="", turns=0, score=0.0)]
    records = {"a": game("good", 1.0), "b": failed, "c": torn, "d": headless, "e": game("too", 2.0)}
    run = run_of(tmp_path / "run", "timely/fiction", records)
    with (run / "episodes" / "e.jsonl").open("ab") as file:
        file.write(b'{"event": \n')
    out = tmp_path / "x.jsonl"
    found = timeful("export", run, "--as", "sft", "--out", out)
    assert found.exit_code == 1, "somebody must look"
    assert said(rows_of(out)) == ["good"]
    assert "failed     b: model: gone" in found.output
    card = (tmp_path / "x.jsonl.md").read_text()
    for name in ("c", "d", "e"):
        assert f"broken     {name}.jsonl" in found.output
        assert f"{name}.jsonl" in card
    assert "| that failed: model | 1 |" in card


def test_a_problem_file_that_has_changed_is_no_ground_for_a_split(tmp_path: Path) -> None:
    lines = [{"question": f"{n}+1?", "answer": str(n + 1), "kind": "exact"} for n in range(3)]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {
        "source": {"problems": str(file), "sets": [], "benchmark": "file"},
        "seed": 0,
    }
    run = run_of(
        tmp_path / "run", "timely/reasoning", {"a": game("2", 1.0, case="gone")}, **settings
    )
    said = refused(run, "--as", "sft", "--out", tmp_path / "x.jsonl")
    assert "not among those that the run's settings make" in said


# --- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sft", "preference", "prompts"])
def test_parquet_holds_the_same_rows_and_the_same_bytes_each_time(games: Path, kind: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra train")
    out = games.parent / "data.parquet"
    assert timeful("export", games, "--as", kind, "--out", out).exit_code == 0
    assert parquet.read_table(out).to_pylist() == exported(games, kind)
    before = out.read_bytes()
    assert timeful("export", games, "--as", kind, "--out", out, "--replace").exit_code == 0
    assert out.read_bytes() == before


def test_without_pyarrow_parquet_is_refused_before_a_record_is_read(
    games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    said = refused(games, "--as", "sft", "--format", "parquet", "--out", games.parent / "x")
    assert "timeful[train]" in said


def test_nothing_here_loads_torch_or_pyarrow() -> None:
    import subprocess
    import sys

    code = (
        "import sys, timeful.training.data.traces, timeful.training.data.export, "
        "timeful.training.data.rewards, timeful.cli.export\n"
        "print([m for m in ('torch', 'transformers', 'pyarrow', 'datasets') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_only_one_episode_is_in_memory_at_a_time(
    games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written as records are read."""
    from timeful.training.data import episodes
    from timeful.training.data.rows import Choice, Counts, rows

    seen: list[str] = []
    read = episodes.read_record
    monkeypatch.setattr(
        episodes,
        "read_record",
        lambda path: seen.append(path.stem) or read(path),  # type: ignore[func-returns-value]
    )
    found = rows(episodes.Run(games), "sft", Choice(), Counts())
    assert seen == []
    next(found)
    assert seen == ["a0"]
    next(found)
    assert seen == ["a0", "a1"]


def test_trl_takes_the_rows_as_they_are(games: Path) -> None:
    trl = pytest.importorskip("trl", reason="needs the extra train")
    for kind in ("sft", "preference", "prompts"):
        assert all(trl.is_conversational(row) for row in exported(games, kind))
