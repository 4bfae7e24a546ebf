"""Tiny models and tokenizers, made in code: nothing is fetched, nothing is trained."""

from functools import lru_cache

import pytest

torch = pytest.importorskip("torch", reason="local models need timeful[local]")
transformers = pytest.importorskip("transformers", reason="local models need timeful[local]")

import tokenizers  # noqa: E402 - comes with transformers
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402

from timeful.models.local.checkpoint import Checkpoint, hold  # noqa: E402

torch.set_num_threads(1)

WORDS = 40
EOS = 2
SAID = [f"w{i}" for i in range(WORDS - 8)]
SPECIAL = ["<pad>", "<bos>", "<eos>"]
VOCABULARY = [*SPECIAL, "<tool_call>", "</tool_call>", "<think>", "</think>", "?", *SAID]
CHAT = (
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %} {{ m.content }} <eos>"
    "{% elif m.role == 'system' %}<bos> {{ m.content }}"
    "{% else %} ? {{ m.content }}{% endif %}"
    "{% endfor %}"
)
"""Simple, and it hides nothing: an answer is written as it is, and <eos> behind it."""

KINDS = ("gpt2", "llama", "qwen2", "qwen3", "opt")
"""Four that are taken apart, and one that goes through its own forward pass."""

_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 96,
}


def config(kind: str, words: int):
    ids = {"bos_token_id": 1, "eos_token_id": EOS, "pad_token_id": 0}
    match kind:
        case "gpt2":
            return transformers.GPT2Config(
                vocab_size=words, n_positions=96, n_embd=32, n_layer=2, n_head=4, **ids
            )
        case "opt":
            return transformers.OPTConfig(
                vocab_size=words,
                hidden_size=32,
                word_embed_proj_dim=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                ffn_dim=48,
                max_position_embeddings=96,
                **ids,
            )
        case "qwen3":
            return transformers.Qwen3Config(vocab_size=words, head_dim=12, **_SIZES, **ids)
        case "qwen2":
            return transformers.Qwen2Config(vocab_size=words, **_SIZES, **ids)
    return transformers.LlamaConfig(vocab_size=words, **_SIZES, **ids)


@lru_cache(maxsize=16)
def model(kind: str, *, words: int = WORDS, seed: int = 0):
    """With weights that are large enough for its probabilities to differ."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = transformers.AutoModelForCausalLM.from_config(config(kind, words))
        for weight in made.parameters():
            weight.data += 0.15 * torch.randn_like(weight)
    return made.eval()


@lru_cache(maxsize=4)
def word_tokenizer():
    """Words between spaces."""
    core = tokenizers.Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<pad>")
    )
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _wrapped(core)


TEXT = "Über 9 Äpfel 🍎🍏 sagt niemand etwas, außer 日本語 wie 東京 oder naïve Café-Gäste €5. "


@lru_cache(maxsize=4)
def byte_tokenizer(words: int = 300):
    """Byte-level BPE, trained on a little text: most characters beyond ASCII are several tokens."""
    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        [TEXT * 3],
        trainers.BpeTrainer(
            vocab_size=words,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return _wrapped(core)


@lru_cache(maxsize=4)
def piece_tokenizer():
    """As SentencePiece has it: a space belongs to the word after it, unknown ones are bytes."""
    vocabulary = [*SPECIAL, *(f"<0x{i:02X}>" for i in range(256)), *"▁abcdefgh", "▁ab", "▁c", "de"]
    core = tokenizers.Tokenizer(
        models.BPE(
            vocab={word: i for i, word in enumerate(vocabulary)},
            merges=[("▁a", "b")] if "▁a" in vocabulary else [],
            byte_fallback=True,
        )
    )
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    core.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return _wrapped(core)


def _wrapped(core):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        chat_template=CHAT,
    )


def checkpoint(kind: str = "gpt2", *, tokenizer=None, seed: int = 0) -> Checkpoint:
    """A model that speaks the tokenizer's language, the words' unless another is given."""
    speaks = tokenizer or word_tokenizer()
    return hold(model(kind, words=len(speaks), seed=seed), speaks, name=f"tiny-{kind}")


def saved(folder, kind: str = "gpt2"):
    """The same as a folder."""
    of = checkpoint(kind)
    of.model.save_pretrained(folder)
    of.tokenizer.save_pretrained(folder)
    return folder
