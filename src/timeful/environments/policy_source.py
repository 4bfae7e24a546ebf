"""The source text of the policy in each game's `policy.py`, as a code-writing model sends it.

A policy file imports the standard library alone, and looks `DEPTH` decisions ahead.
"""

from functools import cache
from pathlib import Path

_DEPTH = "DEPTH = 2\n"


@cache
def read_policy_source(folder: Path, depth: int) -> str:
    """Read the policy in a game's folder, with `DEPTH` set."""
    text = (folder / "policy.py").read_text(encoding="utf-8")
    return text.replace(_DEPTH, f"DEPTH = {depth}\n")
