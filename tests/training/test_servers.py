"""Rollouts by a server: token ids out and back, and what they are learnt from."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")
pytest.importorskip("openai", reason="a server is asked through the extra `openai`")

from msgspec.structs import replace

from tests.serving.here import Here
from tests.training.material import checkpoint, config
from timeful.errors import ModelError
from timeful.models.local.checkpoint import load
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.rewards.names import Reward
from timeful.training.cases import scenes_for
from timeful.training.config import OptimiserPart, RolloutPart
from timeful.training.learning import learn
from timeful.training.rewarding import by_record
from timeful.training.servers import ServerSampler, VllmSampler, read

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("start"))


@pytest.fixture
def remote(start: Path, here: Here) -> Iterator[ServerSampler]:
    made = ServerSampler(load(start), base_url=here.base_url, served=here.name)
    yield made
    made.close()


@pytest.fixture(scope="module")
def here(start: Path) -> Iterator[Here]:
    with Here(load(start)) as server:
        yield server


def request(seed: int, **others: Any) -> Request:
    settings: dict[str, Any] = {"max_tokens": 12, "seed": seed, "stop_ids": (2,), **others}
    return Request(prompt_ids=(1, 20, 7, 4, 5, 3), sampling=Sampling(**settings))


def test_our_own_server_draws_the_very_tokens_that_this_process_would(
    start: Path, remote: ServerSampler
) -> None:
    local = Sampler(load(start))
    asked = [request(seed) for seed in range(6)]
    for ours, theirs in zip(local.generate(asked), remote.generate(asked), strict=True):
        assert theirs.ids == ours.ids
        assert theirs.finish == ours.finish
        assert theirs.logprobs == pytest.approx(ours.logprobs, abs=1e-4)


def test_a_training_by_a_server_is_learnt_from_with_its_own_probabilities(
    start: Path, here: Here, tmp_path: Path
) -> None:
    found = config(
        start,
        tmp_path,
        rollout=RolloutPart(
            samples=4, cases=2, max_tokens=12, server=here.base_url, served=here.name
        ),
        optimiser=OptimiserPart(steps=2, learning_rate=1e-3, ratio="sampler"),
    )
    scenes = scenes_for(found)
    learn(found, scenes, by_record(Reward(name="timely")))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["failed"] for line in lines] == [0, 0]
    same = replace(found, rollout=RolloutPart(samples=4, cases=2, max_tokens=12))
    same = replace(same, run=replace(same.run, out=str(tmp_path / "local")))
    learn(same, scenes, by_record(Reward(name="timely")))
    local = json.loads((tmp_path / "local" / "metrics.jsonl").read_text().splitlines()[0])
    assert lines[0]["reward"] == local["reward"]
    assert lines[0]["tokens"] == local["tokens"]


def test_a_server_is_given_the_adapter_of_each_update_once(
    here: Here, remote: ServerSampler
) -> None:
    told: list[int] = []

    def refresh(version: int) -> str:
        told.append(version)
        return here.name

    remote.refresh = refresh
    for policy in (0, 1, 1, 2):
        remote.policy = policy
        assert {one.policy for one in remote.generate([request(1), request(2)])} == {policy}
    assert told == [1, 2]
    with pytest.raises(ModelError, match="did not load the adapter"):
        remote.load_adapter("policy-1", "somewhere")  # ours has no such door


def test_a_server_that_is_not_there_fails_its_rollouts(start: Path) -> None:
    remote = ServerSampler(load(start), base_url="http://127.0.0.1:1/v1", served="x")
    remote._client = remote._client.with_options(max_retries=0)
    with pytest.raises(ModelError, match="the rollout server failed"):
        remote.generate([request(1)])


@pytest.mark.parametrize(
    "choice",
    [
        {"logprobs": {"token_logprobs": [-1.0]}},
        {"token_ids": [4], "logprobs": None},
        {"token_ids": [4, 5], "logprobs": {"token_logprobs": [-1.0]}},
    ],
)
def test_an_answer_without_ids_and_probabilities_is_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="return_token_ids"):
        read({"choices": [{"finish_reason": "stop", **choice}]}, 0)


def test_the_engine_of_trl_is_given_weights_once_an_update_and_cut_to_the_room(
    start: Path,
) -> None:
    """Its vLLM is a fake: this says that we speak to it, not that it works on a GPU."""
    synced: list[int] = []
    asked: list[Any] = []

    def generate(prompts: Any, images: Any, num_generations: int) -> Any:
        asked.append((prompts, images, num_generations))
        ids = [[4, 5, 6, 2] for _ in prompts]
        return prompts, ids, [[[-0.5]] * 4 for _ in prompts], None

    engine = SimpleNamespace(generate=generate)
    vllm = VllmSampler(load(start), engine=engine, sync=lambda: synced.append(1))
    whole, cut = vllm.generate([request(1), request(1, max_tokens=2)])
    assert (whole.ids, whole.logprobs, whole.finish) == ((4, 5, 6, 2), (-0.5,) * 4, "stop")
    assert (cut.ids, cut.logprobs, cut.finish) == ((4, 5), (-0.5,) * 2, "length")
    vllm.generate([request(2)])
    assert len(synced) == 1
    vllm.policy = 1
    vllm.generate([request(2)])
    assert len(synced) == 2
    assert asked[0] == ([[1, 20, 7, 4, 5, 3]] * 2, None, 1)
