"""A browser for tests: Chromium of the system, through Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LINE = "apt-get install -y --no-install-recommends chromium  # or set TIMEFUL_CHROMIUM"


def find_chromium() -> str:
    """The path of a Chromium; without one the test is skipped, or fails in CI."""
    wanted = os.environ.get("TIMEFUL_CHROMIUM")
    path = wanted or next(filter(None, map(shutil.which, NAMES)), None)
    if path is not None and os.access(path, os.X_OK):
        return path
    can_install = shutil.which("apt-get") is not None and os.getuid() == 0
    if wanted or (os.environ.get("CI") and can_install):
        pytest.fail(f"there is no Chromium for the tests of the page: {LINE}")
    pytest.skip(f"needs Chromium: {LINE}")


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium; `--no-sandbox` only for root, who cannot have the sandbox."""
    path = find_chromium()
    from playwright.sync_api import sync_playwright

    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Tab:
    """A page of the browser that notes its messages, dialogs and requests."""

    def __init__(self, browser: Any, *, width: int = 1280, theme: str = "light") -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=theme)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, address: str, ready: str = "h1") -> Any:
        from playwright.sync_api import TimeoutError as LateError

        self.page.goto(address)
        try:
            self.page.wait_for_selector(ready)
        except LateError:
            shown = self.page.locator("body").inner_text()[:2000]
            pytest.fail(f"{address} does not show {ready}; faults: {self.faults}; it has: {shown}")
        return self.page

    def close(self) -> None:
        self.context.close()
