"""Promises of cutting an answer out, and of matching numbers, words and letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.environments.reasoning.answer_extraction import extract_answer
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.matching import LONGEST, is_exact, match_choice, whole_number
from timeful.environments.reasoning.problems import Problem

CHOICES = ("134", "12", "London", "9 km")


def exact(answer="12"):
    return Problem(id="p", family="f", question="q", answer=answer, kind="exact")


@pytest.mark.parametrize(
    ("said", "answer", "how"),
    [
        ("I see. <answer> 5 </answer>", "5", "tag"),
        ("<answer>3</answer> no, <answer>4</answer>", "4", "tag"),
        (r"<answer>\boxed{100}</answer>", "100", "tag"),
        (r"\boxed{3}, and so \boxed{4}", "4", "box"),
        (r"<answer>1</answer> then \boxed{4}", "1", "tag"),
        ("<answer>a <answer>7</answer></answer>", "7", "tag"),
        ("an <answer> tag: <answer>7</answer> in <answer>", "7", "tag"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", "box"),
        (r"\boxed{\boxed{5}}", "5", "box"),
        (r"\boxed{5} or \boxed{6", "5", "box"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "box"),
        (r"\boxed {3}", "3", "box"),
        (r"\fbox{3}", "3", "box"),
        ("<answer>6", "6", "tag"),
        ("Well,\n\n42\n", "42", "line"),
        ("<answer>1</answer></think> <answer>2</answer>", "2", "tag"),
        (r"<think>\boxed{1}</think>", "", "none"),
        ("<answer></answer>", "", "tag"),
        ("", "", "none"),
        (" \n ", "", "none"),
    ],
)
def test_the_last_tag_is_cut_out_and_else_the_last_box_and_else_the_last_line(said, answer, how):
    assert extract_answer(said) == (answer, how)


@given(inner=st.text(alphabet="{}\\abx1 ", max_size=40))
def test_a_box_is_cut_at_the_brace_that_closes_it(inner):
    """Compared with a reader that goes one character at a time."""
    depth, i, want = 1, 0, None
    text = inner + "}"
    while i < len(text):
        if text[i] == "\\":
            i += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            want = text[:i]
            break
        i += 1
    said = rf"\boxed{{{text}"
    assert extract_answer(said) == (
        (said.strip(), "line") if want is None else (want.strip(), "box")
    )


@given(before=st.text(), answer=st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True), after=st.text())
def test_whatever_stands_around_a_tagged_answer_it_is_found(before, answer, after):
    if "<answer>" in after or "</answer>" in after or "</think>" in after:
        return
    assert extract_answer(f"{before}<answer>{answer}</answer>{after}") == (answer, "tag")


@pytest.mark.parametrize(
    "said",
    [
        r"\boxed{" * 150_000,
        "<answer>" * 130_000,
        r"\boxed{" + "{" * 1_000_000,
        "9" * 1_000_000,
        f"<answer>{'9' * 1_000_000}</answer>",
        "\\" * 1_000_000,
        "=:" * 500_000,
        "<answer>" + "is " * 300_000 + "</answer>",
        "(" * 1_000_000,
    ],
)
def test_a_megabyte_is_no_answer_and_takes_no_time_to_tell(said):
    check = Checker()
    assert not check(exact(), said).correct
    letter = Problem(id="p", family="f", question="q", answer="B", kind="letter", choices=CHOICES)
    assert not check(letter, said).correct


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("42", "42"),
        ("+7", "7"),
        ("-5", "-5"),
        ("\u22125", "-5"),
        ("- 5", "-5"),
        ("-0", "0"),
        ("007", "7"),
        ("1,234,567", "1234567"),
        ("1 234", "1234"),
        ("1{,}234", "1234"),
        (r"1\,234", "1234"),
        ("5.0", "5"),
        ("5.", "5"),
        ("$5$", "5"),
        (r"\(5\)", "5"),
        (r"\text{5}", "5"),
        ("**42**", "42"),
        ("x = 5", "5"),
        ("The answer is 42.", "42"),
        ("3 + 4 = 7", "7"),
        ("42 days", "42"),
        ("12 km/h", "12"),
        ("5 of the very best ideas", None),
        ("5 or 6", None),
        ("5, 6", None),
        ("1,23", None),
        ("not 5", None),
        ("5%", None),
        ("5.5", None),
        ("3+4", None),
        ("4x", None),
        ("4\u00b2", None),
        ("\u0664\u0662", None),  # Arabic digits
        ("\uff14\uff12", None),  # wide digits
        ("\u0661,234", None),
        ("\u2163", None),  # a Roman numeral
        ("five", None),
        ("", None),
        ("__import__('os').getpid()", None),
        ("9" * (LONGEST + 1), None),
    ],
)
def test_whole_numbers_are_read_by_rules(answer, number):
    assert whole_number(answer) == number


@given(value=st.integers(), lead=st.sampled_from(["", "x = ", "It is ", "the answer is: "]))
def test_every_integer_is_read_however_it_is_written(value, lead):
    for written in (str(value), f"{value:,}", f"{value}.00"):
        assert whole_number(lead + written) == str(value)


@given(st.text(max_size=60))
def test_only_the_right_number_is_exact(answer):
    number = whole_number(answer)
    assert is_exact("12", answer) == (number == "12")


def test_words_are_exact_whatever_their_case_and_frame():
    assert is_exact("Monday", r"\text{monday}.")
    assert not is_exact("Monday", "Mon")
    assert not is_exact("Monday", "")


def test_an_answer_is_never_run(tmp_path):
    trace = tmp_path / "trace"
    code = f"open({str(trace)!r}, 'w').write('x') and 12"
    with Checker() as check:
        for kind in ("exact", "letter"):
            problem = Problem(
                id="p", family="f", question="q", answer="A", kind=kind, choices=CHOICES
            )
            assert not check(problem, f"<answer>{code}</answer>").correct
    assert not trace.exists()


# --- letters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("[D]", "D"),
        ("b.", "B"),
        ("B)", "B"),
        (r"\text{(B)}", "B"),
        ("**C**", "C"),
        ("$B$", "B"),
        ("B) 12", "B"),
        ("C: London", "C"),
        ("The answer is B", "B"),
        ("the correct answer is (b)", "B"),
        ("option C", "C"),
        ("I pick D.", "D"),
        ("The answer is B, since 12 is even", "B"),
        ("London", "C"),
        ("london.", "C"),
        ("12", "B"),
        ("9 km", "D"),
        ("B. London", None),
        ("A or B", None),
        ("(A) and (B)", None),
        ("B or (C)", None),
        ("The answer is A. No, the answer is B", None),
        ("the answer is a number", None),
        ("E", None),
        ("I", None),
        ("AB", None),
        ("13", None),
        ("", None),
        ("\u0412", None),  # looks like a B, and is none
    ],
)
def test_letters_are_read_by_rules(answer, letter):
    assert match_choice(answer, CHOICES) == letter


def test_words_that_two_choices_share_choose_none():
    assert match_choice("7", ("7", "07", "8", "9")) is None


def test_a_letter_goes_before_a_choice_that_is_a_letter():
    assert match_choice("B", ("B", "C", "A", "D")) == "B"


@pytest.mark.parametrize("said", ["", "<answer></answer>", "<think>12</think>"])
def test_without_an_answer_nothing_is_checked(said):
    graded = Checker()(exact(), said)
    assert (graded.answer, graded.correct, graded.checked) == ("", False, "none")
