"""Running a suite from Python: `timeful.evaluate`, the same as `timeful run`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from timeful.errors import SettingsError
from timeful.experiments.run import MAIN_KEY, Results, run_suite
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import Choice
from timeful.models.preflight import Preflight
from timeful.models.spending import Budget
from timeful.models.traffic import Limits
from timeful.registry import load, load_file_name, register

_PREFLIGHT = Preflight()

Agent = str | Callable[..., Any]
"""An agent: its name, `FILE.py:NAME`, or an async function of a session."""


def evaluate(  # noqa: PLR0913 - the front door: every argument after two has a default
    agent: Agent | Sequence[Agent] | None = None,
    suite: Suite | str = "realtime",
    *,
    out: Path | str,
    workers: int | None = None,
    limits: Limits | None = None,
    budget: Budget | None = None,
    preflight: Preflight | None = _PREFLIGHT,
    preset: str = "",
    parts: Sequence[str] = (),
    replace: bool = False,
    retry_failed: bool = False,
    api_key: str | None = None,
    **values: Any,
) -> Results:
    """Run a suite in a folder, or resume the run in it.

    Args:
        agent: The agent, or several, for a suite whose episodes have a field `agent`; None for
            the agents of the suite.
        suite: A suite, its name, or `FILE.py:NAME`.
        out: The run folder.
        workers: The number of processes; as many as the work needs by default, and 1 for an agent
            or a suite that no other process can import, such as one of a notebook.
        limits: The limits of the traffic to endpoints, such as `Limits(connections=256)`; as many
            episodes are in flight. 64 connections by default where an endpoint answers.
        budget: The most that the run may spend on endpoints, such as `Budget(cost=5)`;
            a BudgetError ends the run, and a call with more resumes it.
        preflight: How keys and endpoints are checked before the first episode, with a short request
            to each model; None for no check.
        preset: The name of a preset of the suite.
        parts: The names of its sub-experiments.
        replace: Replace another run in the folder.
        retry_failed: Play failed episodes again.
        api_key: The key of an endpoint; the variable OPENAI_API_KEY by default.
        values: Values of fields of an episode: a list, tuple or range varies the field, anything
            else is its only value.

    Returns:
        The results: `rows` for pandas or polars, `table()`, `report()`.

    Raises:
        SettingsError: If a name or a value is unknown or does not fit, or a key is missing.
        RecordError: If a record in the folder cannot be read.
        ModelError: If an endpoint refuses all requests, or none answers.
        BudgetError: If the budget is used up. Finished episodes are kept.
    """
    name = suite if isinstance(suite, str) else ""
    value = load("suite", name) if name else suite
    if not isinstance(value, Suite):
        raise SettingsError(f"{name or value!r} is a {type(value).__name__}, not a Suite")
    swept_values, fixed = split_values(values)
    is_importable = bool(name) or _file_of(value.play) is not None or _is_installed(value.play)
    if agent is not None:
        if "agent" not in value.field_names:
            raise SettingsError(f"the episodes of {value.name} have no field `agent`")
        agents = [agent] if isinstance(agent, str) or callable(agent) else list(agent)
        swept_values["agent"] = [_name_agent(name_or_function) for name_or_function in agents]
        is_importable = is_importable and all(
            "<" not in name_or_function for name_or_function in swept_values["agent"]
        )
    if workers is None and not is_importable:
        workers = 1
    choice = Choice(
        preset=preset,
        parts=tuple(parts),
        values=swept_values,
        fixed=fixed,
        file=load_file_name(name) if name else "",
    )
    return run_suite(
        value,
        choice,
        Path(out),
        workers=workers,
        limits=limits,
        budget=budget,
        preflight=preflight,
        replace=replace,
        retry_failed=retry_failed,
        keys=os.environ if api_key is None else {**os.environ, MAIN_KEY: api_key},
    )


def split_values(values: Mapping[str, Any]) -> tuple[dict[str, Sequence[Any]], dict[str, Any]]:
    """Split values of fields into those that vary and those with a single value."""
    swept_values: dict[str, Sequence[Any]] = {
        name: value for name, value in values.items() if isinstance(value, list | tuple | range)
    }
    return swept_values, {name: v for name, v in values.items() if name not in swept_values}


def _name_agent(agent: Agent) -> str:
    """The name of an agent: a function of a file is named by it, others are registered here."""
    if isinstance(agent, str):
        return agent
    path, name = _file_of(agent), getattr(agent, "__qualname__", "")
    if path is not None and name.isidentifier():
        return f"{path}:{name}"
    name = name or type(agent).__name__
    return register("agent", name, agent)


def _file_of(function: Callable[..., Any]) -> Path | None:
    """The file that other processes can import a function from; None if there is none."""
    module = getattr(function, "__module__", "")
    code = getattr(function, "__code__", None)
    if module == "__main__" or code is None or not module.startswith("timeful_file_"):
        return None
    return Path(code.co_filename)


def _is_installed(function: Callable[..., Any]) -> bool:
    return getattr(function, "__module__", "__main__") not in ("__main__", "builtins")
