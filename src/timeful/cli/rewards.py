"""`timeful rewards`: what a reward makes of recorded episodes, to audit a run or try a reward."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.record_files import mixed, record_files

if TYPE_CHECKING:
    from timeful.rewards.names import Reward


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
    that keeps its records; the mean is of all its agents, paces and budgets together. An episode
    that failed has no reward, and is in no mean. Rewards that need a judge are not scored here.
    """
    from timeful.errors import RecordError
    from timeful.records.events import EpisodeStarted
    from timeful.records.recorder import read_record
    from timeful.rewards.names import Reward, reward_of

    reward = Reward(name=name, parameters=dict(map(_parameter, given)))
    _check_options(reward, progress)
    found: list[tuple[str, float | None]] = []
    settings: list[Mapping[str, Any]] = []
    for path in record_files(records):
        events = list(read_record(path))
        try:
            value = reward_of(events, reward, progress=progress, turn=turn)
        except RecordError as error:
            raise RecordError(f"{path.name}: {error}") from None
        found.append((path.stem, value))
        settings += [one.settings for one in events[:1] if isinstance(one, EpisodeStarted)]
    print(_json(reward, found) if as_json else "\n".join([_table(found), *mixed(settings)]))


def _check_options(reward: "Reward", progress: float | None) -> None:
    from timeful.errors import SettingsError

    if reward.kind.needs_judge:
        raise SettingsError(
            f"{reward.name} needs a judge, which scores whole groups: what it said in training is "
            "in the run's log of it"
        )
    if progress is not None and not reward.kind.needs_progress:
        raise SettingsError(f"--progress changes nothing: {reward.name} is the same all the time")


def _parameter(text: str) -> tuple[str, float]:
    from timeful.errors import SettingsError

    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise SettingsError(
            f"--set takes PARAMETER=VALUE, as in lambda=0.2; got {text!r}"
        ) from None


def _json(reward: "Reward", found: Sequence[tuple[str, float | None]]) -> str:
    there = [value for _, value in found if value is not None]
    return json.dumps(
        {
            "reward": reward.name,
            "parameters": dict(reward.all_parameters),
            "mean": fmean(there) if there else None,
            "n_rewarded": len(there),
            "n_without": len(found) - len(there),
            "records": [{"record": record, "reward": value} for record, value in found],
        },
        indent=2,
    )


def _table(found: Sequence[tuple[str, float | None]]) -> str:
    there = [value for _, value in found if value is not None]
    mean = f"{fmean(there):.4f}" if there else "-"
    return "\n".join(
        [
            *(f"{'-' if value is None else f'{value:.4f}':>8}  {name}" for name, value in found),
            f"{mean:>8}  mean of {len(there)}; {len(found) - len(there)} without a reward",
        ]
    )
