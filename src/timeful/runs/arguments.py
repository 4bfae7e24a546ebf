"""Calling a function of a user's own with the arguments that it names."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from timeful.errors import SettingsError


def bind(
    function: Callable[..., Any], available: Mapping[str, Callable[[], Any]], *, skip: int = 0
) -> Callable[..., Any]:
    """Bind the parameters of a function, by name, to the values that are available.

    Args:
        function: The function, such as an agent that takes a session, a planner and a reserve.
        available: What makes each value; only those that the function names are made.
        skip: The number of first parameters that the caller gives.

    Returns:
        The function with these parameters bound.

    Raises:
        SettingsError: If the function names a parameter without a default that is not available.
    """
    if not callable(function):
        raise SettingsError(f"{function!r} cannot be called; give a function or a class")
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in named:
        if parameter.name not in available and parameter.default is parameter.empty:
            raise SettingsError(
                f"{getattr(function, '__name__', function)} has the parameter "
                f"{parameter.name!r}; available are {', '.join(available)}"
            )
    values = {p.name: available[p.name]() for p in named if p.name in available}
    return partial(function, **values)
