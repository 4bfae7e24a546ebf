"""What RULER asked and was answered: a log that only grows, so that training can be audited.

A line is a group: what the judge was shown, its scores with their reasons, or why there are none.
A group that was scored is not asked for again by who reads the log; one that was dropped is. A
line is written in one piece; what a kill left of a last one is cut off.
"""

from collections.abc import Sequence
from hashlib import sha256
from io import SEEK_END
from pathlib import Path
from threading import Lock
from typing import Any, Self

import msgspec

from timeful.errors import RecordError
from timeful.judges.ruler_prompts import Verdict
from timeful.models.model import Message
from timeful.models.structured_output import Failure, StructuredAnswer


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the log.

    Attributes:
        key: Of all that makes an answer what it is: judge, words, limit and seed.
        group: The group's name.
        judge: The judge's name.
        messages: What it was shown: roles and texts.
        verdicts: By the ids of the candidates, 1, 2, ...; None if the group was dropped.
        error: Why it was dropped.
        failure: By what it failed.
        tries: How often it was asked for.
    """

    key: str
    group: str
    judge: str
    messages: tuple[tuple[str, str], ...]
    verdicts: tuple[Verdict, ...] | None = None
    error: str = ""
    failure: Failure | None = None
    tries: int


class RulerLog:
    """The log of a file, which one process writes at a time; safe for many threads.

    It is open within `with`, and may be opened again: then only what is new is read.

    Args:
        path: Begun, or continued.
        about: What makes a judge what it is beside its name, as `Endpoint.about` has it.

    Raises (when it is opened):
        RecordError: If the file is no such log.
    """

    def __init__(self, path: Path, *, about: dict[str, Any] | None = None) -> None:
        self._path = path
        self._about = about or {}
        self._lock = Lock()
        self._scored: dict[str, tuple[Verdict, ...]] = {}
        self._read = self._lines = 0  # so many bytes, and lines, are known

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        try:
            self._catch_up()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def has_scores(self) -> bool:
        """Whether any group was ever scored."""
        return bool(self._scored)

    def key(
        self, judge: str, messages: Sequence[Message], max_tokens: int | None, seed: int
    ) -> str:
        """What is equal only for the same question to the same judge."""
        said = [(one.role, one.shown) for one in messages]
        whole = msgspec.json.encode([judge, self._about, said, max_tokens, seed], order="sorted")
        return sha256(whole).hexdigest()

    def scored(self, key: str) -> tuple[Verdict, ...] | None:
        """What was scored before."""
        return self._scored.get(key)

    def add(
        self,
        key: str,
        group: str,
        judge: str,
        messages: Sequence[Message],
        asked: StructuredAnswer[tuple[Verdict, ...]],
    ) -> None:
        """Write down what came of a question."""
        line = Judgement(
            key=key,
            group=group,
            judge=judge,
            messages=tuple((one.role, one.shown) for one in messages),
            verdicts=asked.value,
            error="" if asked.value else asked.error,
            failure=None if asked.value else asked.failure,
            tries=asked.tries,
        )
        text = msgspec.json.encode(line) + b"\n"
        with self._lock:
            self._file.write(text)
            self._file.flush()
            self._read += len(text)
            self._lines += 1
            if line.verdicts is not None:
                self._scored[key] = line.verdicts

    def _catch_up(self) -> None:
        """Read what is new, and cut off what a kill left of a last line."""
        if self._file.seek(0, SEEK_END) < self._read:  # somebody began it anew
            self._scored, self._read, self._lines = {}, 0, 0
        decoder = msgspec.json.Decoder(Judgement)
        self._file.seek(self._read)
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(self._read)
                break
            try:
                one = decoder.decode(line)
            except msgspec.DecodeError as error:
                where = f"{self._path.name}, line {self._lines + 1}"
                raise RecordError(f"{where}: no judgement ({error})") from None
            if one.verdicts is not None:
                self._scored[one.key] = one.verdicts
            self._read += len(line)
            self._lines += 1
