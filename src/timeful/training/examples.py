"""Examples to learn from, as token ids with a mask of what the model is to say.

An example is rendered by the model's own chat template, piece by piece: what stands before an
answer, the answer, what is added after it. So its ids are those that a conversation has when it is
played (`models.local.splice`), and the loss is that of the answers alone. Where a template rewrites
what came before, say since it leaves out earlier thoughts, only the last answer is learnt.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Any

from timeful.errors import SettingsError
from timeful.training.config import SftPart

Message = dict[str, Any]
"""A message as data sets have it: `role` and `content`."""

_UNKNOWN = 0.01
"""From this share of tokens on that the tokenizer has no word for, somebody is told."""


def examples(
    part: SftPart,
    tokenizer: Any,
    warn: Callable[[str], None] = lambda text: None,
    *,
    context: float = inf,
) -> Iterator[dict[str, list[int]]]:
    """The examples of the files as ids, with a mask that is 1 where the model is to speak.

    Args:
        part: Which, and how they are cut.
        tokenizer: The model's.
        warn: Told in the end if some were cut or are longer than the context, and if many tokens
            are such as the tokenizer does not know.
        context: The most tokens that the model reads.

    Raises:
        SettingsError: If a line is no example.
    """
    cut = total = unknown = longest = 0
    for name in part.data:
        for number, line in enumerate(Path(name).read_bytes().splitlines(), 1):
            try:
                ids, mask = encode(_messages(json.loads(line)), tokenizer)
            except (ValueError, KeyError, TypeError) as error:
                raise SettingsError(f"{name}, line {number}: no example ({error})") from None
            if not part.answers_only:
                mask = [1] * len(ids)
            if part.longest is not None and len(ids) > part.longest:
                cut += 1
                ids, mask = ids[: part.longest], mask[: part.longest]
            longest = max(longest, len(ids))
            total, unknown = total + len(ids), unknown + ids.count(_unknown(tokenizer))
            if any(mask):
                yield {"input_ids": ids, "completion_mask": mask}
    if cut:
        warn(f"{cut} examples were cut to {part.longest} tokens")
    if longest > context:
        warn(
            f"the longest example has {longest:,} tokens, beyond the model's context of "
            f"{context:,}: give sft.longest"
        )
    if unknown > _UNKNOWN * total:
        warn(
            f"{unknown / total:.1%} of the tokens of the examples are {tokenizer.unk_token}, which "
            "stands for what the tokenizer does not know: it is one of other texts"
        )


def _unknown(tokenizer: Any) -> int:
    """The token for what a tokenizer does not know; -1 if it has none of its own."""
    found = tokenizer.unk_token_id
    others = (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id)
    return -1 if found is None or found in others else int(found)


def encode(messages: list[Message], tokenizer: Any) -> tuple[list[int], list[int]]:
    """A conversation as ids, and a mask that is 1 at those of its answers."""

    def text(count: int, *, asks: bool) -> str:
        rendered: str = tokenizer.apply_chat_template(
            messages[:count], add_generation_prompt=asks, tokenize=False
        )
        return rendered

    answers = [i for i, one in enumerate(messages) if one["role"] == "assistant"]
    if not answers:
        raise ValueError("there is no answer to learn")
    found = _pieces(answers, text) or _pieces(answers[-1:], text)
    if found is None:
        raise ValueError("the chat template writes another beginning where an answer follows")
    ids: list[int] = []
    mask: list[int] = []
    for piece, learns in found:
        some = tokenizer(piece, add_special_tokens=False)["input_ids"]
        ids += some
        mask += [learns] * len(some)
    if tokenizer.eos_token_id is not None and ids[-1] != tokenizer.eos_token_id and mask[-1]:
        ids.append(tokenizer.eos_token_id)
        mask.append(1)
    return ids, mask


def _pieces(answers: Iterable[int], text: Callable[..., str]) -> list[tuple[str, int]] | None:
    """What stands between answers, and they; None if the template rewrites what came before."""
    pieces: list[tuple[str, int]] = []
    so_far = ""
    for place in answers:
        asked, answered = text(place, asks=True), text(place + 1, asks=False)
        if not (asked.startswith(so_far) and answered.startswith(asked)):
            return None
        pieces += [(asked[len(so_far) :], 0), (answered[len(asked) :], 1)]
        so_far = answered
    return pieces


def _messages(row: dict[str, Any]) -> list[Message]:
    if "messages" in row:
        return list(row["messages"])
    prompt, completion = row["prompt"], row["completion"]
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    if isinstance(completion, str):
        completion = [{"role": "assistant", "content": completion}]
    return [*prompt, *completion]
