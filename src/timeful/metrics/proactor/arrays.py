"""The metrics of many turns at once, on arrays that are made from the turns once.

Names, inputs and values become numbers, so that two values match where their numbers are equal.
The scores are those of `turns.score_turn`, bit for bit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timeful.dialogues.opportunity import Input, Opportunity
from timeful.metrics.proactor.matching import normal
from timeful.metrics.proactor.turns import METRICS, MeanScores, Ranges

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_STATUS = {"ready_to_trigger": 1, "triggered": 2}


class Judged(Protocol):
    """A turn with its predictions and its reference."""

    @property
    def turn(self) -> int:
        """Its number, t."""
        ...

    @property
    def predictions(self) -> Sequence[Opportunity]:
        """P."""
        ...

    @property
    def references(self) -> Sequence[Opportunity]:
        """Q."""
        ...

    @property
    def ready_ranges(self) -> Ranges:
        """R of the dialogue."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of many opportunities, one after the other.

    `start` is where those of each opportunity begin, and in the end their number; `name` is a
    number for the input's name, `value` one for its value, 0 where it is not provided.
    """

    start: Integers
    name: Integers
    value: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnArrays:
    """Turns as arrays. A prediction has the place of its turn, and so has a reference.

    `last` is the last turn at which the predicted action is ready in the reference, 0 for never.
    """

    number: Integers
    of_turn: Integers
    name: Integers
    status: Integers
    last: Integers
    inputs: Inputs
    reference_of_turn: Integers
    reference_name: Integers
    reference_inputs: Inputs

    def scores(self) -> dict[str, Floats]:
        """Every metric of every turn, NaN for turns without predictions."""
        counts = np.bincount(self.of_turn, minlength=len(self.number))
        match, is_known = self._matches()
        ready, triggered = self.status > 0, self.status == 2
        early = self.last >= self.number[self.of_turn]
        faults = self._sums(ready & (self.last == 0))
        n_ready = self._sums(ready)
        starts = np.cumsum(counts)[counts > 0] - counts[counts > 0]
        best = np.full(len(counts), np.nan)
        best[counts > 0] = np.maximum.reduceat(match, starts) if len(match) else []
        with np.errstate(invalid="ignore"):  # 0 / 0 of turns without predictions is NaN
            return {
                "ac": self._sums(match) / counts,
                "max_ac": best,
                "pt": self._sums(ready & early) / counts,
                "pt_all": self._sums(early) / counts,
                "ftr": np.where(counts > 0, faults / np.maximum(n_ready, 1), np.nan),
                "ftr_per_prediction": faults / counts,
                "rar": n_ready / counts,
                "atr": self._sums(triggered & is_known) / counts,
                "false_triggered": self._sums(triggered & ~is_known) / counts,
                "frr": self._sums(ready & ~is_known) / counts,
            }

    def mean(self) -> MeanScores:
        """The means over turns, equal to `turns.mean_scores` of the single scores."""
        scores = self.scores()
        is_scored = ~np.isnan(scores["ac"])
        n_scored = int(is_scored.sum())
        return MeanScores(
            n_turns=len(self.number),
            n_skipped=len(self.number) - n_scored,
            means={
                name: fmean(scores[name][is_scored].tolist()) if n_scored else None
                for name in METRICS
            },
        )

    def _sums(self, values: NDArray[Any]) -> Floats:
        """The sum over the predictions of each turn, from the first to the last."""
        sums = np.bincount(self.of_turn, weights=values, minlength=len(self.number))
        return sums.astype(np.float64, copy=False)

    def _matches(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The best match of each prediction, and whether it has a reference of its name."""
        names = 1 + max(self.name.max(initial=0), self.reference_name.max(initial=0))
        keys = self.of_turn * names + self.name
        wanted = self.reference_of_turn * names + self.reference_name
        order = np.argsort(wanted, kind="stable")
        low = np.searchsorted(wanted[order], keys, side="left")
        pairs = np.searchsorted(wanted[order], keys, side="right") - low
        # A pair for each prediction and each reference of its name at its turn.
        prediction = np.repeat(np.arange(len(keys)), pairs)
        reference = order[_runs(low, pairs)]
        matches = self._pair_matches(prediction, reference)
        best = np.zeros(len(keys))
        has_pair = pairs > 0
        starts = np.cumsum(pairs)[has_pair] - pairs[has_pair]
        best[has_pair] = np.maximum.reduceat(matches, starts) if len(matches) else []
        return best, has_pair

    def _pair_matches(self, prediction: Integers, reference: Integers) -> Floats:
        """How well each prediction matches the reference at the same place."""
        given, wanted = self.inputs, self.reference_inputs
        sizes = np.diff(wanted.start)[reference]
        # A row for each input of the reference of each pair.
        row = np.repeat(np.arange(len(reference)), sizes)
        asked = _runs(wanted.start[reference], sizes)
        names = 1 + max(given.name.max(initial=0), wanted.name.max(initial=0))
        owner = np.repeat(np.arange(len(given.start) - 1), np.diff(given.start))
        keys = owner * names + given.name
        order = np.argsort(keys, kind="stable")
        sought = prediction[row] * names + wanted.name[asked]
        place = np.searchsorted(keys[order], sought)
        place = np.minimum(place, max(len(keys) - 1, 0))
        if len(keys):
            found = order[place]
            value = np.where(keys[found] == sought, given.value[found], 0)
        else:
            value = np.zeros(len(sought), dtype=np.int64)
        agreeing = np.bincount(row, weights=value == wanted.value[asked], minlength=len(sizes))
        return np.where(sizes > 0, agreeing / np.maximum(sizes, 1), 1.0)


