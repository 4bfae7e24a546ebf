"""What RULER asked and was answered: a log that only grows, so that training can be audited.

A line is a group: what the judge was shown, its scores with their reasons, or why there are none.
A group that was scored is not asked for again by who reads the log; one that was dropped is. A
line is written in one piece; what a kill left of a last one is cut off.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Self

import msgspec

from timeful.errors import RecordError
from timeful.judges.ruler_words import Verdict
from timeful.models.asking import Asked, Failure
from timeful.models.model import Message


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

    Args:
        path: Begun, or continued.
        about: What makes a judge what it is beside its name, as `Endpoint.about` has it.

    Raises:
        RecordError: If the file is no such log.
    """

    def __init__(self, path: Path, *, about: dict[str, Any] | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._about = about or {}
        self._lock = Lock()
        self._file = path.open("a+b")
        try:
            self._scored = self._mended(path)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        asked: Asked[tuple[Verdict, ...]],
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
        with self._lock:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
            if line.verdicts is not None:
                self._scored[key] = line.verdicts

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _mended(self, path: Path) -> dict[str, tuple[Verdict, ...]]:
        found: dict[str, tuple[Verdict, ...]] = {}
        decoder = msgspec.json.Decoder(Judgement)
        offset = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                self._file.truncate(offset)
                break
            try:
                one = decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RecordError(f"{path.name}, line {number}: no judgement ({error})") from None
            if one.verdicts is not None:
                found[one.key] = one.verdicts
            offset += len(line)
        return found
