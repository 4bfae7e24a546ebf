"""A training by reinforcement, on a decoder of a few thousand weights."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch

from tests.training.material import checkpoint, config
from timeful.models.model import Model
from timeful.records.events import EpisodeFailed
from timeful.records.recorder import Recorder
from timeful.rewards.names import Reward
from timeful.training.adapter import TimedGRPOTrainer
from timeful.training.cases import scenes_of
from timeful.training.config import Config, OptimiserPart
from timeful.training.journal import METRICS
from timeful.training.learning import learn
from timeful.training.rewarding import by_record
from timeful.training.rollouts import Played, Rewards
from timeful.training.scenes import Scene

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("start"))


def length(
    groups: Sequence[Sequence[Played]], update: int, progress: float
) -> list[list[float | None]]:
    """A reward that everybody can earn: for saying little."""
    return [
        [-float(len(one.row.completion_ids)) if one.row else None for one in group]
        for group in groups
    ]


def train(settings: Config, rewards: Rewards = length) -> dict[str, torch.Tensor]:
    """Train, and return the weights."""
    from transformers import AutoModelForCausalLM

    scenes = scenes_of(
        settings.cases,
        max_tokens=settings.rollout.max_tokens,
        seed=settings.run.seed,
    )
    policy = learn(settings, scenes, rewards)
    return dict(AutoModelForCausalLM.from_pretrained(policy).state_dict())


def metrics(out: Path) -> list[dict[str, Any]]:
    """The lines of the journal, without what the machine's speed changes."""
    lines = [json.loads(line) for line in (out / METRICS).read_text().splitlines()]
    for line in lines:
        line["trl"] = {k: v for k, v in line["trl"].items() if "time" not in k}
    return lines


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_the_same_seed_trains_the_same_model_also_after_it_was_killed(
    start: Path, tmp_path: Path
) -> None:
    whole = train(config(start, tmp_path / "whole"))

    class KilledError(Exception):
        pass

    def killed(
        groups: Sequence[Sequence[Played]], update: int, progress: float
    ) -> list[list[float | None]]:
        if progress > 0.5:
            raise KilledError
        return length(groups, update, progress)

    settings = config(start, tmp_path / "cut")
    with pytest.raises(KilledError):
        train(settings, killed)
    assert len(metrics(tmp_path / "cut")) == 2
    assert same(train(settings), whole)
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")
    assert not same(train(config(start, tmp_path / "other", run=_run(tmp_path, seed=1))), whole)


def _run(folder: Path, *, seed: int) -> Any:
    return msgspec.structs.replace(config(folder, folder / "other").run, seed=seed)


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

    inner: Scene

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

    def rewards(
        groups: Sequence[Sequence[Played]], update: int, progress: float
    ) -> Sequence[Sequence[float | None]]:
        given = by_record(Reward(name="ep_aware"))(groups, update, progress)
        seen.extend(given)
        return given

    settings = config(start, tmp_path)
    scenes = scenes_of(settings.cases, max_tokens=12, seed=0)
    learn(settings, {key: Fragile(one) for key, one in scenes.items()}, rewards)
    failed = sum(reward is None for group in seen for reward in group)
    assert 0 < failed < 24
    assert sum(line["failed"] for line in metrics(tmp_path)) == failed
    told = [reward for group in seen for reward in group if reward is not None]
    of_trl = [line["trl"]["reward"] * (8 - line["failed"]) for line in metrics(tmp_path)]
    assert sum(of_trl) == pytest.approx(sum(told), abs=1e-5)
