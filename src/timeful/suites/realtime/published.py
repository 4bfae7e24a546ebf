"""The published numbers of Real-Time Reasoning Gym (arXiv 2511.04898), typed from its tables.

They are normalised scores of the authors' models, not of ours. Each number stands in the
experiment whose table of ours it belongs beside. Table 6 at medium load and Table 7 at 8k are
the same setting, yet differ: the reactive budget is 8k in one and 4k in the other, and the other
agents were averaged anew. Both are kept as printed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from timeful.environments.game import DIFFICULTIES
from timeful.suites.realtime.conditions import (
    PRESSURES,
    Condition,
    Experiment,
    mean_over_games,
)
from timeful.suites.realtime.scores import GAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One published score: whose, where, how much, and where it is printed."""

    experiment: Experiment
    condition: Condition
    agent: str
    """Our name for the agent."""
    method: str
    """The paper's name for it."""
    value: float
    source: str


_DEEPSEEK = (
    ("code-policy", "Code-as-Policy"),
    ("reactive-budget", "Reactive (R1)"),
    ("reactive", "Reactive (V3)"),
    ("planning", "Planning (R1)"),
    ("agile", "AgileThinker"),
)
_DEEPSEEK_32 = (
    ("reactive", "Reactive (thinking off)"),
    ("planning", "Planning (thinking on)"),
    ("agile", "AgileThinker"),
)
_GEMINI = (
    ("reactive", "Reactive (thinking off)"),
    ("reactive-budget", "Reactive (thinking on + budget control)"),
    ("planning", "Planning (thinking on)"),
    ("agile-reduced", "Reactive+Planning"),
)
_WALL = (("reactive", "Reactive (V3)"), ("planning", "Planning (R1)"), ("agile", "AgileThinker"))
_THROUGHPUT = (
    ("agile", "AgileThinker, parallel threads"),
    ("agile-concurrent", "AgileThinker, concurrent threads"),
    ("reactive", "Reactive (V3)"),
    ("planning", "Planning (R1)"),
)

# Lines as printed: one for each load or pressure, one number for each agent above.
_TABLE_6 = {
    "freeway": """0.5393 0.2022 0.9775 0.3371 0.9551
                  0.6966 0.0000 0.3258 0.2247 0.8427
                  0.5281 0.0000 0.0562 0.1011 0.5056""",
    "snake": """0.1719 0.1719 0.7694 0.0588 0.6931
                0.1797 0.2188 0.4900 0.0256 0.5413
                0.0625 0.1406 0.2950 0.0137 0.3906""",
    "overcooked": """0.4621 0.8193 0.9188 0.5379 1.0000
                     0.3724 0.6607 0.3664 0.0871 0.9152
                     0.3661 0.2054 0.0877 0.0000 0.5982""",
}
_TABLE_7 = {
    "freeway": """0.9438 0.0000 0.2911 0.9621 0.9431
                  0.9551 0.0000 0.2911 0.9045 0.9347
                  0.6966 0.0000 0.2911 0.2261 0.8469
                  0.3483 0.0000 0.2911 0.1194 0.6166""",
    "snake": """0.2109 0.0238 0.4844 0.9629 0.8281
                0.2344 0.0238 0.4844 0.4043 0.7813
                0.1797 0.0238 0.4844 0.0254 0.5410
                0.0156 0.0238 0.4844 0.0176 0.4238""",
    "overcooked": """0.5804 0.0000 0.3800 0.8371 0.9129
                     0.4621 0.0000 0.3800 1.0000 0.9375
                     0.3661 0.0000 0.3800 0.0871 0.9152
                     0.3724 0.0000 0.3800 0.0246 0.7087""",
}
_TABLE_8 = {
    "freeway": """0.4659 0.8539 0.8889
                  0.4659 0.4649 0.8328
                  0.4659 0.1025 0.6352
                  0.4659 0.0000 0.4466""",
    "snake": """0.2556 0.7381 0.5700
                0.2556 0.3906 0.5350
                0.2556 0.0550 0.3456
                0.2556 0.0075 0.2738""",
    "overcooked": """0.5246 0.8371 0.8550
                     0.5246 0.4554 0.8438
                     0.5246 0.0134 0.6563
                     0.5246 0.0068 0.4486""",
}
_TABLE_10 = """0.12 0.93 0.93 0.92
               0.12 0.76 0.70 0.70
               0.12 0.09 0.25 0.31
               0.12 0.00 0.05 0.26"""
_TABLE_2 = {"freeway": "0.24 0.12 0.88", "snake": "0.37 0.04 0.45", "overcooked": "0.57 0.00 0.89"}
_TABLE_9 = {
    "freeway": "0.3665 0.0 0.7022",
    "snake": "0.3050 0.0863 0.6013",
    "overcooked": "0.5246 0.0 0.6675",
}
_TABLE_11 = {
    "freeway": "0.84 0.72 0.32 0.22",
    "snake": "0.54 0.58 0.49 0.03",
    "overcooked": "0.92 0.85 0.37 0.09",
}

