"""The published numbers of Timely-Eval (Timely Machine, Tables 1, 2 and 3), as data.

They are of language models, none of which we have run; they stand beside ours, and stand-ins are
never measured by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from timeful.tasks.episode import Family

TABLE_1 = "Timely Machine, Table 1"
TABLE_2 = "Timely Machine, Table 2"
TABLE_3 = "Timely Machine, Table 3"

C = TypeVar("C")

ON_TIME, ACCURACY, TOOL_USE = "on time", "accuracy", "tool use"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A benchmark of the paper: its name there, and what it is called here.

    `groups` are names of ours, of games, ML tasks and sets of problems, that are the same or
    made to be; a problem file may be called by any name that begins with one of them.
    """

    name: str
    family: Family
    groups: tuple[str, ...]

    def holds(self, group: str) -> bool:
        """Whether one of our groups belongs into it."""
        plain = group.lower()
        if self.family == "reasoning":
            return plain.startswith(self.groups)
        return plain in self.groups


COLUMNS = (
    Column(name="MATH", family="reasoning", groups=("math",)),
    Column(name="AIME", family="reasoning", groups=("aime",)),
    Column(name="GPQA Diam.", family="reasoning", groups=("gpqa",)),
    Column(name="Zork1", family="fiction", groups=("zork1",)),
    Column(name="Advent", family="fiction", groups=("advent", "cave")),
    Column(name="Enchanter", family="fiction", groups=("enchanter",)),
    Column(name="Detective", family="fiction", groups=("detective",)),
    Column(name="Leaf", family="coding", groups=("leaf-classification",)),
    Column(name="Spaceship", family="coding", groups=("spaceship-titanic",)),
    Column(name="Pizza", family="coding", groups=("random-acts-of-pizza",)),
    Column(name="Insults", family="coding", groups=("detecting-insults-in-social-commentary",)),
)
"""The columns of Table 1, in its order."""

_TABLE_1 = """
GPT-5.1 (medium)  71.5 46.7 71.0  34.1 57.6 24.4 105.0  67.5 63.5 58.0 79.0
DeepSeek-V3.2     82.9 43.3 58.7  24.9 48.7 15.9  63.2  72.0 68.1 68.6 78.0
Gemini2.5-pro     63.0 37.5 59.0  34.9 50.7 34.1  71.9  71.4 65.4 74.6 75.1
Qwen3-8B          71.2 40.0 37.5   2.3 36.0  5.2  54.1  32.0 17.8 28.6 51.9
Qwen3-14B         70.8 41.7 21.0   9.8 34.9  9.5  50.5  46.4 55.9 60.7 70.6
Qwen3-32B         75.0 45.7 35.5  14.4 38.2 11.7  70.0  51.8 50.1 59.0 57.2
TimelyLM-8B       78.0 42.5 49.5  27.5 48.5 29.5  88.1  93.9 74.4 76.1 84.0
"""

_TABLE_2 = """
DeepSeek-V3.2     33.3 33.3 100.0  43.4 33.3 100.0  75.0 74.0 100.0
GPT-5.1 (medium)  33.3 30.0  40.0  48.0 44.0   8.0  34.0 34.0   8.0
Qwen3-8B       30.0 26.7  53.3  36.0 20.0  94.0  48.0 42.0  66.0
Qwen3-14B      30.0 20.0  10.0  18.0 12.0   8.0  38.0 32.0   6.0
Qwen3-32B      33.3 26.7  26.7  34.0 28.0  52.0  46.0 42.0  26.0
TimelyLM-8B    53.3 33.3 100.0  52.0 36.0 100.0  56.0 52.0 100.0
"""

_TABLE_3 = """
Qwen3-8B               30.0 36.0 48.0
Qwen3-8B + SFT         46.7 48.0 56.0
Qwen3-8B + GRPO        33.3 46.0 48.0
Qwen3-8B + Timely-RL   53.3 52.0 56.0
"""


def _read(text: str, columns: Sequence[C]) -> dict[str, dict[C, float]]:
    """A table as its rows stand in the paper: a name, then a number for each column."""
    count = len(columns)
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        " ".join(row[:-count]): dict(zip(columns, map(float, row[-count:]), strict=True))
        for row in rows
    }


SCORES: Mapping[str, Mapping[str, float]] = _read(_TABLE_1, tuple(c.name for c in COLUMNS))
"""Table 1: by model and column; percent, or the points of a game. Means over budgets."""

_THREE = ("AIME", "GPQA Diam.", "MATH")
_NINE = tuple((name, what) for name in _THREE for what in (ON_TIME, ACCURACY, TOOL_USE))

HURRIED: Mapping[str, Mapping[tuple[str, str], float]] = _read(_TABLE_2, _NINE)
"""Table 2: under 0.75x, by model, then by column and measure, in percent.

It says GPT5.1, which we take to be the GPT-5.1 (medium) of Table 1."""

ABLATION: Mapping[str, Mapping[str, float]] = _read(_TABLE_3, _THREE)
"""Table 3: on time under 0.75x, by method and column, in percent."""


def column_of(family: Family, group: str) -> Column | None:
    """The column of Table 1 that one of our groups belongs into."""
    return next((c for c in COLUMNS if c.family == family and c.holds(group)), None)


def published_model(who: str) -> str | None:
    """The paper's name of a model of ours, if it is one of them: `openai:Qwen/Qwen3-8B`."""
    own = who.partition(":")[2].rpartition("#")[2]
    plain = _plain(own.rpartition("/")[2])
    return next((model for model in SCORES if _plain(model.partition(" (")[0]) == plain), None)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
