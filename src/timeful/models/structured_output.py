"""A question to a model whose answer must be of some form; what is wrong is told, and asked again.

For work outside time: annotating and judging. Who thinks while a world moves uses an agent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from re import DOTALL, fullmatch
from typing import Generic, Literal, TypeVar

from timeful.core.source import Chunk
from timeful.errors import ModelError
from timeful.models.model import Message, Model, Prompt
from timeful.seeding import child_seed

T = TypeVar("T")

Failure = Literal["answer", "endpoint"]
"""What an answer failed by: its form, to the last try, or that the endpoint gave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredQuestion:
    """How a question is asked.

    Args:
        label: The kind of question, for records and errors.
        max_tokens: The most tokens of an answer; None for no limit.
        tries: How often it is asked in all, at least 1.
        seed: The seed of the first try; each further one has its own.
    """

    label: str
    max_tokens: int | None
    tries: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer(Generic[T]):
    """What came of a question: a value, or an error and by what it failed."""

    value: T | None
    error: str = ""
    failure: Failure | None = None
    tries: int


def ask_structured(
    model: Model, messages: Sequence[Message], read: Callable[[str], T], how: StructuredQuestion
) -> StructuredAnswer[T]:
    """Ask until the answer can be read.

    A further try shows the model its last answer and what is wrong with it, never more, so that
    a question does not grow. A stream that broke off is asked again as it was. An endpoint that
    gave nothing has been tried again by the model itself, and is given up.

    Args:
        model: Whom to ask.
        messages: The question.
        read: Reads an answer; a ValueError says what is wrong with it, to the model as well.
        how: How.
    """
    error, failure, conversation = "", None, tuple(messages)
    for number in range(how.tries):
        seed = child_seed(how.seed, how.label, number)
        prompt = Prompt(label=how.label, render=lambda conversation=conversation: conversation)  # type: ignore[misc]
        answer = _Reply()
        try:
            answer.pull(model, prompt, max_tokens=how.max_tokens, seed=seed)
            return StructuredAnswer(value=read(answer.text), tries=number + 1)
        except ModelError as broken:
            error, failure = str(broken), "endpoint"
            if not answer.has_begun:
                return StructuredAnswer(
                    value=None, error=error, failure="endpoint", tries=number + 1
                )
        except ValueError as wrong:
            error, failure = str(wrong), "answer"
            if answer.is_cut:
                limit = f" at {how.max_tokens} tokens" if how.max_tokens else ""
                error = f"the answer was cut off{limit} ({error})"
            conversation = (*messages, *_repair(answer.text, error))
    return StructuredAnswer(value=None, error=error, failure=failure, tries=how.tries)  # type: ignore[arg-type]


def strip_fence(text: str) -> str:
    """An answer without the fence that models put around JSON, if it is nothing but that."""
    text = text.strip()
    fenced = fullmatch(r"```(?:json)?[ ]*\n(.*)\n[ ]*```", text, DOTALL)
    return fenced[1] if fenced else text


class _Reply:
    """What a model says, as far as it came."""

    def __init__(self) -> None:
        self.text = ""
        self.has_begun = self.is_cut = False

    def pull(self, model: Model, prompt: Prompt, *, max_tokens: int | None, seed: int) -> None:
        source = model.open(prompt, max_tokens=max_tokens, seed=seed)
        try:
            while isinstance(piece := source.pull(), Chunk):
                self.has_begun = True
                if piece.channel == "answer":
                    self.text += piece.text
            self.is_cut = piece.finish == "length"
        finally:
            source.close()


def _repair(answer: str, error: str) -> tuple[Message, Message]:
    """What was said, and what is wrong with it."""
    return (
        # Some servers refuse a message of an assistant that says nothing.
        Message("assistant", answer.strip() or "(nothing)"),
        Message(
            "user",
            f"This answer cannot be used: {error}\n"
            "Give the whole answer again, corrected, and nothing else.",
        ),
    )