def _runs(start: Integers, length: Integers) -> Integers:
    """start, start + 1, ... of each length, one after the other."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - ends + length, length)


def turn_arrays(turns: Iterable[Judged]) -> TurnArrays:
    """Make the arrays of turns."""
    predicted, reference, codes = _Column(), _Column(), _Codes()
    numbers: list[int] = []
    last: list[int] = []
    for place, turn in enumerate(turns):
        numbers.append(turn.turn)
        ranges = turn.ready_ranges
        for one in turn.predictions:
            predicted.add(place, one, codes)
            ready_at = ranges.get(one.name)
            last.append(max(ready_at) if ready_at else 0)
        for one in turn.references:
            reference.add(place, one, codes)
    return TurnArrays(
        number=_array(numbers),
        of_turn=_array(predicted.of_turn),
        name=_array(predicted.name),
        status=_array(predicted.status),
        last=_array(last),
        inputs=predicted.inputs(),
        reference_of_turn=_array(reference.of_turn),
        reference_name=_array(reference.name),
        reference_inputs=reference.inputs(),
    )


@dataclass(frozen=True, slots=True)
class _Codes:
    """Numbers for names and values; equal ones have the same."""

    names: dict[str, int] = field(default_factory=dict)
    values: dict[Any, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    """Of values as they were given: most are text, and come again."""

    def value(self, one: Input) -> int:
        """The number of a value, from 1; 0 is for what is not provided."""
        if not one.provided:
            return 0
        if type(one.value) is not str:
            return self.values.setdefault(normal(one.value), len(self.values) + 1)
        code = self.texts.get(one.value)
        if code is None:
            code = self.values.setdefault(normal(one.value), len(self.values) + 1)
            self.texts[one.value] = code
        return code


@dataclass(frozen=True, slots=True)
class _Column:
    """Opportunities as lists of numbers."""

    of_turn: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    status: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    input_name: list[int] = field(default_factory=list)
    input_value: list[int] = field(default_factory=list)

    def add(self, place: int, one: Opportunity, codes: _Codes) -> None:
        names = codes.names
        self.of_turn.append(place)
        self.name.append(names.setdefault(one.name, len(names)))
        self.status.append(_STATUS.get(one.status, 0))
        for group in (one.inputs.required, one.inputs.optional):
            for each in group:
                self.input_name.append(names.setdefault(each.name, len(names)))
                self.input_value.append(codes.value(each))
        self.start.append(len(self.input_name))

    def inputs(self) -> Inputs:
        return Inputs(
            start=_array(self.start),
            name=_array(self.input_name),
            value=_array(self.input_value),
        )


def _array(numbers: list[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)
