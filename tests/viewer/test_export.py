"""Pages that need no server, and the joining of their sources."""

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import timeful
from tests.viewer.material import HOSTILE, game, read_column, write_record, write_run
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.viewer.catalogue import EXAMPLES, Runs
from timeful.viewer.columns import to_column
from timeful.viewer.export import Choice, export_file, export_folder, export_page, find_place
from timeful.viewer.inline import view_events
from timeful.viewer.page import SOURCES, join_modules, load_code, read_modules


class Data(HTMLParser):
    """The values of a page by their names, and its other tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, bytes] = {}
        self.tags: list[str] = []
        self._names: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._names = (dict(attrs).get("data-names") or "").split()

    def handle_data(self, data: str) -> None:
        if self._names:
            value = gzip.decompress(b64decode(data))
            parts = [value]
            if len(self._names) > 1:
                parts = [json.dumps(part).encode() for part in read_column(json.loads(value))]
            self.values |= zip(self._names, parts, strict=True)
            self._names = []

    def json(self, name: str) -> Any:
        return json.loads(self.values[name])


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    write_run(tmp_path / "runs" / "one")
    write_run(tmp_path / "runs" / "two", count=1)
    return Runs([tmp_path / "runs"])


def test_one_file_has_every_part_of_every_episode(runs: Runs) -> None:
    data = Data(export_page(runs))
    names = {"catalogue", "rows-0", "rows-1"}
    for place in ("0-0", "0-1", "1-0"):
        names |= {f"part-{place}-{part}" for part in ("lanes", "texts", "frames")}
    assert set(data.values) == names
    assert [run["name"] for run in data.json("catalogue")["runs"]] == ["one", "two"]
    assert data.json("rows-0")["keys"] == ["e0", "e1"]
    assert data.json("part-1-0-texts")["strings"] == [HOSTILE]


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-4, 4).map(lambda number: number * 1_000_000)
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=6))
def test_a_column_gives_back_its_values(values: list[Any]) -> None:
    written = json.dumps(to_column(values))
    assert json.dumps(read_column(json.loads(written))) == json.dumps(values)


def test_an_export_of_several_episodes_leaves_out_the_seeds_of_thoughts(runs: Runs) -> None:
    tables = Data(export_page(runs)).json("part-0-0-texts")["events"]
    assert any("thought" in table["columns"] for table in tables)
    assert not any("seed" in table["columns"] for table in tables)


def test_an_export_is_the_same_bytes_each_time(runs: Runs, tmp_path: Path) -> None:
    assert export_page(runs) == export_page(Runs([tmp_path / "runs"]))


def test_hostile_text_is_no_markup_of_the_page(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    run = write_run(tmp_path / "runs" / "a", game=HOSTILE)
    write_record(run / "episodes" / f"{name}.jsonl", game())
    runs = Runs([write_run(tmp_path / "runs" / "\x1b[31m\u202e=1+1<b>").parent])
    page = export_page(runs, title=HOSTILE)
    export_folder(runs, tmp_path / "folder", Choice())
    names = [path.name for path in (tmp_path / "folder" / "data").iterdir()]
    assert all(re.fullmatch(r"[a-z]+(-[0-9a-z]+)*\.js", name) for name in names)
    assert set(Data(page).tags) <= {
        *("html", "head", "meta", "title", "style", "body", "div", "noscript", "script", "link"),
    }
    assert re.findall("<link[^>]*>", page) == ['<link rel="icon" href="data:,">']
    assert "alert(1)>" not in page
    assert not set("\x1b\0\u202e") & set(page.partition("</title>")[2])


def test_the_policy_of_a_page_allows_its_own_script_alone(runs: Runs) -> None:
    page = export_page(runs)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "'unsafe" not in policy[1]
    assert policy[1].count("'sha256-") == 2


def test_parts_are_left_out_and_the_page_says_so(runs: Runs) -> None:
    with pytest.raises(SettingsError):
        export_page(runs, Choice(where=(("colour", "red"),)))
    data = Data(export_page(runs, Choice(without=("prompts", "states"))))
    assert data.json("catalogue")["left_out"] == ["prompts", "states"]
    texts = data.json("part-0-0-texts")
    assert texts["strings"] == []
    assert texts["thoughts"][0]["text"] == "left"
    assert data.json("part-0-0-frames")["at"] == []


def test_without_texts_no_word_of_a_model_or_person_is_left(runs: Runs) -> None:
    page = Data(export_page(runs, Choice(without=("texts",))))
    for name in page.values:
        if name.startswith("part"):
            text = json.dumps(page.json(name))
            assert "alert" not in text
            assert '"left"' not in text


def test_only_the_chosen_episodes_are_written(tmp_path: Path) -> None:
    write_run(tmp_path / "run", count=3)
    data = Data(export_page(Runs([tmp_path / "run"]), Choice(where=(("seed", "2"),))))
    assert data.json("rows-0")["keys"] == ["e2"]
    assert data.json("catalogue")["runs"][0]["episodes"] == 1
    assert "part-0-1-lanes" not in data.values


def test_chosen_episodes_have_a_place_in_the_page(tmp_path: Path) -> None:
    write_run(tmp_path / "run", count=3)
    runs = Runs([tmp_path / "run"])
    assert find_place(runs, Choice(where=(("seed", "2"),))) == "#/~0/e/e2"
    assert find_place(runs, Choice(where=(("key", "e1"),))) == "#/~0/e/e1"
    place = find_place(runs, Choice(where=(("status", "ok"),)))
    assert unquote(place) == '#/~0/episodes?where={"status":"ok"}'
    with pytest.raises(SettingsError):
        find_place(runs, Choice(where=(("seed", "7"),)))
    write_run(tmp_path / "other", count=1)
    with pytest.raises(SettingsError):
        find_place(Runs([tmp_path]), Choice(where=(("seed", "2"),)))


def test_an_episode_that_cannot_be_read_says_so_in_an_export(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "one", count=1)
    (tmp_path / "outside.jsonl").write_text("{}")
    (run / "episodes" / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    data = Data(export_page(Runs([tmp_path / "runs"])))
    assert data.json("rows-0")["keys"] == ["e0", "link"]
    assert data.json("part-0-1-lanes")["notices"]
    assert not data.json("part-0-0-lanes")["notices"]


def test_a_folder_has_one_call_a_file(runs: Runs, tmp_path: Path) -> None:
    out = tmp_path / "page"
    size = export_folder(runs, out, Choice())
    files = [path for path in out.rglob("*") if path.is_file()]
    assert size == sum(path.stat().st_size for path in files)
    script = (out / "data" / "part-0-0-lanes.js").read_text()
    match = re.fullmatch(r'timefulData\("part-0-0-lanes", "([\w+/=]+)"\);\n', script)
    assert match is not None
    index = (out / "index.html").read_text()
    names = re.search('data-names="(part-0-0-lanes[^"]*)"', index)
    assert names is not None
    assert names[1].split() == [f"part-{place}-lanes" for place in ("0-0", "0-1", "1-0")]
    packs = read_column(json.loads(gzip.decompress(b64decode(match[1]))))
    assert [pack["pack"] for pack in packs] == [1, 1, 1]
    export_folder(runs, out, Choice())  # its own page is written again


def test_a_folder_of_something_else_is_not_written_to(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(SettingsError):
        export_folder(runs, tmp_path / "mine", Choice())


def test_a_large_file_is_refused_unless_it_is_wanted(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeful.viewer.export.LARGEST_FILE", 1_000)
    with pytest.raises(SettingsError):
        export_file(runs, tmp_path / "a.html", Choice())
    assert not (tmp_path / "a.html").exists()
    assert export_file(runs, tmp_path / "a.html", Choice(), is_single=True) > 1_000


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["view", str(run), "--export", str(out)])
    assert result.exit_code == 0
    assert Data(out.read_text()).json("rows-0")["run"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere",),
        ("--single",),
        (__file__,),
        ("--export", "x.html", "--port", "1"),
        ("--export", "x.html", "--episodes", "seed"),
        ("--host", "0.0.0.0", "--no-token"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["view", *arguments])
    assert isinstance(result.exception, SettingsError)


def test_where_no_run_is_three_examples_are_shown(tmp_path: Path) -> None:
    catalogue = Runs([tmp_path / "runs"], examples=EXAMPLES).catalogue()
    assert [entry.kind for entry in catalogue.runs] == ["example"] * 3
    assert str(tmp_path) in catalogue.hint
    assert sum(p.stat().st_size for p in EXAMPLES.rglob("*.xz")) <= 150_000
    write_run(tmp_path / "runs" / "mine")
    runs = Runs([tmp_path / "runs"], examples=EXAMPLES)
    assert [entry.name for entry in runs.catalogue().runs] == ["mine"]
    assert not runs.catalogue().hint


def test_an_episode_is_shown_from_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    episode = timeful.Episode(events=tuple(game()))
    page = episode.view()
    assert opened[0].startswith("file:")
    assert Data(page.html).json("rows-0")["keys"] == ["episode"]
    assert page._repr_html_().startswith('<iframe src="data:text/html')
    monkeypatch.setitem(__import__("sys").modules, "ipykernel", None)
    view_events(game())
    assert len(opened) == 1


def test_modules_are_joined_in_the_order_of_their_imports() -> None:
    sources = {
        "main.js": 'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\na(b);\n',
        "a.js": 'import { b } from "./b.js";\nexport function a(x) { return b + x; }\n',
        "b.js": "export const b = 1;\n",
    }
    script = join_modules(sources)
    assert script.index("const b") < script.index("function a") < script.index("a(b)")
    assert "import" not in script
    assert "export" not in script


@pytest.mark.parametrize(
    "sources",
    [
        {"main.js": 'import x from "./a.js";\n', "a.js": ""},
        {"main.js": 'import { a } from "./a.js";\n'},
        {"main.js": "export default 1;\n"},
        {
            "main.js": 'import { a } from "./a.js";\nconst b = a;\n',
            "a.js": "const b = 1;\nexport const a = b;\n",
        },
        {"main.js": 'import { a } from "./a.js";\n', "a.js": 'import { m } from "./main.js";\n'},
        {"main.js": 'const a = "</script>";\n'},
    ],
)
def test_sources_that_cannot_be_joined_are_refused(sources: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        join_modules(sources)


def test_the_sources_of_the_page_are_joined_and_small() -> None:
    code = load_code()
    size = len(code.script.encode()) + len(code.style.encode())
    assert size <= 150_000
    assert len(gzip.compress((code.script + code.style).encode())) <= 45_000


FORBIDDEN = (
    *(r"\.innerHTML", r"\.outerHTML", r"insertAdjacentHTML", r"document\.write", r"\beval\("),
    *(r"new Function", r"\bon\w+\s*=\s*[\"']", r"setAttribute\(\s*[\"'](?:on|style)", "DOMParser"),
    *(r"createContextualFragment", r"srcdoc", r"setTimeout\(\s*[\"'`]", r"javascript:"),
)


@pytest.mark.parametrize("name", sorted(read_modules(SOURCES)))
def test_the_page_writes_text_as_text(name: str) -> None:
    text = read_modules(SOURCES)[name]
    assert [word for word in FORBIDDEN if re.search(word, text)] == []
