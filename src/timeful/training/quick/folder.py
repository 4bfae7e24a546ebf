"""The folder of an embedded run: what it holds beside `settings.json`."""

import shutil
from pathlib import Path

from timeful.runs.batch import check_same_suite

SETTINGS = "settings.json"


def clear(out: Path, settings: bytes) -> None:
    """Forget another run of the folder; one of the same settings is kept, to go on.

    Raises:
        SettingsError: If the folder holds something else.
    """
    path = out / SETTINGS
    if not path.exists() or path.read_bytes() == settings:
        return
    check_same_suite(out, settings)
    for part in (*out.glob("seed-*"), *out.glob("fraction-*")):
        shutil.rmtree(part)
