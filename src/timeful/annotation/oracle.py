"""Who annotates a dialogue: an endpoint that sees all of it, or a rule (D.1.3, D.2).

Either gives reference opportunities for every turn; ready ranges and reference questions follow
from them and from the words. What it gives depends on the dialogue alone, never on which others
are annotated, when, or beside what.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from timeful.annotation.hindsight import LABEL, hindsight
from timeful.annotation.prompts import messages
from timeful.annotation.response_parser import References, read_answer
from timeful.annotation.settings import Settings
from timeful.annotation.transcript_oracle import WORDS_LABEL, DialogueStateTracker
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.dialogue import Dialogue, Turn, ranges_of
from timeful.metrics.proactor.questions import reference_questions
from timeful.models.cancellation import CancellableModel
from timeful.models.model import Model
from timeful.models.structured_output import (
    Failure,
    StructuredAnswer,
    StructuredQuestion,
    ask_structured,
)
from timeful.seeding import child_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """What came of a dialogue: it with references, or an error and by what it failed.

    `requests` counts what an endpoint was asked, `repairs` how many of them asked again.
    """

    dialogue: Dialogue | None = None
    error: str = ""
    failure: Failure | None = None
    requests: int = 0
    repairs: int = 0


class Oracle(Protocol):
    """Somebody who annotates; from several threads at once."""

    @property
    def name(self) -> str:
        """Who it is, as it stands in the dialogues."""
        ...

    def annotate(self, dialogue: Dialogue) -> Annotated:
        """Annotate a dialogue."""
        ...

    def stop(self) -> None:
        """End what is under way, from any thread; what it gives after that counts for nothing."""
        ...


class RuleOracle:
    """Hindsight by rule: by what was done, or else by what was said; a dialogue tells which."""

    name = LABEL

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._tracker = DialogueStateTracker(knowledge)

    def annotate(self, dialogue: Dialogue) -> Annotated:
        """Annotate a dialogue."""
        if dialogue.observed:
            found, label = hindsight(dialogue, self._knowledge), self.name
        else:
            found, label = self._tracker(dialogue), WORDS_LABEL
        return Annotated(dialogue=with_references(dialogue, found, label))

    def stop(self) -> None:
        """Nothing: it is done at once."""


class LlmOracle:
    """A language model, asked about some turns at a time.

    Args:
        model: Which.
        settings: How it is asked.
        knowledge: The tools.
        on_event: Told of requests that had to be repeated and of dialogues that failed, in words.
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
        """Annotate a dialogue, request by request; the first that comes to nothing ends it."""
        found: References = {}
        requests = repairs = 0
        size = self._settings.turns_a_request
        for begin in range(0, len(dialogue.turns), size):
            turns = dialogue.turns[begin : begin + size]
            asked = self._ask(dialogue, turns)
            requests += asked.tries
            repairs += asked.tries - 1
            first, last = turns[0].number, turns[-1].number
            where = f"turn {first}" if first == last else f"turns {first} to {last}"
            if asked.value is None:
                error = f"{where}: {asked.error}"
                if asked.failure == "answer":
                    error += f" (in the last of {asked.tries} answers)"
                return Annotated(
                    error=error, failure=asked.failure, requests=requests, repairs=repairs
                )
            if asked.tries > 1:
                self._on_event(f"dialogue {dialogue.id}, {where}: asked {asked.tries} times")
            found |= asked.value
        return Annotated(
            dialogue=with_references(dialogue, found, self.name),
            requests=requests,
            repairs=repairs,
        )

    def stop(self) -> None:
        """Ask nothing more, and end the streams."""
        self._model.stop()

    def _ask(self, dialogue: Dialogue, turns: tuple[Turn, ...]) -> StructuredAnswer[References]:
        settings = self._settings
        numbers = [turn.number for turn in turns]
        catalog = self._catalog if settings.annotation.validate_output else None
        return ask_structured(
            self._model,
            messages(
                settings.prompts.system_prompt,
                settings.prompts.task_prompt,
                dialogue=dialogue,
                turns=turns,
                catalog=self._catalog,
            ),
            lambda text: read_answer(text, numbers, catalog),
            StructuredQuestion(
                label="annotate",
                max_tokens=settings.llm.max_tokens,
                tries=settings.annotation.tries,
                seed=child_seed(settings.llm.seed, "annotate", dialogue.id, numbers[0]),
            ),
        )


def with_references(dialogue: Dialogue, references: References, annotator: str) -> Dialogue:
    """A dialogue with references in place of those it had, and what follows from them.

    Its questions stay, if it has any; else they are what the agent asks.
    """
    return msgspec.structs.replace(
        dialogue,
        references=references,
        ready_ranges=ranges_of(references),
        questions=reference_questions(dialogue),
        annotator=annotator,
    )
