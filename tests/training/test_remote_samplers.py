"""Rollouts by a server: token ids out and back, and what they are learnt from."""

import json
import threading
from collections.abc import Iterator
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from traceback import format_exception
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")
pytest.importorskip("openai", reason="a server is asked through the extra `openai`")

from msgspec.structs import replace
from trl import GRPOConfig

from tests.servers.fake import FakeServer, Status
from tests.serving.here import Here
from tests.training.material import checkpoint, config
from tests.training.test_grpo import gaps_of, train
from timeful.errors import ModelError, TimefulError
from timeful.models.local.checkpoint import hold, load
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.rewards.registry import Reward
from timeful.training.config import Config, ModelPart, RolloutPart
from timeful.training.grpo import train_grpo
from timeful.training.remote_samplers import ServerSampler, VllmSampler, read
from timeful.training.reward_functions import RecordReward
from timeful.training.rollout_tasks import make_rollout_tasks
from timeful.training.trainer_arguments import _vllm

JSON = "application/json"

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
            cases=2, server=here.base_url, served=here.name, old_logprobs="sampler"
        ),
        grpo={"max_steps": 2, "learning_rate": 1e-3},
    )
    scenes = make_rollout_tasks(found)
    train_grpo(found, scenes, RecordReward(Reward(name="timely")))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["failed"] for line in lines] == [0, 0]
    same = replace(found, rollout=RolloutPart(cases=2, old_logprobs="sampler"))
    same = replace(same, run=replace(same.run, out=str(tmp_path / "local")))
    train_grpo(same, scenes, RecordReward(Reward(name="timely")))
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
        remote.load_adapter("policy-1", Path("somewhere"))  # ours has no such door


class LikeVllm(BaseHTTPRequestHandler):
    """Answers as vLLM does where it may load adapters, by the adapter that it was asked for."""

    start: Path
    models: dict[str, Sampler]
    said: list[str]
    failing = 0
    lock = threading.Lock()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            status, answer = getattr(self, self.path.removeprefix("/v1/"))(**body)
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else JSON)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def load_lora_adapter(self, lora_name: str, lora_path: str) -> tuple[int, Any]:
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        if self.failing:
            type(self).failing -= 1
            return 503, {"error": {"message": "busy"}}
        if lora_name in self.models:
            return 400, {
                "error": {"message": f"The lora adapter '{lora_name}' has already been loaded."}
            }
        self.said.append(f"load {lora_name}")
        base = load(self.start)
        model = AutoModelForCausalLM.from_pretrained(self.start)
        merged = PeftModel.from_pretrained(model, lora_path).merge_and_unload()
        self.models[lora_name] = Sampler(hold(merged.eval(), base.tokenizer, name=lora_name))
        return 200, f"Success: LoRA adapter '{lora_name}' added successfully."

    def unload_lora_adapter(self, lora_name: str) -> tuple[int, Any]:
        if self.models.pop(lora_name, None) is None:
            return 404, {"error": {"message": f"The lora adapter '{lora_name}' cannot be found."}}
        self.said.append(f"drop {lora_name}")
        return 200, "Success"

    def completions(self, model: str, prompt: list[int], **asked: Any) -> tuple[int, Any]:
        sampler = self.models[model]
        sampling = Sampling(
            max_tokens=asked["max_tokens"],
            temperature=asked["temperature"],
            seed=asked["seed"],
            stop_ids=sampler.checkpoint.stop_ids,
            stop=tuple(asked.get("stop", ())),
        )
        [done] = sampler.generate([Request(prompt_ids=tuple(prompt), sampling=sampling)])
        choice = {
            "index": 0,
            "text": "",
            "finish_reason": done.finish,
            "token_ids": done.ids,
            "logprobs": {"token_logprobs": done.logprobs},
        }
        about = {"id": "1", "object": "text_completion", "created": 0, "model": model}
        return 200, {**about, "choices": [choice]}

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def vllm(start: Path) -> Iterator[tuple[str, type[LikeVllm]]]:
    class Fresh(LikeVllm):
        models: ClassVar[dict[str, Sampler]] = {"base": Sampler(load(start))}
        said: ClassVar[list[str]] = []

    Fresh.start = start
    server = ThreadingHTTPServer(("127.0.0.1", 0), Fresh)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", Fresh
    server.shutdown()
    thread.join()
    server.server_close()