_Columns = tuple[tuple[str, str], ...]


def _entries(
    text: str,
    *,
    columns: _Columns,
    conditions: Iterable[Condition],
    experiment: Experiment,
    source: str,
) -> Iterator[Published]:
    """Read one printed block: a line for each condition, a number for each column."""
    for line, condition in zip(text.splitlines(), conditions, strict=True):
        for number, (agent, method) in zip(line.split(), columns, strict=True):
            yield Published(
                experiment=experiment,
                condition=condition,
                agent=agent,
                method=method,
                value=float(number),
                source=source,
            )


def _at_loads(game: str) -> list[Condition]:
    return [Condition(game=game, difficulty=d, tokens_per_step=8192) for d in DIFFICULTIES]


def _at_pressures(game: str, difficulty: str) -> list[Condition]:
    return [Condition(game=game, difficulty=difficulty, tokens_per_step=t) for t in PRESSURES]


def _per_game() -> Iterator[Published]:
    for game in GAMES:
        medium = Condition(game=game, difficulty="medium", tokens_per_step=8192)
        yield from _entries(
            _TABLE_6[game],
            columns=_DEEPSEEK,
            conditions=_at_loads(game),
            experiment="load",
            source="Table 6, DeepSeek-V3 and R1",
        )
        yield from _entries(
            _TABLE_7[game],
            columns=_DEEPSEEK,
            conditions=_at_pressures(game, "medium"),
            experiment="pressure",
            source="Table 7, DeepSeek-V3 and R1",
        )
        yield from _entries(
            _TABLE_8[game],
            columns=_DEEPSEEK_32,
            conditions=_at_pressures(game, "hard"),
            experiment="pressure-hard",
            source="Table 8, DeepSeek-V3.2",
        )
        yield from _entries(
            _TABLE_11[game],
            columns=_THROUGHPUT,
            conditions=[medium],
            experiment="throughput",
            source="Table 11, DeepSeek-V3 and R1",
        )
        yield from _entries(
            _TABLE_2[game],
            columns=_WALL,
            # The load is not printed; section 6 continues the base setting of section 4.
            conditions=[Condition(game=game, difficulty="medium", seconds_per_step=360)],
            experiment="wall",
            source="Table 2, DeepSeek-V3 and R1 (load not printed, taken as medium)",
        )
        yield from _entries(
            _TABLE_9[game],
            columns=_DEEPSEEK_32,
            conditions=[Condition(game=game, difficulty="hard", seconds_per_step=350)],
            experiment="wall",
            source="Table 9, DeepSeek-V3.2",
        )


def _averages(entries: Iterable[Published]) -> Iterator[Published]:
    """Average what is printed for all three games, as the paper's Figure 1 shows it."""
    by_cell: dict[tuple[Experiment, Condition, str], list[Published]] = {}
    for entry in entries:
        mean = mean_over_games(entry.condition)
        by_cell.setdefault((entry.experiment, mean, entry.agent), []).append(entry)
    for (experiment, mean, agent), parts in by_cell.items():
        yield Published(
            experiment=experiment,
            condition=mean,
            agent=agent,
            method=parts[0].method,
            value=sum(part.value for part in parts) / len(parts),
            source=f"{parts[0].source}; averaged over the games by us",
        )


def _all() -> Iterator[Published]:
    per_game = list(_per_game())
    yield from per_game
    yield from _averages(per_game)
    yield from _entries(
        _TABLE_10,
        columns=_GEMINI,
        conditions=_at_pressures("freeway", "medium"),
        experiment="reduced",
        source="Table 10, Gemini-2.5-Flash",
    )


PUBLISHED: tuple[Published, ...] = tuple(_all())
"""All published scores, in the order of the experiments' tables."""

_BY_CELL = {(p.experiment, p.condition, p.agent): p for p in PUBLISHED}


def look_up(experiment: Experiment, condition: Condition, agent: str) -> Published | None:
    """Find the published score of one cell, if the paper prints it."""
    return _BY_CELL.get((experiment, condition, agent))


def look_up_cell(
    *, game: str, difficulty: str, tokens_per_step: int, agent: str
) -> Published | None:
    """Find the published score of a setting in token time, whatever experiment prints it.

    Where several do, Table 6 comes before Tables 7, 8, 11 and 10.
    """
    at = Condition(game=game, difficulty=difficulty, tokens_per_step=tokens_per_step)
    order: tuple[Experiment, ...] = ("load", "pressure", "pressure-hard", "throughput", "reduced")
    found = (look_up(experiment, at, agent) for experiment in order)
    return next((entry for entry in found if entry is not None), None)
