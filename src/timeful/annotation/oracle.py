"""Oracles that annotate a dialogue: a language model, or a rule (D.1.3, D.2).

Both give reference opportunities for every turn, from which ready ranges and reference questions
follow. The annotation of a dialogue does not depend on other dialogues or on their order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from timeful.annotation.hindsight import LABEL, hindsight
from timeful.annotation.prompts import messages
from timeful.annotation.response_parser import References, read_answer
from timeful.annotation.settings import Settings
from timeful.annotation.transcript_oracle import WORDS_LABEL, DialogueStateTracker
from timeful.catalogs.catalog import Catalog
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Dialogue, Turn, ranges_of
from timeful.metrics.proactor.questions import reference_questions
from timeful.models.cancellation import CancellableModel
from timeful.models.model import Message, Model
from timeful.models.structured_output import (
    Failure,
    StructuredAnswer,
    StructuredQuestion,
    ask_structured,
)
from timeful.records.usage import Usage, sum_usage
from timeful.seeding import child_seed

ASKED = "annotate"
"""The label of the prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """A dialogue with references, or an error and the kind of the failure.

    `requests` counts all requests to an endpoint, `repairs` the repeated ones. `usage` are their
    tokens; None if no server counts them.
    """

    dialogue: Dialogue | None = None
    error: str = ""
    failure: Failure | None = None
    requests: int = 0
    repairs: int = 0
    usage: Usage | None = None


class Oracle(Protocol):
    """An annotator, usable from several threads."""

    @property
    def name(self) -> str:
        """The annotator in dialogues."""
        ...

    def annotate(self, dialogue: Dialogue) -> Annotated:
        """Annotate a dialogue."""
        ...

    def stop(self) -> None:
        """End running requests, from any thread; later results are ignored."""
        ...


class RuleOracle:
    """Annotates by rule: from observed actions, or else from the transcript."""

    name = LABEL

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._tracker = DialogueStateTracker(knowledge)

    def annotate(self, dialogue: Dialogue) -> Annotated:
        """Annotate a dialogue."""
        if dialogue.observed:
            references, label = hindsight(dialogue, self._knowledge), self.name
        else:
            references, label = self._tracker(dialogue), WORDS_LABEL
        return Annotated(dialogue=with_references(dialogue, references, label))

    def stop(self) -> None:
        """Do nothing: there are no requests."""


class LlmOracle:
    """Annotates with a language model, several turns per request.

    Args:
        model: The model.
        settings: Prompts and limits.
        knowledge: The tools.
        on_event: Receives messages about repeated requests and failed dialogues.
    """

    def __init__(
        self,
        model: Model,
        settings: Settings,
        knowledge: Knowledge,
        *,
        on_event: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._model = CancellableModel(model)
        self._settings = settings
        self._catalog = knowledge.catalog
        self._on_event = on_event

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    def annotate(self, dialogue: Dialogue) -> Annotated:
        """Annotate a dialogue request by request, until the first failure."""
        references: References = {}
        requests = repairs = 0
        usage: Usage | None = None
        size = self._settings.turns_a_request
        for begin in range(0, len(dialogue.turns), size):
            turns = dialogue.turns[begin : begin + size]
            answer = self._ask(dialogue, turns)
            requests += answer.tries
            repairs += answer.tries - 1
            usage = sum_usage(part for part in (usage, answer.usage) if part is not None)
            first, last = turns[0].number, turns[-1].number
            location = f"turn {first}" if first == last else f"turns {first} to {last}"
            if answer.value is None:
                error = f"{location}: {answer.error}"
                if answer.failure == "answer":
                    error += f" (in the last of {answer.tries} answers)"
                return Annotated(
                    error=error,
                    failure=answer.failure,
                    requests=requests,
                    repairs=repairs,
                    usage=usage,
                )
            if answer.tries > 1:
                self._on_event(f"dialogue {dialogue.id}, {location}: asked {answer.tries} times")
            references |= answer.value
        return Annotated(
            dialogue=with_references(dialogue, references, self.name),
            requests=requests,
            repairs=repairs,
            usage=usage,
        )

    def stop(self) -> None:
        """Refuse further requests and end the streams."""
        self._model.stop()

    def _ask(self, dialogue: Dialogue, turns: tuple[Turn, ...]) -> StructuredAnswer[References]:
        settings = self._settings
        numbers = [turn.number for turn in turns]
        catalog = self._catalog if settings.annotation.validate_output else None
        return ask_structured(
            self._model,
            make_messages(settings, self._catalog, dialogue, turns),
            lambda text: read_answer(text, numbers, catalog),
            StructuredQuestion(
                label=ASKED,
                max_tokens=settings.llm.max_tokens,
                tries=settings.annotation.tries,
                seed=child_seed(settings.llm.seed, "annotate", dialogue.id, numbers[0]),
            ),
        )


def make_messages(
    settings: Settings, catalog: Catalog, dialogue: Dialogue, turns: Sequence[Turn]
) -> tuple[Message, ...]:
    """The request for the references of some turns of a dialogue."""
    return messages(
        settings.prompts.system_prompt,
        settings.prompts.task_prompt,
        dialogue=dialogue,
        turns=tuple(turns),
        catalog=catalog,
    )


def with_references(dialogue: Dialogue, references: References, annotator: str) -> Dialogue:
    """Replace the references of a dialogue and derive ready ranges.

    A dialogue without reference questions gets the questions of the agent.
    """
    return msgspec.structs.replace(
        dialogue,
        references=references,
        ready_ranges=ranges_of(references),
        questions=reference_questions(dialogue),
        annotator=annotator,
    )
