"""The suite of Real-Time Reasoning Gym (arXiv 2511.04898)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from timeful.environments.game import DIFFICULTIES
from timeful.environments.registry import GAME_NAMES
from timeful.errors import SettingsError
from timeful.experiments.suite import ReportData, Suite, load_notes
from timeful.records.rows import EpisodeRow
from timeful.records.summary import summarize
from timeful.registry import load
from timeful.reports.figure import Heat, Lines
from timeful.reports.metric import Metric
from timeful.reports.page import Entry, Grid, Section
from timeful.reports.results import ResultRow
from timeful.reports.table import Table
from timeful.sandbox.policy import unavailable
from timeful.suites.realtime.cells import REFERENCE, is_copy, make_cells
from timeful.suites.realtime.conditions import (
    AGENTS,
    BASE_PRESSURE,
    MEAN,
    PRESSURES,
    TITLES,
    Experiment,
    agent_order,
    condition_of,
    short_tokens,
)
from timeful.suites.realtime.episode import RealtimeEpisode, resolve, roles
from timeful.suites.realtime.play import find_prompts, make_world, play
from timeful.suites.realtime.scores import GAMES, normalise

RESERVES = (512, 1024, 2048, 4096, 8192)
"""Figure 7 sweeps the reactor's budget from 0.5k to 8k tokens."""

ALPHA = 0.05
"""The level of significance (App. C.2)."""


