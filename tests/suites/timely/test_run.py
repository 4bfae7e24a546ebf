"""Timely-Eval as one call: the same bytes whoever plays, and every number from records alone."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.environments.coding.archives import archive
from tests.environments.coding.runners import FakeRan, FakeRunner
from tests.servers.fake import Call, FakeServer, Say
from timeful.core.units import Duration, in_seconds, milliseconds, seconds
from timeful.environments.coding.prepare import prepare
from timeful.environments.coding.task import LONGEST_RUN
from timeful.environments.fiction import library
from timeful.environments.reasoning.problems import Problem
from timeful.environments.reasoning.split import split_of
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.errors import RecordError, SettingsError
from timeful.models.pace import Pace
from timeful.models.role import ModelRole, read_role
from timeful.records.events import (
    Acted,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder, read_record, record_hash
from timeful.runs.experiment import Finished, report_again, run_experiment
from timeful.sandbox.workspace import WorkLimits
from timeful.suites.timely.baselines import Baselines
from timeful.suites.timely.run import baselines_of, check_budgets, experiment
from timeful.suites.timely.spec import Sweep, episodes, unhurried
from timeful.tasks import coding, fiction, reasoning
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import Family, SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import TaskLibrary
from timeful.tasks.play import play
from timeful.tasks.reasoning import ReasoningOpener
from timeful.tasks.rows import TaskRow, summarize

LIBRARY = TaskLibrary()
FILES = ("report.html", "results.json", "table.csv", "episodes.csv")
PROBLEMS = SharedSettings(source=TaskSource(sets=("sums", "choices"), size=3))


def sweep_of(
    family: Family,
    rig: SharedSettings,
    cases: Sequence[str],
    players: Sequence[str],
    **changes: Any,
) -> Sweep:
    wanted = rig.source.sets if family == "reasoning" else tuple(cases)
    return Sweep(
        **{
            "family": family,
            "cases": LIBRARY.select(family, wanted, rig.source, seed=rig.seed),
            "voices": [ModelRole(stand_in=name) for name in players],
            "budgets": [read_budget("0.75x"), read_budget("2x")],
            **changes,
        }
    )


def baselines(sweep: Sweep, rig: SharedSettings) -> Baselines:
    specs = unhurried(sweep, rig)
    return baselines_of((spec, row(spec)) for spec in specs)


def row(spec: TaskEpisode) -> TaskRow:
    recorder = Recorder()
    play(spec, recorder)
    return summarize(recorder.events)


def run(
    sweep: Sweep, rig: SharedSettings, out: Path, *, workers: int = 1
) -> tuple[list[TaskEpisode], Finished[TaskRow]]:
    specs = episodes(sweep, rig, baselines(sweep, rig), remedy="")
    job = experiment(sweep.family)
    return specs, run_experiment(job, specs, out, settings=rig.settings(), workers=workers)


REASONING = sweep_of("reasoning", PROBLEMS, (), ("paced", "steady", "curt"))
FICTION = sweep_of(
    "fiction",
    SharedSettings(),
    ("skerry",),
    ("hasty", "careful"),
    budgets=[read_budget("5steps"), read_budget("8@careful")],
    latencies=("none", "lognormal:2s:0.3"),
)
BOTH = [(REASONING, PROBLEMS), (FICTION, SharedSettings())]


@pytest.mark.parametrize(("sweep", "rig"), BOTH, ids=("reasoning", "fiction"))
def test_the_same_seed_gives_the_same_bytes_with_two_workers_and_again(
    sweep: Sweep, rig: SharedSettings, tmp_path: Path
) -> None:
    def hashes(out: Path) -> dict[str, str]:
        return {p.stem: record_hash(read_record(p)) for p in (out / "episodes").glob("*.jsonl")}

    def files(out: Path) -> dict[str, bytes]:
        return {name: (out / name).read_bytes() for name in FILES}

    specs, finished = run(sweep, rig, tmp_path / "one")
    run(sweep, rig, tmp_path / "two", workers=2)
    assert len(finished.rows) == len(specs)
    assert not finished.failed
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    for name in (*FILES, "rows.jsonl"):
        (tmp_path / "two" / name).unlink()
    report_again(experiment(sweep.family), tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


@pytest.mark.parametrize(("sweep", "rig"), BOTH, ids=("reasoning", "fiction"))
def test_nothing_counts_beyond_the_budget_not_by_a_nanosecond(
    sweep: Sweep, rig: SharedSettings
) -> None:
    specs = episodes(sweep, rig, baselines(sweep, rig), remedy="")
    late = 0
    for spec in specs:
        made = row(spec)
        assert spec.span is not None
        assert made.budget_ns == spec.span
        assert made.counted_ns == made.tool_ns + made.thinking_ns <= spec.span
        if not made.is_on_time:
            late += 1
            assert made.counted_ns == spec.span
    assert late or sweep is FICTION  # whose players end in time


def test_somebody_who_ignores_the_time_needs_exactly_his_own(tmp_path: Path) -> None:
    """The deadline itself is still in time: at 1x, what took so long before is done."""
    sweep = replace(REASONING, voices=[ModelRole(stand_in="steady")], budgets=[read_budget("1x")])
    specs = episodes(sweep, PROBLEMS, baselines(sweep, PROBLEMS), remedy="")
    assert all(row(spec).is_on_time for spec in specs)
    assert all(row(spec).counted_ns == spec.span for spec in specs)
    hurried = [replace(spec, span=Duration((spec.span or 0) - 1)) for spec in specs]
    assert not any(row(spec).is_on_time for spec in hurried)


def test_thinking_counts_alpha_times_and_tools_do_not() -> None:
    slow = SharedSettings(alpha=2.5)
    hasty = [ModelRole(stand_in="hasty")]
    sweep = replace(FICTION, latencies=("1s",), voices=hasty, budgets=[read_budget("none")])
    one, two = (row(unhurried(sweep, rig)[0]) for rig in (SharedSettings(), slow))
    assert one.tool_ns == two.tool_ns == 60 * seconds(1)
    assert two.thinking_ns == one.thinking_ns * 5 // 2


def test_a_pace_that_is_given_goes_before_a_stand_ins_own() -> None:
    fast = replace(PROBLEMS, pace=Pace(per_token=milliseconds(1)))
    sweep = replace(REASONING, voices=[ModelRole(stand_in="steady")], budgets=[read_budget("none")])
    for spec in unhurried(sweep, fast):
        made = row(spec)
        assert made.counted_ns == made.tokens * milliseconds(1)


def test_a_wrong_timer_changes_what_is_done_and_not_what_counts() -> None:
    wrong = replace(PROBLEMS, timer=TimerSettings(scale=4.0))
    sweep = replace(REASONING, voices=[ModelRole(stand_in="paced")], budgets=[read_budget("2x")])
    specs = [episodes(sweep, rig, baselines(sweep, rig), remedy="") for rig in (PROBLEMS, wrong)]
    rows = [[row(spec) for spec in some] for some in specs]
    assert [spec.span for spec in specs[0]] == [spec.span for spec in specs[1]]
    assert sum(r.counted_ns for r in rows[1]) < sum(r.counted_ns for r in rows[0])


def test_a_budget_that_has_changed_is_not_mixed_with_what_was_played(tmp_path: Path) -> None:
    specs, _ = run(replace(FICTION, latencies=("none",)), SharedSettings(), tmp_path)
    check_budgets(specs, tmp_path)
    check_budgets(specs, tmp_path / "elsewhere")
    other = [replace(spec, span=Duration((spec.span or 0) + 1)) for spec in specs]
    with pytest.raises(SettingsError, match="its baseline has changed"):
        check_budgets(other, tmp_path)


def test_another_run_has_other_chance_and_another_budget_has_not() -> None:
    def typed(run: int, budget: str) -> list[str]:
        hasty = [ModelRole(stand_in="hasty")]
        sweep = replace(FICTION, voices=hasty, budgets=[read_budget(budget)], runs=2)
        recorder = Recorder()
        play(episodes(sweep, SharedSettings(), {}, remedy="")[run], recorder)
        return [e.action for e in recorder.events if isinstance(e, Acted) and "step" in e.action]

    assert typed(0, "8s") != typed(1, "8s")
    few, many = typed(0, "8s"), typed(0, "12s")
    assert few == many[: len(few)]
    assert len(few) > 10


def test_a_latency_is_for_a_tool_that_there_is() -> None:
    rig = SharedSettings(tool_latencies=(("stepp", "2s"),))
    with pytest.raises(SettingsError, match="Did you mean 'step'"):
        experiment("fiction").check(unhurried(FICTION, rig))
    experiment("fiction").check(
        unhurried(FICTION, SharedSettings(tool_latencies=(("get_duration", "1s"),)))
    )


def test_two_story_files_of_one_name_would_be_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fiction, "check_extras", lambda name: None)  # Jericho may not be here
    story = bytes([3, *bytes(13), 0, 64, *bytes(240)])
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.z3").write_bytes(story)
    files = tuple(str(tmp_path / folder / "x.z3") for folder in ("a", "b"))
    assert LIBRARY.select("fiction", (*files[:1], "skerry"), TaskSource(), seed=0) == (
        files[0],
        "skerry",
    )
    with pytest.raises(SettingsError, match="the same name"):
        LIBRARY.select("fiction", files, TaskSource(), seed=0)


@pytest.mark.parametrize(
    ("name", "extra"), [("cave", "timely"), ("textworld:coins:1", "textworld")]
)
def test_a_game_without_its_extra_is_refused_before_anything_runs(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda module: None)
    with pytest.raises(SettingsError, match=rf"pip install 'timeful\[{extra}\]'"):
        LIBRARY.select("fiction", ("skerry", name), TaskSource(), seed=0)


def test_prepared_and_made_cases_are_run_together(tmp_path: Path) -> None:
    name = "spaceship-titanic"
    prepare(name, archive(tmp_path, name), tmp_path / name)
    source = TaskSource(data=str(tmp_path))
    assert LIBRARY.select("coding", (name, "iris"), source, seed=0) == (name, "iris")
    with pytest.raises(SettingsError, match="iris"):
        LIBRARY.select("coding", ("iris",), source, seed=0)


def test_a_program_may_run_until_the_deadline_and_no_sandbox_ends_it_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[WorkLimits] = []

    class Idle(FakeRunner):
        def __init__(self, **given: Any) -> None:
            super().__init__(lambda code: FakeRan())
            limits.append(given["limits"])

    monkeypatch.setattr(coding, "Workspace", Idle)
    spec = unhurried(sweep_of("coding", SharedSettings(), ["iris"], ["climber"]), SharedSettings())[
        0
    ]
    LIBRARY.open(spec).close()
    LIBRARY.close_all()
    assert limits[0].wall_s > in_seconds(LONGEST_RUN)


# --- rows -----------------------------------------------------------------------------------------


def test_a_row_of_a_game_tells_points_and_calls_and_time() -> None:
    sweep = replace(FICTION, latencies=("2s",), budgets=[read_budget("50s")])
    spec = episodes(sweep, SharedSettings(), {}, remedy="")[1]
    made = row(spec)
    assert (made.family, made.group, made.who) == ("fiction", "skerry", "careful")
    assert (made.reason, made.is_on_time, made.budget_ns) == ("answered", True, seconds(50))
    assert 0 < made.calls < made.rounds
    assert made.tool_ns == made.calls * seconds(2) < made.counted_ns <= seconds(50)
    assert (made.start_score, made.max_score, made.won) == (0, 100, False)
    assert made.gain == made.value - 0
    assert (made.stand_in, made.used_tool, made.timer_calls, made.correct) == (True, True, 0, None)
    assert 0.9 < (made.utilisation or 0) <= 1


def test_a_call_that_the_deadline_cuts_counts_as_time_of_its_tool() -> None:
    hasty = [ModelRole(stand_in="hasty")]
    budgets = [read_budget("5s"), read_budget("10.5s")]
    sweep = replace(FICTION, voices=hasty, latencies=("10s",), budgets=budgets)
    cut, in_time = (row(spec) for spec in episodes(sweep, SharedSettings(), {}, remedy=""))
    assert (cut.reason, cut.calls, cut.counted_ns) == ("deadline", 1, seconds(5))
    assert cut.tool_ns == seconds(5) - cut.thinking_ns
    assert cut.thinking_ns == 40 * 10_000_000
    assert in_time.tool_ns == seconds(10)


def test_a_row_of_a_problem_tells_whether_it_is_right_and_how_long_it_took() -> None:
    rows = [row(spec) for spec in unhurried(REASONING, PROBLEMS)]
    paced = [one for one in rows if one.who == "paced"]
    assert all(one.correct is (one.value == 1) for one in rows)
    assert all(one.timer_calls and one.used_tool and not one.calls for one in paced)
    assert {one.group for one in rows} == {"sums", "choices"}
    assert all(one.budget == "none" and one.utilisation is None for one in rows)
    assert all(one.gain is None and one.metric is None for one in rows)


def started(**changes: Any) -> EpisodeStarted:
    spec = unhurried(REASONING, PROBLEMS)[0]
    settings = spec.settings()
    settings["episode"] |= changes
    return EpisodeStarted(at=0, version="0", settings=settings)


def test_a_failed_episode_is_a_row_that_says_why_and_comes_to_nothing() -> None:
    made = summarize(
        [started(), EpisodeFailed(at=5, boundary="sandbox", error="SandboxError: no room")]
    )
    assert (made.status, made.error) == ("failed", "sandbox: SandboxError: no room")
    assert (made.value, made.is_on_time, made.counted_ns) == (0.0, False, 0)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [started()],
        [EpisodeFailed(at=5, boundary="model", error="x")],
        [started(who=3), EpisodeFailed(at=5, boundary="model", error="x")],
        [
            EpisodeStarted(at=0, version="0", settings={"episode": {}}),
            EpisodeFailed(at=5, boundary="model", error="x"),
        ],
    ],
)
def test_what_is_no_whole_record_is_refused(events: list[Any]) -> None:
    with pytest.raises((RecordError, KeyError)) as raised:
        summarize(events)
    assert isinstance(raised.value, RecordError)


def test_only_who_asked_for_a_side_of_the_problems_has_it_in_the_record() -> None:
    plain, tested = SharedSettings(), SharedSettings(source=TaskSource(split="test"))
    assert "split" not in plain.settings()["source"]
    assert tested.settings()["source"]["split"] == "test"


def test_reasoning_gym_makes_enough_for_a_side_or_says_that_it_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(task: str, *, size: int, **_: Any) -> list[Problem]:
        count = 3 if task == "few" else size
        return [
            Problem(id=str(n), family="gym", question=f"{n}?", answer="", kind="gym")
            for n in range(count)
        ]

    monkeypatch.setattr(reasoning, "make_problems", make)
    monkeypatch.setattr(ReasoningOpener, "_sandbox", lambda self, is_unsafe: nullcontext())
    whole = LIBRARY.problems(TaskSource(sets=("gym:many",), size=300), 0)
    tested = LIBRARY.problems(TaskSource(sets=("gym:many",), size=9, split="test"), 0)
    there = [one.question for one in whole.values() if split_of(one.question) == "test"]
    assert [one.question for one in tested.values()] == there[:9]
    with pytest.raises(SettingsError, match="'few' has only 0 problems"):
        LIBRARY.problems(TaskSource(sets=("gym:few",), size=9, split="validation"), 0)


# --- privacy --------------------------------------------------------------------------------------

SECRET = "the colour of the third envelope"


def private(tmp_path: Path) -> SharedSettings:
    path = tmp_path / "hidden.jsonl"
    path.write_text(
        f'{{"id": "q1", "question": "What is {SECRET}?", "choices": ["mauve", "puce"], '
        '"answer": "mauve"}\n'
    )
    return SharedSettings(source=TaskSource(problems=str(path), is_private=True))


def test_no_word_of_a_private_problem_stands_in_a_record(tmp_path: Path) -> None:
    rig = private(tmp_path)
    cases = LIBRARY.select("reasoning", (), rig.source, seed=0)
    script = [
        [Say("Now, "), Call("get_duration", "{}", id="c1")],
        [Call("get_duraton", f'{{"why": "{SECRET}"}}', id="c2")],
        [Say(f"{SECRET}: <tool_call>{{puce</tool_call>")],
        [Say(f"It is mauve, {SECRET}. <answer>A</answer>")],
    ]
    recorder = Recorder(tmp_path / "record.jsonl")
    with FakeServer(lambda body: script.pop(0)) as server:
        model = read_role("openai:m", stand_in="steady", base_url=server.base_url)
        sweep = replace(REASONING, cases=cases, voices=[model])
        assert play(unhurried(sweep, replace(rig, calls="native"))[0], recorder)
    recorder.close()
    said = (tmp_path / "record.jsonl").read_text()
    assert "file/file-q1" in said
    for word in (SECRET, "mauve", "puce", "answer>"):
        assert word not in said
    made = summarize(recorder.events)
    assert (made.rounds, made.timer_calls, made.bad_calls) == (4, 1, 2)
    assert (made.correct, made.checked) == (True, "letter")
    assert made.tokens > 0
    kinds = {type(event) for event in recorder.events}
    assert {ThoughtStarted, ThoughtEnded, Acted, Happened} <= kinds


def test_a_stand_in_cannot_work_on_what_it_has_no_solution_of(tmp_path: Path) -> None:
    rig = private(tmp_path)
    cases = LIBRARY.select("reasoning", (), rig.source, seed=0)
    with pytest.raises(SettingsError, match="no worked solution"):
        experiment("reasoning").check(unhurried(replace(REASONING, cases=cases), rig))


def test_private_problems_are_not_run_by_mistake(tmp_path: Path) -> None:
    rig = private(tmp_path)
    with pytest.raises(SettingsError, match="no full transcripts"):
        replace(rig, transcripts="full")
    gpqa = replace(
        rig.source,
        is_private=False,
        benchmark="gpqa",
        fields=(("question", "question"), ("answer", "answer"), ("wrong", "id")),
    )
    with pytest.raises(SettingsError, match="private"):
        LIBRARY.select("reasoning", (), gpqa, seed=0)
