"""Episodes of many thoughts as rollouts: a timer, a game, and programs in a sandbox."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch
from msgspec.structs import replace

from tests.training.material import config, metrics
from tests.training.talker import talker
from tests.training.test_grpo import gaps_of
from timeful.errors import SettingsError, TimefulError
from timeful.models.local.checkpoint import load
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.records.events import Sampled
from timeful.rewards.registry import Reward
from timeful.sandbox.workspace import choose_backend
from timeful.training.config import (
    CasesPart,
    Config,
    ModelPart,
    RewardPart,
    RolloutPart,
)
from timeful.training.grpo import RolloutFunction, train_grpo
from timeful.training.reward_functions import RecordReward
from timeful.training.rollout_tasks import make_rollout_tasks
from timeful.training.rollouts import Player, Rollout
from timeful.training.trajectory import WORLD, read_sequences
from timeful.training.trl_trainer import TimedGRPOTrainer

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

PROGRAM = "open('submission.csv','w').close()"
CALLS: dict[str, list[dict[str, Any]]] = {
    "reasoning": [{"name": "get_duration"}, {"name": "get_duration", "arguments": {}}],
    "fiction": [
        {"name": "step", "arguments": {"action": one}} for one in ("look", "north", "south", "wait")
    ]
    + [{"name": "get_score"}, {"name": "get_available_actions"}],
    "coding": [
        {"name": "execute_code_and_get_duration", "arguments": {"code": one}}
        for one in ("print(1)", PROGRAM.replace(" ", ""), "1/0")
    ],
}


def has_sandbox() -> bool:
    try:
        choose_backend()
    except TimefulError:
        return False
    return True


def settings(family: Any, folder: Path, **others: Any) -> Config:
    """Two cases of a family, with four episodes each; programs take real time, and are fewer."""
    is_code = family == "coding"
    model = talker(folder / "talker", *CALLS[family])
    of = {"reasoning": ("levels:8",), "fiction": ("skerry",), "coding": ("iris",)}
    cases = CasesPart(
        family=family,
        sets=of[family],
        size=2 if family == "reasoning" else None,
        budgets=("2s",) if is_code else ("2s", "4s"),
        soft=family != "fiction",
        token_seconds=0.05,
    )
    whole = config(
        model,
        folder / "out",
        cases=cases,
        reward=RewardPart(name="timely", credit="turn", discount=0.9),
        rollout=RolloutPart(cases=1 if is_code else 2),
        grpo={
            "num_generations": 2 if is_code else 4,
            "max_steps": 1 if is_code else 2,
            "learning_rate": 1e-2,
        },
        **others,
    )
    return replace(whole, model=ModelPart(path=str(model), adapter="full", dtype="float32"))


def check_rows(played: Sequence[Rollout]) -> None:
    """Rows hold the very ids and log-probabilities that were sampled, and mark them alone.

    Most episodes are one conversation; where one was silent, it was rewritten, and is two.
    """
    for one in played:
        assert one.ok, one.failure
        said = [event for event in one.events if isinstance(event, Sampled) and event.ids]
        found = read_sequences(one.events)
        assert one.sequence in found
        marked = sorted(
            (row.turns[i], r, i) for r, row in enumerate(found) for i, m in enumerate(row.mask) if m
        )
        assert [found[r].completion_ids[i] for _, r, i in marked] == [
            i for s in said for i in s.ids
        ]
        assert [found[r].logprobs[i] for _, r, i in marked] == [p for s in said for p in s.logprobs]
        # Each row is the last prompt of its conversation, with what was answered to it.
        ends = [tuple(s.prompt_ids) + tuple(s.ids) for s in said]
        assert all(row.ids in ends for row in found)
    assert any(
        len({*row.turns} - {WORLD}) > 1 for one in played for row in read_sequences(one.events)
    )


@pytest.mark.parametrize(
    "family",
    [
        "reasoning",
        "fiction",
        pytest.param(
            "coding",
            marks=pytest.mark.skipif(not has_sandbox(), reason="there is no sandbox here"),
        ),
    ],
)
def test_the_sampled_ids_are_learnt_from_and_what_the_world_said_is_masked(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = settings(family, tmp_path)
    scenes = make_rollout_tasks(found)
    player = Player(Sampler(load(Path(found.model.path))), generation=GenerationConfig())
    played = player.play(
        [(one, n) for one in scenes.values() for n in range(6 if family == "coding" else 12)]
    )
    check_rows(played)
    thoughts = [sum(isinstance(e, Sampled) for e in one.events) for one in played]
    assert max(thoughts) > 2, "it is a conversation"
    assert any(0 in one.sequence.mask for one in played if one.sequence), "the world speaks"

    seen: list[torch.Tensor] = []
    ordinary = TimedGRPOTrainer._by_turn

    def noted(self: Any, ids: torch.Tensor) -> torch.Tensor:
        seen.append(ordinary(self, ids))
        return seen[-1]

    monkeypatch.setattr(TimedGRPOTrainer, "_by_turn", noted)
    train_grpo(found, scenes, RecordReward(Reward(name="timely")))
    assert len(metrics(tmp_path / "out")) == found.grpo["max_steps"]
    assert not any(line["failed"] for line in metrics(tmp_path / "out"))
    assert len(seen) == found.grpo["max_steps"], "credit is given by turn"


def test_sampler_and_trainer_agree_over_many_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = settings("reasoning", tmp_path)
    gaps = gaps_of(found, monkeypatch)
    assert len(gaps) == 2
    assert max(gaps) < 1e-4


def test_each_token_has_the_advantage_of_its_turn(tmp_path: Path) -> None:
    found = settings("fiction", tmp_path)
    scenes = make_rollout_tasks(found)
    player = Player(Sampler(load(Path(found.model.path))), generation=GenerationConfig())
    key = next(iter(scenes))
    given = iter([0.0, 0.25, 0.5, 1.0])
    rolling = RolloutFunction(
        player=player,
        tasks=scenes,
        metrics=SimpleNamespace(note=lambda *_: None),  # type: ignore[arg-type]
        rewards=lambda groups, update, progress: [[next(given) for _ in groups[0]]],
        seed=0,
        by_turn=True,
        discount=0.9,
    )
    samples = rolling([key] * 4, 0, 0.0)
    assert [sample.reward for sample in samples] == [0.0, 0.25, 0.5, 1.0]
    for sample in samples:
        assert sample.sequence is not None
        assert sample.turns is not None
        assert max(sample.sequence.turns) < len(sample.turns)
    assert len({sample.turns for sample in samples}) == 4


def test_a_sandbox_that_is_missing_is_said_by_every_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from timeful.tasks import library

    def refused(*, unsafe: bool) -> Any:
        raise SettingsError("there is no sandbox")

    found = settings("coding", tmp_path)
    scenes = make_rollout_tasks(found)
    library.process_library.cache_clear()
    monkeypatch.setattr(library, "choose_backend", refused)
    with pytest.raises(TimefulError, match=r"every rollout of update 0 failed.*no sandbox"):
        train_grpo(found, scenes, RecordReward(Reward(name="timely")))
    library.process_library.cache_clear()
