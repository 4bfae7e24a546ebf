"""LoRA: a small part learns, and what comes of it needs no PEFT."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch
from msgspec.structs import replace
from transformers import AutoModelForCausalLM

from tests.training.material import checkpoint, config
from tests.training.test_grpo import KilledAt, KilledError, gaps_of, same, train
from timeful.models.local.checkpoint import load
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.training.config import Config, ModelPart
from timeful.training.folder import ADAPTER, POLICY

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("start"))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for 4 bits: bitsandbytes packs blocks of 32 x 64 weights on AVX-512-BF16 CPUs."""
    return checkpoint(tmp_path_factory.mktemp("wide"), width=64)


def settings(start: Path, out: Path) -> Config:
    part = ModelPart(path=str(start), dtype="float32")
    whole = config(start, out, grpo={"max_steps": 3, "learning_rate": 1e-2})
    return replace(whole, model=part)


def test_the_policy_is_the_base_with_the_adapter_merged_and_loads_as_any_other(
    start: Path, tmp_path: Path
) -> None:
    from peft import PeftModel

    found = settings(start, tmp_path)
    trained = train(found)
    base = AutoModelForCausalLM.from_pretrained(start)
    before = dict(base.state_dict())
    changed = {name for name in before if not torch.equal(before[name], trained[name])}
    assert changed
    assert all(name.split(".")[-2] in found.model.targets for name in changed)
    adapted = PeftModel.from_pretrained(base, str(tmp_path / ADAPTER))
    ids = torch.tensor([[1, 4, 5, 3, 7]])
    merged = load(tmp_path / POLICY)  # as `local:PATH` does
    gap = (merged.model(ids).logits - adapted(ids).logits).abs().max()
    assert gap < 1e-5
    drawn = Sampler(merged).generate(
        [Request(prompt_ids=(1, 4), sampling=Sampling(max_tokens=5, seed=1))]
    )
    assert drawn[0].ids


def test_sampler_and_trainer_agree_also_through_an_adapter(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = gaps_of(settings(start, tmp_path), monkeypatch)
    assert len(gaps) == 3
    assert max(gaps) < 1e-4


def test_it_goes_on_from_a_checkpoint_to_the_same_weights(start: Path, tmp_path: Path) -> None:
    whole = train(settings(start, tmp_path / "whole"))

    with pytest.raises(KilledError):
        train(settings(start, tmp_path / "cut"), observer=KilledAt(3))
    assert not (tmp_path / "cut" / POLICY).exists()
    assert same(train(settings(start, tmp_path / "cut")), whole)
    shutil.rmtree(tmp_path / "cut" / POLICY)  # killed before it was written
    assert same(train(settings(start, tmp_path / "cut")), whole)
    about = json.loads((tmp_path / "cut" / ADAPTER / "adapter_config.json").read_text())
    assert (about["r"], about["lora_alpha"], about["lora_dropout"]) == (8, 16.0, 0.0)


def test_weights_of_4_bits_learn_through_lora_and_the_policy_has_them_whole(
    wide: Path, tmp_path: Path
) -> None:
    pytest.importorskip("bitsandbytes", reason="weights of 4 bits need the extra `quant`")
    from safetensors.torch import load_file

    from timeful.training.loading import load_model

    found = settings(wide, tmp_path)
    found = replace(found, model=replace(found.model, quantise="nf4", dtype="bfloat16"))
    held = load_model(found.model).state_dict()
    small = {name for name in held if held[name].dtype == torch.uint8}
    assert {name.split(".")[-2] for name in small if name.endswith("proj.weight")} == set(
        found.model.targets
    )
    trained = train(found)
    learnt = load_file(tmp_path / ADAPTER / "adapter_model.safetensors")
    base = load_file(wide / "model.safetensors")
    for name, weight in base.items():
        stem = f"base_model.model.{name.removesuffix('.weight')}.lora_"
        expected = weight
        if f"{stem}A.weight" in learnt:
            added = learnt[f"{stem}B.weight"].float() @ learnt[f"{stem}A.weight"].float()
            expected = weight + 16 / 8 * added
            assert added.abs().max() > 0
        # bfloat16 has 8 bits: two roundings, of the base and of the sum.
        assert torch.allclose(trained[name].float(), expected, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("adapter", ["full", "lora"])
def test_a_policy_is_written_in_the_type_it_was_asked_for(
    start: Path, tmp_path: Path, adapter: Any
) -> None:
    found = settings(start, tmp_path)
    found = replace(found, model=replace(found.model, adapter=adapter, dtype="bfloat16"))
    small = {**found.grpo, "max_steps": 1, "learning_rate": 1e-6}
    trained = train(replace(found, grpo=small))
    assert {one.dtype for one in trained.values()} == {torch.bfloat16}
