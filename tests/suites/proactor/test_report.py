"""What the report shows: verdicts at a glance, everything labelled, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.suites.proactor.material import RIG, SMALL, foresee, run, turns
from timeful.agents.proactive import agent, parse
from timeful.dialogues.prediction import Prediction
from timeful.errors import SettingsError
from timeful.metrics.proactor.episodes import Conversed, SentPrediction
from timeful.metrics.proactor.files import PredictedTurn
from timeful.reports.results import read_results
from timeful.runs.experiment import report_again
from timeful.suites.proactor.published import PUBLISHED
from timeful.suites.proactor.run import experiment
from timeful.suites.proactor.tables import text_tables
from timeful.suites.proactor.timeline import BAR, COLOURS, draw, rows_of
from timeful.suites.proactor.words import NOTES

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


def without_legend(svg: str) -> str:
    return svg.partition("ready in the reference")[0].rpartition("<rect")[0]


def test_early_in_time_late_and_false_each_have_a_mark_of_their_own() -> None:
    made = turns(
        [PAY], [PAY], [PAY], [foresee("send", "triggered")], [foresee("pay", "pending")], pay=(2,)
    )
    drawn = without_legend(draw(conversed(made)))
    says = re.findall(r"<title>turn (\d): (\w+), \w+ \(([\w ]+)\)", drawn)
    assert says == [
        ("1", "pay", "early"),
        ("2", "pay", "in time"),
        ("3", "pay", "too late"),
        ("4", "send", "false"),
        ("5", "pay", "not ready"),
    ]
    for what in ("early", "in time", "too late", "false"):
        assert drawn.count(COLOURS[what]) == 1, what  # type: ignore[index]
    assert drawn.count(BAR) == 1, "a bar for each ready turn of the reference"
    assert "<b>" not in drawn, "what a model says is no markup"


def test_lost_turns_are_seen_and_rows_are_in_the_order_of_the_reference() -> None:
    made = turns([foresee("send", "pending")], [], [], pay=(3,), open=(1, 2))
    assert rows_of(made) == ["open", "pay", "send"]
    drawn = draw(conversed(made, lost=(2, 3)))
    assert drawn.count("lost, nothing was predicted in time") == 2
    assert draw(conversed([])).startswith("<svg")


def test_what_came_late_is_faint_in_the_turn_that_it_was_for() -> None:
    made = turns([], [], pay=(1,))
    late = SentPrediction(at=5, is_late=True, prediction=Prediction(turn=1, opportunities=(PAY,)))
    drawn = draw(conversed(made, lost=(1,), predictions=(late,)))
    assert drawn.count('<g opacity="0.55">') == 1
    assert "turn 1: pay, ready_to_trigger (in time)" in drawn
    in_time = SentPrediction(at=5, is_late=False, prediction=late.prediction)
    assert 'opacity="0.55"' not in draw(conversed(made, lost=(1,), predictions=(in_time,)))


def test_a_report_labels_stand_ins_and_published_rows_and_loads_nothing(tmp_path: Path) -> None:
    finished = run(tmp_path)
    page = finished.report.read_text()
    assert "no language model was run" in page
    assert "Nobody ever held these conversations" in page
    assert "none of it was run here" in page
    assert page.count("<h2>Dialogue ") == RIG.source.size
    assert len(list((tmp_path / "dialogues").glob("*.html"))) == RIG.source.size
    assert not re.search(r"<script|<link|<iframe|src=\"http|@import", page)
    found = read_results(tmp_path / "results.json")
    assert all((row.value is None) == (row.method not in OURS) for row in found if row.published)
    assert not any(row.published for row in found if row.method in OURS)
    further = {row.metric for row in found if row.method in OURS}
    assert {"ATR", "false triggered", "FRR", "AD", "IC by tfidf"} <= further
    assert "run-to-run consistency, combined" in further
    assert {row.metric for row in found if row.method == "the references"} >= {"EC, sigma 4"}
    assert {row.method for row in found if row.published is None} == {*OURS, "the references"}
    pri = [row for row in found if row.metric.startswith("PRI in the group")]
    assert len(pri) == len(OURS)
    assert all(name in pri[0].metric for name in OURS)


OURS = {"Non-Reasoning, cautious 0.7", "Non-Reasoning, eager 0.2"}


def test_tables_fit_a_terminal_and_name_their_group(tmp_path: Path) -> None:
    rows = run(tmp_path, SMALL).rows
    said = text_tables(rows, {"source": {"size": 2}})
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("± over 2 runs") == 4, "in Table 1 and in the further metrics"
    group = said.partition("PRI within this group")[2].partition("\n\n")[0]
    assert all(name in " ".join(group.split()) for name in OURS)
    for title in (
        "Table 1: domain shop",
        "Further metrics",
        "EC, ready so many turns",
        "Published, ABCD+",
        "Table 8",
        "By action",
        "By subflow",
    ):
        assert title in said
    assert "Next: --domain loan" in said
    asked = text_tables(rows, {"source": {"size": 2, "domain": "loan"}, "asks": True})
    assert "Next: --data FILE" in asked, "what was not tried, and nothing else"
    lost = [line.split()[1] for line in said.splitlines() if re.match(r" +(1000|50)  ", line)]
    assert len(lost) == 4


def test_only_what_is_wrong_is_red_in_the_table_of_turns(tmp_path: Path) -> None:
    run(tmp_path, SMALL)
    page = (tmp_path / "dialogues" / "001.html").read_text()
    red = re.findall(r'<div class="alarm">([^<:]+)', page)
    assert set(red) <= {"false", "too late", "lost"}
    assert "false" in red
    assert not re.search(r'<td class="alarm">', page), "and no whole place of it"
    assert re.search(r"<div>(in time|early): ", page)


def test_the_published_rows_of_each_data_stand_once(tmp_path: Path) -> None:
    page = run(tmp_path, SMALL).report.read_text()
    for data in PUBLISHED:
        assert page.count(f"Table 5, published: {data}.") == 1


def test_what_agents_note_is_explained(tmp_path: Path) -> None:
    rows = run(tmp_path, SMALL).rows
    topics = re.findall(r"^\| `(.+)` \|", str(parse.__doc__), re.MULTILINE)
    topics += re.findall(r"`(\w+-\w+)`", str(agent.__doc__))
    assert set(topics) == set(NOTES) - {"refused-prediction"}
    said = " ".join(text_tables(rows, {"source": {"size": 2}}).split())
    assert re.search(r"Noted: skipped-turns \d+, times that the next turns came", said)
    page = (Path(__file__).parents[3] / "docs" / "proactor.md").read_text()
    assert all(f"`{topic}`" in page for topic in NOTES)


def test_any_dialogue_can_be_opened_and_the_usual_report_stays_light(tmp_path: Path) -> None:
    run(tmp_path)
    names = [row.dialogue for row in report_again(experiment(), tmp_path).rows if row.run == 0]
    first, second = sorted(set(names))
    folder = tmp_path / "dialogues"

    def drawn(pages: int | str) -> list[str]:
        report_again(experiment(pages=pages), tmp_path)
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
