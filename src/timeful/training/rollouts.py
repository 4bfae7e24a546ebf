"""Rollouts: groups of episodes on the timeline, many at once, by a model that is learning.

Each episode has a thread and a slot; whenever all open episodes wait for the model, they are
sampled as one batch. So the batches, and with them the records, are the same each time. A group
shares its task, and with it the world's seed and clock; each member samples by a seed of its own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from timeful.errors import ModelError
from timeful.models.local.batching import Batcher, Slot
from timeful.models.local.model import LocalModel
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.records.events import Entry, EpisodeFailed
from timeful.records.recorder import Recorder
from timeful.seeding import child, child_seed
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.trajectory import TrainingSequence, read_sequences, turn_rewards

AT_ONCE = 256
"""The most episodes that are played at once: each has a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """An episode that was played.

    Attributes:
        task: The task.
        sampling: The seed of what the model sampled.
        events: The record.
        ok: Whether the episode came to its end; False if it failed.
    """

    task: RolloutTask
    sampling: int
    events: tuple[Entry, ...]
    ok: bool

    @property
    def sequence(self) -> TrainingSequence | None:
        """The tokens to learn from; None if the episode failed or nothing was sampled.

        Of several conversations one is drawn by the sampling seed, each by its sampled tokens, so
        that every token has the same chance to be learnt from.
        """
        sequences = read_sequences(self.events) if self.ok else ()
        if len(sequences) < 2:
            return sequences[0] if sequences else None
        counts = [sum(sequence.mask) for sequence in sequences]
        rng = child(self.sampling, "conversation")
        return sequences[rng.choice(len(sequences), p=[n / sum(counts) for n in counts])]

    @property
    def failure(self) -> str:
        """The failure's message; empty if the episode did not fail."""
        failures = [event for event in self.events if isinstance(event, EpisodeFailed)]
        if not failures:
            return ""
        return failures[-1].error.removeprefix(f"{ModelError.__name__}: ")

    @property
    def turn_rewards(self) -> tuple[float, ...]:
        """The world's own rewards after each thought."""
        return turn_rewards(self.events)

    def save(self, folder: Path, update: int) -> Path:
        """Write the record, in a folder for the update."""
        path = folder / f"{update:05d}" / f"{self.task.key}-{self.sampling}.jsonl"
        recorder = Recorder(path)
        for event in self.events:
            recorder.write(event)
        recorder.close()
        return path


class Player:
    """Plays tasks by a sampler's model.

    Args:
        sampler: The model's weights, which may change between two calls.
        generation: How it samples.
        pace: What a token costs.
        name: The model's name in records.
        at_once: The most episodes at once, 1 or more. Another number gives other batches, and so
            perhaps other last bits.
    """

    def __init__(
        self,
        sampler: Sampler,
        *,
        generation: GenerationConfig,
        pace: Pace = TOKEN_TIME,
        name: str = "policy",
        at_once: int = AT_ONCE,
    ) -> None:
        self.sampler = sampler
        self._generation = generation
        self._pace = pace
        self._name = name
        self._at_once = at_once

    def play(self, episodes: Sequence[tuple[RolloutTask, int]]) -> list[Rollout]:
        """Play tasks, each with a sampling seed; the rollouts are in their order.

        Raises:
            KernelError: A bug of the timeline; any other error fails its episode.
        """
        rollouts: list[Rollout] = []
        for start in range(0, len(episodes), self._at_once):
            wave = episodes[start : start + self._at_once]
            with (
                Batcher(self.sampler, policy="together") as batcher,
                ThreadPoolExecutor(len(wave)) as pool,
            ):
                try:
                    slots = batcher.slots(len(wave))
                    futures = [
                        pool.submit(self._play, task, sampling, slot)
                        for (task, sampling), slot in zip(wave, slots, strict=True)
                    ]
                    rollouts += [future.result() for future in futures]
                except BaseException:
                    batcher.close()  # or the pool would wait until every episode is over
                    raise
        return rollouts

    def _play(self, task: RolloutTask, sampling: int, slot: Slot) -> Rollout:
        recorder = Recorder()
        with slot:
            model = LocalModel(
                self.sampler.checkpoint,
                slot,
                generation=self._generation,
                pace=self._pace,
                name=self._name,
            )
            ok = task.play(model, recorder, sampling=sampling)
        return Rollout(task=task, sampling=sampling, events=tuple(recorder.events), ok=ok)


RewardFunction = Callable[
    [Sequence[Sequence[Rollout]], int, float], Sequence[Sequence[float | None]]
]
"""Rewards the groups of an update, each of one task; with the number of the update, and how far the
training is, from 0 to 1. None is an episode that failed, or a group that a judge could not score.
"""


def sampling_seed(seed: int, update: int, key: str, member: int) -> int:
    """The seed of what one member of a group samples; it depends on nothing else."""
    return child_seed(seed, "rollout", update, key, member)
