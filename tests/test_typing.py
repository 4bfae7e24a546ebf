"""What a type checker makes of programs of users."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ARITHMETIC = """
from typing import assert_type

from timeful.core.units import START, Duration, Instant, seconds

at, span = START + seconds(1), seconds(1)
assert_type(at, Instant)
assert_type(span + at, Instant)
assert_type(at - span, Instant)
assert_type(at - START, Duration)
assert_type(2 * span, Duration)
assert_type(span // 2, Duration)
assert_type(span // span, int)
assert_type(max(START, at), Instant)
"""


def readme() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(blocks[0])


@pytest.mark.slow
@pytest.mark.parametrize("program", [readme(), ARITHMETIC], ids=["readme", "arithmetic"])
def test_a_program_passes_mypy_strict(program: str, tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    path = tmp_path / "program.py"
    path.write_text(program)
    output, errors, status = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--strict", str(path)]
    )
    assert status == 0, output + errors
