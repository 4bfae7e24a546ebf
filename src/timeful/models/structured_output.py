"""Questions whose answer must be parsed: a wrong answer is sent back with its error.

For work outside simulated time: annotating and judging.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from re import DOTALL, fullmatch
from typing import Generic, Literal, TypeVar

from timeful.core.source import Chunk
from timeful.errors import ModelError
from timeful.models.counting import MeteredSource
from timeful.models.model import Message, Model, Prompt
from timeful.models.traffic import TRAFFIC
from timeful.records.usage import Usage, sum_usage
from timeful.seeding import child_seed

T = TypeVar("T")

Failure = Literal["answer", "endpoint"]
"""Why there is no value: the answers were malformed, or the endpoint gave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredQuestion:
    """The parameters of a question.

    Args:
        label: The kind of question, for records and errors.
        max_tokens: The most tokens of an answer; None for no limit.
        tries: The number of attempts, at least 1.
        seed: The seed of the first try; each further one has its own.
    """

    label: str
    max_tokens: int | None
    tries: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer(Generic[T]):
    """The result of a question: a value, or an error and its kind.

    `usage` adds up all tries; None if no server counts tokens.
    """

    value: T | None
    error: str = ""
    failure: Failure | None = None
    tries: int
    usage: Usage | None = None


def ask_structured(
    model: Model, messages: Sequence[Message], read: Callable[[str], T], how: StructuredQuestion
) -> StructuredAnswer[T]:
    """Ask until the answer can be parsed.

    A further attempt shows the model its last answer and the error only, so the prompt does not
    grow. After a broken stream the same prompt is sent again. An endpoint without any answer is
    given up, since the model has retried already.

    Args:
        model: The model to ask.
        messages: The question.
        read: Parses an answer; the text of its ValueError is shown to the model.
        how: The parameters.

    Raises:
        ModelError: If no further request of the run is sent: of a refusal, or of its budget.
    """
    error, failure, conversation = "", None, tuple(messages)
    usages: list[Usage] = []
    for number in range(how.tries):
        seed = child_seed(how.seed, how.label, number)
        prompt = Prompt(label=how.label, render=lambda conversation=conversation: conversation)  # type: ignore[misc]
        answer = _Reply()
        try:
            answer.pull(model, prompt, usages, max_tokens=how.max_tokens, seed=seed)
            value, usage = read(answer.text), sum_usage(usages)
            return StructuredAnswer(value=value, tries=number + 1, usage=usage)
        except ModelError as broken:
            if TRAFFIC.get().spending.stopped is not None:
                raise
            error, failure = str(broken), "endpoint"
            if not answer.has_begun:
                return StructuredAnswer(
                    value=None,
                    error=error,
                    failure="endpoint",
                    tries=number + 1,
                    usage=sum_usage(usages),
                )
        except ValueError as wrong:
            error, failure = str(wrong), "answer"
            if answer.is_cut:
                limit = f" at {how.max_tokens} tokens" if how.max_tokens else ""
                error = f"the answer was cut off{limit} ({error})"
            conversation = (*messages, *_repair(answer.text, error))
    return StructuredAnswer(
        value=None,
        error=error,
        failure=failure,  # type: ignore[arg-type]
        tries=how.tries,
        usage=sum_usage(usages),
    )


def strip_fence(text: str) -> str:
    """An answer without the Markdown fence around it, if there is nothing else."""
    text = text.strip()
    fenced = fullmatch(r"```(?:json)?[ ]*\n(.*)\n[ ]*```", text, DOTALL)
    return fenced[1] if fenced else text


class _Reply:
    """An answer so far."""

    def __init__(self) -> None:
        self.text = ""
        self.has_begun = self.is_cut = False

    def pull(
        self,
        model: Model,
        prompt: Prompt,
        usages: list[Usage],
        *,
        max_tokens: int | None,
        seed: int,
    ) -> None:
        source = model.open(prompt, max_tokens=max_tokens, seed=seed)
        try:
            while isinstance(piece := source.pull(), Chunk):
                self.has_begun = True
                if piece.channel == "answer":
                    self.text += piece.text
            self.is_cut = piece.finish == "length"
        finally:
            source.close()
            usage = source.usage if isinstance(source, MeteredSource) else None
            if usage is not None:
                usages.append(usage)


def _repair(answer: str, error: str) -> tuple[Message, Message]:
    """The model's answer, and its error."""
    return (
        # Some servers refuse an empty message of the assistant.
        Message("assistant", answer.strip() or "(nothing)"),
        Message(
            "user",
            f"This answer cannot be used: {error}\n"
            "Give the whole answer again, corrected, and nothing else.",
        ),
    )
