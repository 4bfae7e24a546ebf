"""The report of a training, from its settings and metrics alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from timeful.cli.report import report
from timeful.errors import RecordError
from timeful.training.report import write_report

SETTINGS = {"model": {"path": "m"}, "grpo": {"max_steps": 90}, "judge": None, "run": {"seed": 0}}


def folder(out: Path, lines: list[dict[str, Any]], more: str = "", **settings: Any) -> Path:
    out.mkdir(exist_ok=True)
    (out / "settings.json").write_text(json.dumps({**SETTINGS, **settings}))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (out / "metrics.jsonl").write_text(text + more)
    return out


def test_the_tokens_of_judges_are_in_the_report(tmp_path: Path) -> None:
    out = folder(tmp_path / "it", [line(1)])
    usage = {"prompt": 100, "completion": 10, "counted": "settled"}
    for name in ("ruler.jsonl", "ruler-1.jsonl"):
        lines = [
            {"key": k, "group": k, "judge": "kind", "messages": [], "tries": 1, "usage": usage}
            for k in "abc"
        ]
        (out / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
    report = write_report(out)
    assert "kind, judge: 600 tokens of prompts, 60 generated (settled)" in report.text
    assert "kind" in report.page.read_text()


def line(update: int, **others: Any) -> dict[str, Any]:
    return {
        "update": update,
        "episodes": 8,
        "failed": 1,
        "unrewarded": 1,
        "reward": update / 100,
        "tokens": {"10s": 5.0 * update, "2s": 4.0},
        "right_in_time": {"10s": 0.5, "2s": 0.25},
        "trl": {"loss": 0.0, "step_time": 30.0},
        **others,
    }


def test_it_compares_the_first_updates_with_the_last_in_80_columns(tmp_path: Path) -> None:
    alarm = "collapsed to one length: 4; nothing to learn: " + "many words, " * 9
    lines = [line(n, **({"alarm": alarm} if n in (20, 24) else {})) for n in range(1, 25)]
    out = folder(tmp_path / "it", lines, more='{"update": 25, "re')
    said = CliRunner().invoke(report, [str(out)])
    assert said.exit_code == 0, said.exception
    rows = [" ".join(row.split()) for row in said.stdout.splitlines()]
    assert rows[0].endswith("it: 24 of 90 updates, not at its end"), "the last line is not whole"
    assert "1 to 10 15 to 24" in rows
    assert "reward 0.055 0.195" in rows
    assert rows.index("tokens in 2s 4.0 4.0") + 1 == rows.index("tokens in 10s 27.5 97.5")
    assert "right in 2s 0.250 0.250" in rows
    assert "alarm updates 20 to 24, 2 of them: collapsed to one length: 4" in rows
    assert any(
        row.startswith("alarm updates 20 to 24, 2 of them: nothing to learn") for row in rows
    )
    assert "failed 24 of 192 episodes" in rows
    assert not any("unjudged" in row for row in rows)
    assert "time 720 s in updates" in rows
    assert max(map(len, said.stdout.splitlines()[1:-1])) <= 80
    page = (out / "report.html").read_text()
    assert "collapsed to one length: 4" in page
    assert page.count("<svg") == 1
    assert "run.seed" in page
    again = [path.read_bytes() for path in (out / "curves.svg", out / "report.html")]
    write_report(out)
    assert again == [path.read_bytes() for path in (out / "curves.svg", out / "report.html")]


def test_of_turns_there_is_no_budget_and_rewards_may_be_below_zero(tmp_path: Path) -> None:
    turns = [line(n, reward=-2.0, tokens={"none": 7.0}, right_in_time={}) for n in (1, 2, 3)]
    (tmp_path / "policy").mkdir()
    text = write_report(folder(tmp_path, turns)).text
    assert "3 of 90 updates, trained" in text
    assert "tokens                               7.0" in text
    assert "right in" not in text
    for one in turns:
        one["tokens"] = {}  # nobody said a word
    assert "tokens" not in write_report(folder(tmp_path, turns)).text


def test_of_examples_it_has_the_loss(tmp_path: Path) -> None:
    lines = [{"update": n, "trl": {"loss": 1 / n, "mean_token_accuracy": 0.5}} for n in (1, 2)]
    text = write_report(folder(tmp_path, lines, grpo={}, sft={"batch": 2})).text
    assert "2 updates" in text
    assert "loss                              1.0000          0.5000" in text
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "No update" not in page


def test_before_the_first_update_there_is_a_page_all_the_same(tmp_path: Path) -> None:
    assert "0 of 90 updates" in write_report(folder(tmp_path, [])).text
    assert "No update is done yet." in (tmp_path / "report.html").read_text()


def test_what_is_no_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no run"):
        write_report(tmp_path)
    folder(tmp_path, [], more="no json\n")
    with pytest.raises(RecordError, match=r"metrics\.jsonl"):
        write_report(tmp_path)
