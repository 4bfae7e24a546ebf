"""A conversation as a figure: ready turns of the reference, and the predictions of an agent.

A row for each action, a column for each turn. Bars are ready turns of the reference, marks are
predictions; a filled mark is a ready prediction. The title of a mark has its details; the figure
needs no script.
"""

from collections.abc import Iterator, Sequence
from html import escape

from timeful.dialogues.opportunity import Opportunity
from timeful.metrics.proactor.episodes import Conversed
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.matching import best_match
from timeful.reports.html import INK
from timeful.suites.proactor.rows import Verdict, verdict

COLOURS: dict[Verdict, str] = {
    "early": "#E69F00",
    "in time": "#009E73",
    "too late": "#CC79A7",
    "false": "#D55E00",
    "not ready": INK,
}
"""The palette of Okabe and Ito, safe for colour-blind readers; each mark also has a shape."""

BAR = "#56B4E9"
_LOST = "#7F7F7F"
_LABEL, _WIDTH, _ROW, _TOP, _LEGEND = 190, 893, 22, 26, 46


def draw(conversed: Conversed) -> str:
    """Draw the predictions of an agent in a conversation, as SVG of the page's width."""
    turns = conversed.turns
    late = [o for message in conversed.predictions for o in message.prediction.opportunities]
    names = rows_of(turns, late)
    step = (_WIDTH - _LABEL - 6) / max(len(turns), 1)
    height = _TOP + _ROW * len(names) + 8 + _LEGEND
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        f'font-size="12" fill="{INK}">',
        *_columns(conversed, step, _TOP + _ROW * len(names)),
        *_names(names),
    ]
    for column, turn in enumerate(turns):
        for name in names:
            elements += _bar(turn, name, names, column, step)
        for prediction in turn.predictions:
            elements.append(_prediction(turn, prediction, names, column, step))
    elements += _late(conversed, names, step)
    return "\n".join([*elements, *_legend(height - _LEGEND + 13), "</svg>\n"])


def rows_of(turns: Sequence[PredictedTurn], more: Sequence[Opportunity] = ()) -> list[str]:
    """The actions of a figure: those of the reference in the order of their turns, then others."""
    ranges = dict(turns[0].ready_ranges) if turns else {}
    due = sorted((name for name in ranges if ranges[name]), key=lambda name: ranges[name])
    predicted_names = {prediction.name: None for turn in turns for prediction in turn.predictions}
    predicted_names |= {prediction.name: None for prediction in more}
    return due + [name for name in predicted_names if name not in due]


def _columns(conversed: Conversed, step: float, bottom: float) -> Iterator[str]:
    """The numbers of the turns, and lost turns in grey."""
    for column, turn in enumerate(conversed.turns):
        x_left = _LABEL + step * column
        if turn.turn in conversed.lost:
            yield (
                f'<rect x="{x_left:.1f}" y="{_TOP - 4}" width="{step:.1f}" '
                f'height="{bottom - _TOP + 4:.1f}" fill="{_LOST}" fill-opacity="0.3">'
                f"<title>turn {turn.turn}: lost, nothing was predicted in time</title></rect>"
            )
        if step >= 16 or turn.turn % 2:
            yield (
                f'<text x="{x_left + step / 2:.1f}" y="15" text-anchor="middle" '
                f'font-size="11">{turn.turn}</text>'
            )


def _names(names: Sequence[str]) -> Iterator[str]:
    for row, name in enumerate(names):
        y = _TOP + _ROW * row
        label = name if len(name) <= 27 else f"{name[:26]}…"
        yield (
            f'<text x="{_LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
            f'<line x1="{_LABEL}" x2="{_WIDTH - 6}" y1="{y + _ROW - 2}" y2="{y + _ROW - 2}" '
            f'stroke="{_LOST}" stroke-opacity="0.25"/>'
        )


def _bar(
    turn: PredictedTurn, name: str, names: Sequence[str], column: int, step: float
) -> Iterator[str]:
    if turn.turn in turn.ready_ranges.get(name, ()):
        x_left, y = _LABEL + step * column, _TOP + _ROW * names.index(name)
        yield (
            f'<rect x="{x_left:.1f}" y="{y + 2}" width="{step:.1f}" height="{_ROW - 8}" '
            f'fill="{BAR}" fill-opacity="0.45"/>'
        )


def _prediction(
    turn: PredictedTurn, prediction: Opportunity, names: Sequence[str], column: int, step: float
) -> str:
    name = prediction.name
    outcome = verdict(prediction, turn.turn, turn.ready_ranges.get(name, ()))
    x, y = _LABEL + step * (column + 0.5), _TOP + _ROW * names.index(name) + 9
    values = ", ".join(f"{i.name}={i.value}" for i in prediction.inputs.all() if i.provided)
    title = f"turn {turn.turn}: {name}, {prediction.status} ({outcome})"
    if turn.references:
        title += f", match {best_match(prediction, turn.references):.2f}"
    title += f"; {values}" if values else ""
    return f"<g>{mark(outcome, x, y)}<title>{escape(title)}</title></g>"


def _late(conversed: Conversed, names: Sequence[str], step: float) -> Iterator[str]:
    """The predictions that came after their turn, faint: they do not count."""
    columns = {turn.turn: column for column, turn in enumerate(conversed.turns)}
    for message in conversed.predictions:
        if message.is_late and message.prediction.turn in conversed.lost:
            column = columns[message.prediction.turn]
            turn = conversed.turns[column]
            for prediction in message.prediction.opportunities:
                faint = _prediction(turn, prediction, names, column, step)
                yield f'<g opacity="0.55">{faint}</g>'


def mark(outcome: Verdict, x: float, y: float) -> str:
    """The mark of a verdict: each has a colour and a shape."""
    colour, r = COLOURS[outcome], 5
    # An edge in the colour of the text keeps it apart from a bar, in light and dark mode.
    filled = f'fill="{colour}" stroke="{INK}" stroke-width="0.8"'
    if outcome == "not ready":
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="none" stroke="{colour}" '
            'stroke-width="1.2"/>'
        )
    if outcome == "in time":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" {filled}/>'
    if outcome == "false":
        return (
            f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" '
            'stroke-width="2.6" fill="none"/>'
        )
    if outcome == "early":  # points to the later turns
        return f'<path d="M{x - 4:.1f} {y - r:.1f}l9 {r}l-9 {r}z" {filled}/>'
    return f'<path d="M{x + 4:.1f} {y - r:.1f}l-9 {r}l9 {r}z" {filled}/>'


def _legend(y: float) -> Iterator[str]:
    """The legend in two lines, so that a narrow window shows all of it."""
    x = 20.0
    yield (
        f'<rect x="{x}" y="{y - 7}" width="26" height="14" fill="{BAR}" fill-opacity="0.45"/>'
        f'<text x="{x + 32}" y="{y + 4}">ready in the reference</text>'
    )
    x += 185
    for outcome in COLOURS:
        if outcome == "not ready":
            x, y = 33.0, y + 20
        yield f'{mark(outcome, x, y)}<text x="{x + 10:.1f}" y="{y + 4}">{outcome}</text>'
        x += 28 + 7.2 * len(outcome)
    yield (
        f'<rect x="{x}" y="{y - 7}" width="14" height="14" fill="{_LOST}" fill-opacity="0.3"/>'
        f'<text x="{x + 20:.1f}" y="{y + 4}">lost turn; faint: came late</text>'
    )
