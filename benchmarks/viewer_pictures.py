"""The pictures of the viewer in the docs: `python -m benchmarks.viewer_pictures [FOLDER]`.

Plays a small run and exports it with the bundled examples as one page; six views of it are
written to `docs/pictures` as PNG files. Needs the extra `dev` and a Chromium of the system.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from click.testing import CliRunner
from playwright.sync_api import Page, sync_playwright

from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.viewer.catalogue import EXAMPLES, Runs
from timeful.viewer.export import Choice, export_file

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
RUN = (
    "run realtime load --game snake --game freeway --agent reactive --agent planning --agent agile"
    " --seeds 2 --samples 1 --out"
)
_SNAKE = "snake-two-threads/e/token-snake-hard-agile-8192-r2048-seed0-sample0"
_INBOX = "inbox-loop-and-event-driven/e/single-{}-stand-in-seed0-episode0"
_DIALOGUE = "dialogue-with-lost-turns/e/time-pace-0-5000000-reasoning-asg-eager-0.2-dialogue0-run0"
VIEWS = {
    "episode": (f"#/{_SNAKE}?t=188.051s&v=120..230s", "light", 860),
    "inbox": (f"#/{_INBOX.format('event-driven')}?t=33.754974795s", "dark", 860),
    "dialogue": (f"#/{_DIALOGUE}?t=66s&v=0..140s", "light", 820),
    "run": ("#/realtime", "light", 620),
    "episodes": ("#/realtime/episodes?sort=score&down=1", "dark", 760),
    "compare": (
        f"#/compare?a={quote(_INBOX.format('event-driven'), safe='')}"
        f"&b={quote(_INBOX.format('loop'), safe='')}&t=20s",
        "light",
        900,
    ),
}
"""The address of each view, its theme and its height."""


def make_pictures(folder: Path) -> None:
    """Write a picture of each view."""
    path = os.environ.get("TIMEFUL_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise SettingsError("there is no chromium; install it or set TIMEFUL_CHROMIUM")
    with TemporaryDirectory() as inner:
        page = Path(inner, "page.html")
        export_file(
            Runs([make_run(Path(inner, "realtime")), *_examples(Path(inner))]), page, Choice()
        )
        with sync_playwright() as playwright:
            root = ["--no-sandbox"] if os.getuid() == 0 else []
            browser = playwright.chromium.launch(
                executable_path=path, args=["--disable-gpu", *root]
            )
            for name, (address, theme, height) in VIEWS.items():
                context = browser.new_context(
                    viewport={"width": 1280, "height": height},
                    color_scheme="dark" if theme == "dark" else "light",
                )
                tab = context.new_page()
                tab.goto(page.as_uri() + address)
                _wait(tab)
                folder.mkdir(parents=True, exist_ok=True)
                tab.screenshot(path=folder / f"viewer-{name}.png")
                context.close()
            browser.close()


def make_run(folder: Path) -> Path:
    """Play a small run into a folder."""
    result = CliRunner().invoke(app, [*RUN.split(), str(folder)], catch_exceptions=False)
    if result.exit_code:
        raise SettingsError(result.output)
    return folder


def _examples(folder: Path) -> list[Path]:
    """The bundled examples as runs of their own: a folder with their records as `.jsonl.xz`."""
    copies = [folder / path.name for path in sorted(EXAMPLES.iterdir()) if path.is_dir()]
    for copy in copies:
        shutil.copytree(EXAMPLES / copy.name, copy / "episodes")
        (copy / "settings.json").write_text(
            '{"suite":"proactor"}' if "dialogue" in copy.name else "{}", encoding="utf-8"
        )
    return copies


def _wait(tab: Page) -> None:
    """Wait until a view has all its parts."""
    tab.wait_for_selector("h1")
    tab.wait_for_function("() => !/Loading/.test(document.querySelector('#app').textContent)")
    # Two frames: sizes are read in the first, and drawn in the second.
    tab.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


if __name__ == "__main__":
    make_pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
