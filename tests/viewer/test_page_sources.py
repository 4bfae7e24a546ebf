"""The page's code: one script without a build step, within its size, with no way in for texts."""

import gzip
import re

import pytest

from timeful.viewer.page import SOURCES, join_modules, load_code, read_modules

FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|srcdoc",
    r"\beval\b|new Function|setTimeout\(\s*[\"'`]|setInterval\(\s*[\"'`]|javascript:",
    r"\.setAttribute\(\s*[\"']on|\.on[a-z]+\s*=(?!=)|localStorage|sessionStorage|document\.cookie",
    r"https?://|\bWebSocket\b|XMLHttpRequest|sendBeacon|import\(",
)


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_the_sources_have_no_way_in_for_texts_and_no_way_out(pattern: str) -> None:
    for name, text in read_modules(SOURCES).items():
        hits = [hit for hit in re.findall(pattern, text) if hit not in (".onload =", ".onerror =")]
        assert not hits, f"{name} has {hits}"


def test_the_style_loads_nothing() -> None:
    assert not re.search(r"@import|url\(|expression\(", load_code().style)


def test_the_page_is_within_its_size() -> None:
    code = load_code()
    plain = (code.script + code.style).encode()
    assert len(plain) <= 150_000
    assert len(gzip.compress(plain, 6)) <= 45_000
    assert plain.count(b"\n") <= 3_000


def test_top_level_names_are_unique_over_all_modules() -> None:
    clash = {
        "main.js": 'import { a } from "./a.js";\nconst b = a;\n',
        "a.js": "export const a = 1;\n",
    }
    assert "const b = a;" in join_modules(clash)
    with pytest.raises(ValueError, match="top-level"):
        join_modules({**clash, "a.js": "export const a = 1;\nconst b = 2;\n"})


def test_only_fetches_and_events_of_the_own_server_are_asked_for() -> None:
    text = "".join(read_modules(SOURCES).values())
    assert len(re.findall(r"\bfetch\(", text)) == 1
    assert re.findall(r"new EventSource\(([^)]*)\)", text) == ['"/api/changes"']


def test_modules_import_what_others_export_and_use_it() -> None:
    sources = read_modules(SOURCES)
    for name, text in sources.items():
        imports = re.findall(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";\n', text, re.MULTILINE)
        body = re.sub(r"^import .*\n", "", text, flags=re.MULTILINE)
        for names, source in imports:
            for word in (item.strip() for item in names.split(",")):
                export = rf"^export (?:async )?(?:function|const|let) {word}\b"
                assert re.search(export, sources[source], re.MULTILINE), f"{source} has no {word}"
                assert re.search(rf"\b{word}\b", body), f"{name} does not use {word}"
        assert text.count("\n") <= 500, f"{name} is too long"
