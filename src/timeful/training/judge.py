"""The requests of a training to its judge: their estimate, and one budget for all processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from timeful.core.source import Chunk
from timeful.errors import RecordError
from timeful.experiments.estimate import SAMPLE, Estimate, project
from timeful.judges.candidates import candidate
from timeful.judges.ruler_log import Judgement
from timeful.judges.ruler_prompts import VERDICT_TOKENS, Trajectory, question
from timeful.models.demand import Demand
from timeful.models.model import Message
from timeful.models.model_spec import ModelSpec
from timeful.models.prices import Price
from timeful.models.request import MOST_TOKENS, estimate_prompt
from timeful.models.scripted import ScriptedModel
from timeful.models.traffic import TRAFFIC, Limits, Traffic
from timeful.records.recorder import Recorder
from timeful.records.store import read_log
from timeful.training.config import Config
from timeful.training.folder import find_logs
from timeful.training.rollout_tasks import RolloutTask

_GRAIN = 4
_FILLER = Chunk("abc " * _GRAIN, _GRAIN)  # of 4 bytes a token, as prompts are estimated


def count_groups(config: Config) -> int:
    """The groups of all updates; episodes that are learnt from several times are judged once."""
    updates: int = ceil(config.grpo["max_steps"] / config.grpo["num_iterations"])
    return updates * config.rollout.cases


def estimate_judge(
    config: Config,
    tasks: Mapping[str, RolloutTask],
    *,
    replace_run: bool = False,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
    check: Callable[[Sequence[ModelSpec]], object] = lambda _: None,
) -> Estimate:
    """Estimate what the judge of a training will be asked. Sends and writes nothing.

    Some tasks are played by a model whose answers are as long as their limit; a policy with
    shorter answers makes shorter prompts. If the judge has scored groups, their means count.

    Args:
        config: The settings, with a judge.
        tasks: The tasks by their keys.
        replace_run: Whether the training in the folder is replaced.
        limits: The limits of the traffic to the judge.
        prices: Prices given by hand.
        check: Checks the judge before anything is played.
    """
    assert config.judge is not None, "only called with a judge"
    judge, rubric, out = config.judge.choose(), config.judge.rubric(), Path(config.run.out)
    logs = [] if replace_run else find_logs(out)
    scored = {line.key for path in logs for line in read_log(path, Judgement) if line.verdicts}
    missing = max(0, count_groups(config) - len(scored))
    check([judge] if missing else [])
    size, all_tasks = config.grpo["num_generations"], list(tasks.values())
    demand, sample = Demand(), all_tasks[:: max(1, len(all_tasks) // SAMPLE)][:SAMPLE]
    most = rubric.max_tokens or MOST_TOKENS
    for task in sample:
        if attempts := _make_attempts(task, size, config.grpo["max_completion_length"]):
            text = question(attempts)
            prompt = estimate_prompt((Message("system", rubric.system), Message("user", text)))
            verdicts = min(most, size * VERDICT_TOKENS)
            demand.add(Demand(requests=1, prompt=prompt, completion=verdicts, most=most))
    return project(
        {(judge.name, judge.endpoint or "", "judge"): demand.scale(1 / len(sample))},
        out,
        [judge],
        missing=missing,
        finished=len(scored),
        sampled=len(sample),
        limits=limits or Limits(connections=config.judge.max_concurrent_api_number),
        prices=prices,
        noun="groups",
        source="of attempts that are as long as their limit",
        whole="The judge",
    )


def _make_attempts(task: RolloutTask, size: int, most: int) -> list[Trajectory]:
    """Different attempts at a task, as long as they may be; none if the judge is not asked."""
    recorder = Recorder()
    task.play(ScriptedModel(lambda _: [_FILLER] * ceil(most / _GRAIN)), recorder, sampling=0)
    try:
        messages = candidate(recorder.events)
    except RecordError:
        return []
    return [
        tuple(
            Message(m.role, f"{number} {m.content}") if m.role == "assistant" else m
            for m in messages
        )
        for number in range(size)
    ]


@contextmanager
def share_traffic(accelerator: Any) -> Iterator[None]:
    """Let the requests of all processes of a training have the limits and budget of the first.

    Args:
        accelerator: The accelerator of the trainer.
    """
    if accelerator.num_processes == 1:
        yield
        return
    # of an extra, and slow to load
    from accelerate.utils import broadcast_object_list  # noqa: PLC0415

    own, rank = TRAFFIC.get(), accelerator.process_index
    with TemporaryDirectory(prefix="timeful-traffic-", ignore_cleanup_errors=True) as folder:
        limits, spending, place = broadcast_object_list([own.limits, own.spending, folder])
        traffic = Traffic(
            limits,
            folder=Path(place),
            index=rank,
            processes=accelerator.num_processes,
            spending=spending if rank else own.spending,
        )
        token = TRAFFIC.set(traffic)
        try:
            yield
        finally:
            TRAFFIC.reset(token)
