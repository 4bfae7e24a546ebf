"""The judge of `timeful train`: its check before a training, and what it may spend."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeful.cli.options import ENDPOINT_NAMES, read_limits, read_spending, refuse_idle

if TYPE_CHECKING:
    from timeful.models.ledger import Expense
    from timeful.training.config import Config, SftConfig
    from timeful.training.rollout_tasks import RolloutTask


def refuse_judge_options(config: "Config | SftConfig") -> None:
    """Refuse options of a judge if there is none.

    Raises:
        SettingsError: It names the option.
    """
    need = getattr(config, "judge", None) is not None, "a table [judge]"
    refuse_idle(dict.fromkeys((*ENDPOINT_NAMES, "yes"), need))


def check_judge(
    config: "Config | SftConfig", tasks: "Mapping[str, RolloutTask]", values: Mapping[str, Any]
) -> "Sequence[Expense]":
    """Print the estimate of a dry run; else ask if it is expensive, and probe the judge.

    Returns:
        The expenses of the probe.

    Raises:
        SettingsError: If its key is missing, or the cost is limited and its price unknown.
        ModelError: If it refuses the key, the model or the settings, or there is no connection.
        click.Abort: If the answer is no.
    """
    from timeful.cli.estimate import is_estimate
    from timeful.models.preflight import check_endpoints
    from timeful.training.config import Config
    from timeful.training.judge import estimate_judge

    if not isinstance(config, Config) or config.judge is None:
        return ()
    judge, most = config.judge.choose(), config.judge.max_concurrent_api_number
    if values["dry_run"]:
        print()
    estimate = partial(estimate_judge, config, tasks)
    if is_estimate(estimate, [judge], {**values, "connections": most}):
        return ()
    return check_endpoints(
        [judge],
        os.environ,
        **read_spending(values),
        say=partial(print, file=sys.stderr),
        limits=read_limits(values, connections=most),
        folders=[] if values["replace"] else [Path(config.run.out)],
    )


@contextmanager
def limit_judge(
    config: "Config", values: Mapping[str, Any], probes: "Sequence[Expense]"
) -> Iterator[None]:
    """Keep what the judge of a training costs in its folder, within the budget.

    Args:
        config: The settings.
        values: The values of the options.
        probes: What was spent before the folder was there.
    """
    from timeful.models.spending import track_spending
    from timeful.models.traffic import under

    if config.judge is None:
        yield
        return
    limits = read_limits(values, connections=config.judge.max_concurrent_api_number)
    budget = read_spending(values)["budget"]
    with track_spending(Path(config.run.out), budget) as spending, under(limits, spending):
        spending.enter(probes)
        yield
