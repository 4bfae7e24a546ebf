"""`timeful rewards`: score recorded episodes with a reward, to audit a run or try a reward."""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.record_files import record_files, warn_of_mixture

if TYPE_CHECKING:
    from timeful.rewards.registry import Reward

Results = Sequence[tuple[str, float | None]]
"""Records and their rewards."""

Budgets = Mapping[str, Sequence[float | None]]
"""Rewards by budget."""


@click.command()
@click.argument("name")
@click.argument("records", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PARAMETER=VALUE",
    help="Value of a parameter, such as lambda=0.2; repeatable.",
)
@click.option("--progress", type=float, help="Progress of training, from 0 to 1.")
@click.option(
    "--turn", type=click.IntRange(min=1), help="Score only this turn of each conversation."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def rewards(
    name: str,
    records: tuple[Path, ...],
    assignments: tuple[str, ...],
    progress: float | None,
    turn: int | None,
    as_json: bool,
) -> None:
    """Score RECORDS with the reward NAME, as training does.

    RECORDS are .jsonl files or folders of them, such as a run or a training with run.records. Means
    are over all agents and paces, and over each budget. Failed episodes have no reward and are
    omitted from means. Rewards that need a judge cannot be scored here. NAME is one of
    `timeful list`, or FILE.py:FUNCTION for your own.
    """
    from timeful.errors import RecordError, RewardError
    from timeful.records.events import EpisodeStarted
    from timeful.records.recorder import read_record
    from timeful.rewards.registry import Reward, reward_of

    reward = Reward(name=name, parameters=dict(map(_parameter, assignments)))
    _check_options(reward, progress)
    results: list[tuple[str, float | None]] = []
    by_budget: dict[tuple[float, str], list[float | None]] = {}
    settings: list[Mapping[str, Any]] = []
    for path in record_files(records):
        events = list(read_record(path))
        try:
            value = reward_of(events, reward, progress=progress, turn=turn)
        except (RecordError, RewardError) as error:
            raise type(error)(f"{path.name}: {error}") from None
        results.append((path.stem, value))
        for event in events[:1]:
            if isinstance(event, EpisodeStarted):
                settings.append(event.settings)
                episode = event.settings.get("episode") or {}
                budget = (episode.get("budget_ns") or inf, str(episode.get("budget", "none")))
                by_budget.setdefault(budget, []).append(value)
    budgets = {name: by_budget[length, name] for length, name in sorted(by_budget)}
    if as_json:
        print(_json(reward, results, budgets))
    else:
        print("\n".join([*_lines(results, budgets), *warn_of_mixture(settings)]))


def _check_options(reward: "Reward", progress: float | None) -> None:
    from timeful.errors import SettingsError

    if reward.spec.needs_judge:
        raise SettingsError(
            f"{reward.name} needs a judge, which scores whole groups; its scores in a training are "
            "in the training's judge log"
        )
    if progress is not None and not reward.spec.needs_progress:
        raise SettingsError(f"--progress has no effect: {reward.name} does not depend on it")


def _parameter(text: str) -> tuple[str, Any]:
    """A parameter and its TOML value; text that is not TOML is taken as a string."""
    from timeful.errors import SettingsError
    from timeful.files import parse_toml

    name, equals, value = text.partition("=")
    if not (name.strip() and equals):
        raise SettingsError(f"--set takes PARAMETER=VALUE, as in lambda=0.2; got {text!r}")
    try:
        return name.strip(), parse_toml(f"it = {value}")["it"]
    except ValueError:
        return name.strip(), value.strip()


def _json(reward: "Reward", results: Results, budgets: Budgets) -> str:
    values = [value for _, value in results]
    return json.dumps(
        {
            "reward": reward.name,
            "parameters": dict(reward.all_parameters),
            "mean": _mean(values),
            "by_budget": {budget: _mean(group) for budget, group in budgets.items()},
            "n_rewarded": len(values) - values.count(None),
            "n_without": values.count(None),
            "records": [{"record": record, "reward": value} for record, value in results],
        },
        indent=2,
        default=str,
    )


def _lines(results: Results, budgets: Budgets) -> Iterator[str]:
    """Each record, the mean of all, and that of each budget if there are several."""
    values = [value for _, value in results]
    for record, value in results:
        yield _line(value, record)
    missing = values.count(None)
    yield _line(_mean(values), f"mean of {len(values) - missing}; {missing} without a reward")
    for budget, group in budgets.items() if len(budgets) > 1 else ():
        count = len(group) - group.count(None)
        yield _line(_mean(group), f"mean of {count}, budget {budget}")


def _line(value: float | None, label: str) -> str:
    return f"{'-' if value is None else f'{value:.4f}':>8}  {label}"


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None
