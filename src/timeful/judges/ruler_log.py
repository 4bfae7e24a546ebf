"""The log of RULER's requests and answers, by which a training can be audited.

A line is a group: the messages to the judge, and its scores with reasons or the error. A group with
scores in the log is not sent to the judge again; a dropped group is.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from timeful.judges.ruler_prompts import Verdict
from timeful.models.model import Message
from timeful.models.structured_output import Failure, StructuredAnswer
from timeful.records.store import KeyedLog, read_log
from timeful.records.usage import Usage
from timeful.records.usage_total import NamedUsage


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the log.

    Attributes:
        key: A digest of the question: judge, messages, limit and seed.
        group: The group's name.
        judge: The judge's name.
        messages: The roles and texts of the messages to the judge.
        verdicts: By the ids of the candidates, 1, 2, ...; None if the group was dropped.
        error: The reason for which it was dropped.
        failure: The kind of failure.
        tries: The number of requests.
        usage: Their tokens; None if no server counts them.
    """

    key: str
    group: str
    judge: str
    messages: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...] | None = None
    error: str = ""
    failure: Failure | None = None
    tries: int
    usage: Usage | None = None


def read_judge_usage(path: Path) -> Iterator[NamedUsage]:
    """The token usage of the judges of a log."""
    for line in read_log(path, Judgement):
        if line.usage is not None:
            yield (line.judge, "judge"), line.usage


class RulerLog:
    """The log of a file; safe for many threads of one process.

    Args:
        path: The file; earlier scores in it are used.
        about: The settings of a judge next to its name, as `Endpoint.about` has them.

    Raises:
        RecordError: If the file is another one.
    """

    def __init__(self, path: Path, *, about: dict[str, Any] | None = None) -> None:
        self._about = about or {}
        self._lines = KeyedLog(path, Judgement, key=lambda line: line.key, sync=True)

    @property
    def has_scores(self) -> bool:
        """Whether any group was ever scored."""
        return any(line.verdicts is not None for line in self._lines.values())

    def key(
        self, judge: str, messages: Sequence[Message], max_tokens: int | None, seed: int
    ) -> str:
        """A digest that is equal for the same question to the same judge only."""
        words = [(message.role, message.shown) for message in messages]
        question = [judge, self._about, words, max_tokens, seed]
        return sha256(msgspec.json.encode(question, order="sorted")).hexdigest()

    def scored(self, key: str) -> tuple[Verdict, ...] | None:
        """The earlier scores of a question, if there are any."""
        line = self._lines.get(key)
        return None if line is None else line.verdicts

    def add(
        self,
        key: str,
        group: str,
        judge: str,
        messages: Sequence[Message],
        answer: StructuredAnswer[tuple[Verdict, ...]],
    ) -> None:
        """Log the answer to a question, or the failure to get one."""
        self._lines.put(
            Judgement(
                key=key,
                group=group,
                judge=judge,
                messages=tuple((message.role, message.shown) for message in messages),
                verdicts=answer.value,
                error="" if answer.value else answer.error,
                failure=None if answer.value else answer.failure,
                tries=answer.tries,
                usage=answer.usage,
            )
        )
