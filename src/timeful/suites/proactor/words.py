"""How numbers, conditions and reservations are said, in the console and on the page alike."""

from collections.abc import Mapping, Sequence

from timeful.metrics.proactor.spread import Spread
from timeful.suites.parts import unusable_notice
from timeful.suites.proactor.numbers import Cell, main_cells

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


NOTES = {
    "no-json": "answers without JSON: nothing was predicted",
    "bad-json": "answers of broken JSON: nothing was predicted",
    "bad-shape": "answers without the list that was asked for: nothing was predicted",
    "no-section": "answers outside of their tags, which count all the same",
    "further-json": "answers with a second object; the first one counts",
    "bad-opportunity": "opportunities that are none, left out",
    "unknown-status": "opportunities with a status that there is not, left out",
    "unknown-action": "opportunities of an action that the catalog has not, left out",
    "duplicate-name": "further opportunities of the same action, left out",
    "bad-question": "questions that are no text, left out",
    "rejected-status": "changes of status that the graph has not, not said",
    "cut-thought": "thoughts without an end; what was said by then was read",
    "skipped-turns": "times that the next turns came while the agent still thought: they are lost",
    "dropped-thought": "thoughts that were dropped for the next turn",
    "refused-prediction": "predictions that the conversation did not take",
}
"""What agents note, in words: see `agents/proactive`."""

_UNREADABLE = ("no-json", "bad-json", "bad-shape")

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
    held = f"{dialogues} {kind}dialogue{'s' * (dialogues != 1)}"
    return f"{held}, {runs} run{'s' * (runs != 1)}, {TIMINGS[cell.timing]}{pace}"


def tokens_a_second(cell: Cell) -> str:
    """The pace of the model."""
    if not cell.token_ns:
        return "at once"
    delay = f" +{cell.first_ns / 1e9:g} s" if cell.first_ns else ""
    return f"{1e9 / cell.token_ns:.4g}{delay}"


def remarks(cells: Sequence[Cell], settings: Mapping[str, object]) -> list[str]:
    """What whoever reads the tables must know."""
    said = spoiled(cells, settings)
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
    said += [
        f"Noted: {topic} {count:,}{f', {NOTES[topic]}' if topic in NOTES else ''}."
        for topic, count in noted(cells).items()
    ]
    return said


def spoiled(cells: Sequence[Cell], settings: Mapping[str, object]) -> list[str]:
    """That much of what models answered came to nothing, and whose predictions all did."""
    notes = noted(cells)
    count = sum(notes.get(topic, 0) for topic in _UNREADABLE)
    rows = [row for cell in cells for row in cell.ok]
    answers = sum(row.scored + row.empty + row.late + row.revised for row in rows)
    answers *= 2 if settings.get("asks") else 1
    said = [one.text for one in unusable_notice(count, answers, "Nothing was predicted there.")]
    silent = [cell.title for cell in main_cells(cells) if cell.ok and not cell.count("scored")]
    if silent:
        said.append(f"Nothing was predicted in time at any turn by {'; '.join(silent)}.")
    return said


def noted(cells: Sequence[Cell]) -> dict[str, int]:
    """How often agents noted each topic."""
    found: dict[str, int] = {}
    for cell in cells:
        for row in cell.ok:
            for topic, count in row.notes.items():
                found[topic] = found.get(topic, 0) + count
    return dict(sorted(found.items()))


def shorten(name: str, most: int) -> str:
    """A name in so many columns, with a mark where it was cut."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
