"""The page as one script, one style sheet and one HTML file, from the sources in `page/`.

The sources are small ES modules. A browser does not load modules from a disk, so `join_modules`
puts them into one classic script: in the order of their imports, without the lines that import and
export and without lines of comments, within one function. So all top-level names of the modules are
of one scope and unique.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

SOURCES = Path(__file__).with_name("page")
MAIN = "main.js"

_IMPORT = re.compile(r'^import\s+\{[\w\s,$]*\}\s+from\s+"\./([\w-]+\.js)";?[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|const\b|let\b|class\b)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
_REST = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_TOP = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) ([\w$]+)", re.MULTILINE)

Store = str
"""Where the page gets its data: "inline" (from its file), "folder" or "server"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCode:
    """The code of the page."""

    script: str
    style: str


@cache
def load_code(folder: Path = SOURCES) -> PageCode:
    """Join the sources of the page."""
    style = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.css")))
    return PageCode(script=join_modules(read_modules(folder)), style=style)


def read_modules(folder: Path) -> dict[str, str]:
    """The sources of a folder by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))}


def join_modules(sources: Mapping[str, str], main: str = MAIN) -> str:
    """Join ES modules into one classic script.

    Args:
        sources: The text of each module by its file name. They have imports of the form
            `import { a, b } from "./file.js";` and named exports at declarations, and no others.
        main: The module that imports all others.

    Raises:
        ValueError: If a module has another import or export, imports itself through others, or
            has a top-level name of another module.
    """
    order: list[str] = []
    _visit(main, sources, order, ())
    owners: dict[str, str] = {}
    pieces: list[str] = []
    for name in order:
        text = sources[name]
        for top in _TOP.findall(text):
            if owners.setdefault(top, name) != name:
                raise ValueError(f"{top} is a top-level name of {owners[top]} and of {name}")
        body = _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", text)))
        if rest := _REST.search(body):
            raise ValueError(f"{name}: this form is not joined: {rest[0]}")
        pieces.append(f"// {name}\n{body.rstrip()}\n")
    script = '(() => {\n"use strict";\n' + "\n".join(pieces) + "})();\n"
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("a script within a page must not contain </script or <!--")
    return script


def _visit(name: str, sources: Mapping[str, str], order: list[str], path: tuple[str, ...]) -> None:
    if name in path:
        raise ValueError(f"modules import each other: {' -> '.join((*path, name))}")
    if name not in sources:
        raise ValueError(f"{path[-1] if path else 'the page'} imports {name}, which does not exist")
    if name not in order:
        for other in _IMPORT.findall(sources[name]):
            _visit(other, sources, order, (*path, name))
        order.append(name)


def render_page(
    code: PageCode, *, store: Store, title: str = "timeful", data: Iterable[tuple[str, str]] = ()
) -> str:
    """The HTML file.

    Args:
        code: The code of the page; it is in the file for the store "inline", next to it otherwise.
        store: Where the page gets its data.
        title: The title of the window.
        data: Names, divided by spaces, and the base64 of gzip of their values: JSON, or a column
            where there are several. For the store "folder" the values are empty: the file
            `data/NAME.js`, after the first name, has them.
    """
    is_inline = store == "inline"
    values = "".join(
        f'<script type="application/octet-stream" data-names="{escape(names)}">{value}</script>\n'
        for names, value in data
    )
    if is_inline:
        policy = (
            f"default-src 'none'; script-src {_hash(code.script)}; style-src {_hash(code.style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        style, script = f"<style>{code.style}</style>", f"<script>{code.script}</script>"
    else:
        policy = ""
        style = '<link rel="stylesheet" href="page.css">'
        script = '<script src="page.js" defer></script>'
    header = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n' if policy else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en" data-store="{store}">\n<head>\n<meta charset="utf-8">\n'
        f'{header}<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n{style}\n</head>\n"
        f'<body>\n<div id="app"></div>\n'
        "<noscript>This page draws records with JavaScript, which is off here.</noscript>\n"
        f"{values}{script}\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
