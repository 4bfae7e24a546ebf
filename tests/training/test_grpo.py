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
from timeful.errors import ModelError, SettingsError
from timeful.models.model import Model
from timeful.models.pace import Pace
from timeful.records.events import EpisodeFailed
from timeful.records.recorder import Recorder
from timeful.rewards.registry import Reward
from timeful.training import grpo as grpo_module
from timeful.training.checkpoints import SynchronizedCheckpoints, last_checkpoint, update_of
from timeful.training.config import Config, RewardPart, RolloutPart, RunPart
from timeful.training.folder import CHECKPOINTS, POLICY
from timeful.training.grpo import RolloutFunction, order_tasks, train_grpo
from timeful.training.observer import TrainingObserver
from timeful.training.reward_functions import RecordReward
from timeful.training.rollout_tasks import RolloutTask, timely_tasks
from timeful.training.rollouts import RewardFunction, Rollout
from timeful.training.trainer_arguments import grpo_arguments, trainer_arguments
from timeful.training.trajectory import TrainingSequence
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
        [-float(len(one.sequence.completion_ids)) if one.sequence else None for one in group]
        for group in groups
    ]


def train(
    settings: Config, rewards: RewardFunction = length, **others: Any
) -> dict[str, torch.Tensor]:
    """Train, and return the weights."""
    from transformers import AutoModelForCausalLM

    scenes = timely_tasks(
        settings.cases,
        max_tokens=settings.grpo["max_completion_length"],
        seed=settings.run.seed,
    )
    policy = train_grpo(settings, scenes, rewards, **others)
    return dict(AutoModelForCausalLM.from_pretrained(policy).state_dict())


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


class KilledError(Exception):
    """Ends a training in its midst."""


@dataclass
class KilledAt(TrainingObserver):
    """Ends a training after so many updates, before a checkpoint is written."""

    update: int

    def advance(self, done: int, total: int) -> None:
        if done == self.update:
            raise KilledError


@pytest.mark.parametrize(
    ("grpo", "last"),
    [
        # The third update begins the second pass over the cases.
        ({"max_steps": 3}, 2),
        # Rollouts that are learnt from twice are not left in between.
        ({"max_steps": 4, "num_iterations": 2, "per_device_train_batch_size": 4}, 2),
    ],
    ids=["one iteration", "two iterations"],
)
def test_the_same_seed_trains_the_same_model_also_after_it_was_killed(
    start: Path, tmp_path: Path, grpo: dict[str, Any], last: int
) -> None:
    grpo = {**grpo, "learning_rate": 1e-3}
    whole = train(config(start, tmp_path / "whole", grpo=grpo))
    settings = config(start, tmp_path / "cut", grpo=grpo)
    with pytest.raises(KilledError):
        train(settings, observer=KilledAt(grpo["max_steps"]))
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
    grpo = {"max_steps": 9, "num_iterations": 2, "shuffle_dataset": shuffle}
    settings = config(tmp_path, tmp_path, grpo=grpo)
    theirs = RepeatSampler(keys, mini_repeat_count=1, batch_size=2, shuffle=shuffle, seed=0)
    assert order_tasks(keys, settings) == [keys[i] for _ in range(2) for i in theirs]
    assert len(order_tasks(keys, settings)) >= 2 * 5, "for five batches of rollouts"


