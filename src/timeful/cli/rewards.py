"""`timeful rewards`: what a reward makes of recorded episodes, to audit a run or try a reward."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.record_files import mixed, record_files

if TYPE_CHECKING:
    from timeful.rewards.registry import Reward


@click.command()
@click.argument("name")
@click.argument("records", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="PARAMETER=VALUE",
    help="Another value of a parameter, such as lambda=0.2; repeatable.",
)
@click.option("--progress", type=float, help="How far training is, from 0 to 1.")
@click.option("--turn", type=click.IntRange(min=1), help="One turn of each conversation alone.")
@click.option("--json", "as_json", is_flag=True, help="One object.")
def rewards(
    name: str,
    records: tuple[Path, ...],
    given: tuple[str, ...],
    progress: float | None,
    turn: int | None,
    as_json: bool,
) -> None:
    """Score RECORDS by the reward NAME, as training does.

    RECORDS are .jsonl files, or folders of them, such as the folder of a run, or of a training
    that keeps its records; the mean is of all its agents and paces together, and that of each
    budget apart. An episode that failed has no reward, and is in no mean. Rewards that need a judge
    are not scored here. NAME is one of `timeful list`, or FILE.py:FUNCTION for one of your own.
    """
    from timeful.errors import RecordError, RewardError
    from timeful.records.events import EpisodeStarted
    from timeful.records.recorder import read_record
    from timeful.rewards.registry import Reward, reward_of

    reward = Reward(name=name, parameters=dict(map(_parameter, given)))
    _check_options(reward, progress)
    found: list[tuple[str, float | None]] = []
    by_budget: dict[tuple[float, str], list[float | None]] = {}
    settings: list[Mapping[str, Any]] = []
    for path in record_files(records):
        events = list(read_record(path))
        try:
            value = reward_of(events, reward, progress=progress, turn=turn)
        except (RecordError, RewardError) as error:
            raise type(error)(f"{path.name}: {error}") from None
        found.append((path.stem, value))
        for one in events[:1]:
            if isinstance(one, EpisodeStarted):
                settings.append(one.settings)
                episode = one.settings.get("episode") or {}
                budget = (episode.get("budget_ns") or inf, str(episode.get("budget", "none")))
                by_budget.setdefault(budget, []).append(value)
    budgets = {name: by_budget[length, name] for length, name in sorted(by_budget)}
    if as_json:
        print(_json(reward, found, budgets))
    else:
        print("\n".join([_table(found), *_budgets(budgets), *mixed(settings)]))


def _check_options(reward: "Reward", progress: float | None) -> None:
    from timeful.errors import SettingsError

    if reward.spec.needs_judge:
        raise SettingsError(
            f"{reward.name} needs a judge, which scores whole groups: what it said in training is "
            "in the run's log of it"
        )
    if progress is not None and not reward.spec.needs_progress:
        raise SettingsError(f"--progress changes nothing: {reward.name} is the same all the time")


def _parameter(text: str) -> tuple[str, Any]:
    """A parameter and its value, as TOML has it; what is no such value is a text."""
    from timeful.errors import SettingsError

    name, equals, value = text.partition("=")
    if not (name.strip() and equals):
        raise SettingsError(f"--set takes PARAMETER=VALUE, as in lambda=0.2; got {text!r}")
    try:
        return name.strip(), tomllib.loads(f"it = {value}")["it"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def _json(
    reward: "Reward",
    found: Sequence[tuple[str, float | None]],
    by_budget: Mapping[str, Sequence[float | None]],
) -> str:
    there = [value for _, value in found if value is not None]
    return json.dumps(
        {
            "reward": reward.name,
            "parameters": dict(reward.all_parameters),
            "mean": _mean(there),
            "by_budget": {budget: _mean(some) for budget, some in by_budget.items()},
            "n_rewarded": len(there),
            "n_without": len(found) - len(there),
            "records": [{"record": record, "reward": value} for record, value in found],
        },
        indent=2,
        default=str,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def _budgets(by_budget: Mapping[str, Sequence[float | None]]) -> list[str]:
    """The mean of each budget, where there are several."""
    if len(by_budget) < 2:
        return []
    rows = [(_mean(some), len(some) - some.count(None), of) for of, some in by_budget.items()]
    return [
        f"{'-' if mean is None else f'{mean:.4f}':>8}  mean of {count}, budget {of}"
        for mean, count, of in rows
    ]


def _table(found: Sequence[tuple[str, float | None]]) -> str:
    there = [value for _, value in found if value is not None]
    mean = f"{fmean(there):.4f}" if there else "-"
    return "\n".join(
        [
            *(f"{'-' if value is None else f'{value:.4f}':>8}  {name}" for name, value in found),
            f"{mean:>8}  mean of {len(there)}; {len(found) - len(there)} without a reward",
        ]
    )
