"""Rollouts: groups of episodes on the timeline, many at once, by a model that is learning.

Each episode has a thread and a slot; whenever all that go on wait for the model, they are sampled
as one batch. So the batches, and with them the records, are the same each time. A group shares its
scene, and with it the world's seed and clock; what is sampled in it differs by a seed of its own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from timeful import errors
from timeful.models.local.batching import Batcher, Slot
from timeful.models.local.model import LocalModel
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.records.events import EpisodeFailed, Event
from timeful.records.recorder import Recorder
from timeful.seeding import child, child_seed
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.trajectory import Row, rows, turn_rewards

AT_ONCE = 256
"""The most episodes that are played at once: each has a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """An episode that was played; `ok` is False if it failed."""

    scene: RolloutTask
    sampling: int
    events: tuple[Event, ...]
    ok: bool

    @property
    def row(self) -> Row | None:
        """What it gives an optimiser to learn from; None if it failed or nobody said a word.

        Of several conversations one is drawn by its seed, each by how much was sampled in it, so
        that every token has the same chance to be learnt from.
        """
        found = rows(self.events) if self.ok else ()
        if len(found) < 2:
            return found[0] if found else None
        said = [sum(row.mask) for row in found]
        rng = child(self.sampling, "conversation")
        return found[rng.choice(len(found), p=[n / sum(said) for n in said])]

    def keep(self, folder: Path, update: int) -> Path:
        """Write its record, in a folder for the update."""
        path = folder / f"{update:05d}" / f"{self.scene.key}-{self.sampling}.jsonl"
        recorder = Recorder(path)
        for event in self.events:
            recorder.write(event)
        recorder.close()
        return path

    @property
    def failure(self) -> str:
        """Return the failure's message; empty if the episode did not fail."""
        failures = [event for event in self.events if isinstance(event, EpisodeFailed)]
        if not failures:
            return ""
        error = failures[-1].error
        kind, _, message = error.partition(": ")
        return message if hasattr(errors, kind) else error  # an error of ours needs no class

    @property
    def turn_rewards(self) -> tuple[float, ...]:
        """What each of its thoughts brought, by the world's own rewards."""
        return turn_rewards(self.events)


class Player:
    """Plays scenes by a sampler's model.

    Args:
        sampler: Whose weights act; they may change between two calls.
        style: How it samples.
        pace: What a token costs.
        name: What records call it.
        at_once: The most episodes at once, 1 or more. Another number gives other batches, and so
            perhaps other last bits.
    """

    def __init__(
        self,
        sampler: Sampler,
        *,
        style: GenerationConfig,
        pace: Pace = TOKEN_TIME,
        name: str = "policy",
        at_once: int = AT_ONCE,
    ) -> None:
        self.sampler = sampler
        self._style = style
        self._pace = pace
        self._name = name
        self._at_once = at_once

    def play(self, tasks: Sequence[tuple[RolloutTask, int]]) -> list[Rollout]:
        """Play scenes, each with a seed of what is sampled; in their order.

        Raises:
            KernelError: A bug of the timeline; anything else that goes wrong fails its episode.
        """
        found: list[Rollout] = []
        for start in range(0, len(tasks), self._at_once):
            wave = tasks[start : start + self._at_once]
            with (
                Batcher(self.sampler, policy="together") as batcher,
                ThreadPoolExecutor(len(wave)) as pool,
            ):
                try:
                    slots = batcher.slots(len(wave))
                    waiting = [
                        pool.submit(self._play, scene, sampling, slot)
                        for (scene, sampling), slot in zip(wave, slots, strict=True)
                    ]
                    found += [one.result() for one in waiting]
                except BaseException:
                    batcher.close()  # or the pool would wait until every episode is over
                    raise
        return found

    def _play(self, scene: RolloutTask, sampling: int, slot: Slot) -> Rollout:
        recorder = Recorder()
        with slot:
            model = LocalModel(
                self.sampler.checkpoint,
                slot,
                generation=self._style,
                pace=self._pace,
                name=self._name,
            )
            ok = scene.play(model, recorder, sampling=sampling)
        return Rollout(scene=scene, sampling=sampling, events=tuple(recorder.events), ok=ok)


RewardFunction = Callable[
    [Sequence[Sequence[Rollout]], int, float], Sequence[Sequence[float | None]]
]
"""The rewards of the groups of an update, each group of one scene, given the number of the update
and how far the training is (0 to 1).

None is no reward: of an episode that failed, or of a group that a judge could not score."""


def sampling_seed(seed: int, update: int, key: str, member: int) -> int:
    """The seed of what one member of a group samples; it depends on nothing that is not named."""
    return child_seed(seed, "rollout", update, key, member)
