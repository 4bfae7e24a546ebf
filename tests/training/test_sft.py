"""A training by examples: only what the model says is learnt, in its own template's ids."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.training.material import ListingObserver, metrics
from tests.training.talker import talker
from tests.training.test_grpo import KilledAt, KilledError, same
from timeful.errors import SettingsError
from timeful.models.local.checkpoint import load
from timeful.training.checks import check_settings
from timeful.training.config import ExamplesPart, ModelPart, RunPart, SftConfig
from timeful.training.examples import encode, encode_examples
from timeful.training.folder import POLICY
from timeful.training.sft import train_sft

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

CALL = '<tool_call>{"name":"get_duration"}</tool_call>'


def conversation(*said: tuple[str, str]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in said]}


ROWS = [
    conversation(
        ("user", "say 1"), ("assistant", CALL), ("user", "2 seconds"), ("assistant", f"answer {n}")
    )
    for n in range(4)
] + [{"prompt": "say 3", "completion": "answer 3"}]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    talker(folder / "talker", {"name": "get_duration"})
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


def settings(start: Path, out: Path, *, adapter: Any = "full", **others: Any) -> SftConfig:
    table = {"num_train_epochs": 2, "learning_rate": 1e-2, "lr_scheduler_type": "constant"}
    data = others.pop("data", start / "data.jsonl")
    return SftConfig(
        model=ModelPart(path=str(start / "talker"), adapter=adapter, dtype="float32"),
        examples=ExamplesPart(data=(str(data),), batch=5),
        sft={**table, **others},
        run=RunPart(out=str(out), threads=1, save_steps=1),
    )


def weights(policy: Path) -> dict[str, torch.Tensor]:
    return dict(AutoModelForCausalLM.from_pretrained(policy).state_dict())


def test_the_answers_alone_are_learnt_and_all_of_them(start: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(start / "talker")
    ids, mask = encode(ROWS[2]["messages"], tokenizer)
    learnt = tokenizer.convert_ids_to_tokens([i for i, m in zip(ids, mask, strict=True) if m])
    assert learnt == [CALL, "answer", "2", "<eos>"]
    rest = tokenizer.convert_ids_to_tokens([i for i, m in zip(ids, mask, strict=True) if not m])
    assert rest == ["<user>", "say", "1", "<assistant>", "<user>", "2", "seconds", "<assistant>"]


def test_where_a_template_rewrites_the_past_only_the_last_answer_is_learnt(start: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(start / "talker")
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'user' or loop.last %} <{{ m.role }}> "
        "{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %} <assistant> "
        "{% endif %}"
    )
    ids, mask = encode(ROWS[2]["messages"], tokenizer)
    learnt = tokenizer.convert_ids_to_tokens([i for i, m in zip(ids, mask, strict=True) if m])
    assert learnt == ["answer", "2", "<eos>"]


def test_what_is_no_example_is_named_by_its_line(start: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(start / "talker")
    for line in ("{}", "no json", json.dumps(conversation(("user", "hello")))):
        (tmp_path / "bad.jsonl").write_text(json.dumps(ROWS[0]) + "\n" + line + "\n")
        with pytest.raises(SettingsError, match="line 2: not an example"):
            list(encode_examples(settings(start, tmp_path, data=tmp_path / "bad.jsonl"), tokenizer))


def test_long_examples_are_cut_and_that_is_said(start: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(start / "talker")
    said: list[str] = []
    found = list(encode_examples(settings(start, start, max_length=7), tokenizer, said.append))
    assert max(len(one["input_ids"]) for one in found) == 7
    assert said == ["4 examples were cut to 7 tokens"]
    every = list(encode_examples(settings(start, start, completion_only_loss=False), tokenizer))
    assert all(all(one["completion_mask"]) for one in every)


@pytest.mark.parametrize("adapter", ["full", "lora"])
def test_it_learns_the_examples_and_goes_on_after_a_kill(
    start: Path, tmp_path: Path, adapter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = settings(start, tmp_path / "whole", adapter=adapter, num_train_epochs=4)
    check_settings(whole)
    observer = ListingObserver()
    train_sft(whole, observer=observer)
    found = metrics(tmp_path / "whole")
    assert observer.reports == [f"loss {line['trl']['loss']:.4g}" for line in found]
    assert not capsys.readouterr().out, "what TRL prints is not what came of it"
    assert [line["update"] for line in found] == [1, 2, 3, 4]
    assert found[-1]["trl"]["loss"] < found[0]["trl"]["loss"]
    load(tmp_path / "whole" / POLICY)

    cut = settings(start, tmp_path / "cut", adapter=adapter, num_train_epochs=4)
    with pytest.raises(KilledError):
        train_sft(cut, observer=KilledAt(3))
    train_sft(cut)
    assert metrics(tmp_path / "cut") == found
    assert same(weights(tmp_path / "cut" / POLICY), weights(tmp_path / "whole" / POLICY))
    shutil.rmtree(tmp_path / "cut" / POLICY)  # killed before it was written
    train_sft(cut)
    assert metrics(tmp_path / "cut") == found
    assert same(weights(tmp_path / "cut" / POLICY), weights(tmp_path / "whole" / POLICY))


def test_traces_of_ours_are_examples(start: Path, tmp_path: Path) -> None:
    """What `timeful traces` writes is read; its further columns are left alone."""
    from timeful.training.data.files import COLUMNS

    row: dict[str, Any] = dict.fromkeys(COLUMNS["sft"])
    row["messages"] = ROWS[0]["messages"]
    (tmp_path / "train.jsonl").write_text(json.dumps(row) + "\n")
    tokenizer = AutoTokenizer.from_pretrained(start / "talker")
    found = settings(start, tmp_path, data=tmp_path / "train.jsonl")
    assert len(list(encode_examples(found, tokenizer))) == 1
