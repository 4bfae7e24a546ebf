"""A training by reinforcement, on a decoder of a few thousand weights."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch
from msgspec.structs import replace
from trl.trainer.utils import RepeatSampler

from tests.training.material import checkpoint, config, metrics
from timeful.core.units import milliseconds
from timeful.errors import ModelError
from timeful.models.model import Model
from timeful.models.pace import Pace
from timeful.records.events import EpisodeFailed
from timeful.records.recorder import Recorder
from timeful.rewards.registry import Reward
from timeful.training.cases import timely_tasks
from timeful.training.checkpoints import SynchronizedCheckpoints, last_checkpoint, update_of
from timeful.training.config import Config, OptimiserPart, RewardPart
from timeful.training.folder import CHECKPOINTS, POLICY
from timeful.training.grpo import order, train_grpo
from timeful.training.reward_functions import reward_by_record
from timeful.training.rolling import RolloutFunction
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.rollouts import RewardFunction, Rollout
from timeful.training.trainer_arguments import grpo_arguments
from timeful.training.trajectory import Row
from timeful.training.trl_trainer import Sample, TimedGRPOTrainer

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("start"))


def length(
    groups: Sequence[Sequence[Rollout]], update: int, progress: float
) -> list[list[float | None]]:
    """A reward that everybody can earn: for saying little."""
    return [
        [-float(len(one.row.completion_ids)) if one.row else None for one in group]
        for group in groups
    ]


def train(
    settings: Config, rewards: RewardFunction = length, **others: Any
) -> dict[str, torch.Tensor]:
    """Train, and return the weights."""
    from transformers import AutoModelForCausalLM

    scenes = timely_tasks(
        settings.cases,
        max_tokens=settings.rollout.max_tokens,
        seed=settings.run.seed,
    )
    policy = train_grpo(settings, scenes, rewards, **others)
    return dict(AutoModelForCausalLM.from_pretrained(policy).state_dict())


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


class KilledError(Exception):
    """Ends a training in its midst."""


def killed_at(update: int) -> Any:
    """A progress that ends a training after so many updates, before a checkpoint is written."""

    def progress(done: int, of: int) -> None:
        if done == update:
            raise KilledError

    return progress


@pytest.mark.parametrize(
    ("optimiser", "last"),
    [
        # The third update begins the second pass over the cases.
        (OptimiserPart(steps=3, learning_rate=1e-3), 2),
        # Rollouts that are learnt from twice are not left in between.
        (OptimiserPart(steps=4, learning_rate=1e-3, epochs=2, micro_batch=4), 2),
    ],
    ids=["one epoch", "two epochs"],
)
def test_the_same_seed_trains_the_same_model_also_after_it_was_killed(
    start: Path, tmp_path: Path, optimiser: OptimiserPart, last: int
) -> None:
    whole = train(config(start, tmp_path / "whole", optimiser=optimiser))
    settings = config(start, tmp_path / "cut", optimiser=optimiser)
    with pytest.raises(KilledError):
        train(settings, progress=killed_at(optimiser.steps))
    assert update_of(last_checkpoint(tmp_path / "cut")) == last
    assert same(train(settings), whole)
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")
    shutil.rmtree(tmp_path / "cut" / POLICY)  # killed before it was written
    assert same(train(settings), whole)
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")


def test_another_seed_trains_another_model(start: Path, tmp_path: Path) -> None:
    settings = config(start, tmp_path / "one")
    other = config(start, tmp_path / "other")
    other = replace(other, run=replace(other.run, seed=1))
    assert not same(train(settings), train(other))


def test_a_checkpoint_with_a_file_cut_short_is_passed_over(start: Path, tmp_path: Path) -> None:
    train(config(start, tmp_path))
    newest = last_checkpoint(tmp_path)
    assert newest is not None
    assert update_of(newest) == 3
    for name in (
        "model.safetensors",
        "optimizer.pt",
        "scheduler.pt",
        "rng_state.pth",
        "trainer_state.json",
    ):
        path = Path(newest) / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert update_of(last_checkpoint(tmp_path)) == 2, name
        path.write_bytes(whole)
    (Path(newest) / "optimizer.pt").unlink()
    assert update_of(last_checkpoint(tmp_path)) == 2
    assert last_checkpoint(tmp_path / "elsewhere") is None


def test_the_last_file_of_a_checkpoint_waits_for_all_processes() -> None:
    done: list[str] = []

    class Trainer:
        def _save_rng_state(self, output_dir: str) -> None:
            done.append(f"written in {output_dir}")

    class Together(SynchronizedCheckpoints, Trainer):
        accelerator = SimpleNamespace(wait_for_everyone=lambda: done.append("waited"))

    Together()._save_rng_state("here")
    assert done == ["written in here", "waited"]
    assert issubclass(TimedGRPOTrainer, SynchronizedCheckpoints)


@pytest.mark.parametrize("shuffle", [True, False])
def test_cases_come_in_the_order_that_trl_gives_them_pass_by_pass(
    tmp_path: Path, shuffle: bool
) -> None:
    keys = [str(n) for n in range(7)]
    optimiser = OptimiserPart(steps=9, epochs=2)
    found = config(tmp_path, tmp_path, optimiser=optimiser)
    found = replace(found, rollout=replace(found.rollout, shuffle=shuffle))
    theirs = RepeatSampler(keys, mini_repeat_count=1, batch_size=2, shuffle=shuffle, seed=0)
    assert order(keys, found) == [keys[i] for _ in range(2) for i in theirs]
    assert len(order(keys, found)) >= 2 * 5, "for five batches of rollouts"


def test_trl_is_told_what_the_settings_say(tmp_path: Path) -> None:
    part = OptimiserPart(
        steps=40,
        learning_rate=3e-4,
        warmup=4,
        schedule="cosine",
        clip_low=0.1,
        clip_high=0.3,
        ratio_cap=5.0,
        kl=0.02,
        scale="batch",
        loss="dr_grpo",
        entropy=0.01,
        epochs=3,
        micro_batch=2,
        max_grad_norm=0.7,
        recompute=False,
    )
    found = config(tmp_path, tmp_path, optimiser=part)
    run = replace(found.run, seed=9, keep=5, save_every=4)
    told = grpo_arguments(replace(found, run=run, rollout=replace(found.rollout, temperature=0.6)))
    wanted = {
        "max_steps": 40,
        "learning_rate": 3e-4,
        "warmup_steps": 4,
        "lr_scheduler_type": "cosine",
        "epsilon": 0.1,
        "epsilon_high": 0.3,
        "delta": 5.0,
        "beta": 0.02,
        "scale_rewards": "batch",
        "loss_type": "dr_grpo",
        "entropy_coef": 0.01,
        "num_iterations": 3,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "steps_per_generation": 4,
        "num_generations": 4,
        "max_completion_length": 12,
        "temperature": 0.6,
        "max_grad_norm": 0.7,
        "gradient_checkpointing": False,  # TRL would
        "seed": 9,
        "save_total_limit": 5,
        "save_steps": 6,
    }
    assert {name: getattr(told, name) for name in wanted} == wanted


def test_rollouts_are_played_and_credited_as_the_settings_say(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[RolloutFunction] = []

    def called(self: RolloutFunction, *args: Any) -> Any:
        seen.append(self)
        raise KilledError

    monkeypatch.setattr(RolloutFunction, "__call__", called)
    found = config(start, tmp_path, reward=RewardPart(name="timely", credit="turn", discount=0.9))
    found = replace(
        found,
        rollout=replace(found.rollout, temperature=0.6, at_once=3),
        optimiser=replace(found.optimiser, scale="none"),
        run=replace(found.run, seed=9),
    )
    with pytest.raises(KilledError):
        train(found)
    (rolling,) = seen
    assert (rolling.seed, rolling.by_turn, rolling.discount, rolling.scale) == (9, True, 0.9, False)
    player = rolling.player
    assert (player._style.temperature, player._at_once) == (0.6, 3)
    assert player._pace == Pace(per_token=milliseconds(100))


def test_who_has_no_row_is_one_masked_token_without_a_reward() -> None:
    row = Row(prompt_ids=(5,), completion_ids=(6, 7), logprobs=(-1.0, 0.0), mask=(1, 0), turns=())
    samples = [Sample(row=row, reward=0.5), Sample(row=None, reward=0.25)]
    asked: list[Any] = []

    def roll(*args: Any) -> list[Sample]:
        asked.append(args)
        return samples

    trainer: Any = SimpleNamespace(
        roll=roll,
        state=SimpleNamespace(global_step=1, max_steps=4),
        processing_class=SimpleNamespace(eos_token_id=2),
    )
    assert TimedGRPOTrainer.play(trainer, ["a", "a"]) == {
        "prompt_ids": [[5], [2]],
        "completion_ids": [[6, 7], [2]],
        "logprobs": [[-1.0, 0.0], [0.0]],
        "env_mask": [[1, 0], [0]],
        "reward": [0.5, None],
    }
    assert asked == [(["a", "a"], 1, 0.25)]


def test_the_last_checkpoint_is_the_one_of_most_updates(tmp_path: Path) -> None:
    for update in (9, 10, 100, 20):
        (tmp_path / CHECKPOINTS / f"checkpoint-{update}").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeful.training.checkpoints._is_whole", lambda path: "100" not in path.name)
        assert update_of(last_checkpoint(tmp_path)) == 20


def gaps_of(settings: Config, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """By how much the sampler's log-probabilities differ from the trainer's, at each update."""
    gaps: list[float] = []
    ordinary = TimedGRPOTrainer._compute_loss

    def compared(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        with torch.no_grad():
            found, *_ = self._get_per_token_logps_and_entropies(
                model, ids, mask, inputs["completion_ids"].shape[1]
            )
        said = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        gaps.append(float((found - inputs["sampling_per_token_logps"])[said].abs().max()))
        return ordinary(self, model, inputs)

    monkeypatch.setattr(TimedGRPOTrainer, "_compute_loss", compared)
    train(settings)
    return gaps


def test_the_sampler_and_the_trainer_find_the_same_probabilities(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = gaps_of(config(start, tmp_path), monkeypatch)
    assert len(gaps) == 3
    assert max(gaps) < 1e-4


def test_what_is_rewarded_becomes_more_likely(start: Path, tmp_path: Path) -> None:
    settings = config(start, tmp_path, optimiser=OptimiserPart(steps=12, learning_rate=2e-2))
    train(settings)
    rewards = [line["reward"] for line in metrics(tmp_path)]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 2


@dataclass(frozen=True)
class Fragile:
    """A scene that breaks for every second seed."""

    inner: RolloutTask

    @property
    def key(self) -> str:
        return self.inner.key

    @property
    def turn(self) -> None:
        return

    def play(self, model: Model, recorder: Recorder, *, sampling: int) -> bool:
        if sampling % 2:
            return self.inner.play(model, recorder, sampling=sampling)
        recorder.write(EpisodeFailed(at=0, boundary="world", error="out of order"))
        return False


def test_a_rollout_that_fails_is_counted_and_left_out(start: Path, tmp_path: Path) -> None:
    seen: list[Sequence[float | None]] = []
    cases: list[str] = []

    def rewards(
        groups: Sequence[Sequence[Rollout]], update: int, progress: float
    ) -> Sequence[Sequence[float | None]]:
        given = reward_by_record(Reward(name="ep_aware"))(groups, update, progress)
        seen.extend(given)
        cases.extend(group[0].scene.key for group in groups)
        return given

    settings = config(start, tmp_path)
    scenes = timely_tasks(settings.cases, max_tokens=12, seed=0)
    train_grpo(settings, {key: Fragile(one) for key, one in scenes.items()}, rewards)
    assert cases == [scenes[key].key for key in order(list(scenes), settings)[:6]]
    failed = sum(reward is None for group in seen for reward in group)
    assert 0 < failed < 24
    assert sum(line["failed"] for line in metrics(tmp_path)) == failed
    told = [reward for group in seen for reward in group if reward is not None]
    of_trl = [line["trl"]["reward"] * (8 - line["failed"]) for line in metrics(tmp_path)]
    assert sum(of_trl) == pytest.approx(sum(told), abs=1e-5)


def test_a_training_ends_only_when_the_rollouts_of_all_processes_failed() -> None:
    def play(tasks: Sequence[tuple[RolloutTask, int]]) -> list[Rollout]:
        why = EpisodeFailed(at=0, boundary="model", error="ModelError: out of order")
        return [Rollout(scene=one, sampling=n, events=(why,), ok=False) for one, n in tasks]

    def rolling(others: list[str | None]) -> RolloutFunction:
        return RolloutFunction(
            player=SimpleNamespace(sampler=SimpleNamespace(), play=play),  # type: ignore[arg-type]
            scenes={"a": SimpleNamespace(key="a")},  # type: ignore[dict-item]
            rewards=reward_by_record(Reward(name="ep_aware")),
            seed=0,
            gather=lambda own: [*own, *others],
        )

    samples = rolling([None])(["a", "a"], 0, 0.0)
    assert [(one.row, one.reward) for one in samples] == [(None, None)] * 2
    with pytest.raises(ModelError, match="out of order") as failure:
        rolling(["late"])(["a", "a"], 0, 0.0)
    assert "ModelError" not in str(failure.value), "the class of an error is no part of its message"
