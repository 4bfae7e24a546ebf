"""Promises of reading problems from files: fields by a map, choices in an order of their own."""

import json
import warnings
from dataclasses import replace
from hashlib import sha256

import pytest

from timeful.environments.reasoning.files import AIME, GPQA, MATH_500, PLAIN, from_jsonl
from timeful.errors import SettingsError

MATH_ROW = {
    "problem": "What is $1+1$?",
    "solution": r"It is \boxed{2}.",
    "answer": "2",
    "subject": "Algebra",
    "level": 1,
    "unique_id": "test/algebra/1.json",
}
GPQA_ROW = {
    "Record ID": "rec1",
    "Question": "Which one?",
    "Correct Answer": "right",
    "Incorrect Answer 1": "wrong 1",
    "Incorrect Answer 2": "wrong 2",
    "Incorrect Answer 3": "wrong 3",
    "Canary String": "...",
}


def written(tmp_path, *rows, name="problems.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_math_500_is_read_and_another_file_of_it_is_named(tmp_path):
    path = written(tmp_path, MATH_ROW)
    with pytest.warns(UserWarning, match="not the file of math-500"):
        (problem,) = from_jsonl(path, MATH_500)
    assert problem.id.startswith("math-500-test/algebra/1.json-")
    assert (problem.question, problem.answer, problem.kind) == ("What is $1+1$?", "2", "math")
    assert not problem.private


def test_the_file_that_is_meant_is_read_without_a_word(tmp_path):
    path = written(tmp_path, MATH_ROW)
    known = replace(MATH_500, sha256=sha256(path.read_bytes()).hexdigest())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(from_jsonl(path, known)) == 1


@pytest.mark.parametrize(
    "row", [{"id": 3, "problem": "p", "answer": 73}, {"ID": "3", "Problem": "p", "Answer": "073"}]
)
def test_aime_is_exact_under_any_of_its_names(tmp_path, row):
    (problem,) = from_jsonl(written(tmp_path, row), AIME)
    assert (problem.id[:7], problem.kind) == ("aime-3-", "exact")
    assert int(problem.answer) == 73


def test_gpqa_is_private_and_its_choices_are_shuffled_by_the_seed(tmp_path):
    rows = [{**GPQA_ROW, "Record ID": f"r{i}", "Correct Answer": f"right {i}"} for i in range(60)]
    path = written(tmp_path, *rows)
    problems = from_jsonl(path, GPQA, seed=1)
    assert all(problem.private and problem.kind == "letter" for problem in problems)
    for i, problem in enumerate(problems):
        assert problem.choices["ABCD".index(problem.answer)] == f"right {i}"
        assert sorted(problem.choices)[1:] == ["wrong 1", "wrong 2", "wrong 3"]
    assert {problem.answer for problem in problems} == set("ABCD")
    assert problems == from_jsonl(path, GPQA, seed=1)
    assert problems != from_jsonl(path, GPQA, seed=2)
    shorter = written(tmp_path, *rows[30:], name="shorter.jsonl")
    assert problems[30:] == from_jsonl(shorter, GPQA, seed=1)


def test_gpqa_is_read_from_csv_too(tmp_path):
    path = tmp_path / "gpqa.csv"
    names = list(GPQA_ROW)
    path.write_text(
        ",".join(names) + "\n" + ",".join(f'"{GPQA_ROW[name]}\n, or so"' for name in names) + "\n",
        encoding="utf-8",
    )
    (problem,) = from_jsonl(path, GPQA)
    assert "right\n, or so" in problem.choices


@pytest.mark.parametrize(
    ("row", "kind", "answer"),
    [
        ({"question": "q", "answer": 5, "type": "exact"}, "exact", "5"),
        ({"prompt": "q", "target": "x", "type": "math"}, "math", "x"),
        ({"problem": "q", "expected_answer": "x"}, "math", "x"),
        ({"question": "q", "answer": "b", "choices": ["1", "2"], "type": "mcq"}, "letter", "B"),
        ({"question": "q", "answer": "2", "choices": [1, 2]}, "letter", "B"),
    ],
)
def test_our_own_form_says_how_it_is_checked(tmp_path, row, kind, answer):
    (problem,) = from_jsonl(written(tmp_path, row))
    assert (problem.kind, problem.answer) == (kind, answer)
    assert problem.id.startswith("file-")


def test_an_id_goes_with_one_question_and_its_answer_whatever_its_file_calls_it(tmp_path):
    """A baseline, or a finished episode, of other words is none of this problem."""
    row = {"id": 1, "question": "q", "answer": "1"}
    own = {"choices": ["1", "2"], "type": "mcq"}
    changed = [row, {**row, "question": "r"}, {**row, "answer": "2"}, {**row, **own}]
    ids = [from_jsonl(written(tmp_path, one))[0].id for one in (*changed, row)]
    assert len(set(ids)) == 4
    assert ids[0] == ids[-1]


def test_a_number_of_problems_is_drawn_by_the_seed_and_kept_in_order(tmp_path):
    path = written(tmp_path, *({"id": i, "question": f"q{i}", "answer": "1"} for i in range(50)))
    drawn = [int(one.id.split("-")[1]) for one in from_jsonl(path, limit=10, seed=3)]
    assert len(drawn) == 10
    assert drawn == sorted(set(drawn))
    again = from_jsonl(path, limit=10, seed=3)
    assert drawn == [int(one.id.split("-")[1]) for one in again]
    assert drawn != [int(one.id.split("-")[1]) for one in from_jsonl(path, limit=10)]
    assert len(from_jsonl(path, limit=99)) == 50


def test_a_kind_may_be_given_for_all(tmp_path):
    (problem,) = from_jsonl(written(tmp_path, MATH_ROW), PLAIN, kind="exact")
    assert problem.kind == "exact"


SECRET = "a question that nobody may read"


@pytest.mark.parametrize(
    ("rows", "fields", "says"),
    [
        ([{"question": "q"}], PLAIN, "line 2 .* 'answer' or 'target' or 'expected_answer'"),
        ([{"answer": "1"}], PLAIN, "line 2 .* 'question' or 'problem' or 'prompt'"),
        ([{"question": " ", "answer": "1"}], PLAIN, "line 2 .* needs text"),
        ([{"question": True, "answer": "1"}], PLAIN, "line 2 .* needs text"),
        ([[1]], PLAIN, "line 2 .* no JSON object"),
        ([{"question": "q", "answer": "1", "type": "essay"}], PLAIN, "unknown type; there are"),
        ([{"question": "q", "answer": "E", "choices": ["1", "2"]}], PLAIN, "neither a letter"),
        (
            [{"question": "q", "answer": "1", "choices": ["1", "1"]}],
            PLAIN,
            "two choices that are the same",
        ),
        ([{"question": "q", "answer": "A", "choices": ["1"]}], PLAIN, "a list of 2 to 26"),
        ([{"question": "q", "answer": "A", "type": "mcq"}], PLAIN, "needs choices"),
        ([{**GPQA_ROW, "Incorrect Answer 2": "right"}], GPQA, "two choices that are the same"),
        ([{k: v for k, v in GPQA_ROW.items() if "3" not in k}], GPQA, "'Incorrect Answer 3'"),
        (
            [{"id": 1, "question": "q", "answer": "1"}, {"id": 1, "question": "r", "answer": "1"}],
            PLAIN,
            "2 problems with the id '1'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_by_line_and_field_and_not_by_its_words(
    tmp_path, rows, fields, says
):
    whole = {**GPQA_ROW, "question": SECRET, "answer": "A", "choices": ["A", "B"], "id": "w"}
    with pytest.raises(SettingsError, match=says) as raised:
        from_jsonl(written(tmp_path, whole, *rows), fields)
    assert SECRET not in str(raised.value)
    assert "Which one?" not in str(raised.value)


def test_what_is_no_file_of_problems_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        from_jsonl(tmp_path / "missing.jsonl")
    path = tmp_path / "it.jsonl"
    for content, says in [
        (b'{"question": "q"\n', "line 1 of it.jsonl is no JSON"),
        (b"[" * 100_000, "line 1 of it.jsonl is no JSON"),
        (b"\n\n", "holds no problem"),
        (b"\xff\xfe\x00", "cannot read"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:35dc\n", "git lfs pull"),
    ]:
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=says):
            from_jsonl(path)
    with pytest.raises(SettingsError, match="at least one"):
        from_jsonl(path, limit=0)
