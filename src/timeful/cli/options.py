"""Options that several commands share, and options without effect."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.experiments.options import Option
    from timeful.models.traffic import Limits

_TRAFFIC_NAMES = ("connections", "rpm", "tpm", "retries")

ENDPOINT_NAMES = (
    *(*_TRAFFIC_NAMES, "timeouts"),
    *("no_key", "max_tokens_total", "max_cost", "price"),
)
"""The options of runs that have an effect on endpoints alone."""

FILE = click.Path(path_type=Path)


def run_options() -> list[click.Parameter]:
    """The options of each command that runs many episodes."""
    return [
        click.Option(
            ["--workers"], type=int, help="Number of processes.  [default: as the work needs]"
        ),
        *traffic_options(),
        *spending_options(),
        click.Option(
            ["--replace"], is_flag=True, help="Start again if the folder holds another run."
        ),
        click.Option(["--retry-failed"], is_flag=True, help="Play failed episodes again."),
    ]


def estimate_options() -> list[click.Parameter]:
    """The options of each command that estimates what it would cost."""
    return [
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="Estimate requests, tokens, cost and time; send and write nothing.",
        ),
        click.Option(["--yes"], is_flag=True, help="Start an expensive run without a question."),
    ]


def traffic_options() -> list[click.Parameter]:
    """The options of each command that sends many requests to an endpoint."""
    return [
        click.Option(
            ["--connections"],
            type=click.IntRange(min=1),
            help="Most requests in flight to an endpoint.  [default: 64]",
        ),
        *rate_options(),
    ]


def rate_options() -> list[click.Parameter]:
    """The limits of the requests to an endpoint, without their number in flight."""
    return [
        click.Option(["--rpm"], type=float, help="Most requests per minute to an endpoint."),
        click.Option(["--tpm"], type=float, help="Most tokens per minute at an endpoint."),
        click.Option(
            ["--retries"],
            type=click.IntRange(min=0),
            help="Most repetitions of a request that failed.  [default: 2]",
        ),
        click.Option(
            ["--timeouts"],
            metavar="FIRST,IDLE",
            help="Seconds until the first token, and between chunks.  [default: 300,60]",
        ),
    ]


def spending_options() -> list[click.Parameter]:
    """The options of each command that asks a paid endpoint."""
    return [
        click.Option(["--no-key"], is_flag=True, help="Endpoints on other machines need no key."),
        click.Option(
            ["--max-tokens-total"],
            type=click.IntRange(min=1),
            help="Most tokens of the whole run, prompts included.  [default: no limit]",
        ),
        click.Option(
            ["--max-cost"],
            type=float,
            metavar="USD",
            help="Most USD of the whole run; prices must be known.  [default: no limit]",
        ),
        click.Option(
            ["--price"],
            multiple=True,
            metavar="[MODEL=]IN,[CACHED,]OUT",
            help="Price of a model in USD per million tokens. Repeatable.",
        ),
    ]


def read_spending(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the check of endpoints and the budget, as arguments of a run."""
    from timeful.models.preflight import Preflight
    from timeful.models.prices import read_prices
    from timeful.models.spending import Budget

    return {
        "preflight": Preflight(needs_key=not values["no_key"]),
        "budget": Budget(
            tokens=values["max_tokens_total"],
            cost=values["max_cost"],
            prices=read_prices(values["price"]),
        ),
    }


def read_limits(values: Mapping[str, Any], *, connections: int) -> "Limits | None":
    """Read the limits of the traffic to endpoints; None if none is given.

    Args:
        values: The values of the options.
        connections: The connections if another limit alone is given.

    Raises:
        SettingsError: If a limit is out of range.
    """
    from timeful.models.traffic import Limits

    given = {name: values[name] for name in _TRAFFIC_NAMES if values.get(name) is not None}
    if (text := values.get("timeouts")) is not None:
        given |= zip(("first_token_s", "idle_s"), _read_pair(text), strict=True)
    return Limits(**{"connections": connections, **given}) if given else None


def _read_pair(text: str) -> tuple[float, float]:
    try:
        first, idle = map(float, text.split(","))
    except ValueError:
        raise SettingsError(
            f"timeouts are FIRST,IDLE in seconds, such as 300,60; got {text!r}"
        ) from None
    return first, idle


def is_given(name: str) -> bool:
    """Whether a parameter is on the command line; the environment does not count."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def refuse_idle(needs: Mapping[str, tuple[bool, str]]) -> None:
    """Refuse options on the command line that have no effect.

    Args:
        needs: By the parameter's name, whether it is used, and what it requires.

    Raises:
        SettingsError: If an option was given and is not used.
    """
    for parameter in click.get_current_context().command.params:
        is_used, need = needs.get(parameter.name or "", (True, ""))
        if not is_used and is_given(str(parameter.name)):
            raise SettingsError(f"{parameter.opts[0]} has no effect here; it requires {need}")


def program_options(options: "Sequence[Option]") -> list[click.Parameter]:
    """The options of a program as an agent; none for a suite without agents."""
    if not any(option.name == "agent" for option in options):
        return []
    texts = {
        "--program": "Program as an agent, such as 'python my_agent.py'. Repeatable.",
        "--lanes": "Requests of a program side by side.  [default: 1]",
        "--sandbox": "Confine a program to its folder and its endpoint.  [default: off]",
    }
    return [
        click.Option(["--program"], multiple=True, help=texts["--program"]),
        click.Option(["--lanes"], type=int, help=texts["--lanes"]),
        click.Option(["--sandbox", "sandboxed"], is_flag=True, help=texts["--sandbox"]),
    ]


def add_programs(options: "Sequence[Option]", values: dict[str, Any]) -> dict[str, Any]:
    """The values with the programs among the agents, by their names.

    Raises:
        SettingsError: If a command cannot be run, there are lanes without a program, or an episode
            takes one agent only.
    """
    from timeful.agents.program.name import make_name

    commands, lanes = values.get("program") or (), values.get("lanes")
    sandbox = bool(values.get("sandboxed"))
    if not commands and (lanes is not None or sandbox):
        raise SettingsError("--lanes and --sandbox require --program")
    lanes = 1 if lanes is None else lanes
    agents = [make_name(command, lanes=lanes, sandbox=sandbox) for command in commands]
    option = next((option for option in options if option.name == "agent"), None)
    if option is None or not agents:
        return values
    if option.is_swept:
        return {**values, "agent": (*(values["agent"] or ()), *agents)}
    if values["agent"] is not None or len(agents) > 1:
        raise SettingsError("this suite takes one --agent or one --program")
    return {**values, "agent": agents[0]}