def check(episodes: Sequence[RealtimeEpisode]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a game has no such seed, a model cannot be made (no client, a cassette
            without a pace), or policies cannot be run on this machine.
        RecordError: If a cassette cannot be read.
    """
    worlds = {(e.game, e.difficulty, e.game_seed, e.mode, e.agent): e for e in episodes}
    for episode in worlds.values():
        world = make_world(episode)
        if episode.agent in AGENTS:
            find_prompts(episode, world)
        else:
            load("agent", episode.agent)
    longest = max(episode.step for episode in episodes)
    for episode in episodes[:1]:
        for name, span in (("reserve", episode.usual_reserve), ("budget", episode.usual_budget)):
            if span is not None and span > longest:
                raise SettingsError(f"a {name} of {span} fits no turn; the longest is {longest}")
    models = {
        (role, model): episode
        for episode in episodes
        for role, model in zip(roles(episode.agent), episode.models, strict=True)
    }
    for (role, model), episode in models.items():
        model.try_out(role, pace=episode.pace)
    if any(episode.agent == "code-policy" for episode in episodes):
        reason = unavailable()
        if reason is not None:
            raise SettingsError(f"code-policy cannot run here: {reason}")


def make_remarks(data: ReportData) -> Iterator[str]:
    """What a reader must know about these results."""
    rows: Sequence[EpisodeRow] = data.rows
    yield "Scores are normalised, with half of the 95 % interval over game seeds."
    scores = [c for c in data.cells if c.metric == "score" and c.value is not None]
    if any(cell.low is None for cell in scores):
        yield "A score without an interval comes from a single game seed."
    above = sum(row.score is not None and normalise(row.game, row.score) > 1 for row in rows)
    if above and any(row.game in GAMES for row in rows):
        yield (
            f"{above} episodes score above 1: Table 4 has the best returns that the authors saw, "
            "not the best possible ones. A greedy snake reaches 24, a scripted cook 84."
        )
    if any(is_copy(row) for row in rows):
        yield (
            "Overcooked in compat mode ignores its game seed, as the released code does: its game "
            "seeds are copies of one game. Its intervals and tests are about sampling noise only."
        )
    if any(row.mode == "paper" for row in rows):
        yield "Paper mode differs from the released code, which is called compat mode."


def make_extra(data: ReportData) -> Iterator[Section]:
    """The paired tests, the use of time and the reserves."""
    tests = [cell for cell in data.cells if cell.metric == "difference" and cell.where["is_first"]]
    if tests:
        rows = tuple(_test_row(cell, data.cells) for cell in tests)
        head = ("condition", "compared", "difference", "p (t-test)", "p (sign flips)", "pairs")
        caption = "Paired tests over game seeds, one-sided: is AgileThinker better? (App. C.2)"
        yield Section("Paired tests", (Grid(head=head, rows=rows, words=2, caption=caption),))
    yield from _use_of_time(data.rows)
    reserves = sorted(
        {
            (row.agent, condition_of(row).pressure, f"{row.reserve} {unit}", row.game)
            for row in data.rows
            if row.reserve is not None
            for unit in ("tokens" if row.clock == "token" else "ms",)
        }
    )
    if reserves:
        columns = ("agent", "pressure", "budget", "game")
        grid = Grid(head=columns, rows=tuple(reserves), words=4, caption="Reactor's budget")
        yield Section("Budgets of reactors", (grid,), is_folded=True)


def _test_row(cell: ResultRow, cells: Sequence[ResultRow]) -> tuple[str | Entry, ...]:
    p_t, p_permutation = (
        next(c.value for c in cells if c.metric == metric and c.where == cell.where)
        for metric in ("p_t", "p_permutation")
    )
    is_clear = p_t is not None and p_t < ALPHA
    return (
        cell.setting + (" †" if cell.where["are_copies"] else ""),
        cell.method,
        f"{cell.value:+.2f}",
        Entry(_show_p(p_t), tone="strong" if is_clear else ""),
        _show_p(p_permutation),
        str(cell.n),
    )


def _show_p(p: float | None) -> str:
    """A p-value; "undefined" where all differences are equal or there is one pair."""
    return "undefined" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def _use_of_time(rows: Sequence[EpisodeRow]) -> Iterator[Section]:
    """Late turns, tokens and cut calls of each agent, by pressure."""
    groups: dict[tuple[tuple[object, ...], str, str, float, str], list[EpisodeRow]] = {}
    for row in rows:
        if row.status == "ok" and row.turns:
            at = condition_of(row)
            size = -(at.tokens_per_step or 0) if row.clock == "token" else at.seconds_per_step
            key = (agent_order(row.agent), row.agent, row.clock, float(size or 0), at.pressure)
            groups.setdefault(key, []).append(row)
    body = []
    for (_, agent, _, _, pressure), members in sorted(groups.items()):
        turns = sum(row.turns for row in members)
        calls = sum(len(row.reactor_tokens) for row in members)
        body.append(
            (
                agent,
                pressure,
                str(len(members)),
                f"{turns / len(members):.1f}",
                f"{sum(row.late_turns for row in members) / turns:.0%}",
                f"{sum(row.tokens for row in members) / turns:.0f}",
                f"{sum(row.reactor_cut for row in members) / calls:.0%}" if calls else "",
            )
        )
    head = ("agent", "pressure", "episodes", "turns", "late turns", "tokens/turn", "calls cut")
    if body:
        yield Section("Use of time", (Grid(head=head, rows=tuple(body), words=2),))


TOKENS = {"clock": ("token",)}
"""The experiments of the paper count tokens; with another clock, give --step."""

X_LABELS: dict[Experiment, str] = {
    "load": "cognitive load",
    "pressure": "time pressure, tokens a step",
    "pressure-hard": "time pressure, tokens a step",
}
"""The experiments that are drawn over load or pressure."""

CONDITIONS = (*DIFFICULTIES, *map(short_tokens, PRESSURES))

suite = Suite(
    name="realtime",
    title="the real-time suite",
    subtitle="Real-Time Reasoning Gym (arXiv 2511.04898)",
    episode=RealtimeEpisode,
    play=play,
    takes_key=True,
    summarize=summarize,
    resolve=resolve,
    check=check,
    cells=make_cells,
    sweep={
        "game": GAME_NAMES,
        "agent": ("reactive", "planning", "agile"),
        "difficulty": DIFFICULTIES,
        "step": (BASE_PRESSURE,),
        "game_seed": range(8),
        "sample": range(4),
    },
    presets={"quick": {"sample": range(1)}, "paper": {"sample": range(4)}},
    parts={
        "load": {**TOKENS, "difficulty": DIFFICULTIES, "step": (BASE_PRESSURE,)},
        "pressure": {**TOKENS, "difficulty": ("medium",), "step": PRESSURES},
        "reserve": {
            **TOKENS,
            "usual_reserve": (None,),
            "difficulty": ("medium",),
            "step": (BASE_PRESSURE,),
            "reserve": RESERVES,
        },
        "grid": {
            **TOKENS,
            "difficulty": DIFFICULTIES,
            "step": (PRESSURES[0], BASE_PRESSURE, PRESSURES[-1]),
        },
    },
    default_parts=("load", "pressure"),
    custom_by="step",
    order=(
        "game",
        "difficulty",
        "agent",
        "model",
        "mode",
        "clock",
        "tokens_per_step",
        "seconds_per_step",
        "reserve",
        "game_seed",
        "sample",
    ),
    labels={"experiment": TITLES},
    levels={
        "experiment": tuple(TITLES),
        "game": (MEAN, *GAMES),
        "condition": CONDITIONS,
        "method": AGENTS,
    },
    metrics=(
        Metric("score", "score"),
        Metric("raw", "score"),
        Metric("calls not cut", "reactor_cut"),
        Metric("p_t", "score", digits=3),
    ),
    reference=REFERENCE,
    tables=(
        Table(
            "",
            rows="method",
            columns="condition",
            metrics=("score",),
            split_by=("experiment", "game"),
        ),
    ),
    figures=(
        *(
            Lines(
                x="condition",
                y="score",
                hue="method",
                panel="game",
                where={"experiment": experiment},
                title=TITLES[experiment],
                x_label=label,
            )
            for experiment, label in X_LABELS.items()
        ),
        Lines(
            x="reserve",
            y="score",
            hue="method",
            panel="game",
            where={"experiment": "reserve"},
            title=TITLES["reserve"],
            x_label="reactor's budget, tokens a step",
            is_log=True,
        ),
        Lines(
            x="reserve",
            y="calls not cut",
            hue="method",
            panel="game",
            where={"experiment": "reserve"},
            title="Share of reactive calls that the budget did not cut",
            x_label="reactor's budget, tokens a step",
            is_log=True,
        ),
        *(
            Heat(
                x="tokens_per_step",
                y="difficulty",
                metric="p_t",
                panel="game",
                where={"is_first": True, "baseline": baseline, "reserve": None},
                title=f"p of the paired t-test, agile against {baseline}",
                limit=ALPHA,
                caption="Marked: below 0.05.",
            )
            for baseline in ("reactive", "planning")
        ),
    ),
    notice="Stand-in: search reasoner, no language model was run.",
    notes=load_notes(Path(__file__).with_name("notes.md")),
    remarks=make_remarks,
    extra=make_extra,
)
