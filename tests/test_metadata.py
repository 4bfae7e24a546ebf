"""What a package index and pip read of the project."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
APART = {"all", "dev", "inspect", "jericho", "textworld", "reasoning-gym"}
"""Extras that compile code, fix versions of other packages, or are for developers."""


def expand(extra: str) -> set[str]:
    """The extra and all extras that it includes."""
    names = {extra}
    for requirement in EXTRAS[extra]:
        if match := re.fullmatch(r"timeful\[([a-z,-]+)\]", requirement):
            names |= {name for part in match[1].split(",") for name in expand(part)}
    return names


def test_all_has_every_extra_but_those_apart() -> None:
    assert expand("all") - {"all"} == EXTRAS.keys() - APART


def test_each_extra_in_a_message_exists() -> None:
    texts = (path.read_text() for path in (ROOT / "src").rglob("*.py"))
    named = {match[1] for text in texts for match in re.finditer(r"'timeful\[([a-z-]+)\]'", text)}
    assert named
    assert named <= EXTRAS.keys()


def test_the_claimed_versions_of_python_are_those_that_are_required() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={versions[0]}"
