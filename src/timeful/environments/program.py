"""Programs that play: each game has one in its `policy.py`, written to be sent as text.

Such a file needs the standard library alone, and the program in it looks `DEPTH` decisions
ahead; a model that answers with code chooses how many.
"""

from functools import cache
from pathlib import Path

_DEPTH = "DEPTH = 2\n"


@cache
def program_text(folder: Path, depth: int) -> str:
    """The program in a game's folder, set to look `depth` decisions ahead."""
    text = (folder / "policy.py").read_text(encoding="utf-8")
    return text.replace(_DEPTH, f"DEPTH = {depth}\n")
