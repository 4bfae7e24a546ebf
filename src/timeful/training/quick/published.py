"""The published numbers beside the embedded run: another model, another task, never run here.

Engagement Process, Table 25, whose budgets are tokens of mathematics by Qwen3-8B. (Table 5 and the
text print the aware model's lengths at 1000 and 8000 tokens as 421 and 1409, Table 25 as below.)
Table 3 of the Timely Machine stands with that suite.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TABLE_25 = "Engagement Process, Table 25"
BUDGETS = (1000, 2000, 4000, 8000)


@dataclass(frozen=True, slots=True)
class Published:
    """A row under each of the four budgets: a model by its name there."""

    success: tuple[float, ...]
    accuracy: tuple[float, ...]
    tokens: tuple[float, ...]


ROWS: Mapping[str, Published] = {
    "Qwen3-8B": Published(
        (0.000, 0.049, 0.082, 0.228),
        (0.407, 0.398, 0.346, 0.311),
        (7554.28, 6411.49, 8717.73, 8977.00),
    ),
    "RLVR-16K": Published(
        (0.037, 0.280, 0.393, 0.669),
        (0.782, 0.805, 0.802, 0.791),
        (5120.14, 3899.67, 5271.25, 5599.19),
    ),
    "RLVR-8K": Published(
        (0.284, 0.557, 0.696, 0.795),
        (0.786, 0.772, 0.794, 0.811),
        (1891.52, 1754.75, 2443.72, 2413.02),
    ),
    "EP-aware": Published(
        (0.733, 0.691, 0.755, 0.783),
        (0.765, 0.691, 0.763, 0.783),
        (471.90, 522.23, 1027.77, 1124.06),
    ),
}
