"""The report: complete for any episodes, self-contained, and the same every time."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.suites.realtime.synthetic_rows import condition, episode, failed, whole_suite
from timeful.records.rows import EpisodeRow
from timeful.reports.results import read_results
from timeful.suites.realtime.report import write_report

FILES = ("report.html", "results.json", "table.csv", "episodes.csv")
VOID = {"meta", "img", "br"}


class Checker(HTMLParser):
    """Checks that tags close in order, and collects what a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(rows: list[EpisodeRow], folder: Path, **settings: object) -> str:
    path = write_report(rows, folder, settings)
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    return path.read_text(encoding="utf-8")


def check(page: str) -> None:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    outside = [link for link in checker.links if not link.startswith(("#", "data:"))]
    assert outside == []
    assert {link[1:] for link in checker.links if link.startswith("#")} <= set(checker.ids)
    for name in re.findall(r"url\(#([^)]*)\)", page):
        assert name in checker.ids
    assert "@import" not in page
    assert "<script" not in page


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    return page_of(whole_suite(), folder, seeds=8, command="timeful run realtime"), folder


def test_the_page_loads_nothing_from_elsewhere_and_is_well_formed(whole: tuple[str, Path]) -> None:
    check(whole[0])


def test_the_whole_suite_gets_its_four_figures(whole: tuple[str, Path]) -> None:
    figures = re.findall(r"<svg.*?</svg>", whole[0], flags=re.DOTALL)
    assert len(figures) == 4
    for figure in figures:
        ElementTree.fromstring(figure)


def test_the_page_says_what_was_run_and_what_it_is_not(whole: tuple[str, Path]) -> None:
    page, _ = whole
    assert "Stand-in: search reasoner, no language model was run." in page
    assert "timeful run realtime" in page
    assert "theirs 0.89" in page
    assert "no target for another model" in page
    assert "Overcooked in compat mode ignores its game seed" in page


def test_the_results_can_be_read_back(whole: tuple[str, Path]) -> None:
    rows = read_results(whole[1] / "results.json")
    assert {row.metric for row in rows} == {"score", "raw", "p_t", "p_permutation"}
    lines = (whole[1] / "table.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rows) + 1
    episodes = (whole[1] / "episodes.csv").read_text(encoding="utf-8").splitlines()
    assert len(episodes) == len(whole_suite()) + 1


def test_the_same_episodes_give_the_same_bytes_in_any_order(
    whole: tuple[str, Path], tmp_path: Path
) -> None:
    settings = {"seeds": 8, "command": "timeful run realtime"}
    write_report(whole_suite()[::-1], tmp_path, settings)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (whole[1] / name).read_bytes()


SUBSETS = {
    "nothing": [],
    "one episode": [episode()],
    "only failures": [failed(game_seed=seed) for seed in range(60)],
    "one agent": condition(agent="planning", game="snake"),
    "an unknown agent": condition(agent="tortoise", tokens_per_step=1234),
    "only wall time": condition(
        agent="agile", clock="wall", tokens_per_step=None, seconds_per_step=6.5
    ),
    "only a sweep": [
        episode(agent="agile", reserve=r, reactor_tokens=(90, r)) for r in (512, 4096)
    ],
    "failures in a sweep": [
        failed(agent="agile", reserve=512),
        episode(agent="agile", reserve=1024),
    ],
    "two models": [*condition(seeds=2), *condition(seeds=2, model="llama", stand_in=False)],
    "scores above one": condition(game="snake", skill=1.5),
    "reduced": condition(agent="agile-reduced", tokens_per_step=4096),
    "hard": condition(agent="agile", difficulty="hard", tokens_per_step=32768),
    "no turns": [episode(turns=0, late_turns=0)],
}


@pytest.mark.parametrize("name", SUBSETS)
def test_any_episodes_make_a_whole_page(name: str, tmp_path: Path) -> None:
    check(page_of(SUBSETS[name], tmp_path))


def test_nothing_run_is_said(tmp_path: Path) -> None:
    assert "nothing was run" in page_of([], tmp_path)


def test_failures_are_listed_with_their_errors(tmp_path: Path) -> None:
    page = page_of(SUBSETS["only failures"], tmp_path)
    assert "Every episode failed" in page
    assert "ModelTimeoutError: nothing for 60 s" in page
    assert "The first 50 are shown" in page
    assert page.count("ModelTimeoutError") == 50


def test_partly_a_stand_in_is_said(tmp_path: Path) -> None:
    page = page_of(SUBSETS["two models"], tmp_path)
    assert "Stand-in for some rows: search is no language model." in page


def test_scores_above_one_are_explained(tmp_path: Path) -> None:
    assert "Some episodes score above 1" in page_of(SUBSETS["scores above one"], tmp_path)


def test_words_from_outside_are_escaped(tmp_path: Path) -> None:
    page = page_of([failed(error="<script>alert(1)</script>")], tmp_path, note="<b>&")
    check(page)
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;&amp;" in page


def test_settings_are_shown_in_words(tmp_path: Path) -> None:
    page = page_of(
        [episode()], tmp_path, games=("snake", "freeway"), pace=None, model={"k": [1, 2]}
    )
    assert "<td>snake, freeway</td>" in page
    assert "<td>none</td>" in page
    assert "<td>k: 1, 2</td>" in page


def test_importing_the_report_does_not_import_matplotlib() -> None:
    import subprocess
    import sys

    code = "import sys, timeful.suites.realtime.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_models_name_is_words_and_never_markup(tmp_path: Path) -> None:
    names = ("a$\\b$-->", "<script>alert(1)</script>")
    rows = [episode(model=name, game_seed=seed) for name in names for seed in range(2)]
    page = page_of(rows, tmp_path)
    assert "<script" not in page
    assert "reactive (&lt;script&gt;alert(1)&lt;/script&gt;)" in page
    assert page.count("<figure>") == 1


def test_what_was_published_and_not_run_stands_in_a_section_of_its_own(tmp_path: Path) -> None:
    page = page_of([episode()], tmp_path)
    _, _, left = page.partition("Published, and not run here")
    for table in ("Table 2", "Table 8", "Table 9", "Table 10", "Table 11"):
        assert table in left
