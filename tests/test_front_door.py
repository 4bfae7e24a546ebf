"""The front door: small, sorted, lazy, and used by nobody inside."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import timeful

SOURCE = Path(timeful.__file__).parent


def test_the_front_door_is_sorted_and_everything_behind_it_exists() -> None:
    assert timeful.__all__ == sorted(timeful.__all__, key=str)
    assert dir(timeful) == timeful.__all__
    for name in timeful.__all__:
        assert getattr(timeful, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'agent'"):
        _ = timeful.agent


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stdout.split()}


@pytest.mark.parametrize(
    "statement",
    [
        "import timeful",
        "import timeful.cli.main",
        "from timeful.cli.main import app; app.list_commands(None)",
    ],
)
def test_importing_loads_nothing_heavy(statement: str) -> None:
    heavy = {"numpy", "matplotlib", "openai", "httpx", "pydantic", "torch", "ray", "pandas"}
    assert not loaded_by(statement) & heavy


def test_the_kernel_needs_python_alone() -> None:
    third_party = loaded_by("import timeful.core.kernel") - set(sys.stdlib_module_names)
    assert third_party <= {"timeful"}


def test_no_module_inside_imports_the_front_door() -> None:
    front = re.compile(r"^\s*(?:from timeful import|import timeful(?:$|[ ,]))", re.MULTILINE)
    assert not [path for path in SOURCE.rglob("*.py") if front.search(path.read_text())]
