"""The card of a data set: what is in it, where it comes from, and what was left out.

It begins with the few lines of YAML by which `datasets` finds the files, so that a folder with a
card can be loaded, or uploaded, as it is.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from timeful.version import __version__

LICENCE = """\
Problems, worlds and prompts that timeful makes itself are under its licence, Apache-2.0. Problems,
games and dialogues of others keep theirs, and what a model said is under the terms of whoever
offers it: look at both before you pass these data on."""

Table = Mapping[str, object]
"""A row of a card's table for each entry."""


def write_card(
    path: Path, title: str, about: str, tables: Mapping[str, Table], files: Mapping[str, str]
) -> Path:
    """Write a card.

    Args:
        path: Where.
        title: Its heading.
        about: What the data are, in a sentence or two.
        tables: Tables of two columns by their headings; an empty one is left out.
        files: The file of each split.
    """
    paragraphs = [_front(files), f"# {title}", about]
    for heading, table in tables.items():
        if table:
            paragraphs.append(f"## {heading}\n\n{_table(table)}")
    paragraphs.append(f"## Licence\n\n{LICENCE}")
    paragraphs.append(f"Made by timeful {__version__}.")
    path.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8", newline="\n")
    return path


def listed(title: str, names: Sequence[str]) -> Table:
    """A table of numbered names."""
    return {f"{title} {number}": name for number, name in enumerate(names, 1)}


def _front(files: Mapping[str, str]) -> str:
    files_text = "\n".join(f"  - split: {split}\n    path: {name}" for split, name in files.items())
    return f"---\nconfigs:\n- config_name: default\n  data_files:\n{files_text}\n---"


def _table(table: Table) -> str:
    rows = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in table.items())
    return f"| what | value |\n| --- | --- |\n{rows}"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
