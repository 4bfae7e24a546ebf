"""Proactiveness rating, PR: a language model rates predictions, turn by turn (ProActor, C).

The judge sees the conversation up to the turn and the predictions there, also an empty set: a
missing action gets the lowest rating. An invalid answer is requested again and finally counted as
failed; it never becomes a rating.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.opportunity import Opportunity, write_opportunities
from timeful.dialogues.transcript import transcript
from timeful.judges.settings import SYSTEM, TASK
from timeful.metrics.proactor.judge_score import MeanRating, mean_rating, read_rating
from timeful.models.cancellation import ask_concurrently
from timeful.models.model import Message, Model
from timeful.models.structured_output import (
    Failure,
    StructuredQuestion,
    ask_structured,
    strip_fence,
)
from timeful.models.templates import fill
from timeful.records.usage import Usage
from timeful.seeding import child_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Predictions to rate, and the conversation up to their turn as text."""

    dialogue: str
    turn: int
    context: str
    predictions: tuple[Opportunity, ...]

    @classmethod
    def at(cls, dialogue: Dialogue, turn: int, predictions: Iterable[Opportunity]) -> "Case":
        """The predictions at a turn of a dialogue, without the later turns."""
        return cls(
            dialogue=dialogue.id,
            turn=turn,
            context=transcript(dialogue.turns, until=turn),
            predictions=tuple(predictions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The rating of a case.

    Attributes:
        dialogue: The dialogue of the case.
        turn: The turn of the case.
        rating: -1 or 1 to 5; None for a failure.
        reasoning: The judge's reason.
        error: The error of a failure.
        failure: The kind of a failure.
        tries: The number of requests.
        usage: Their tokens; None if no server counts them.
    """

    dialogue: str
    turn: int
    rating: int | None
    reasoning: str = ""
    error: str = ""
    failure: Failure | None = None
    tries: int
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The prompts and limits of a judge.

    Args:
        system: The task and the scale.
        task: A template with `{dialogue_context}` and `{proactive_action_predictions}`.
        max_tokens: The maximum tokens of an answer; None for no limit.
        tries: The maximum number of requests for an answer.
        seed: The seed of all requests.
    """

    system: str = SYSTEM
    task: str = TASK
    max_tokens: int | None = 4096
    tries: int = 4
    seed: int = 0


def judge(
    model: Model, cases: Sequence[Case], rubric: Rubric | None = None, *, workers: int = 4
) -> list[Verdict]:
    """Rate cases concurrently.

    Args:
        model: The judge.
        cases: The cases; their verdicts are independent.
        rubric: The prompts and limits.
        workers: The number of concurrent requests, at least 1.

    Returns:
        A verdict for each case, in their order, failures included.

    Raises:
        SettingsError: If `workers` is below 1.
        KeyboardInterrupt: After all requests were stopped.
    """
    rubric = rubric or Rubric()
    return ask_concurrently(
        model, lambda judge, case: rate_case(judge, case, rubric), cases, workers=workers
    )


def proactiveness(verdicts: Iterable[Verdict]) -> tuple[MeanRating, int]:
    """PR of the valid verdicts, and the number of failures."""
    ratings = [verdict.rating for verdict in verdicts]
    valid = [rating for rating in ratings if rating is not None]
    return mean_rating(valid), len(ratings) - len(valid)


def make_messages(case: Case, rubric: Rubric) -> tuple[Message, ...]:
    """The messages to a judge."""
    predictions = msgspec.json.encode(write_opportunities(case.predictions))
    values = {
        "dialogue_context": case.context,
        "proactive_action_predictions": msgspec.json.format(predictions).decode(),
    }
    return Message("system", rubric.system), Message("user", fill(rubric.task, values))


def rate_case(model: Model, case: Case, rubric: Rubric) -> Verdict:
    """Rate one case."""
    answer = ask_structured(
        model,
        make_messages(case, rubric),
        _read,
        StructuredQuestion(
            label="judge",
            max_tokens=rubric.max_tokens,
            tries=rubric.tries,
            seed=child_seed(rubric.seed, "judge", case.dialogue, case.turn),
        ),
    )
    rating, reasoning = answer.value or (None, "")
    return Verdict(
        dialogue=case.dialogue,
        turn=case.turn,
        rating=rating,
        reasoning=reasoning,
        error="" if answer.value else answer.error,
        failure=None if answer.value else answer.failure,
        tries=answer.tries,
        usage=answer.usage,
    )


def _read(text: str) -> tuple[int, str]:
    """The rating and its reasoning; both are required."""
    text = strip_fence(text)
    rating = read_rating(text)
    reasoning = msgspec.json.decode(text.encode()).get("reasoning")
    if not isinstance(reasoning, str):
        raise ValueError('a rating needs its "reasoning", a text')
    return rating, reasoning
