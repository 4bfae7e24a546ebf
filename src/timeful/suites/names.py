"""The names of agents and worlds in suites: built in, registered, of a file, or a command."""

from typing import Any

from timeful.agents.program.name import short_name as program_name
from timeful.errors import SettingsError, unknown
from timeful.registry import is_file_name, is_program, names


def check_name(word: str, kind: Any, name: str, built_in: tuple[str, ...]) -> None:
    """Refuse a name that is neither built in, nor registered, nor a file's.

    Raises:
        SettingsError: It offers the nearest name.
    """
    if kind == "agent" and is_program(name):
        program_name(name)
    elif name not in built_in and not is_file_name(name):
        registered = names(kind)
        if name not in registered:
            raise SettingsError(unknown(word, name, [*built_in, *registered]))


def short_name(name: str) -> str:
    """A name without the path of its file; of a program that of its script."""
    if is_program(name):
        return program_name(name)
    return name.rpartition(":")[2] if is_file_name(name) else name