def test_trl_gets_the_table_and_what_follows_from_other_tables(tmp_path: Path) -> None:
    grpo = {
        "max_steps": 40,
        "learning_rate": 3e-4,
        "warmup_steps": 4,
        "epsilon": 0.1,
        "delta": "none",
        "scale_rewards": "none",
        "num_iterations": 3,
        "per_device_train_batch_size": 2,
        "temperature": 0.6,
    }
    run = RunPart(out=str(tmp_path), seed=9, save_total_limit=5, save_steps=4)
    arguments = grpo_arguments(config(tmp_path, tmp_path, grpo=grpo, run=run))
    wanted = {
        **grpo,
        "delta": None,
        "scale_rewards": "none",
        "epsilon_high": 0.28,
        "gradient_accumulation_steps": 4,
        "steps_per_generation": 4,
        "num_generations": 4,
        "max_completion_length": 12,
        "gradient_checkpointing": False,  # TRL would
        "shuffle_dataset": False,
        "seed": 9,
        "save_total_limit": 5,
        "save_steps": 6,
    }
    assert {name: getattr(arguments, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("grpo", "words"),
    [
        ({"num_generation": 4}, "'num_generations'"),
        ({"clip_low": 0.1}, "clip_low"),
        ({"epsilon": "much"}, "grpo.epsilon"),
        ({"output_dir": "x"}, "output_dir"),
        ({"top_p": 0.5}, "top_p"),
        ({"per_device_train_batch_size": 3}, "8 rows"),
    ],
)
def test_a_wrong_field_of_the_trainer_is_named(
    tmp_path: Path, grpo: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        trainer_arguments(config(tmp_path, tmp_path, grpo=grpo), processes=1)


def test_the_rows_of_an_update_are_shared_out(tmp_path: Path) -> None:
    settings = config(tmp_path, tmp_path)
    assert trainer_arguments(settings, processes=2)["per_device_train_batch_size"] == 4
    with pytest.raises(SettingsError, match="8 rows"):
        trainer_arguments(settings, processes=3)


def test_rollouts_are_played_and_credited_as_the_settings_say(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[RolloutFunction] = []

    def called(self: RolloutFunction, *args: Any) -> Any:
        seen.append(self)
        raise KilledError

    monkeypatch.setattr(RolloutFunction, "__call__", called)
    settings = config(
        start,
        tmp_path,
        reward=RewardPart(name="timely", credit="turn", discount=0.9),
        rollout=RolloutPart(cases=2, at_once=3),
        grpo={"temperature": 0.6, "scale_rewards": "none"},
        run=RunPart(out=str(tmp_path), threads=1, seed=9),
    )
    with pytest.raises(KilledError):
        train(settings)
    (function,) = seen
    assert (function.seed, function.by_turn, function.discount) == (9, True, 0.9)
    assert not function.is_scaled
    player = function.player
    assert (player._generation.temperature, player._at_once) == (0.6, 3)
    assert player._pace == Pace(per_token=milliseconds(100))


def test_who_has_no_row_is_one_masked_token_without_a_reward() -> None:
    sequence = TrainingSequence(
        prompt_ids=(5,), completion_ids=(6, 7), logprobs=(-1.0, 0.0), mask=(1, 0)
    )
    samples = [Sample(sequence=sequence, reward=0.5), Sample(sequence=None, reward=0.25)]
    asked: list[Any] = []

    def roll(*args: Any) -> list[Sample]:
        asked.append(args)
        return samples

    trainer: Any = SimpleNamespace(
        rollout_function=roll,
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
    settings = config(start, tmp_path, grpo={"max_steps": 12, "learning_rate": 2e-2})
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
        given = RecordReward(Reward(name="ep_aware"))(groups, update, progress)
        seen.extend(given)
        cases.extend(group[0].task.key for group in groups)
        return given

    settings = config(start, tmp_path)
    scenes = timely_tasks(settings.cases, max_tokens=12, seed=0)
    train_grpo(settings, {key: Fragile(one) for key, one in scenes.items()}, rewards)
    assert cases == [scenes[key].key for key in order_tasks(list(scenes), settings)[:6]]
    failed = sum(reward is None for group in seen for reward in group)
    assert 0 < failed < 24
    assert sum(line["failed"] for line in metrics(tmp_path)) == failed
    told = [reward for group in seen for reward in group if reward is not None]
    of_trl = [line["trl"]["reward"] * (8 - line["failed"]) for line in metrics(tmp_path)]
    assert sum(of_trl) == pytest.approx(sum(told), abs=1e-5)


def test_a_training_ends_only_when_the_rollouts_of_all_processes_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def play(tasks: Sequence[tuple[RolloutTask, int]]) -> list[Rollout]:
        why = EpisodeFailed(at=0, boundary="model", error="ModelError: out of order")
        return [Rollout(task=one, sampling=n, events=(why,), ok=False) for one, n in tasks]

    def function() -> RolloutFunction:
        return RolloutFunction(
            player=SimpleNamespace(sampler=SimpleNamespace(), play=play),  # type: ignore[arg-type]
            tasks={"a": SimpleNamespace(key="a")},  # type: ignore[dict-item]
            rewards=RecordReward(Reward(name="ep_aware")),
            metrics=SimpleNamespace(note=lambda *_: None),  # type: ignore[arg-type]
            seed=0,
        )

    monkeypatch.setattr(grpo_module, "gather_object", lambda own: [*own, None])
    samples = function()(["a", "a"], 0, 0.0)
    assert [(sample.sequence, sample.reward) for sample in samples] == [(None, None)] * 2
    monkeypatch.setattr(grpo_module, "gather_object", lambda own: [*own, "world: late"])
    with pytest.raises(ModelError, match="out of order") as failure:
        function()(["a", "a"], 0, 0.0)
    assert "ModelError" not in str(failure.value), "the class of an error is no part of its message"
