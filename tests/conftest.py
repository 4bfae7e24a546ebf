"""Settings of all tests, and the slow tier.

The fast tier is `pytest -m "not slow"`. Slow tests train, load torch, run programs in a sandbox,
kill and resume processes, compile loops, or play whole suites. The fast tier does not import the
folders and files in `SLOW`.
"""

from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
SLOW = frozenset(
    TESTS / name
    for name in (
        "agents/tabular/test_deliberation.py",
        "agents/tabular/test_patrol.py",
        "cli/test_local.py",
        "cli/test_serve.py",
        "cli/test_train.py",
        "environments/coding/test_sandboxed.py",
        "environments/fiction/test_colossal.py",
        "environments/reasoning/test_math.py",
        "golden",
        "models/local",
        "runs/test_live.py",
        "sandbox",
        "serving",
        "suites/engagement/test_patrol.py",
        "suites/engagement/test_toys.py",
        "training",
        "viewer/test_browser.py",
        "viewer/test_browser_access.py",
    )
)

# A deadline of hypothesis is one of real time: on a busy machine a right test would miss it.
settings.register_profile("timeful", deadline=None)
settings.load_profile("timeful")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Play the tests of a file in one process, so that what they share is computed once."""
    if config.option.markexpr == "not slow" and getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"


def is_slow(path: Path) -> bool:
    return not SLOW.isdisjoint((path, *path.parents))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item.path):
            item.add_marker("slow")
