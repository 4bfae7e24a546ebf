"""The counts of a policy's evaluation: in its record, in its row, and as resampled sums."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from timeful.errors import RecordError
from timeful.records.events import Entry, EpisodeEnded, EpisodeFailed, EpisodeStarted, Happened
from timeful.records.recorder import Recorder
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
        RecordError: If the events are no whole record of a toy episode.
    """
    recorder = Recorder()
    episode: dict[str, object] = {}
    data: dict[str, object] = {"counts": {}, "modes": None}
    end: EpisodeEnded | EpisodeFailed | None = None
    for event in events:
        recorder.write(event)
        match event:
            case EpisodeStarted():
                episode = dict(event.settings.get("episode", {}))
            case Happened():
                data = event.data
            case EpisodeEnded() | EpisodeFailed():
                end = event
    if end is None:
        raise RecordError("the record has no end: its episode was cut off")
    columns = msgspec.convert(data["counts"], dict[str, list[float]])
    try:
        return msgspec.convert(
            {
                **episode,
                "seed": FIRST_SEED + msgspec.convert(episode["run"], int),
                "status": "ok" if isinstance(end, EpisodeEnded) else "failed",
                "score": end.score if isinstance(end, EpisodeEnded) else None,
                "modes": data["modes"] or (),
                "counts": zlib.compress(msgspec.json.encode(columns)),
                "error": None if isinstance(end, EpisodeEnded) else f"{end.boundary}: {end.error}",
                "sha256": recorder.sha256,
            },
            ToyRow,
        )
    except (KeyError, msgspec.ValidationError) as error:
        raise RecordError(f"the record is not of a toy episode: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The sums of columns over evaluation episodes, and over those of each resample."""

    episodes: int
    totals: Mapping[str, float]
    resampled: Mapping[str, Floats]


@lru_cache(maxsize=4096)
def resample(counts: bytes) -> Sums:
    """Resample the evaluation episodes of a policy: with the same weights for every policy."""
    columns = msgspec.json.decode(zlib.decompress(counts), type=dict[str, list[float]])
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
