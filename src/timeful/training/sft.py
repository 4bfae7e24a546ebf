"""A training by examples: TRL's SFT over conversations as token ids.

An example is rendered by the model's own chat template, piece by piece: what stands before an
answer, the answer, what is added after it. So its ids are those that a conversation has when it is
played (`models.local.splice`), and the loss is that of the answers alone. Where a template rewrites
what came before, say since it leaves out earlier thoughts, only the last answer is learnt.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from timeful.errors import SettingsError
from timeful.training.checkpoints import Joint, last_checkpoint, update_of
from timeful.training.config import SftConfig, SftPart
from timeful.training.folder import METRICS, POLICY
from timeful.training.learning import Progress, Told, common_arguments
from timeful.training.loading import adapter, load_model, load_tokenizer, save
from timeful.training.tally import Tally

Message = dict[str, Any]
"""A message as data sets have it: `role` and `content`."""


def imitate(
    config: SftConfig,
    *,
    progress: Progress = lambda done, of: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Path:
    """Train on examples, or go on where a training of the same settings stopped.

    Args:
        config: The settings, checked.
        progress: Told after each update how many are done, and of how many.
        warn: Told how many examples were too long.

    Returns:
        The folder of the trained model.

    Raises:
        SettingsError: If the model cannot be loaded, or a file holds what is no example.
    """
    out = Path(config.run.out)
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    tokenizer = load_tokenizer(config.model)
    data = Dataset.from_list(list(examples(config.sft, tokenizer, warn)))
    tally = Tally(out / METRICS)
    trainer = _Trainer(
        load_model(config.model),
        args=_arguments(config),
        train_dataset=data,
        processing_class=tokenizer,
        peft_config=adapter(config.model),
        callbacks=[Told(progress)],
    )
    latest = last_checkpoint(out)
    if trainer.accelerator.is_main_process:
        tally.open(update_of(latest))
        trainer.add_callback(tally)
    trainer.train(resume_from_checkpoint=latest)
    if trainer.accelerator.is_main_process:
        policy = trainer.accelerator.unwrap_model(trainer.model)
        save(policy, tokenizer, config.model, out)
    trainer.accelerator.wait_for_everyone()
    return out / POLICY


def examples(
    part: SftPart, tokenizer: Any, warn: Callable[[str], None] = lambda text: None
) -> Iterator[dict[str, list[int]]]:
    """The examples of the files as ids, with a mask that is 1 where the model is to speak.

    Raises:
        SettingsError: If a line is no example.
    """
    cut = 0
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
            if any(mask):
                yield {"input_ids": ids, "completion_mask": mask}
    if cut:
        warn(f"{cut} examples were cut to {part.longest} tokens")


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


def _arguments(config: SftConfig) -> SFTConfig:
    """The settings by the names that TRL has for them."""
    return SFTConfig(
        num_train_epochs=config.sft.epochs,
        max_length=None,  # what is too long was cut before
        completion_only_loss=True,
        **common_arguments(config, config.sft, config.sft.batch),
    )


class _Trainer(Joint, SFTTrainer):  # type: ignore[misc]  # TRL is not followed by mypy
    """TRL's trainer by examples."""
