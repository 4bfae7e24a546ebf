"""Proactiveness rating, PR: a language model rates predictions, turn by turn (ProActor, C).

The judge sees the conversation up to the turn, and what was predicted there, also where that is
nothing: an action that was asked for and is missing is the lowest rating. An answer that is no
rating is asked for again, and then counted as failed; it is never read as some rating.
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
from timeful.seeding import child_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Predictions to rate, and the conversation up to them, as text."""

    dialogue: str
    turn: int
    context: str
    predictions: tuple[Opportunity, ...]

    @classmethod
    def at(cls, dialogue: Dialogue, turn: int, predictions: Iterable[Opportunity]) -> "Case":
        """The predictions at a turn of a dialogue; what comes after it is not shown."""
        return cls(
            dialogue=dialogue.id,
            turn=turn,
            context=transcript(dialogue.turns, until=turn),
            predictions=tuple(predictions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge said of a case.

    Attributes:
        dialogue: The case's dialogue.
        turn: The case's turn.
        rating: -1 or 1 to 5; None if there is none.
        reasoning: Why, in the judge's words.
        error: Why there is no rating.
        failure: By what it failed.
        tries: How often it was asked for.
    """

    dialogue: str
    turn: int
    rating: int | None
    reasoning: str = ""
    error: str = ""
    failure: Failure | None = None
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """How a case is put to a judge.

    Args:
        system: What it is told of the task and the scale.
        task: A template that says `{dialogue_context}` and `{proactive_action_predictions}`.
        max_tokens: The most tokens of an answer; None for no limit.
        tries: How often an answer is asked for at most.
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
    """Have cases rated, some side by side.

    Args:
        model: The judge.
        cases: The cases; the verdict on one depends on no other.
        rubric: How they are put to it; ours by default.
        workers: How many are asked at a time, at least 1.

    Returns:
        A verdict for each case, in their order, those that failed among them.

    Raises:
        SettingsError: If there are no workers.
        KeyboardInterrupt: After everything was stopped.
    """
    rubric = rubric or Rubric()
    return ask_concurrently(
        model, lambda judge, case: _rate(judge, case, rubric), cases, workers=workers
    )


def proactiveness(verdicts: Iterable[Verdict]) -> tuple[MeanRating, int]:
    """PR of verdicts, and how many of them failed, which are in no mean."""
    ratings = [one.rating for one in verdicts]
    rated = [one for one in ratings if one is not None]
    return mean_rating(rated), len(ratings) - len(rated)


def _rate(model: Model, case: Case, rubric: Rubric) -> Verdict:
    predictions = msgspec.json.encode(write_opportunities(case.predictions))
    values = {
        "dialogue_context": case.context,
        "proactive_action_predictions": msgspec.json.format(predictions).decode(),
    }
    asked = ask_structured(
        model,
        (Message("system", rubric.system), Message("user", fill(rubric.task, values))),
        _read,
        StructuredQuestion(
            label="judge",
            max_tokens=rubric.max_tokens,
            tries=rubric.tries,
            seed=child_seed(rubric.seed, "judge", case.dialogue, case.turn),
        ),
    )
    rating, reasoning = asked.value or (None, "")
    return Verdict(
        dialogue=case.dialogue,
        turn=case.turn,
        rating=rating,
        reasoning=reasoning,
        error="" if asked.value else asked.error,
        failure=None if asked.value else asked.failure,
        tries=asked.tries,
    )


def _read(text: str) -> tuple[int, str]:
    """The rating and why; both must be there."""
    text = strip_fence(text)
    rating = read_rating(text)
    reasoning = msgspec.json.decode(text.encode()).get("reasoning")
    if not isinstance(reasoning, str):
        raise ValueError('a rating needs its "reasoning", a text')
    return rating, reasoning
