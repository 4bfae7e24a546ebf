"""What the report shows: verdicts at a glance, everything labelled, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.suites.proactor.material import SMALL, foresee, run, turns
from timeful.agents.proactive import agent, parse
from timeful.dialogues.prediction import Prediction
from timeful.errors import SettingsError
from timeful.experiments.run import report_suite
from timeful.metrics.proactor.episodes import Conversed, SentPrediction
from timeful.metrics.proactor.files import PredictedTurn
from timeful.reports.results import read_results
from timeful.suites.proactor.suite import NOTES, suite
from timeful.suites.proactor.timeline import draw, order_actions

PAY = foresee("pay", "ready_to_trigger", "Ada <b>")


def conversed(
    made: list[PredictedTurn],
    lost: tuple[int, ...] = (),
    predictions: tuple[SentPrediction, ...] = (),
) -> Conversed:
    return Conversed(
        settings={},
        dialogue="by hand",
        subflow="",
        synthetic=True,
        turns=tuple(made),
        transcript=(),
        arrived=(),
        predictions=predictions,
        questions=(),
        lost=lost,
        notes={},
        tokens=0,
    )


def marks(conversed: Conversed) -> dict[str, list[str]]:
    """The marks of each action, by turn."""
    return {str(row[0]): [entry.text for entry in row[1:]] for row in draw(conversed).rows}  # type: ignore[union-attr]


def test_early_in_time_late_and_false_each_have_a_mark_of_their_own() -> None:
    made = turns(
        [PAY], [PAY], [PAY], [foresee("send", "triggered")], [foresee("pay", "pending")], pay=(2,)
    )
    assert marks(conversed(made)) == {
        "pay": ["▸", "▁●", "◂", "", "○"],
        "send": ["", "", "", "✕", ""],
    }


def test_lost_turns_are_seen_and_rows_are_in_the_order_of_the_reference() -> None:
    made = turns([foresee("send", "pending")], [], [], pay=(3,), open=(1, 2))
    assert order_actions(made) == ["open", "pay", "send"]
    assert draw(conversed(made, lost=(2, 3))).head == ("action", "1", "2!", "3!")
    assert draw(conversed([])).rows == ()


def test_what_came_late_is_in_parentheses_in_the_turn_that_it_was_for() -> None:
    made = turns([], [], pay=(1,))
    late = SentPrediction(at=5, is_late=True, prediction=Prediction(turn=1, opportunities=(PAY,)))
    assert marks(conversed(made, lost=(1,), predictions=(late,))) == {"pay": ["▁(●)", ""]}
    in_time = SentPrediction(at=5, is_late=False, prediction=late.prediction)
    assert marks(conversed(made, lost=(1,), predictions=(in_time,))) == {"pay": ["▁", ""]}


OURS = {"Non-Reasoning, cautious 0.7", "Non-Reasoning, eager 0.2"}


def test_a_report_labels_stand_ins_and_published_rows_and_loads_nothing(tmp_path: Path) -> None:
    results = run(tmp_path)
    page = results.report().read_text()
    assert suite.notice in page
    assert page.count("<h2>Dialogue ") == SMALL["dialogues"]
    assert len(list((tmp_path / "dialogues").glob("*.html"))) == SMALL["dialogues"]
    assert not re.search(r"<script|<link|<iframe|src=\"http|@import", page)
    rows = read_results(tmp_path / "results.json")
    assert {row.method for row in rows if row.published is None} == {*OURS, "the references"}
    metrics = {row.metric for row in rows if row.method in OURS}
    assert {"ATR", "AD", "IC by tfidf", "run-to-run consistency, combined"} <= metrics
    assert {row.metric for row in rows if row.method == "the references"} >= {"EC, sigma 4"}
    for data in ("ABCD+", "Home Loan"):
        assert page.count(f"Table 5, published: {data}") == 1
    text = results.table()
    assert max(map(len, text.splitlines())) <= 80
    for title in ("Table 1: domain shop", "Further metrics", "Table 8", "Time: "):
        assert title in text


def test_only_what_is_wrong_is_red_in_the_table_of_turns(tmp_path: Path) -> None:
    run(tmp_path, SMALL)
    page = (tmp_path / "dialogues" / "001.html").read_text()
    red = re.findall(r'<div class="alarm">([^<:]+)', page)
    assert set(red) <= {"false", "too late", "lost"}
    assert "false" in red
    assert not re.search(r'<td class="alarm"', page), "and no whole place of it"
    assert re.search(r"<div>(in time|early): ", page)


def test_what_agents_note_is_explained(tmp_path: Path) -> None:
    topics = re.findall(r"^\| `(.+)` \|", str(parse.__doc__), re.MULTILINE)
    topics += re.findall(r"`(\w+-\w+)`", str(agent.__doc__))
    assert set(topics) == set(NOTES) - {"refused-prediction"}
    assert any("Noted: skipped-turns" in line for line in run(tmp_path).table().splitlines())
    page = (Path(__file__).parents[3] / "docs" / "proactor.md").read_text()
    assert all(f"`{topic}`" in page for topic in NOTES)


@pytest.mark.slow
def test_any_dialogue_can_be_opened_and_the_usual_report_stays_light(tmp_path: Path) -> None:
    run(tmp_path)
    names = [row.dialogue for row in report_suite(suite, tmp_path).episodes if row.run == 0]
    first, second = sorted(set(names))
    folder = tmp_path / "dialogues"

    def drawn(pages: int | str) -> list[str]:
        report_suite(suite, tmp_path, {"pages": pages})
        return sorted(path.name for path in folder.glob("*.html"))

    assert drawn(1) == ["001.html"]
    page = (tmp_path / "report.html").read_text()
    assert f'<a href="dialogues/001.html">{first}</a>' in page
    assert second in page, "in the list, but no link to it"
    assert "dialogues/002.html" not in page
    assert drawn(second) == ["001.html", "002.html"], "one more by its name, the others stay"
    assert f"<title>Dialogue {second}</title>" in (folder / "002.html").read_text()
    assert 'href="dialogues/002.html"' in (tmp_path / "report.html").read_text()
    assert drawn(0) == []
    assert drawn("all") == ["001.html", "002.html"]
    page = (folder / "001.html").read_text()
    assert '<a href="../report.html">the report</a>' in page
    assert f'<a href="002.html">next: Dialogue {second}</a>' in page
    assert "Of 2 runs the first is drawn." in page
    with pytest.raises(SettingsError, match="unknown dialogue"):
        drawn("shop-9")
