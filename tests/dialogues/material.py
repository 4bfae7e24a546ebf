"""Where ABCD's material lies, if it does: beside the project, or where TIMEFUL_ABCD says."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "abcd"
ABCD = Path(os.environ.get("TIMEFUL_ABCD") or BESIDE)

needs_abcd = pytest.mark.skipif(
    not (ABCD / "abcd_like.json.gz").exists(),
    reason="ABCD's material is not in this repository; TIMEFUL_ABCD may name its folder",
)
