"""The counts of a policy's evaluation: in its record, in its row, and as resampled sums."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from timeful.records.events import Entry, EpisodeEnded, Happened
from timeful.records.summary import CompleteRecord, make_row
from timeful.reports.estimate import draw_weights
from timeful.seeding import child
from timeful.suites.engagement.toys.episode import FIRST_SEED

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The outcome of an evaluation.

    Attributes:
        counts: Columns of equal length, one value an episode, such as "return" or "resolved".
        modes: In deliberation, how often each mode (columns) was chosen at each slack (rows).
    """

    counts: Mapping[str, Floats]
    modes: NDArray[np.int64] | None = None

    def encode(self) -> dict[str, object]:
        """The evaluation as plain JSON values."""
        columns = {
            name: [int(v) if v.is_integer() else v for v in column.tolist()]
            for name, column in self.counts.items()
        }
        return {"counts": columns, "modes": None if self.modes is None else self.modes.tolist()}


class ToyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the evaluation of one policy.

    `score` is the mean return. `counts` holds the columns of the evaluation, a value an episode,
    compressed. `modes` has a tuple for each slack: how often each mode was chosen.
    """

    experiment: str
    method: str
    learner: str
    seed: int
    training: int
    evaluation: int
    status: Literal["ok", "failed"]
    score: float | None
    modes: tuple[tuple[int, ...], ...]
    counts: bytes
    error: str | None
    sha256: str


def summarize(events: Iterable[Entry]) -> ToyRow:
    """Sum up one episode.

    Raises:
        RecordError: If the events are not a complete record of a toy episode.
    """
    return make_row(events, ToyRow, _read)


def _read(record: CompleteRecord) -> dict[str, object]:
    happened = (event.data for event in record.events if isinstance(event, Happened))
    data: dict[str, Any] = next(happened, {"counts": {}, "modes": None})
    columns = msgspec.convert(data["counts"], dict[str, list[float]])
    return {
        "seed": FIRST_SEED + msgspec.convert(record.settings["episode"]["run"], int),
        "score": record.end.score if isinstance(record.end, EpisodeEnded) else None,
        "modes": data["modes"] or (),
        "counts": zlib.compress(msgspec.json.encode(columns)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The sums of columns over evaluation episodes, and over those of each resample.

    Their number is a column too.
    """

    episodes: int
    totals: Mapping[str, float]
    resampled: Mapping[str, Floats]


@lru_cache(maxsize=4096)
def resample(counts: bytes) -> Sums:
    """Resample the evaluation episodes of a policy: with the same weights for every policy."""
    columns = msgspec.json.decode(zlib.decompress(counts), type=dict[str, list[float]])
    columns["episodes"] = [1.0] * len(next(iter(columns.values())))
    table = np.column_stack(list(columns.values()))
    resampled = _weights(len(table)) @ table
    return Sums(
        episodes=len(table),
        totals=dict(zip(columns, table.sum(axis=0).tolist(), strict=True)),
        resampled={name: resampled[:, index] for index, name in enumerate(columns)},
    )


@lru_cache(maxsize=4)
def _weights(episodes: int) -> Floats:
    return draw_weights(child(FIRST_SEED, "engagement/toys", "bootstrap"), episodes)
