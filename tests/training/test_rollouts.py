"""Whose seed each rollout samples by, which conversation is learnt from, and what is told of it."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from tests.training.test_trajectory import begun, said
from timeful.core.units import milliseconds
from timeful.models.local.batching import Batcher, Slot
from timeful.models.local.request import GenerationConfig
from timeful.models.pace import Pace
from timeful.records.events import EpisodeFailed
from timeful.training.grpo import RolloutFunction
from timeful.training.rollouts import Player, Rollout, sampling_seed

SCENE: Any = SimpleNamespace(key="a")


def test_every_rollout_samples_by_a_seed_of_its_own() -> None:
    named = list(product((0, 1), (0, 1), ("a", "b"), range(4)))
    assert len({sampling_seed(*one) for one in named}) == len(named)
    assert sampling_seed(1, 0, "a", 3) == sampling_seed(1, 0, "a", 3)


def test_of_several_conversations_one_is_drawn_by_how_much_was_said_in_it() -> None:
    events = (begun(0), said(0, (1,), 5, 6, 7), begun(1), said(1, (2,), 5))
    drawn = Counter(
        one.sequence.prompt_ids
        for one in (Rollout(task=SCENE, sampling=n, events=events, ok=True) for n in range(400))
        if one.sequence
    )
    # Three in four; four standard deviations are 35.
    assert drawn.total() == 400
    assert 265 < drawn[1,] < 335
    failed = Rollout(task=SCENE, sampling=0, events=events, ok=False)
    assert failed.sequence is None


def test_so_many_are_played_at_once_as_asked_for_and_by_the_player_s_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waves: list[int] = []
    slots = Batcher.slots

    def noted(of: Batcher, count: int) -> Sequence[Slot]:
        waves.append(count)
        return slots(of, count)

    monkeypatch.setattr(Batcher, "slots", noted)
    style, pace = GenerationConfig(temperature=0.7), Pace(per_token=milliseconds(3))
    sampler: Any = SimpleNamespace(policy=0, checkpoint=SimpleNamespace(name="tiny"))
    player = Player(sampler, generation=style, pace=pace, name="ours", at_once=2)

    def play(model: Any, recorder: Any, *, sampling: int) -> bool:
        assert (model._generation, model.pace, model.name) == (style, pace, "ours")
        assert not model._slot.streams, "whoever plays at once is sampled as one batch"
        recorder.write(EpisodeFailed(at=sampling, boundary="world", error="out of order"))
        return sampling != 3

    scene: Any = SimpleNamespace(key="a", play=play)
    played = player.play([(scene, n) for n in range(5)])
    assert waves == [2, 2, 1]
    assert [(one.sampling, one.events[0].at, one.ok) for one in played] == [
        (n, n, n != 3) for n in range(5)
    ]


def test_a_group_shares_its_task_and_its_members_are_numbered_over_processes() -> None:
    played: list[tuple[str, int]] = []
    notes: list[Any] = []
    sampler = SimpleNamespace(policy=0)

    def play(episodes: Sequence[tuple[Any, int]]) -> list[Rollout]:
        played.extend((task.key, seed) for task, seed in episodes)
        assert sampler.policy == 7, "records name the weights that they are of"
        return [Rollout(task=task, sampling=n, events=(), ok=True) for task, n in episodes]

    def rewards(groups: Any, update: int, progress: float) -> list[list[float | None]]:
        notes.append((update, progress, [len(group) for group in groups]))
        return [[float(n), *(None for _ in group[1:])] for n, group in enumerate(groups)]

    def note(update: int, rollouts: Any, given: Any) -> None:
        notes.append((update, len(rollouts), given))

    player: Any = SimpleNamespace(sampler=sampler, play=play)
    tasks: Any = {key: SimpleNamespace(key=key) for key in "ab"}
    metrics: Any = SimpleNamespace(note=note)
    function = RolloutFunction(
        player=player, tasks=tasks, rewards=rewards, metrics=metrics, seed=5, first_member=2
    )
    function(["a", "a", "b"], 7, 0.25)
    assert notes == [(7, 0.25, [2, 1]), (7, 3, [0.0, None, 1.0])]
    # The first group began in another process; the second one begins here.
    wanted = [("a", 2), ("a", 3), ("b", 0)]
    assert played == [(key, sampling_seed(5, 7, key, member)) for key, member in wanted]
