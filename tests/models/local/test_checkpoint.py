"""Promises of checkpoints on disk: what is missing is said before anything heavy is loaded."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.models.local.tiny import WORDS, byte_tokenizer, checkpoint, saved, torch
from timeful.errors import SettingsError
from timeful.models.local.checkpoint import check, load
from timeful.models.model_spec import ModelSpec


@pytest.fixture
def folder(tmp_path):
    return saved(tmp_path / "tiny", "qwen3")


def changed(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_checkpoint_is_loaded_as_it_was_saved(folder):
    check(folder)
    loaded = load(folder)
    before = checkpoint("qwen3")
    assert loaded.name == "tiny"
    assert (loaded.stop_ids, loaded.context) == (before.stop_ids, before.context) == ((2,), 96)
    ids = torch.tensor([[3, 9, 12]])
    with torch.inference_mode():
        assert torch.equal(loaded.model(ids).logits, before.model(ids).logits)


def test_a_checkpoint_is_used_by_one_thread_unless_told(folder):
    torch.set_num_threads(2)
    try:
        load(folder, threads=None)
        assert torch.get_num_threads() == 2
        load(folder)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


def _remove(*names):
    def damage(folder):
        for name in names:
            (folder / name).unlink(missing_ok=True)

    return damage


def _adapter(folder):
    _remove("model.safetensors")(folder)
    (folder / "adapter_config.json").write_text("{}")


DAMAGES = {
    "no config.json": _remove("config.json"),
    "no weights": _remove("model.safetensors"),
    "merge it into its base": _adapter,
    "no tokenizer": _remove("tokenizer.json", "tokenizer_config.json"),
    "no chat template": _remove("chat_template.jinja"),
    f"table of tokens is {WORDS} x 32, and config.json says 50 x 32": lambda folder: changed(
        folder, "config.json", vocab_size=50
    ),
    "config.json cannot be read": lambda folder: (folder / "config.json").write_text("{"),
    "config.json is no JSON object": lambda folder: (folder / "config.json").write_text("[]"),
    "generation_config.json is wrong: top_p": lambda folder: (
        folder / "generation_config.json"
    ).write_text('{"top_p": 3}'),
    "generation_config.json is wrong: .*'str'": lambda folder: (
        folder / "generation_config.json"
    ).write_text('{"temperature": "hot"}'),
    "weights .* cannot be read": lambda folder: (folder / "model.safetensors").write_bytes(
        b"\xff" * 20
    ),
    "config.json .*recursion": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "weights .*recursion": lambda folder: (folder / "model.safetensors").write_bytes(
        (500_000).to_bytes(8, "little") + b'{"a":' * 100_000
    ),
}


@pytest.mark.parametrize("says", DAMAGES)
def test_what_is_missing_is_said_by_its_name(folder, says):
    DAMAGES[says](folder)
    with pytest.raises(SettingsError, match=says):
        ModelSpec(spec=f"local:{folder}")


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="does not exist"):
        ModelSpec(spec=f"local:{tmp_path / 'nowhere'}")
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="is a file"):
        ModelSpec(spec=f"local:{tmp_path / 'file'}")
    with pytest.raises(SettingsError, match="local:PATH"):
        ModelSpec(spec="local:")


def test_a_missing_extra_is_explained_with_the_line_to_type(folder, monkeypatch):
    def find(name):
        return None if name == "torch" else find_spec(name)

    monkeypatch.setattr("timeful.models.local.checkpoint.find_spec", find)
    with pytest.raises(SettingsError, match=r"needs torch: pip install 'timeful\[local\]'"):
        ModelSpec(spec=f"local:{folder}")


def test_weights_of_another_model_are_refused_when_they_are_loaded(folder):
    changed(folder, "config.json", num_hidden_layers=3, layer_types=["full_attention"] * 3)
    with pytest.raises(SettingsError, match="its weights have 2 layers"):
        check(folder)
    changed(folder, "config.json", num_hidden_layers=2, layer_types=["full_attention"] * 2)
    changed(folder, "config.json", attention_bias=True)
    with pytest.raises(SettingsError, match=r"lacks weights of its own model, such as model\.lay"):
        load(folder)
    changed(folder, "config.json", model_type="t5")
    with pytest.raises(SettingsError, match="cannot be loaded"):
        load(folder)


@pytest.mark.parametrize("device", ["nowhere", "cuda:99", "meta"])
def test_a_device_that_there_is_not_is_said_by_its_name(folder, device):
    with pytest.raises(SettingsError, match=f"computed on '{device}'"):
        load(folder, device=device)


def test_a_tokenizer_of_another_model_is_refused_before_the_weights_are_loaded(folder):
    byte_tokenizer().save_pretrained(folder)
    _remove("model.safetensors")(folder)
    (folder / "pytorch_model.bin").write_bytes(b"no weights at all")
    with pytest.raises(SettingsError, match=f"tokenizer has {len(byte_tokenizer())} tokens, .* 40"):
        load(folder)


@pytest.mark.parametrize(
    "how", [{"base_url": "http://localhost:1/v1"}, {"record": "tape"}, {"temperature": -1.0}]
)
def test_what_is_for_others_is_refused(folder, how):
    with pytest.raises(SettingsError):
        ModelSpec(spec=f"local:{folder}", **how)


def test_choosing_a_checkpoint_loads_nothing_heavy(folder):
    program = (
        "import sys; from timeful.models.model_spec import ModelSpec; "
        "ModelSpec(spec='local:' + sys.argv[1]).try_out('planner', pace=None); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"
