"""Problems from a file of the user's own: JSONL (or CSV), and a map of its fields.

Maps are data. `PLAIN` is our own form; `MATH_500`, `AIME` and `GPQA` are those of three benchmarks
whose files the user brings: none of them is ours to give.
"""

import csv
import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from timeful.environments.reasoning.problems import Kind, Problem, fingerprint
from timeful.environments.reasoning.split import Split, split_of
from timeful.errors import SettingsError
from timeful.files import read_bytes
from timeful.seeding import child

_KINDS: Mapping[str, Kind] = {
    "exact": "exact",
    "integer": "exact",
    "letter": "letter",
    "mcq": "letter",
    "math": "math",
}

_MOST_CHOICES = 26
_TWICE = "has two choices that are the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Which field of a line holds what; of several names the first that is there counts.

    Attributes:
        benchmark: A name for the family in tables.
        question: The question.
        answer: The right answer: text, or for choices also a letter.
        id: A name of its own, which a fingerprint of all words follows: a problem that was
            changed, or stands in another file, is another one.
        choices: A list of choices, in the order of their letters.
        wrong: Fields that hold a wrong choice each; with the answer they are the choices, and
            their order is drawn.
        kind: A field that says how to check: exact, math or mcq.
        otherwise: How to check where no field says so.
        private: Whether its words must not be shown.
        sha256: Of the file that results are usually given for, if one is known.
    """

    benchmark: str
    question: tuple[str, ...]
    answer: tuple[str, ...]
    id: tuple[str, ...] = ("id",)
    choices: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    otherwise: Kind = "math"
    private: bool = False
    sha256: str = ""


PLAIN = Fields(
    benchmark="file",
    question=("question", "problem", "prompt"),
    answer=("answer", "target", "expected_answer"),
    choices=("choices",),
    kind=("type", "kind"),
)
MATH_500 = Fields(
    benchmark="math-500",
    question=("problem",),
    answer=("answer",),
    id=("unique_id",),
    sha256="35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132",
)
AIME = Fields(
    benchmark="aime",
    question=("problem", "question", "Problem", "Question", "prompt"),
    answer=("answer", "Answer", "target", "expected_answer"),
    id=("id", "ID", "unique_id"),
    otherwise="exact",
)
GPQA = Fields(
    benchmark="gpqa",
    question=("Question", "question"),
    answer=("Correct Answer", "correct_answer"),
    id=("Record ID", "record_id", "id"),
    wrong=("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3"),
    otherwise="letter",
    private=True,
)
BENCHMARKS: Mapping[str, Fields] = {
    "file": PLAIN,
    "math-500": MATH_500,
    "aime": AIME,
    "gpqa": GPQA,
}
"""Field maps by their names."""


def from_jsonl(
    path: Path,
    fields: Fields = PLAIN,
    *,
    kind: Kind | None = None,
    limit: int | None = None,
    seed: int = 0,
    split: Split | None = None,
) -> tuple[Problem, ...]:
    """Read problems from a file with one JSON object a line, or from a `.csv` with a header.

    A file other than the one that is named by the map is read too, after a warning.

    Args:
        path: The file.
        fields: Its fields.
        kind: How all are checked, whatever the file says.
        limit: How many to take, drawn by the seed and kept in order; None takes all.
        seed: Of that draw, and of the order of choices.
        split: Only problems that are on this side; None takes all.

    Raises:
        SettingsError: If the file cannot be read or a problem is not whole; the line and the
            field are named, and nothing of its words.
    """
    if limit is not None and limit < 1:
        raise SettingsError(f"at least one problem must be taken, got {limit}")
    content = _content(path, fields)
    lines = _csv(path, content) if path.suffix == ".csv" else _lines(path, content)
    rows = [_Row(path, n, row) for n, row in lines]
    problems = [_problem(row, fields, kind, seed) for row in rows]
    names = (row.find(fields.id) or problem.id for row, problem in zip(rows, problems, strict=True))
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            raise SettingsError(f"{path.name} holds {count} problems with the id {name!r}")
    if split is not None:
        problems = [problem for problem in problems if split_of(problem.question) == split]
    if not problems:
        side = "" if split is None else f" on the side of {split}"
        raise SettingsError(f"{path.name} holds no problem{side}")
    if limit is None or limit >= len(problems):
        return tuple(problems)
    order = child(seed, "problems", fields.benchmark).permutation(len(problems))[:limit]
    return tuple(problems[i] for i in sorted(order))


def _content(path: Path, fields: Fields) -> str:
    try:
        raw = read_bytes(path)
        content = raw.decode("utf-8-sig")
    except (SettingsError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read problems from {path.name}: {error}") from None
    if content.startswith("version https://git-lfs"):
        raise SettingsError(
            f"{path.name} is a pointer of Git LFS; fetch the file with git lfs pull"
        )
    if fields.sha256 and sha256(raw).hexdigest() != fields.sha256:
        warnings.warn(
            f"{path.name} is not the file of {fields.benchmark} that results are usually given "
            f"for: its sha256 is not {fields.sha256}",
            stacklevel=3,
        )
    return content


def _lines(path: Path, content: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for n, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise SettingsError(f"line {n} of {path.name} is no JSON") from None
        if not isinstance(row, dict):
            raise SettingsError(f"line {n} of {path.name} is no JSON object")
        yield n, row


def _csv(path: Path, content: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(content.splitlines(keepends=True))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise SettingsError(f"line {reader.line_num} of {path.name} is no CSV: {error}") from None


@dataclass(frozen=True, slots=True)
class _Row:
    path: Path
    line: int
    held: Mapping[str, Any]

    def text(self, names: tuple[str, ...], field: str) -> str:
        """The text in the first of these fields that is there; numbers are taken as text."""
        value = self.find(names)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            columns = " or ".join(map(repr, names))
            raise self.wrong(f"needs text in the field {columns}, for the {field}")
        return value.strip()

    def find(self, names: tuple[str, ...]) -> Any:
        return next((self.held[name] for name in names if name in self.held), None)

    def wrong(self, why: str) -> SettingsError:
        return SettingsError(f"line {self.line} of {self.path.name} {why}")


def _problem(row: _Row, fields: Fields, kind: Kind | None, seed: int) -> Problem:
    question = row.text(fields.question, "question")
    answer = row.text(fields.answer, "answer")
    own = row.find(fields.id)
    choices = _choices(row, fields)
    words = fingerprint(question, answer, *choices)
    name = words if own in (None, "") else f"{own}-{words}"
    if fields.wrong:
        choices, answer = _shuffled(row, answer, choices, seed)
    checked = kind or _kind(row, fields, choices)
    if checked == "letter":
        answer = _letter(row, answer, choices)
    return Problem(
        id=f"{fields.benchmark}-{name}",
        family=fields.benchmark,
        question=question,
        answer=answer,
        kind=checked,
        choices=choices,
        private=fields.private,
    )


def _kind(row: _Row, fields: Fields, choices: tuple[str, ...]) -> Kind:
    value = row.find(fields.kind)
    if value is None:
        return "letter" if choices else fields.otherwise
    if not isinstance(value, str) or value not in _KINDS:
        raise row.wrong(f"has an unknown type; there are {', '.join(_KINDS)}")
    return _KINDS[value]


def _choices(row: _Row, fields: Fields) -> tuple[str, ...]:
    if fields.wrong:
        return tuple(row.text((name,), "wrong choice") for name in fields.wrong)
    value = row.find(fields.choices)
    if value is None:
        return ()
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_CHOICES:
        raise row.wrong(f"needs a list of 2 to {_MOST_CHOICES} in the field 'choices'")
    if not all(isinstance(choice, str | int | float) for choice in value):
        raise row.wrong("needs texts or numbers in the field 'choices'")
    return tuple(str(choice).strip() for choice in value)


def _shuffled(
    row: _Row, right: str, wrong: tuple[str, ...], seed: int
) -> tuple[tuple[str, ...], str]:
    """All choices in an order of their own, and the letter of the right one."""
    values = [right, *wrong]
    if len(set(values)) < len(values):
        raise row.wrong(_TWICE)
    order = list(child(seed, "choices", fingerprint(*values)).permutation(len(values)))
    return tuple(values[i] for i in order), chr(ord("A") + order.index(0))


def _letter(row: _Row, answer: str, choices: tuple[str, ...]) -> str:
    if len(choices) < 2:
        raise row.wrong("needs choices, since its answer is a letter")
    if len(answer) == 1 and 0 <= ord(answer.upper()) - ord("A") < len(choices):
        return answer.upper()
    if choices.count(answer) > 1:
        raise row.wrong(_TWICE)
    if answer in choices:
        return chr(ord("A") + choices.index(answer))
    raise row.wrong("has an answer that is neither a letter of its choices nor one of them")
