"""Examples of a training: token ids with a mask of the answers.

An example is rendered by the model's own chat template, piece by piece: the text before an answer,
the answer, the text after it. So its ids are those of the conversation when it is played
(`models.local.prefix_cache`), and the loss is that of the answers alone. Where a template rewrites
earlier messages, say because it leaves out earlier thoughts, only the last answer is learnt.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from pathlib import Path
from typing import Any

from timeful.errors import SettingsError
from timeful.files import decode, read_lines
from timeful.training.config import SftConfig

Message = dict[str, Any]
"""A message as data sets have it: `role` and `content`."""

_UNKNOWN = 0.01
"""The share of tokens unknown to the tokenizer from which on a warning is given."""


def encode_examples(
    config: SftConfig,
    tokenizer: Any,
    warn: Callable[[str], None] = lambda text: None,
    *,
    context: float = inf,
) -> Iterator[dict[str, list[int]]]:
    """The examples of the files as ids, with a mask that is 1 at answers.

    Args:
        config: The files, and how their examples are cut.
        tokenizer: The model's.
        warn: Told at the end if examples were cut or exceed the context, and if many tokens are
            unknown to the tokenizer.
        context: The most tokens that the model reads.

    Raises:
        SettingsError: If a line is not an example.
    """
    limit, answers_only = config.sft["max_length"], config.sft["completion_only_loss"]
    limit = None if limit == "none" else limit
    truncated = total = n_unknown = longest = 0
    for name in config.examples.data:
        for number, line in read_lines(Path(name)):
            try:
                ids, mask = encode(_messages(decode(line, dict[str, Any])), tokenizer)
            except (ValueError, KeyError, TypeError) as error:
                raise SettingsError(f"{name}, line {number}: not an example ({error})") from None
            if not answers_only:
                mask = [1] * len(ids)
            if limit is not None and len(ids) > limit:
                truncated += 1
                ids, mask = ids[:limit], mask[:limit]
            longest = max(longest, len(ids))
            total, n_unknown = (
                total + len(ids),
                n_unknown + ids.count(_unknown_token(tokenizer)),
            )
            if any(mask):
                yield {"input_ids": ids, "completion_mask": mask}
    if truncated:
        warn(f"{truncated} examples were cut to {limit} tokens")
    if longest > context:
        warn(
            f"the longest example has {longest:,} tokens, more than the model's context of "
            f"{context:,}: set sft.max_length"
        )
    if n_unknown > _UNKNOWN * total:
        warn(
            f"{n_unknown / total:.1%} of the tokens of the examples are {tokenizer.unk_token}: the "
            "tokenizer does not fit these texts"
        )


def _unknown_token(tokenizer: Any) -> int:
    """The token for unknown text; -1 if the tokenizer has none of its own."""
    token = tokenizer.unk_token_id
    special_tokens = (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id)
    return -1 if token is None or token in special_tokens else int(token)


def encode(messages: list[Message], tokenizer: Any) -> tuple[list[int], list[int]]:
    """A conversation as ids, and a mask that is 1 at those of its answers."""

    def render(count: int, *, asks: bool) -> str:
        text: str = tokenizer.apply_chat_template(
            messages[:count], add_generation_prompt=asks, tokenize=False
        )
        return text

    answers = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if not answers:
        raise ValueError("there is no answer to learn")
    pieces = _pieces(answers, render) or _pieces(answers[-1:], render)
    if pieces is None:
        raise ValueError("the chat template writes another beginning where an answer follows")
    ids: list[int] = []
    mask: list[int] = []
    for text, is_answer in pieces:
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids += tokens
        mask += [is_answer] * len(tokens)
    if tokenizer.eos_token_id is not None and ids[-1] != tokenizer.eos_token_id and mask[-1]:
        ids.append(tokenizer.eos_token_id)
        mask.append(1)
    return ids, mask


def _pieces(answers: Iterable[int], render: Callable[..., str]) -> list[tuple[str, int]] | None:
    """The text in pieces, 1 for answers; None if the template rewrites earlier messages."""
    pieces: list[tuple[str, int]] = []
    prefix = ""
    for i in answers:
        prompt, whole = render(i, asks=True), render(i + 1, asks=False)
        if not (prompt.startswith(prefix) and whole.startswith(prompt)):
            return None
        pieces += [(prompt[len(prefix) :], 0), (whole[len(prompt) :], 1)]
        prefix = whole
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
