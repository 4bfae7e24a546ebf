"""How numbers, conditions and reservations are said, in the console and on the page alike."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

from timeful.metrics.proactor.spread import Spread
from timeful.suites.proactor.numbers import Cell

WIDTH = 80
"""The columns of a terminal."""

STAND_IN = "Stand-in: a rule that retrieves workflows answers; no language model was run."
IN_PART = "Stand-in: where a threshold stands, a rule that retrieves workflows answers, no model."
SYNTHETIC = "Nobody ever held these conversations: they are made, with their references."


def text(value: float | None, digits: int) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(found: Spread | None, *, with_std: bool = True) -> str:
    """A share in percent, with its deviation over runs."""
    if found is None:
        return "-"
    spread = f"±{100 * found.std:.1f}" if with_std and found.std is not None else ""
    return f"{100 * found.mean:.1f}{spread} %"


def mean_of(found: Spread | None) -> float | None:
    """The mean of a spread that may be none."""
    return None if found is None else found.mean


def ratio(part: float, whole: int) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole else None


TIMINGS = {
    "by-turn": "by turn",
    "timestamps": "at the times of the data",
    "pace": "at a pace of reading and speaking",
}


def condition(cell: Cell) -> str:
    """The law of time, and how much was played."""
    dialogues = len({row.place for row in cell.rows})
    kind = "synthetic " if cell.ok and all(row.synthetic for row in cell.ok) else ""
    runs = len({row.run for row in cell.rows})
    pace = "" if cell.timing == "by-turn" else f" ({tokens_a_second(cell)} tokens/s)"
    return f"{dialogues} {kind}dialogues, {runs} runs, {TIMINGS[cell.timing]}{pace}"


def tokens_a_second(cell: Cell) -> str:
    """The pace of the model."""
    if not cell.token_ns:
        return "at once"
    delay = f" +{cell.first_ns / 1e9:g} s" if cell.first_ns else ""
    return f"{1e9 / cell.token_ns:.4g}{delay}"


def remarks(cells: Sequence[Cell], settings: Mapping[str, object]) -> list[str]:
    """What whoever reads the tables must know."""
    said = []
    if any(cell.stand_in for cell in cells):
        said.append(STAND_IN if all(cell.stand_in for cell in cells) else IN_PART)
        temperature = settings.get("temperature")
        said.append(
            (
                f"Its runs differ by a temperature of {temperature}. "
                if temperature
                else "At temperature 0 its runs are the same by turn, and differ by pace alone. "
            )
            + "Reasoning says by turn what Non-Reasoning says, after more tokens: to think "
            "changes nothing of what a rule finds."
        )
    rows = [row for cell in cells for row in cell.ok]
    if any(row.synthetic for row in rows):
        said.append(SYNTHETIC)
    if rows and not any(row.has_references for row in rows):
        said.append("The file has ready ranges and no references: no AC, Max AC and PRI.")
    notes = noted(cells)
    if notes:
        said.append("Noted: " + ", ".join(f"{topic} {count}" for topic, count in notes.items()))
    return [line for one in said for line in wrap(one, WIDTH, break_on_hyphens=False)]


def noted(cells: Sequence[Cell]) -> dict[str, int]:
    """How often agents noted each topic."""
    found: dict[str, int] = {}
    for cell in cells:
        for row in cell.ok:
            for topic, count in row.notes.items():
                found[topic] = found.get(topic, 0) + count
    return dict(sorted(found.items()))
