"""A conversation as a grid: a row for each action, a column for each turn."""

from collections.abc import Iterator, Sequence

from timeful.dialogues.opportunity import Opportunity
from timeful.metrics.proactor.episodes import Conversed
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.matching import best_match
from timeful.reports.page import Entry, Grid, Row
from timeful.suites.proactor.rows import Verdict, verdict

MARKS: dict[Verdict, str] = {
    "early": "▸",
    "in time": "●",
    "too late": "◂",
    "false": "✕",
    "not ready": "○",
}
READY = "▁"
LEGEND = (
    f"A row for each action, a column for each turn. {READY} ready in the reference. Predictions: "
    f"{', '.join(f'{mark} {outcome}' for outcome, mark in MARKS.items())}; in parentheses: it came "
    "after its turn and does not count. A turn with ! is lost: nothing was predicted in time."
)
WRONG: tuple[Verdict, ...] = ("too late", "false")


def draw(conversed: Conversed, title: str = "") -> Grid:
    """Draw the ready turns of the reference, and the predictions of an agent."""
    turns, late = conversed.turns, dict(_late(conversed))
    names = order_actions(turns, [prediction for group in late.values() for prediction in group])
    numbers = (f"{t.turn}{'!' * (t.turn in conversed.lost)}" for t in turns)
    rows: tuple[Row, ...] = tuple(
        (name, *(_entry(turn, name, late.get(turn.turn, ())) for turn in turns)) for name in names
    )
    return Grid(caption=title, head=("action", *numbers), rows=rows)


def order_actions(turns: Sequence[PredictedTurn], more: Sequence[Opportunity] = ()) -> list[str]:
    """The actions of a grid: those of the reference in the order of their turns, then others."""
    ranges = dict(turns[0].ready_ranges) if turns else {}
    due = sorted((name for name in ranges if ranges[name]), key=lambda name: ranges[name])
    predictions = [prediction for turn in turns for prediction in turn.predictions]
    names = dict.fromkeys(prediction.name for prediction in (*predictions, *more))
    return due + [name for name in names if name not in due]


def judge(turn: PredictedTurn, prediction: Opportunity) -> Verdict:
    """The verdict on a prediction at a turn."""
    return verdict(prediction, turn.turn, turn.ready_ranges.get(prediction.name, ()))


def describe(turn: PredictedTurn, prediction: Opportunity) -> str:
    """A prediction with its status, its match and its inputs."""
    values = [f"{i.name}={i.value}" for i in prediction.inputs.all() if i.provided]
    match = [f"match {best_match(prediction, turn.references):.2f}"] if turn.references else []
    return f"{prediction.name}: {', '.join((prediction.status, *match, *values))}"


def _late(conversed: Conversed) -> Iterator[tuple[int, Sequence[Opportunity]]]:
    """The predictions that came after their turn, for turns that are lost."""
    for message in conversed.predictions:
        if message.is_late and message.prediction.turn in conversed.lost:
            yield message.prediction.turn, message.prediction.opportunities


def _entry(turn: PredictedTurn, name: str, late: Sequence[Opportunity]) -> Entry:
    outcomes = [judge(turn, p) for p in turn.predictions if p.name == name]
    marks = [MARKS[outcome] for outcome in outcomes]
    marks += [f"({MARKS[judge(turn, p)]})" for p in late if p.name == name]
    is_due = turn.turn in turn.ready_ranges.get(name, ())
    tone = "alarm" if any(outcome in WRONG for outcome in outcomes) else ""
    return Entry(READY * is_due + "".join(marks), tone=tone)  # type: ignore[arg-type]
