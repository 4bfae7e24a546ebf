"""Episodes of timeful as a taskset and a harness of verifiers; tested with verifiers 0.4.0.

The harness plays an episode in a thread of this process. Each thought is a request to the endpoint
of the rollout, so verifiers sees and records all calls.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, ClassVar

import msgspec
import verifiers.v1 as vf
from pydantic import Field, model_validator
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.runtimes import ProgramResult, Runtime

from timeful.bridges.episodes import EndableRecorder, TaskEpisodes
from timeful.bridges.scores import read_scores
from timeful.errors import EpisodeError, SettingsError, check_known
from timeful.experiments.run import play_planned
from timeful.experiments.sweep import PlannedEpisode
from timeful.models.cancellation import CancellableModel
from timeful.models.chat import OpenAIModel
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import Pace
from timeful.models.role import replace_models
from timeful.records.events import ThoughtEnded
from timeful.records.summary import complete_record

__all__ = ["TimedHarness", "TimedTaskset"]

_SEEDS = 1 << 31


class TimedConfig(vf.TasksetConfig):
    """The settings of a taskset."""

    suite: str = "snake"
    """Task: freeway, snake, overcooked, inbox, kitchen, reasoning, fiction or dialogues."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of `timeful run` by name, such as `{seeds = 4, difficulty = "easy"}`."""
    reward: str = ""
    """Score that is the reward; the normalised score, else the first metric by default."""

    @model_validator(mode="after")
    def _check(self) -> "TimedConfig":
        try:
            plan(self.suite, msgspec.json.encode(self.options), "openai:model")
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return self


class TimedData(vf.TaskData):
    """An episode: its place in the plan of its suite."""

    suite: str
    options: dict[str, Any]
    number: int
    reward: str


class TimedTask(vf.Task[TimedData, vf.State, vf.TaskConfig]):
    """The rewards and metrics of an episode, as its record has them."""

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """The score that is the reward."""
        scores: Mapping[str, float] = trace.info["timeful"]["scores"]
        if not self.data.reward:
            others = [name for name in scores if name != "score"]
            return scores.get("normalised", scores[others[0]] if others else scores["score"])
        check_known("score", self.data.reward, scores)
        return scores[self.data.reward]

    @vf.metric
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        """The scores of the episode, and its tokens."""
        record: Mapping[str, Any] = trace.info["timeful"]
        return {**record["scores"], "tokens": float(record["tokens"])}

    async def validate(self, runtime: Runtime) -> bool | None:
        """Check that the episode can be made."""
        options = msgspec.json.encode(self.data.options)
        return self.data.number < len(plan(self.data.suite, options, "openai:model"))


class TimedTaskset(vf.Taskset[TimedTask, TimedConfig]):
    """The episodes of a suite, one task each."""

    def load(self) -> Iterator[TimedTask]:
        """Plan the episodes."""
        config = self.config
        for number, step in enumerate(
            plan(config.suite, msgspec.json.encode(config.options), "openai:model")
        ):
            yield TimedTask(
                TimedData(
                    name=step.key,
                    prompt=f"{config.suite}: {step.key}",
                    suite=config.suite,
                    options=config.options,
                    number=number,
                    reward=config.reward,
                ),
                config.task,
            )


class RolloutModels:
    """The models of the roles of an episode: the endpoint of a rollout at the pace of each.

    Args:
        endpoint: The client of the endpoint.
    """

    def __init__(self, endpoint: OpenAIModel) -> None:
        self._endpoint = endpoint
        self._models: dict[Pace | None, CancellableModel] = {}

    def connect(self, _: str, spec: ModelSpec) -> ModelSpec:
        """A role that the endpoint answers."""
        return replace(spec, base_url=self._endpoint.base_url, client=self.make)

    def make(self, pace: Pace | None) -> CancellableModel:
        """The endpoint at a pace."""
        if pace not in self._models:
            self._models[pace] = CancellableModel(replace(self._endpoint, pace=pace))
        return self._models[pace]

    def stop(self) -> None:
        """End all thoughts; further ones fail."""
        for model in self._models.values():
            model.stop()


class TimedHarnessConfig(HarnessConfig):
    """The settings of the harness: none of its own."""


class TimedHarness(vf.Harness[TimedHarnessConfig]):
    """Plays an episode against the endpoint of a rollout."""

    EXECUTES_CODE: ClassVar[bool] = False
    NEEDS_CONTAINER: ClassVar[bool] = False

    async def launch(
        self,
        ctx: ModelContext,
        trace: vf.Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TimedData,
    ) -> ProgramResult:
        """Play the episode of a task to its end.

        Raises:
            EpisodeError: If it fails.
        """
        models = RolloutModels(OpenAIModel(model=ctx.model, base_url=endpoint, api_key=secret))
        recorder = EndableRecorder()
        episodes = load_episodes(data.suite, msgspec.json.encode(data.options))
        steps = plan(data.suite, msgspec.json.encode(data.options), f"openai:{ctx.model}")
        number = int(sha256(trace.id.encode()).hexdigest(), 16) % _SEEDS
        step = episodes.repeat(steps[data.number], number)
        step = replace(step, episode=replace_models(step.episode, models.connect))
        keys = {"api_key": secret if episodes.suite.takes_key else None}
        play = partial(play_planned, step, recorder, play=episodes.suite.play, **keys)
        try:
            await asyncio.to_thread(play)
        finally:
            recorder.end()
            models.stop()
        record = complete_record(recorder.events)
        if record.error is not None:
            raise EpisodeError(record.error)
        thoughts = [event for event in recorder.events if isinstance(event, ThoughtEnded)]
        trace.info["timeful"] = {
            "scores": read_scores(episodes.suite, recorder.events),
            "tokens": sum(thought.tokens for thought in thoughts),
            "settings": msgspec.json.decode(msgspec.json.encode(record.settings)),
            "sha256": recorder.sha256,
        }
        return ProgramResult(exit_code=0, stdout="", stderr="")


@lru_cache(maxsize=16)
def load_episodes(suite: str, options: bytes) -> TaskEpisodes:
    """The episodes of a suite; its options as JSON."""
    return TaskEpisodes(suite, msgspec.json.decode(options))


@lru_cache(maxsize=16)
def plan(suite: str, options: bytes, model: str) -> Sequence[PlannedEpisode]:
    """The episodes of a suite with a model, in the order of the tasks.

    Raises:
        SettingsError: If a name is unknown or a value does not fit.
    """
    return load_episodes(suite, options).plan({"model": model})
