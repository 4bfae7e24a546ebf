"""Results as text of at most 80 columns, and as what `--json` prints."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from timeful.metrics.proactor.alignment import KEEP_ABOVE, Alignment
from timeful.metrics.proactor.episodes import ConversedScores
from timeful.metrics.proactor.ranking import COLUMNS, Ranked
from timeful.metrics.proactor.turns import MeanScores

_LABELS = {
    "ac": "action consistency, AC",
    "max_ac": "best of each turn, Max AC",
    "difference": "Difference, (Max AC - AC) / AC",
    "pt": "proactive timing, PT",
    "pt_all": "PT by the letter of equation 5",
    "ftr": "fault trigger rate, FTR",
    "ftr_per_prediction": "the same, of all predictions",
    "rar": "ready action rate, RAR",
    "atr": "actual trigger rate, ATR",
    "false_triggered": "false triggered rate",
    "frr": "false ready rate, FRR",
}


_KEPT = {"ac": "AC", "max_ac": "Max AC", "pt": "PT", "rar": "RAR"}


def turns_json(means: MeanScores) -> dict[str, Any]:
    """The means over turns by name; null where there is none."""
    values = {**means.means, "difference": means.difference}
    ordered = {name: values[name] for name in _LABELS}
    return {"n_turns": means.n_turns, "n_skipped": means.n_skipped, **ordered}


def turns_table(means: MeanScores) -> str:
    """The means over turns."""
    values = turns_json(means)
    lines = [f"{label:<32}{_number(values[name], 4):>8}" for name, label in _LABELS.items()]
    count = f"means over {means.n_turns - means.n_skipped} of {means.n_turns} turns"
    if means.n_skipped:
        count += f"; {means.n_skipped} without predictions are in none"
    return "\n".join([*lines, count])


def conversations_json(scores: ConversedScores) -> dict[str, Any]:
    """The means over the turns of recorded conversations, and what time did to them."""
    counts = {
        name: getattr(scores, name)
        for name in ("n_lost", "n_lost_late", "n_empty", "n_late", "n_revised", "tokens")
    }
    head = {"n_dialogues": scores.n_dialogues, "n_failed": scores.n_failed}
    counts["with_lost"] = dict(scores.with_lost)
    return {**head, **turns_json(scores.means), **counts, "notes": dict(scores.notes)}


def conversations_table(s: ConversedScores) -> str:
    """The same as text: the means, and below them what they leave out."""
    count = s.means.n_turns
    lost = f"{s.n_lost} of {count} turns were lost ({_percent(_share(s.n_lost, count))})"
    lines = [
        turns_table(s.means),
        f"{lost}: nothing was predicted in time;\nof these, {s.n_lost_late} with a prediction "
        f"that came late, as {s.n_late} predictions did",
        "with 0 for each of them: "
        + ", ".join(f"{title} {_number(s.with_lost[name], 4)}" for name, title in _KEPT.items()),
        f"{s.n_empty} turns with an empty set in time, {s.n_revised} sets replaced in time",
        f"{s.n_dialogues} conversations, {s.n_failed} episodes failed and left out, "
        f"{s.tokens:,} tokens",
    ]
    if s.notes:
        topics = ", ".join(f"{topic} {times}" for topic, times in s.notes.items())
        lines += wrap(f"noted by agents: {topics}", 80, break_on_hyphens=False)
    return "\n".join(lines)


def ranking_json(ranked: Sequence[Ranked]) -> list[dict[str, Any]]:
    """The group, the best first: index, its parts, and what they were made from."""
    return [
        {
            "rank": method.rank,
            "name": method.result.name,
            "pri": method.pri,
            "ci": method.ci,
            "ti": method.ti,
            **{name: getattr(method.result, name) for name in COLUMNS[1:]},
        }
        for method in ranked
    ]


def ranking_table(ranked: Sequence[Ranked]) -> str:
    """The group, the best first, and who it is: another group gives other values."""
    titles = ("PRI", "CI", "TI", "AC", "MaxAC", "Diff", "PT", "FTR", "RAR")
    lines = ["    " + f"{'':<21}" + "".join(f"{title:>6}" for title in titles)]
    for method in ranked:
        values = [
            method.pri,
            method.ci,
            method.ti,
            *(getattr(method.result, name) for name in COLUMNS[1:]),
        ]
        first, *lines_left = wrap(method.result.name, 20)
        numbers = "".join(f"{_short(value):>6}" for value in values)
        lines += [
            f"{method.rank:>3} {first:<21}{numbers}",
            *(f"      {more}" for more in lines_left),
        ]
    count = len(ranked)
    group = f"PRI within this group of {count} alone: with other members the values are others"
    return "\n".join([*lines, group])


def alignment_json(alignment: Alignment) -> dict[str, Any]:
    """EC for one threshold; null where nothing was observed."""
    return {
        "sigma": alignment.sigma,
        "unmatched": alignment.unmatched,
        "n_actions": alignment.n_actions,
        "n_hit": alignment.n_hit,
        "action_level": alignment.action_level,
        "n_dialogues": alignment.n_dialogues,
        "dialogue_mean": alignment.dialogue_mean,
        "dialogue_std": alignment.dialogue_std,
        "share_above": alignment.share_above,
    }


def alignment_table(rows: Sequence[Alignment], *, by_rule: bool = True) -> str:
    """EC for some thresholds as in Table 3, with the coverage.

    Args:
        rows: EC for each.
        by_rule: Whether a rule may have made the references.
    """
    lines = [f"{'sigma':>5}{'EC = 1':>9}{'share':>9}{'dialogue mean':>22}{'above 0.8':>12}"]
    for row in rows:
        mean = f"{_number(row.dialogue_mean, 4)} ± {_number(row.dialogue_std, 4)}"
        share, above = _percent(row.action_level), _percent(row.share_above)
        lines.append(f"{row.sigma:>5}{row.n_hit:>9,}{share:>9}{mean:>22}{above:>12}")
    row = rows[0]
    lines.append(
        f"{row.n_matched:,} of {row.n_observed:,} observed actions are ready at some turn of the "
        f"reference\n({_percent(row.coverage)} coverage); the others "
        + ("are left out" if row.unmatched == "skip" else "count as 0")
    )
    lines.append(
        f"{row.n_actions:,} actions in {row.n_dialogues:,} dialogues; kept are those above "
        f"{KEEP_ABOVE}"
    )
    return "\n".join(lines + foregone(rows, by_rule=by_rule))


def foregone(rows: Sequence[Alignment], *, by_rule: bool) -> list[str]:
    """What has to be said where every action is in time at sigma 0; the cause, if it is a rule."""
    if not any(row.sigma == 0 and row.n_hit == row.n_matched > 0 for row in rows):
        return []
    if not by_rule:
        return ["At sigma 0 EC is 1 throughout: larger sigmas tell, and the coverage"]
    return [
        "At sigma 0 EC is 1 throughout. A rule that knows what was done, such as the",
        "generator's, gives that by construction: larger sigmas tell, and the coverage",
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _share(count: int, total: int) -> float | None:
    return count / total if total else None


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _short(value: float) -> str:
    """A number in five characters if it can be."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
