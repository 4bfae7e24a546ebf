"""Names of programs as agents: `program:python my_agent.py`.

`program@2:…` is a program with two lanes, and `program+sandbox:…` one in a sandbox.
"""

import re
import shlex
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from timeful.errors import SettingsError
from timeful.registry import is_program

if TYPE_CHECKING:
    from timeful.agents.program.agent import Program

_NAME = re.compile(r"program(?:@([1-9][0-9]{0,3}))?(\+sandbox)?:(.*)", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")


def make_name(command: str, *, lanes: int = 1, sandbox: bool = False) -> str:
    """The name of a program as an agent.

    Raises:
        SettingsError: If the command cannot be run, or the number of lanes cannot be.
    """
    from timeful.agents.program.agent import program  # noqa: PLC0415 - loads servers

    made = program(command, lanes=lanes, sandbox=sandbox)
    options = ("" if lanes == 1 else f"@{lanes}") + ("+sandbox" if sandbox else "")
    return f"program{options}:{shlex.join(made.command)}"


def read_name(name: str) -> "Program":
    """The agent of a name.

    Raises:
        SettingsError: If it is no such name, or its command cannot be run.
    """
    from timeful.agents.program.agent import program  # noqa: PLC0415 - loads servers

    lanes, sandbox, command = _split(name)
    return program(command, lanes=lanes, sandbox=sandbox)


def short_name(name: str) -> str:
    """A short name for tables and files: that of the script, and a hash of a longer command."""
    lanes, sandbox, command = _split(name)
    words = shlex.split(command)
    script = next((word for word in words[1:] if Path(word).suffix), words[0])
    stem = _UNSAFE.sub("_", Path(script).stem)
    if lanes == 1 and not sandbox and words[1:] == [script]:
        return stem
    return f"{stem}.{sha256(name.encode()).hexdigest()[:6]}"


def find_files(names: Iterable[str]) -> list[Path]:
    """The files that the commands of programs name; a run is of one version of them."""
    words = {word for name in names if is_program(name) for word in shlex.split(_split(name)[2])}
    return sorted(path for path in map(Path, words) if Path(path).suffix and path.is_file())


def _split(name: str) -> tuple[int, bool, str]:
    match = _NAME.fullmatch(name)
    if match is None or not match[3].strip():
        forms = "program:COMMAND, program@LANES:COMMAND or program+sandbox:COMMAND"
        raise SettingsError(f"a program is named {forms}, got {name!r}")
    return int(match[1] or 1), bool(match[2]), match[3]