def pushed(start: Path, out: Path, base_url: str) -> Config:
    rollout = RolloutPart(cases=2, server=base_url, served="base", push="lora")
    found = config(start, out, rollout=rollout, grpo={"max_steps": 3, "learning_rate": 3e-2})
    return replace(found, model=ModelPart(path=str(start), dtype="float32"))


def test_a_server_samples_by_what_was_just_learnt(
    start: Path,
    vllm: tuple[str, type[LikeVllm]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base_url, server = vllm
    server.failing = 2  # is asked again
    gaps = gaps_of(pushed(start, tmp_path, base_url), monkeypatch)
    assert len(gaps) == 3
    assert max(gaps) < 1e-4  # of weights that were one update older they would not agree
    names = [line.split()[1] for line in server.said]
    first, second = names[0], names[1]
    assert server.said == [f"load {first}", f"load {second}", f"drop {first}"]
    assert (first[:9], second[:9]) == ("policy-1-", "policy-2-")
    assert [one.name for one in (tmp_path / "pushed" / "0").iterdir()] == ["2"]
    # Another training with a server that has these very adapters, such as this one once more.
    train(pushed(start, tmp_path / "again", base_url))
    assert [line for line in server.said[3:] if line.startswith("load")] == [f"load {first}"]


def test_a_server_that_refuses_an_adapter_ends_the_training_with_its_words(
    start: Path,
    vllm: tuple[str, type[LikeVllm]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base_url, server = vllm
    no = (400, {"error": {"message": "runtime updating is off"}})
    monkeypatch.setattr(server, "load_lora_adapter", lambda self, **_: no)
    with pytest.raises(TimefulError, match=r"refuses the adapter .* runtime updating is off"):
        train(pushed(start, tmp_path, base_url))


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


def test_the_engine_of_trl_is_asked_by_ids_and_cut_to_the_room(start: Path) -> None:
    """Its vLLM is a fake: this says that we speak to it, not that it works on a GPU."""
    asked: list[Any] = []

    def generate(prompts: Any, images: Any, num_generations: int) -> Any:
        asked.append((prompts, images, num_generations))
        ids = [[4, 5, 6, 2] for _ in prompts]
        return prompts, ids, [[[-0.5]] * 4 for _ in prompts], None

    engine = SimpleNamespace(generate=generate)
    vllm = VllmSampler(load(start), engine=engine)
    whole, cut = vllm.generate([request(1), request(1, max_tokens=2)])
    assert (whole.ids, whole.logprobs, whole.finish) == ((4, 5, 6, 2), (-0.5,) * 4, "stop")
    assert (cut.ids, cut.logprobs, cut.finish) == ((4, 5), (-0.5,) * 2, "length")
    assert asked[0] == ([[1, 20, 7, 4, 5, 3]] * 2, None, 1)


@pytest.mark.parametrize("ratio", ["trainer", "sampler"])
def test_trl_is_told_of_vllm_in_its_own_words_and_corrects_once(start: Path, ratio: Any) -> None:
    found = config(start, start, rollout=RolloutPart(server="vllm", old_logprobs=ratio))
    told = _vllm(found)
    assert told.keys() <= {one.name for one in fields(GRPOConfig)}
    # Against the sampler's probabilities the ratio is right as it is.
    assert told["vllm_importance_sampling_correction"] == (ratio == "trainer")
    assert _vllm(config(start, start)) == {}


def test_the_key_is_stripped_and_in_no_error(start: Path) -> None:
    key = "sk-CANARY/7+x"
    with FakeServer([Status(401, f"wrong key: Bearer {key}")]) as server:
        sampler = ServerSampler(
            load(start), base_url=server.base_url, served="m", api_key=f"{key}\n"
        )
        with pytest.raises(ModelError) as caught:
            sampler.generate([request(0)])
        with pytest.raises(ModelError) as refused:
            sampler.load_adapter("a", start)
        sampler.close()
    for error in (caught.value, refused.value):
        assert "CANARY" not in "".join(format_exception(error))
