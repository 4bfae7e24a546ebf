"""Task episodes: time under a budget, rows from records alone, and private problems."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import product
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
from timeful.records.recorder import Recorder
from timeful.sandbox.workspace import WorkLimits
from timeful.tasks import coding, fiction, reasoning
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import Family, SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import TaskLibrary
from timeful.tasks.play import play
from timeful.tasks.reasoning import ReasoningOpener
from timeful.tasks.rows import TaskRow, summarize

LIBRARY = TaskLibrary()
PROBLEMS = SharedSettings(source=TaskSource(sets=("sums", "choices"), size=3))


def episodes(
    family: Family, shared: SharedSettings, names: tuple[str, ...], players: tuple[str, ...]
) -> list[TaskEpisode]:
    """Unhurried episodes."""
    cases = LIBRARY.select(family, names, shared.source, seed=shared.seed)
    return [
        TaskEpisode(
            family=family,
            case=case,
            role=ModelRole(stand_in=player),
            run=0,
            latency="none",
            shared=shared,
        )
        for case, player in product(cases, players)
    ]


def row(episode: TaskEpisode) -> TaskRow:
    recorder = Recorder()
    play(episode, recorder)
    return summarize(recorder.events)


def limited(episode: TaskEpisode, text: str, **changes: Any) -> TaskEpisode:
    """The episode under a budget in seconds."""
    budget = read_budget(text)
    return replace(episode, budget=budget, span=budget.span(None), **changes)


REASONING = episodes("reasoning", PROBLEMS, PROBLEMS.source.sets, ("paced", "steady", "curt"))
PACED, STEADY, _ = REASONING[:3]
HASTY, CAREFUL = episodes("fiction", SharedSettings(), ("skerry",), ("hasty", "careful"))


@pytest.mark.parametrize("episode", REASONING, ids=lambda e: e.key)
def test_no_time_counts_beyond_the_budget(episode: TaskEpisode) -> None:
    unhurried = row(episode)
    for factor in (0.75, 2):
        span = Duration(int(factor * unhurried.counted_ns))
        outcome = row(replace(episode, budget=read_budget(f"{factor}x"), span=span))
        assert outcome.counted_ns == outcome.tool_ns + outcome.thinking_ns <= span
        assert outcome.is_on_time or outcome.counted_ns == span


def test_a_given_pace_replaces_that_of_a_stand_in() -> None:
    fast = replace(PROBLEMS, pace=Pace(per_token=milliseconds(1)))
    outcome = row(replace(STEADY, shared=fast))
    assert outcome.counted_ns == outcome.tokens * milliseconds(1)


def test_a_wrong_timer_changes_what_is_done() -> None:
    wrong = replace(PROBLEMS, timer=TimerSettings(scale=4.0))
    span = Duration(2 * row(PACED).counted_ns)
    true, fast = (
        row(replace(PACED, budget=read_budget("2x"), span=span, shared=shared))
        for shared in (PROBLEMS, wrong)
    )
    assert fast.counted_ns < true.counted_ns


def test_another_run_has_other_chance_and_another_budget_has_not() -> None:
    def commands(run: int, budget: str) -> list[str]:
        recorder = Recorder()
        play(limited(HASTY, budget, run=run), recorder)
        return [e.action for e in recorder.events if isinstance(e, Acted) and "step" in e.action]

    assert commands(0, "8s") != commands(1, "8s")
    few, many = commands(0, "8s"), commands(0, "12s")
    assert few == many[: len(few)]
    assert len(few) > 10


def test_keys_name_the_settings_of_a_model() -> None:
    keys = {
        replace(PACED, role=role).key
        for url, temperature in (("http://a/v1", 0.5), ("http://b/v1", 0.5), ("http://a/v1", 0.6))
        for role in [read_role("openai:m", stand_in="paced", base_url=url, temperature=temperature)]
    }
    assert len(keys) == 3
    assert not any("/" in key for key in keys)


# --- the library ----------------------------------------------------------------------------------


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
    [spec] = episodes("coding", SharedSettings(), ("iris",), ("climber",))
    LIBRARY.open(spec).close()
    LIBRARY.close_all()
    assert limits[0].wall_s > in_seconds(LONGEST_RUN)


# --- rows -----------------------------------------------------------------------------------------


def test_a_row_of_a_game_tells_points_and_calls_and_time() -> None:
    made = row(limited(CAREFUL, "50s", latency="2s"))
    assert (made.family, made.group, made.who) == ("fiction", "skerry", "careful")
    assert (made.reason, made.is_on_time, made.budget_ns) == ("answered", True, seconds(50))
    assert 0 < made.calls < made.rounds
    assert made.tool_ns == made.calls * seconds(2) < made.counted_ns <= seconds(50)
    assert (made.start_score, made.max_score, made.won) == (0, 100, False)
    assert made.gain == made.value - 0
    assert (made.stand_in, made.used_tool, made.timer_calls, made.correct) == (True, True, 0, None)
    assert 0.9 < (made.utilisation or 0) <= 1


def test_a_call_that_the_deadline_cuts_counts_as_time_of_its_tool() -> None:
    cut, in_time = (row(limited(HASTY, text, latency="10s")) for text in ("5s", "10.5s"))
    assert (cut.reason, cut.calls, cut.counted_ns) == ("deadline", 1, seconds(5))
    assert cut.tool_ns == seconds(5) - cut.thinking_ns
    assert cut.thinking_ns == 40 * 10_000_000
    assert in_time.tool_ns == seconds(10)


def test_a_row_of_a_problem_tells_whether_it_is_right_and_how_long_it_took() -> None:
    rows = [row(spec) for spec in REASONING]
    paced = [one for one in rows if one.who == "paced"]
    assert all(one.correct is (one.value == 1) for one in rows)
    assert all(one.timer_calls and one.used_tool and not one.calls for one in paced)
    assert {one.group for one in rows} == {"sums", "choices"}
    assert all(one.budget == "none" and one.utilisation is None for one in rows)
    assert all(one.gain is None and one.metric is None for one in rows)


def started(**changes: Any) -> EpisodeStarted:
    settings = REASONING[0].settings()
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
        shared = replace(rig, calls="native")
        assert play(replace(PACED, case=cases[0], role=model, shared=shared), recorder)
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
