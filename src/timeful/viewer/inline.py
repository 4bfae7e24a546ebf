"""The page of one episode in Python: in a browser, in a notebook, or as a file."""

import sys
import webbrowser
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from timeful.records.events import Entry
from timeful.viewer.export import episode_page

_HEIGHT = 720


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """A page as HTML; a notebook shows it below the cell."""

    html: str = field(repr=False)

    def save(self, path: Path | str) -> Path:
        """Write the page to a file, which opens without a network."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8", newline="\n")
        return path

    def open(self) -> Path:
        """Open the page in a browser, from a temporary file; returns its path."""
        path = self.save(Path(mkdtemp(prefix="timeful-"), "episode.html"))
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        # A frame of its own: neither page can change the other. It has an address of its own too,
        # which a frame by `srcdoc` lacks, so that its links and its history work.
        address = f"data:text/html;charset=utf-8;base64,{b64encode(self.html.encode()).decode()}"
        style = f"width:100%;height:{_HEIGHT}px;border:0"
        return f'<iframe src="{address}" sandbox="allow-scripts" style="{style}"></iframe>'


def view_events(events: Iterable[Entry]) -> EpisodePage:
    """Make the page of an episode; outside of a notebook, open it in a browser."""
    page = EpisodePage(episode_page(events))
    if not is_notebook():
        page.open()
    return page


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules
