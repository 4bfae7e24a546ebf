"""Graders: the metrics, by hand and against scikit-learn, and what makes a submission invalid."""

import io
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.coding.runners import ANSWERS, HALF, RIGHT
from timeful.environments.coding.graders import Answers, Grade, grade
from timeful.environments.coding.submission import MOST_BYTES, InvalidSubmissionError
from timeful.errors import SettingsError

LOSS = Answers(
    metric="log_loss",
    id_column="id",
    columns=("oak", "elm", "ash"),
    ids=("10", "9", "11"),
    truth=np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]),
)
SHARE = Answers(
    metric="accuracy",
    id_column="PassengerId",
    columns=("Transported",),
    ids=("0001_01", "0002_01", "0003_01", "0003_02"),
    truth=np.array([[1.0], [0], [1], [0]]),
)
COMMENTS = Answers(
    metric="auc",
    id_column="Comment",
    columns=("Insult",),
    ids=("same", "other, with a comma", "same", 'two\nlines and a "quote"'),
    truth=np.array([[1.0], [0], [0], [1]]),
)


def csv_of(header: str, *rows: str) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


# --- by hand ---------------------------------------------------------------------------------


def test_log_loss_is_the_mean_log_of_the_true_class_and_accuracy_its_argmax():
    data = csv_of("id,oak,elm,ash", "9,0.25,0.5,0.25", "10,0.5,0.25,0.25", "11,0.5,0.25,0.25")
    # -(ln 0.5 + ln 0.5 + ln 0.25) / 3 = 4 ln 2 / 3; two of three lead
    assert grade(data, LOSS) == Grade(metric=0.9242, reward_accuracy=0.66667)


def test_a_true_class_that_got_nothing_costs_36_04():
    data = csv_of("id,oak,elm,ash", "9,0,1,0", "10,1,0,0", "11,1,0,0")
    assert grade(data, LOSS).metric == round(-np.log(np.finfo(float).eps) / 3, 5) == 12.01455


def test_the_first_of_equal_classes_is_the_predicted_one():
    third = "0.3333333333,0.3333333333,0.3333333334"
    data = csv_of("id,oak,elm,ash", f"9,{third}", f"10,{third}", f"11,{third}")
    assert grade(data, LOSS) == Grade(metric=1.09861, reward_accuracy=0.33333)


def test_auc_counts_pairs_and_half_of_the_ties():
    # yes: 0.5, 0.8; no: 0.5, 0.2. Pairs won: (0.5, 0.2), (0.8, 0.5), (0.8, 0.2), one tie
    data = csv_of("id,label", "a,0.5", "b,0.5", "c,0.8", "d,0.2")
    assert grade(data, ANSWERS) == Grade(metric=0.875, reward_accuracy=0.875)
    assert grade(RIGHT, ANSWERS).metric == 1
    assert grade(HALF, ANSWERS).metric == 0.5


def test_accuracy_counts_rows_whatever_their_order():
    rows = ["0003_02,False", "0003_01,False", "0002_01,False", "0001_01,True"]
    data = csv_of("PassengerId,Transported", *rows)
    assert grade(data, SHARE) == Grade(metric=0.75, reward_accuracy=0.75)


@pytest.mark.parametrize(
    "yes_no", [("True", "False"), ("1", "0"), ("1.0", "0.0"), ("true", "FALSE")]
)
def test_yes_and_no_are_read_as_pandas_reads_them(yes_no):
    yes, no = yes_no
    rows = [f"0001_01,{yes}", f"0002_01,{no}", f"0003_01,{yes}", f"0003_02,{no}"]
    assert grade(csv_of("PassengerId,Transported", *rows), SHARE).metric == 1


def test_ids_are_numbers_where_they_can_be():
    rows = ["9.0,0,1,0", "010,1,0,0", "11,0,0,1"]
    assert grade(csv_of("id,oak,elm,ash", *rows), LOSS).metric == 0


def test_columns_may_come_in_any_order():
    rows = ["0,9,1,0", "0,10,0,1", "1,11,0,0"]
    assert grade(csv_of("ash,id,elm,oak", *rows), LOSS).metric == 0


def test_more_columns_are_fine_but_not_for_log_loss():
    data = csv_of("id,label,why", "a,0.9,x", "b,0.1,y", "c,0.8,", "d,0.2,=1+1")
    assert grade(data, ANSWERS).metric == 1
    with pytest.raises(InvalidSubmissionError, match="5 columns; it must have 'id' and the 3"):
        grade(csv_of("id,oak,elm,ash,fir", "9,0,1,0,0", "10,1,0,0,0", "11,0,0,1,0"), LOSS)


def test_texts_that_occur_twice_are_paired_in_the_order_in_which_they_stand():
    quoted = '0.9,"two\nlines and a ""quote"""'
    given = ["0.8,same", '0.1,"other, with a comma"', "0.3,same", quoted]
    assert grade(csv_of("Insult,Comment", *given), COMMENTS).metric == 1
    swapped = ["0.3,same", '0.1,"other, with a comma"', "0.8,same", quoted]
    assert grade(csv_of("Insult,Comment", *swapped), COMMENTS).metric == 0.75


def test_rows_may_miss_one_by_a_little():
    near = ["9,0,1.00001,0", "10,1,0,0", "11,0,0,1"]
    with pytest.raises(InvalidSubmissionError, match="between 0 and 1"):
        grade(csv_of("id,oak,elm,ash", *near), LOSS)
    near = ["9,0,0.99999,0", "10,1,0,0", "11,0,0,1"]
    assert grade(csv_of("id,oak,elm,ash", *near), LOSS).metric == 0
    far = ["9,0,0.99998,0", "10,1,0,0", "11,0,0,1"]
    with pytest.raises(InvalidSubmissionError, match=r"sum to 1; one sums to 0\.99998"):
        grade(csv_of("id,oak,elm,ash", *far), LOSS)


# --- against scikit-learn and pandas ------------------------------------------------------------

cells = st.floats(0, 1).map(repr) | st.sampled_from(
    ["0", "1", "0.5", "1e-300", "0.30000000000000004"]
)


@given(st.lists(st.tuples(cells, st.booleans()), min_size=2, max_size=30))
def test_auc_is_that_of_scikit_learn(rows):
    from sklearn.metrics import roc_auc_score

    truth = np.array([yes for _, yes in rows], dtype=float)
    if len(set(truth)) < 2:
        return
    answers = Answers(
        metric="auc",
        id_column="id",
        columns=("p",),
        ids=tuple(str(i) for i in range(len(rows))),
        truth=truth[:, None],
    )
    data = csv_of("id,p", *(f"{i},{cell}" for i, (cell, _) in enumerate(rows)))
    scores = [float(cell) for cell, _ in rows]
    assert grade(data, answers).metric == pytest.approx(roc_auc_score(truth, scores), abs=1.1e-5)


@given(
    st.lists(
        st.tuples(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(0, 2)),
        min_size=1,
        max_size=20,
    )
)
def test_log_loss_is_that_of_scikit_learn(rows):
    from sklearn.metrics import log_loss

    shares = np.array([row for row, _ in rows]) + 1e-12
    shares /= shares.sum(axis=1, keepdims=True)
    truth = np.eye(3)[[k for _, k in rows]]
    answers = Answers(
        metric="log_loss",
        id_column="id",
        columns=("a", "b", "c"),
        ids=tuple(str(i) for i in range(len(rows))),
        truth=truth,
    )
    lines = [f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(shares.tolist())]
    expected = log_loss([k for _, k in rows], shares, labels=[0, 1, 2])
    assert grade(csv_of("id,a,b,c", *lines), answers).metric == pytest.approx(expected, abs=1.1e-5)


def reference(data: bytes, answers: Answers) -> float | None:
    """What the benchmark does, in pandas and scikit-learn: any error at all means no score."""
    import pandas as pd
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    key, columns = answers.id_column, list(answers.columns)
    ids = [float(i) for i in answers.ids] if answers.metric == "log_loss" else list(answers.ids)
    right = pd.DataFrame({key: ids})
    right[columns] = answers.truth
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = pd.read_csv(io.BytesIO(data), float_precision="round_trip")
            assert len(given) == len(right)
            if answers.metric == "log_loss":
                assert set(given.columns) == {key, *columns}
                assert np.isclose(given[columns].sum(axis=1), 1, atol=1e-6).all()
                assert ((given[columns] >= 0) & (given[columns] <= 1)).all().all()
            given, right = given.sort_values(key), right.sort_values(key)
            assert (given[key].to_numpy() == right[key].to_numpy()).all()
            if answers.metric == "log_loss":
                return round(log_loss(right[columns].to_numpy(), given[columns].to_numpy()), 5)
            true, said = right[columns[0]].to_numpy(), given[columns[0]]
            if answers.metric == "accuracy":
                return round(accuracy_score(true.astype(bool), said.to_numpy()), 5)
            pd.to_numeric(said)
            assert not said.min() < 0  # and NaN passes
            assert not said.max() > 1
            return round(roc_auc_score(true, said.to_numpy()), 5)
    except Exception:  # noqa: BLE001 - so does the benchmark
        return None


def ours(data: bytes, answers: Answers) -> float | None:
    try:
        return grade(data, answers).metric
    except InvalidSubmissionError:
        return None


ODD = """nan NA inf -0.1 1.1 0 1 0.5 True False x 1_0 0x1 1e-400 1e3 \uff11 =1+1 " \0 None <NA>"""


def mutated(good: Sequence[str]) -> st.SearchStrategy[bytes]:
    """A submission with a few of its cells replaced, and rows dropped, doubled or moved."""

    @st.composite
    def build(draw: st.DrawFn) -> bytes:
        lines = [line.split(",") for line in good]
        for _ in range(draw(st.integers(0, 2))):
            line = draw(st.integers(0, len(lines) - 1))
            lines[line][draw(st.integers(0, len(lines[line]) - 1))] = draw(
                st.sampled_from(["", *ODD.split(" ")])
            )
        match draw(st.integers(0, 5)):
            case 1:
                lines.pop()
            case 2:
                lines.append(lines[-1])
            case 3:
                lines[1:] = draw(st.permutations(lines[1:]))
            case 4:
                lines[-1] = lines[-1][:-1]
        end = draw(st.sampled_from(["\n", "\r\n"]))
        return end.join(",".join(line) for line in lines).encode() + draw(
            st.sampled_from([b"", b"\n", b"\n\n", b"\xff"])
        )

    return build()


@settings(max_examples=150)
@given(mutated(["id,oak,elm,ash", "9,0.2,0.3,0.5", "10,0.6,0.3,0.1", "11,1,0,0"]))
def test_log_loss_accepts_and_refuses_what_the_benchmark_does(data):
    assert ours(data, LOSS) == reference(data, LOSS)


@settings(max_examples=150)
@given(mutated(["id,label", "a,0.9", "b,0.1", "c,0.8", "d,0.85"]))
def test_auc_accepts_and_refuses_what_the_benchmark_does(data):
    assert ours(data, ANSWERS) == reference(data, ANSWERS)


@settings(max_examples=150)
@given(
    mutated(
        [
            "PassengerId,Transported",
            "0001_01,True",
            "0002_01,True",
            "0003_01,False",
            "0003_02,False",
        ]
    )
)
def test_accuracy_accepts_and_refuses_what_the_benchmark_does(data):
    assert ours(data, SHARE) == reference(data, SHARE)


# --- invalid -------------------------------------------------------------------------------------

BAD = {
    "nothing": (None, "there is none"),
    "empty": (b"", "it is empty"),
    "only a mark": (b"\xef\xbb\xbf", "it is empty"),
    "not UTF-8": (RIGHT.decode().encode("utf-16"), "no UTF-8 text"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no UTF-8 text"),
    "a wrong column": (csv_of("id,labels", "a,1"), "no column 'label'; it has 'id', 'labels'"),
    "no id": (csv_of("label", "1"), "no column 'id'"),
    "a row less": (csv_of("id,label", "a,1", "b,0", "c,1"), "it has 3 rows; the test split has 4"),
    "a row more": (RIGHT + b"e,1\n", "more than the 4 rows"),
    "an id twice": (csv_of("id,label", "a,1", "b,0", "c,1", "c,1"), "ids are not those"),
    "another id": (csv_of("id,label", "a,1", "b,0", "c,1", "z,1"), "ids are not those"),
    "a long row": (csv_of("id,label", "a,1", "b,0,0", "c,1", "d,1"), "row 2 has 3 cells"),
    "a short row": (csv_of("id,label", "a,1", "b", "c,1", "d,1"), "no missing values"),
    "missing": (csv_of("id,label", "a,1", "b,NaN", "c,1", "d,1"), "no missing values"),
    "infinite": (csv_of("id,label", "a,1", "b,inf", "c,1", "d,1"), "between 0 and 1"),
    "too large": (csv_of("id,label", "a,1", "b,1e999", "c,1", "d,1"), "between 0 and 1"),
    "negative": (csv_of("id,label", "a,1", "b,-0.01", "c,1", "d,1"), "between 0 and 1"),
    "a formula": (csv_of("id,label", "a,1", "b,=1+1", "c,1", "d,1"), "'=1\\+1' in .* no number"),
    "a word among numbers": (csv_of("id,label", "a,1", "b,True", "c,1", "d,1"), "no number"),
    "digits joined": (csv_of("id,label", "a,1", "b,0_1", "c,1", "d,1"), "'0_1' in .* no number"),
    "other digits": (csv_of("id,label", "a,1", "b,\uff11", "c,1", "d,1"), "no number"),
    "an open quote": (b'id,label\na,1\nb,"0', "it has 2 rows|cannot be read as CSV"),
    "a huge cell": (b"id,label\na," + b"9" * 200_000, "line 2 cannot be read as CSV"),
    "too many bytes": (b"id,label\n" + b"a,1\n" * (MOST_BYTES // 4), "no submission needs more"),
    "millions of columns": (b"," * (MOST_BYTES // 4), "no column 'id'"),
    "a row of commas": (b"id,label\n" + b"," * (MOST_BYTES // 4), "cells, but there are 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_graded_is_invalid_with_a_reason(name):
    data, reason = BAD[name]
    with pytest.raises(InvalidSubmissionError, match=reason) as caught:
        grade(data, ANSWERS)
    assert len(str(caught.value)) < 500


@settings(max_examples=200)
@given(st.binary(max_size=200), st.sampled_from([ANSWERS, LOSS, SHARE, COMMENTS]))
def test_no_bytes_crash_a_grader(data, answers):
    try:
        found = grade(data, answers)
    except InvalidSubmissionError:
        return
    assert 0 <= found.reward_accuracy <= 1


def test_a_column_that_is_there_twice_counts_once():
    twice = csv_of("id,label,label", "a,0.9,0", "b,0.1,1", "c,0.8,0", "d,0.2,1")
    assert grade(twice, ANSWERS).metric == 1
    with pytest.raises(InvalidSubmissionError, match="each once"):
        grade(csv_of("id,oak,elm,ash,ash", *["9,0,1,0,0"] * 3), LOSS)


def test_labels_are_predictions_of_whole_numbers():
    rows = ["0001_01,0.9", "0002_01,0.1", "0003_01,0.8", "0003_02,0.2"]
    with pytest.raises(InvalidSubmissionError, match="must be labels"):
        grade(csv_of("PassengerId,Transported", *rows), SHARE)


def test_labels_do_not_show_in_what_is_printed():
    assert repr(SHARE) == "Answers(accuracy, 4 rows)"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ids": ("a",)}, "do not fit"),
        ({"truth": np.ones((4, 1))}, "both of them"),
        ({"metric": "log_loss", "truth": np.zeros((4, 1))}, "one class for each row"),
    ],
)
def test_labels_that_no_metric_can_use_are_refused(change, why):
    fields = {"metric": "auc", "id_column": "id", "columns": ("p",), "ids": tuple("abcd")}
    with pytest.raises(SettingsError, match=why):
        Answers(**{**fields, "truth": ANSWERS.truth, **change})
