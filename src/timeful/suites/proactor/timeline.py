"""A conversation drawn: what was ready when, and what an agent made of it.

A row for each action, a column for each turn. Bars are ready turns of the reference, marks are
predictions; a filled one said that it is ready. Nothing needs a script: a mark tells more when
it is pointed at.
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
"""Okabe and Ito, safe for colour-blind readers; each has a shape of its own as well."""

BAR = "#56B4E9"
_LOST = "#7F7F7F"
_LABEL, _WIDTH, _ROW, _TOP, _LEGEND = 190, 893, 22, 26, 46


def draw(conversed: Conversed) -> str:
    """Draw one agent's part in a conversation, as SVG of the page's width."""
    turns = conversed.turns
    came_late = [one for sent in conversed.predictions for one in sent.prediction.opportunities]
    names = rows_of(turns, came_late)
    step = (_WIDTH - _LABEL - 6) / max(len(turns), 1)
    height = _TOP + _ROW * len(names) + 8 + _LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        f'font-size="12" fill="{INK}">',
        *_columns(conversed, step, _TOP + _ROW * len(names)),
        *_names(names),
    ]
    for column, turn in enumerate(turns):
        for name in names:
            parts += _bar(turn, name, names, column, step)
        for one in turn.predictions:
            parts.append(_prediction(turn, one, names, column, step))
    parts += _late(conversed, names, step)
    return "\n".join([*parts, *_legend(height - _LEGEND + 13), "</svg>\n"])


def rows_of(turns: Sequence[PredictedTurn], more: Sequence[Opportunity] = ()) -> list[str]:
    """The actions that are drawn: those of the reference as they become ready, then the others."""
    ranges = dict(turns[0].ready_ranges) if turns else {}
    due = sorted((name for name in ranges if ranges[name]), key=lambda name: ranges[name])
    others = {one.name: None for turn in turns for one in turn.predictions}
    others |= {one.name: None for one in more}
    return due + [name for name in others if name not in due]


def _columns(conversed: Conversed, step: float, bottom: float) -> Iterator[str]:
    """The numbers of the turns, and those that were lost in grey."""
    for column, turn in enumerate(conversed.turns):
        left = _LABEL + step * column
        if turn.turn in conversed.lost:
            yield (
                f'<rect x="{left:.1f}" y="{_TOP - 4}" width="{step:.1f}" '
                f'height="{bottom - _TOP + 4:.1f}" fill="{_LOST}" fill-opacity="0.3">'
                f"<title>turn {turn.turn}: lost, nothing was predicted in time</title></rect>"
            )
        if step >= 16 or turn.turn % 2:
            yield (
                f'<text x="{left + step / 2:.1f}" y="15" text-anchor="middle" '
                f'font-size="11">{turn.turn}</text>'
            )


def _names(names: Sequence[str]) -> Iterator[str]:
    for row, name in enumerate(names):
        y = _TOP + _ROW * row
        shown = name if len(name) <= 27 else f"{name[:26]}…"
        yield (
            f'<text x="{_LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(shown)}</text>'
            f'<line x1="{_LABEL}" x2="{_WIDTH - 6}" y1="{y + _ROW - 2}" y2="{y + _ROW - 2}" '
            f'stroke="{_LOST}" stroke-opacity="0.25"/>'
        )


def _bar(
    turn: PredictedTurn, name: str, names: Sequence[str], column: int, step: float
) -> Iterator[str]:
    if turn.turn in turn.ready_ranges.get(name, ()):
        left, y = _LABEL + step * column, _TOP + _ROW * names.index(name)
        yield (
            f'<rect x="{left:.1f}" y="{y + 2}" width="{step:.1f}" height="{_ROW - 8}" '
            f'fill="{BAR}" fill-opacity="0.45"/>'
        )


def _prediction(
    turn: PredictedTurn, one: Opportunity, names: Sequence[str], column: int, step: float
) -> str:
    what = verdict(one, turn.turn, turn.ready_ranges.get(one.name, ()))
    x, y = _LABEL + step * (column + 0.5), _TOP + _ROW * names.index(one.name) + 9
    told = ", ".join(f"{each.name}={each.value}" for each in one.inputs.all() if each.provided)
    says = f"turn {turn.turn}: {one.name}, {one.status} ({what})"
    if turn.references:
        says += f", match {best_match(one, turn.references):.2f}"
    says += f"; {told}" if told else ""
    return f"<g>{mark(what, x, y)}<title>{escape(says)}</title></g>"


def _late(conversed: Conversed, names: Sequence[str], step: float) -> Iterator[str]:
    """What was predicted for a turn when it was over, faint: it stands for nothing."""
    place = {turn.turn: column for column, turn in enumerate(conversed.turns)}
    for sent in conversed.predictions:
        if sent.is_late and sent.prediction.turn in conversed.lost:
            column = place[sent.prediction.turn]
            turn = conversed.turns[column]
            for one in sent.prediction.opportunities:
                drawn = _prediction(turn, one, names, column, step)
                yield f'<g opacity="0.55">{drawn}</g>'


def mark(what: Verdict, x: float, y: float) -> str:
    """The mark of a verdict: each has a colour and a shape."""
    colour, r = COLOURS[what], 5
    # An edge in the colour of the text keeps it apart from a bar, by day and by night.
    filled = f'fill="{colour}" stroke="{INK}" stroke-width="0.8"'
    if what == "not ready":
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="none" stroke="{colour}" '
            'stroke-width="1.2"/>'
        )
    if what == "in time":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" {filled}/>'
    if what == "false":
        return (
            f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" '
            'stroke-width="2.6" fill="none"/>'
        )
    if what == "early":  # points to what is to come
        return f'<path d="M{x - 4:.1f} {y - r:.1f}l9 {r}l-9 {r}z" {filled}/>'
    return f'<path d="M{x + 4:.1f} {y - r:.1f}l-9 {r}l9 {r}z" {filled}/>'


def _legend(y: float) -> Iterator[str]:
    """Two lines, so that what a narrow window shows of the figure has all of it."""
    x = 20.0
    yield (
        f'<rect x="{x}" y="{y - 7}" width="26" height="14" fill="{BAR}" fill-opacity="0.45"/>'
        f'<text x="{x + 32}" y="{y + 4}">ready in the reference</text>'
    )
    x += 185
    for what in COLOURS:
        if what == "not ready":
            x, y = 33.0, y + 20
        yield f'{mark(what, x, y)}<text x="{x + 10:.1f}" y="{y + 4}">{what}</text>'
        x += 28 + 7.2 * len(what)
    yield (
        f'<rect x="{x}" y="{y - 7}" width="14" height="14" fill="{_LOST}" fill-opacity="0.3"/>'
        f'<text x="{x + 20:.1f}" y="{y + 4}">lost turn; faint: came late</text>'
    )
