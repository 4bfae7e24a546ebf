"""A decoder that knows nothing and calls tools all the same: its language has a word for each."""

import json
from pathlib import Path
from typing import Any

WORDS = "[]{}:,.the a of is seconds You and to north south east west lamp say answer 0 1 2 3 4 5"

TEMPLATE = """\
{%- for m in messages -%}
{{- ' <' + m.role + '> ' -}}
{%- if m.role == 'assistant' -%}{{ m.content }}{%- else -%}{{ m.content[:60] }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ ' <assistant> ' }}{%- endif -%}
"""


def talker(folder: Path, *calls: dict[str, Any], more: tuple[str, ...] = (), seed: int = 0) -> Path:
    """A checkpoint on disk.

    Args:
        folder: Where.
        calls: The calls of tools that it has words for, a word for each.
        more: Further words, without spaces.
        seed: Of its weights.
    """
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<pad>", "<eos>", "<unk>", "<system>", "<user>", "<assistant>", *WORDS.split(), *more]
    # No space within a word of a call, or it would be two; those of a string are told as JSON has.
    words += [f"<tool_call>{json.dumps(call, separators=(',', ':'))}</tool_call>" for call in calls]
    inner = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(words),
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=1,
                num_attention_heads=2,
                max_position_embeddings=4096,
                eos_token_id=1,
                pad_token_id=0,
                initializer_range=0.1,
            )
        ).save_pretrained(folder)
    return folder
