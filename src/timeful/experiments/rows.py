"""The row of an episode: made from its record alone, by the suite or by these generic rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec

from timeful.core.units import in_seconds
from timeful.errors import SettingsError
from timeful.experiments.suite import Suite
from timeful.records.events import Entry, EpisodeEnded
from timeful.records.summary import CompleteRecord, complete_record


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMaker:
    """Makes rows of one suite from records; it can be sent to a worker process.

    Attributes:
        summarize: The suite's function.
        struct: The type of its rows, if it makes whole rows.
        fields: The fields of an episode, which begin a generic row.
        columns: The numbers that follow in a generic row.
    """

    summarize: Callable[..., Any] | None
    struct: type[msgspec.Struct] | None
    fields: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def row_type(self) -> type[Any]:
        """The type of the rows."""
        return self.struct or generic_row_type(self.fields, self.columns)

    def make(self, events: Iterable[Entry]) -> Any:
        """Make the row of one episode.

        Raises:
            RecordError: If the record is not whole, or not of this suite.
        """
        if self.struct is not None:
            assert self.summarize is not None, "a struct comes from a function"
            return self.summarize(events)
        return self._make_generic(complete_record(events))

    def _make_generic(self, record: CompleteRecord) -> Any:
        values: dict[str, Any] = {
            **record.settings.get("episode", {}),
            **record.outcome,
            "ended": in_seconds(record.end.at),
        }
        if isinstance(record.end, EpisodeEnded):
            values["score"] = record.end.score
            if self.summarize is not None:
                values |= self._numbers(record.events)
        kind = self.row_type
        return kind(**{name: _name(values.get(name)) for name in kind.__struct_fields__})

    def _numbers(self, events: Sequence[Entry]) -> Mapping[str, Any]:
        assert self.summarize is not None, "called only where there is one"
        numbers = self.summarize(events)
        if not isinstance(numbers, Mapping):
            raise SettingsError(
                "summarize must return a mapping of numbers, or be annotated with the msgspec "
                f"struct that it returns; got {type(numbers).__name__}"
            )
        missing = [
            name
            for name in self.columns
            if name not in numbers and name not in (*self.fields, "score", "ended")
        ]
        if missing:
            raise SettingsError(
                f"summarize returns no {', '.join(missing)}; it returns {', '.join(numbers)}"
            )
        return numbers


def _name(value: Any) -> Any:
    """A value of a column: a setting with fields, such as a model, by what is set in it."""
    if isinstance(value, dict):
        parts = (_name(part) for part in value.values())
        return " ".join(str(part) for part in parts if part not in (None, "", "{}"))
    return tuple(map(_name, value)) if isinstance(value, list) else value


def row_maker(suite: Suite) -> RowMaker:
    """Find out how a suite's rows are made."""
    struct = None if suite.steps is None else suite.steps.row
    if suite.summarize is not None:
        kind = get_type_hints(suite.summarize).get("return")
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            struct = kind
    names = [m.value for m in suite.metrics] + [m.per for m in suite.metrics if m.per is not None]
    columns = dict.fromkeys(name.partition(".")[0] for name in names if isinstance(name, str))
    return RowMaker(
        summarize=suite.summarize,
        struct=struct,
        fields=tuple(f.name for f in fields(suite.episode)),
        columns=tuple(columns),
    )


@lru_cache(maxsize=32)
def generic_row_type(names: tuple[str, ...], columns: tuple[str, ...]) -> type[msgspec.Struct]:
    """The type of generic rows: the fields of an episode, its numbers, and how it ended."""
    outcome = ("status", "score", "ended", "error", "sha256", "behind_s")
    every = dict.fromkeys((*names, *columns, *outcome))

    def reduce(row: msgspec.Struct) -> tuple[Any, ...]:
        return _rebuild, (names, columns, msgspec.structs.astuple(row))

    return msgspec.defstruct(
        "EpisodeRow",
        [(name, Any, None) for name in every],
        namespace={"__reduce__": reduce},
        frozen=True,
    )


def _rebuild(names: tuple[str, ...], columns: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return generic_row_type(names, columns)(*values)
