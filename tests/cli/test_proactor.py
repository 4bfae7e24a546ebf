"""`timeful pri`, `ec` and `metrics proactor-turns`: exactly the JSON promised, or a clear error."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.dialogues.material import ABCD, needs_abcd
from tests.metrics.proactor.test_ranking import NAMES, published
from tests.metrics.proactor.test_turns import BY_HAND
from timeful.cli.main import app
from timeful.dialogues.opportunity import write_opportunities
from timeful.errors import SettingsError


def timeful(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(*arguments: object) -> Any:
    run = timeful(*arguments, "--json")
    assert run.exception is None, run.output
    return json.loads(run.output)


def saved(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def a_line(turn: int = 5, **fields: object) -> str:
    line = {
        "dialogue": "d7",
        "turn": turn,
        "predictions": write_opportunities(BY_HAND.predictions),
        "references": write_opportunities(BY_HAND.references),
        "ready_ranges": BY_HAND.ready_ranges,
        **fields,
    }
    return json.dumps(line) + "\n"


@pytest.mark.parametrize("name", ["turns.jsonl", "turns.jsonl.gz"])
def test_predictions_made_elsewhere_are_scored(tmp_path: Path, name: str) -> None:
    text = a_line() + "\n" + a_line(6, predictions=[], dialogue=7, note="left")
    found = said("metrics", "proactor-turns", saved(tmp_path / name, text))
    assert list(found) == [
        "n_turns",
        "n_skipped",
        "ac",
        "max_ac",
        "difference",
        "pt",
        "pt_all",
        "ftr",
        "ftr_per_prediction",
        "rar",
        "atr",
        "false_triggered",
        "frr",
    ]
    assert list(found.values()) == [
        2,
        1,
        pytest.approx(0.35),
        1.0,
        pytest.approx(0.65 / 0.35),
        0.2,
        0.6,
        pytest.approx(1 / 3),
        0.2,
        0.6,
        0.2,
        0.2,
        0.2,
    ]


def test_no_prediction_at_all_is_null_and_no_crash(tmp_path: Path) -> None:
    file = saved(tmp_path / "turns.jsonl", a_line(predictions=[]))
    found = said("metrics", "proactor-turns", file)
    assert (found.pop("n_turns"), found.pop("n_skipped")) == (1, 1)
    assert set(found.values()) == {None}
    assert "0 of 1 turns" in timeful("metrics", "proactor-turns", file).output


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "turns.jsonl holds no turn"),
        ("\n \n", "turns.jsonl holds no turn"),
        (a_line() + "{oops\n", r"line 2: JSON is malformed"),
        (a_line(ready_ranges={"x": [1.5]}), r"line 1 \(dialogue d7\): .*`int`.*ready_ranges"),
        (a_line(ready_ranges={"x": [0]}), r"\(dialogue d7\): .*>= 1.*ready_ranges"),
        (a_line(ready_ranges={"x": [2**63]}), r"\(dialogue d7\): .*<= 9007.*ready_ranges"),
        (a_line(turn=10**30), r"\(dialogue d7\): .*\$\.turn"),
        (a_line(turn="5"), r"\(dialogue d7\): .*`int`, got `str` - at `\$\.turn`"),
        (a_line(references=None), r"\(dialogue d7\): .*references"),
        (a_line(predictions=[{"name": "x"}]), r"missing required field.*predictions\[0\]"),
        (a_line(predictions=[7]), r"predictions\[0\]"),
        ('{"dialogue": "d", "turn": NaN}', "line 1: JSON is malformed"),
        ("[" * 100_000, "line 1"),
        ('{"dialogue": "\udcff"}', "line 1"),
    ],
)
def test_a_line_that_cannot_be_scored_is_named(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_bytes(text.encode(errors="surrogateescape"))
    run = timeful("metrics", "proactor-turns", file, "--json")
    assert isinstance(run.exception, SettingsError), run.output
    assert run.output == ""
    with pytest.raises(SettingsError, match=error):
        raise run.exception


def test_a_table_of_results_is_ranked(tmp_path: Path) -> None:
    rows, _ = published("ABCD+")
    names = ["name", *NAMES.values()]
    lines = [names, *([getattr(row, name) for name in names] for row in rows)]
    text = "\n".join(",".join(map(str, line)) for line in lines)
    file = saved(tmp_path / "table.csv", text)
    found = said("pri", file)
    assert len(found) == 17
    assert [one["rank"] for one in found[:3]] == [1, 2, 3]
    assert found[0]["name"] == "ProActor-Q4 + Custom RULER"
    assert found[0]["pri"] == pytest.approx(0.7293, abs=5e-5)
    assert found[0]["ac"] == 0.426
    assert {"ci", "ti", "max_ac", "difference", "pt", "ftr", "rar"} < set(found[0])
    text = timeful("pri", file).output
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "group of 17" in text


def a_dialogue(**fields: object) -> dict[str, Any]:
    def turn(number: int, action: str) -> dict[str, Any]:
        targets = ["intent", "take_action", action, [], -1]
        return {"speaker": "action", "text": "", "turn_count": number, "targets": targets}

    return {
        "convo_id": 1,
        "delexed": [turn(2, "a"), turn(4, "b"), turn(6, "c")],
        "reference_ready_range": {"a": [2, 1], "b": [5]},
        **fields,
    }


SCORES = [
    "n_actions",
    "n_hit",
    "action_level",
    "n_dialogues",
    "dialogue_mean",
    "dialogue_std",
    "share_above",
]


@pytest.mark.parametrize("name", ["dialogues.json", "dialogues.json.gz"])
@pytest.mark.parametrize(
    ("sigma", "unmatched", "expected"),
    [
        (0, "skip", [4, 3, 0.75, 2, 0.75, 0.25, 0.5]),
        (1, "skip", [4, 3, 0.75, 2, 0.75, 0.25, 0.5]),
        (2, "skip", [4, 1, 0.25, 2, 0.25, 0.25, 0.0]),
        (0, "zero", [6, 3, 0.5, 2, 0.5, 1 / 6, 0.0]),
    ],
)
def test_dialogues_are_scored_over_all_splits(
    tmp_path: Path, name: str, sigma: int, unmatched: str, expected: list[float]
) -> None:
    other = a_dialogue(convo_id=2, reference_ready_range={"a": [1], "b": [2], "c": []})
    file = saved(tmp_path / name, json.dumps({"train": [a_dialogue()], "test": [other]}))
    found = said("ec", file, "--sigma", sigma, "--unmatched", unmatched)
    assert list(found.items()) == [
        ("sigma", sigma),
        ("unmatched", unmatched),
        *zip(
            SCORES,
            map(pytest.approx, expected),
            strict=True,
        ),
    ]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([a_dialogue(reference_ready_range=None)], "dialogue 1: there is no reference_ready_range"),
        ([a_dialogue(delexed=[{}])], r"dialogue 1: .*delexed\[0\]"),
        ([a_dialogue(reference_ready_range={"a": ["1"]})], "dialogue 1: .*reference_ready_range"),
        ([], "holds no dialogue"),
        ({"train": [], "dev": []}, "holds no dialogue"),
        (7, "not in ABCD's shape"),
    ],
)
def test_dialogues_that_cannot_be_scored_are_named(
    tmp_path: Path, data: object, error: str
) -> None:
    run = timeful("ec", saved(tmp_path / "dialogues.json", json.dumps(data)), "--json")
    assert isinstance(run.exception, SettingsError), run.output
    with pytest.raises(SettingsError, match=error):
        raise run.exception


@needs_abcd
def test_the_synthetic_dialogues_are_scored_from_the_command_line() -> None:
    found = said("ec", ABCD / "abcd_like.json.gz", "--sigma", 0, "--unmatched", "skip")
    assert (found["n_actions"], found["n_hit"], found["n_dialogues"]) == (602, 525, 198)
