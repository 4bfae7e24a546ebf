"""Suites as tasks of Inspect: `inspect eval timeful/freeway --model timeful/search`.

One sample is one episode in simulated time, and one epoch one seed of sampling. Options of a task
are those of `timeful run`, such as `-T difficulty=easy -T seeds=8 -T agent=agile`. Tested with
Inspect 0.3.285.
"""

import json
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from anyio import CapacityLimiter, create_task_group, sleep_forever, to_thread
from anyio.lowlevel import checkpoint
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample
from inspect_ai.log import transcript
from inspect_ai.model import ModelAPI, ModelOutput, modelapi
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from timeful.bridges.episodes import SOURCES, EndableRecorder, EndedError
from timeful.bridges.inspect.model import SAMPLE, SampleTasks
from timeful.bridges.inspect.models import load_episodes
from timeful.bridges.inspect.stand_in import StandIn
from timeful.bridges.scores import read_scores
from timeful.errors import EpisodeError, SettingsError
from timeful.experiments.run import play_planned
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import PlannedEpisode
from timeful.records.events import ThoughtChunk
from timeful.records.recorder import Recorder
from timeful.records.summary import complete_record

SCORES = "timeful_scores"
"""The scores of a sample in its store; `inspect score` reads them too."""


@modelapi(name="timeful")
def stand_in() -> type[ModelAPI]:
    """Make the provider of stand-ins."""
    return StandIn


class TaskError(SettingsError, PrerequisiteError):  # type: ignore[misc, unused-ignore]
    """A setting of a task that cannot work; Inspect shows it as one line."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.message = words.replace("[", "\\[")  # it is read as markup


@solver
def episode(name: str, options: str) -> Solver:
    """Play the episode of a sample.

    Args:
        name: The task.
        options: Its options as JSON.
    """
    episodes = load_episodes(name, options)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        first = episodes.plan_samples()[state.metadata["index"]]
        step = episodes.repeat(first, state.epoch - 1)
        recorder = EndableRecorder()
        try:
            await play_sample(episodes.suite, step, recorder)
        finally:
            write_events(recorder)
        scores = read_scores(episodes.suite, recorder.events)
        state.store.set(SCORES, scores)
        state.output = ModelOutput.from_content(str(state.model), f"score {scores['score']:g}")
        state.completed = True
        return state

    return solve


async def play_sample(suite: Suite, step: PlannedEpisode, recorder: EndableRecorder) -> None:
    """Play an episode in a thread; its thoughts are tasks that end with the sample.

    Raises:
        LimitExceededError: If a thought exceeds a limit of the sample.
        EpisodeError: If the episode fails.
    """

    async def watch() -> None:
        try:
            await sleep_forever()
        finally:
            recorder.end()

    keys = {"api_key": "" if suite.takes_key else None}
    play = partial(play_planned, step, recorder, play=suite.play, **keys)
    async with create_task_group() as group:
        sample = SampleTasks(group)
        group.start_soon(watch)
        SAMPLE.set(sample)
        with suppress(EndedError):
            await to_thread.run_sync(play, limiter=CapacityLimiter(1))
        group.cancel_scope.cancel()
    await checkpoint()  # ends here if the sample was cancelled: the episode failed because of that
    if sample.limit is not None:
        raise sample.limit
    if (error := complete_record(recorder.events).error) is not None:
        raise EpisodeError(error)


def write_events(recorder: Recorder) -> None:
    """Write a record to the transcript of the sample, without the chunks of thoughts."""
    write = partial(transcript().info, source="timeful")
    for event in recorder.events:
        if not isinstance(event, ThoughtChunk):
            write(msgspec.json.decode(msgspec.json.encode(event)))  # without tuples
    write({"sha256": recorder.sha256})


@scorer(metrics={"*": [mean(), stderr(cluster="cluster")]})
def outcome() -> Scorer:
    """Score an episode by its record; a sample that was cut has no score."""

    async def score(state: TaskState, target: Target) -> Score | None:
        scores = state.store.get(SCORES)
        return None if scores is None else Score(value=scores)

    return score


def make_task(name: str, given: dict[str, Any]) -> Task:
    """Make a task.

    Args:
        name: Its name.
        given: Its options.

    Raises:
        TaskError: If an option or a model is unknown, or a value does not fit.
    """
    options = json.dumps(given, sort_keys=True, default=str)
    episodes = load_episodes(name, options)
    try:
        steps = episodes.plan_samples()
    except SettingsError as error:
        raise TaskError(str(error)) from None
    samples = [
        Sample(
            id=step.key.removesuffix(f"-{episodes.source.epoch}0"),
            input=f"{episodes.suite.name}: {step.key}",
            metadata={
                "index": index,
                "cluster": str(getattr(step.episode, episodes.source.cluster)),
                **step.settings.get("episode", {}),
            },
        )
        for index, step in enumerate(steps)
    ]
    return Task(dataset=samples, solver=episode(name, options), scorer=outcome())


def _register(name: str) -> None:
    @task(name=name)
    def make(**options: Any) -> Task:
        return make_task(name, options)

    globals()[name] = make


for _name in SOURCES:
    _register(_name)
