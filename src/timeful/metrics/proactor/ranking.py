"""The proactiveness ranking index, PRI: one number a method, within a group (appendix K.4).

It is relative: the same method in another group has another PRI, so a group is printed with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

EPSILON = 0.001
"""CI and TI are at least this, so that their harmonic mean exists (appendix K.4.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The metrics of a method, any finite numbers."""

    name: str
    ac: float
    max_ac: float
    difference: float
    pt: float
    ftr: float
    rar: float


COLUMNS = tuple(Result.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A method in its group: equal values of PRI share a rank. All from 0 to 1."""

    result: Result
    rank: int
    pri: float
    ci: float
    ti: float


def rank(group: Sequence[Result]) -> list[Ranked]:
    """Rank a group, the best first; equals in the order given (equations 35 to 38).

    Each metric becomes m' = (m - min) / (max - min) over the group, 0.5 where all are equal. With
    CI = (AC' + MaxAC' + 1 - Diff') / 3 and TI = (PT' + 1 - FTR' + RAR') / 3, both at least 0.001,
    PRI = 2 CI TI / (CI + TI). Equal are values of the same 12 digits **(chosen)**: a rounding
    error would else be a whole range.

    Raises:
        ValueError: If a number is not finite.
    """
    if not group:
        return []
    scaled = {
        name: _normalised([getattr(result, name) for result in group]) for name in COLUMNS[1:]
    }
    ci = np.maximum((scaled["ac"] + scaled["max_ac"] + 1 - scaled["difference"]) / 3, EPSILON)
    ti = np.maximum((scaled["pt"] + 1 - scaled["ftr"] + scaled["rar"]) / 3, EPSILON)
    pri = 2 * ci * ti / (ci + ti)
    return [
        Ranked(
            result=group[index],
            rank=1 + int((pri > pri[index]).sum()),
            pri=float(pri[index]),
            ci=float(ci[index]),
            ti=float(ti[index]),
        )
        for index in np.argsort(-pri, kind="stable")
    ]


def _normalised(values: Sequence[float]) -> NDArray[np.float64]:
    """Min-max within the group (equation 35)."""
    every = np.array(values, dtype=np.float64)
    if not np.isfinite(every).all():
        raise ValueError("a ranking needs finite numbers")
    low, high = every.min(), every.max()
    if isclose(low, high, rel_tol=1e-12):  # means that differ by rounding are equal
        return np.full(len(every), 0.5)
    # Scaled to below 1 first: the range of finite numbers may be infinite, or too small to divide.
    _, exponent = np.frexp(np.abs(every).max())
    low, high, every = (np.ldexp(some, -exponent) for some in (low, high, every))
    return np.asarray((every - low) / (high - low), dtype=np.float64)
