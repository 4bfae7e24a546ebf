"""Promises of the strict reading of answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.agents.action_parser import Outcome, parse_action, parse_code, parse_plan

FREEWAY = (("U", "D", "S"), {"UP": "U", "DOWN": "D", "STAY": "S"})
SNAKE = (("L", "R", "U", "D"), {"LEFT": "L", "RIGHT": "R", "UP": "U", "DOWN": "D"})
COOK = (
    ("U", "D", "L", "R", "I", "S"),
    {"UP": "U", "DOWN": "D", "LEFT": "L", "RIGHT": "R", "INTERACT": "I", "STAY": "S"},
)
GAMES = (FREEWAY, SNAKE, COOK)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{U}", "U"),
        (r"I go \boxed{ D } now.", "D"),
        (r"First \boxed{U}, no: \boxed{D}", "D"),
        (r"\boxed{D} or rather \boxed{U", "D"),
        (r"\boxed{\boxed{U}}", "U"),
        (r"\boxed {I}", "I"),
        (r"\\boxed{I}", "I"),
        (r"a stray { brace \boxed{L}", "L"),
        (r"a stray } brace \boxed{L}", "L"),
        (r"\boxed{\text{U}}", "U"),
        (r"\boxed{\texttt{U}}", "U"),
        (r"\boxed{\text{ \textbf{R} }}", "R"),
        (r"\boxed{{U}}", "U"),
        (r"$\boxed{U}$", "U"),
        (r"\boxed{$U$}", "U"),
        (r"\boxed{'U'}", "U"),
        (r'\boxed{"U"}', "U"),
        (r"\boxed{“U”}", "U"),
        (r"\boxed{`U`}", "U"),
        (r"\boxed{**U**}", "U"),
        (r"\boxed{[U]}", "U"),
        (r"\boxed{(U)}", "U"),
        (r"\boxed{U.}", "U"),
        (r"\boxed{U,}", "U"),
        (r"\boxed{U;}", "U"),
        (r"\boxed{RIGHT}", "R"),
        (r"\boxed{Right}", "R"),
        (r"\boxed{right}", "R"),
        (r"\boxed{Interact.}", "I"),
        (r"\boxed{\text{STAY}}", "S"),
        (r"\boxed{S (STAY)}", "S"),
        (r"\boxed{Turn 1: S (STAY)}", "S"),
        (r"\boxed{U (move up, then wait)}", "U"),
        (r"\boxed{U, U}", "U"),
        ("<think>\\boxed{U}</think>\\boxed{D}", "D"),
        ("\\boxed{U}</think>thus </think>\\boxed{L}", "L"),
        ("```\nU\n```", "U"),
        ("```text\nRight\n```\nDone.", "R"),
        ("```U```", "U"),
        ("```\nU\n```\nI mean \\boxed{D}", "D"),
    ],
)
def test_one_action_is_read(text, letter):
    parsed = parse_action(text, *COOK)
    assert (parsed.outcome, parsed.actions) == (Outcome.OK, (letter,))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", Outcome.NO_ANSWER),
        ("U", Outcome.NO_ANSWER),
        ("I will go up.", Outcome.NO_ANSWER),
        ("<think>\\boxed{U}</think>", Outcome.NO_ANSWER),
        ("<think>\\boxed{U}</think>Up it is.", Outcome.NO_ANSWER),
        ("<think>so \\boxed{U} perhaps", Outcome.NO_ANSWER),
        (r"boxed{U}", Outcome.NO_ANSWER),
        (r"\boxed{}", Outcome.EMPTY),
        (r"\boxed{ \text{ } . }", Outcome.EMPTY),
        ("```\n\n```", Outcome.EMPTY),
        (r"\boxed{", Outcome.UNCLOSED),
        (r"the answer is \boxed{U", Outcome.UNCLOSED),
        (r"\boxed{\text{U}", Outcome.UNCLOSED),
        ("\\boxed{U\n```\nD\n```", Outcome.UNCLOSED),
        ("```\nU", Outcome.UNCLOSED),
        (r"\boxed{U, D}", Outcome.SEVERAL),
        (r"\boxed{U or D}", Outcome.ILLEGAL),
        (r"\boxed{UD}", Outcome.SEVERAL),
        ("\\boxed{Turn 3: U\nTurn 4: D}", Outcome.SEVERAL),
        (r"\boxed{up/down}", Outcome.ILLEGAL),
        (r"\boxed{u}", Outcome.ILLEGAL),
        (r"\boxed{X}", Outcome.ILLEGAL),
        (r"\boxed{42}", Outcome.ILLEGAL),
        (r"\boxed{RIGHTS}", Outcome.ILLEGAL),
        (r"\boxed{U (DOWN)}", Outcome.ILLEGAL),
        (r"\boxed{move U}", Outcome.ILLEGAL),
        (r"\boxed{\frac{U}{D}}", Outcome.ILLEGAL),
        (r"\boxed{U (}", Outcome.ILLEGAL),
        (r"\boxed{()}", Outcome.ILLEGAL),
        (r"\boxed{U...}", Outcome.ILLEGAL),
    ],
)
def test_without_exactly_one_clear_action_none_is_taken(text, outcome):
    parsed = parse_action(text, *COOK)
    assert (parsed.outcome, parsed.actions, parsed.turns) == (outcome, (), ())


def test_words_are_read_whole_or_not_at_all():
    only_letters = (COOK[0], {})
    for word in ("RIGHT", "INTERACT", "STAY", "LIDS", "SUR"):
        parsed = parse_action(rf"\boxed{{{word}}}", *only_letters)
        assert parsed.actions == (), word
    assert parse_plan(r"\boxed{RIGHT}", *COOK).actions == ("R",)
    assert parse_plan(r"\boxed{RIGHT}", *FREEWAY).outcome == Outcome.ILLEGAL


def test_a_name_of_an_action_that_is_not_legal_now_is_illegal():
    assert parse_action(r"\boxed{Interact}", ("U", "S"), COOK[1]).outcome == Outcome.ILLEGAL


def test_legal_letters_given_as_one_string_are_still_single_letters():
    assert parse_plan(r"\boxed{UD}", "UDS", {}).actions == ("U", "D")


@pytest.mark.parametrize(
    ("letter", "name"),
    [
        ("\uff35", "U+FF35 FULLWIDTH LATIN CAPITAL LETTER U"),
        ("\u0405", "U+0405 CYRILLIC CAPITAL LETTER DZE"),
        ("U\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\u017ftay", "U+017F LATIN SMALL LETTER LONG S"),
        ("r\u0131ght", "U+0131 LATIN SMALL LETTER DOTLESS I"),
    ],
)
def test_letters_that_only_look_alike_are_illegal_and_named(letter, name):
    parsed = parse_action(rf"\boxed{{{letter}}}", *COOK)
    assert parsed.outcome == Outcome.ILLEGAL
    assert name in parsed.detail


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        (r"\boxed{UUSD}", "UUSD"),
        (r"\boxed{U U S}", "UUS"),
        (r"\boxed{U,U;S}", "UUS"),
        (r"\boxed{[U, D, 'S']}", "UDS"),
        ("\\boxed{U\nD\nS}", "UDS"),
        (r"\boxed{U \\ D \\ S}", "UDS"),
        (r"\boxed{UP, Down, stay}", "UDS"),
        (r"\boxed{UU, S.}", "UUS"),
        (r"\boxed{\text{U}, \text{D}}", "UD"),
        (r"\boxed{U (go), D (back)}", "UD"),
        ("```\nU\nD\n```", "UD"),
    ],
)
def test_a_plan_without_turns_is_read(text, letters):
    parsed = parse_plan(text, *FREEWAY)
    assert parsed.outcome == Outcome.OK
    assert "".join(parsed.actions) == letters
    assert parsed.turns == (None,) * len(letters)


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{Turn 9: U\nTurn 10: S\nTurn 11: D}",
        "\\boxed{\n  Turn 9: U\n\n  Turn 10: S (STAY)\n  Turn 11: D.\n}",
        r"\boxed{Turn 9: U, Turn 10: S, Turn 11: D}",
        r"\boxed{turn 9 - up; turn 10 - stay; turn 11 - down}",
        r"\boxed{\text{Turn 9: U} \\ \text{Turn 10: S} \\ \text{Turn 11: D}}",
        r"\boxed{\begin{array}{l} Turn 9: U \\ Turn 10: S \\ Turn 11: D \end{array}}",
        r"\boxed{\begin{aligned} &\text{Turn } 9: U\\ &Turn 10: S\\ &Turn 11: D\end{aligned}}",
        "\\boxed{**Turn 9:** U\n**Turn 10:** S\n**Turn 11:** `D`}",
        "Plan:\n```\nTurn 9: U\nTurn 10: S\nTurn 11: D\n```",
    ],
)
def test_a_plan_with_turns_is_read(text):
    parsed = parse_plan(text, *FREEWAY)
    assert (parsed.actions, parsed.turns) == (("U", "S", "D"), (9, 10, 11)), parsed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\\boxed{Turn 1: U\nTurn 3: D}", "turn 3 follows turn 1"),
        ("\\boxed{Turn 2: U\nTurn 2: D}", "turn 2 follows turn 2"),
        ("\\boxed{Turn 2: U\nTurn 1: D}", "turn 1 follows turn 2"),
        ("\\boxed{Turn 1: U\nTurn 2:}", "turn 2 has 0 actions"),
        ("\\boxed{Turn 1: UU\nTurn 2: D}", "turn 1 has 2 actions"),
        ("\\boxed{Turn 1: U\nD}", "turn 1 has 2 actions"),
        ("\\boxed{U\nTurn 1: D}", "'U' before the first turn"),
        ("\\boxed{Turn 1-4: U}", "'4:' is no action"),
        ("\\boxed{Turn one: U}", "'Turn' is no action"),
        ("\\boxed{Turn 1: U\nTurn 2: jump}", "'jump' is no action"),
        ("\\boxed{1. U\n2. D}", "'1.' is no action"),
        ("\\boxed{U, U, ...}", "'...' is no action"),
        ("\\boxed{U -> D}", "'->' is no action"),
        ("\\boxed{UUXD}", "'UUXD' is no action"),
        ("\\boxed{Turn " + "9" * 5000 + ": U}", "'Turn' is no action"),
    ],
)
def test_a_plan_with_one_wrong_place_is_refused_whole_and_the_place_named(text, said):
    parsed = parse_plan(text, *FREEWAY)
    assert (parsed.outcome, parsed.actions) == (Outcome.ILLEGAL, ())
    assert said in parsed.detail


# Built from the pieces that answers are made of, so that odd mixtures are common.
BRACKETS = r"\boxed{ { } \text{ \{ \\ ( ) [ ] ``` ```python"
WORDS = "Turn turn 1 2 3: U D S R I UD UP RIGHT Stay INTERACT def next_action("
OTHERS = ". ... , ; : $ ' </think> <think> \uff35 \x00"
pieces = st.sampled_from([*f"{BRACKETS} {WORDS} {OTHERS}".split(), " ", "\n"])
answers = st.one_of(st.text(max_size=200), st.lists(pieces, max_size=30).map("".join))
boxed = answers.map(lambda text: rf"\boxed{{{text}}}")


@given(st.one_of(answers, boxed), st.sampled_from(GAMES))
def test_reading_never_fails_and_gives_only_legal_actions(text, game):
    letters, names = game
    for parsed in (parse_action(text, letters, names), parse_plan(text, letters, names)):
        assert set(parsed.actions) <= set(letters)
        assert len(parsed.turns) == len(parsed.actions)
        assert bool(parsed.actions) == (parsed.outcome is Outcome.OK)
        assert len(parsed.detail) < 300
    assert len(parse_action(text, letters, names).actions) <= 1
    code = parse_code(text)
    assert bool(code.code) == (code.outcome is Outcome.OK)


@given(
    st.integers(0, 90), st.lists(st.sampled_from("UDLRIS"), min_size=1), st.sampled_from(", ;\n")
)
def test_a_plan_written_as_asked_is_read_back(first, letters, separator):
    turns = range(first, first + len(letters))
    lines = "\n".join(f"Turn {turn}: {one}" for turn, one in zip(turns, letters, strict=True))
    parsed = parse_plan(f"So:\n\\boxed{{\n{lines}\n}}\nGood luck.", *COOK)
    assert (parsed.actions, parsed.turns) == (tuple(letters), tuple(turns))
    plain = parse_plan(rf"\boxed{{{separator.join(letters)}}}", *COOK)
    assert plain.actions == tuple(letters)


def test_a_model_that_stutters_is_read_in_time_that_grows_with_its_length():
    for part in (r"\boxed{", "{", "(", "```\n", "Turn 1: ", "</think>", " ", "\\text{"):
        assert parse_plan(r"\boxed{" + part * 50_000, *COOK).actions == ()
        assert parse_plan(r"\boxed{" + part * 50_000 + "}", *COOK).actions == ()


CODE = "def next_action(state):\n    return 'U'"


@pytest.mark.parametrize(
    ("text", "outcome", "code"),
    [
        (f"```python\n{CODE}\n```", Outcome.OK, CODE),
        (f"```py\n{CODE}\n```\ntext", Outcome.OK, CODE),
        (f"```\r\n{CODE}\r\n```", Outcome.OK, CODE),
        (f"```Python\nimport math\n\n{CODE}\n```", Outcome.OK, f"import math\n\n{CODE}"),
        (f"```python\n{CODE}\n```\n```python\nprint(1)\n```", Outcome.OK, CODE),
        (f"```python\nold = 1\n{CODE}\n```\n```python\n{CODE}\n```", Outcome.OK, CODE),
        ("  ```python\n  " + CODE.replace("\n", "\n  ") + "\n  ```", Outcome.OK, CODE),
        (f"<think>```python\n{CODE}\n```</think>", Outcome.NO_ANSWER, ""),
        (CODE, Outcome.NO_ANSWER, ""),
        (f"```python\n{CODE}", Outcome.UNCLOSED, ""),
        (f"```javascript\n{CODE}\n```", Outcome.ILLEGAL, ""),
        ("```python\nnext_action = 3\n```", Outcome.ILLEGAL, ""),
        ("```python\ndef next_actions(s): ...\n```", Outcome.ILLEGAL, ""),
        ("```python\nclass A:\n    def next_action(self): ...\n```", Outcome.ILLEGAL, ""),
    ],
)
def test_the_last_python_block_that_defines_next_action_is_the_policy(text, outcome, code):
    parsed = parse_code(text)
    assert (parsed.outcome, parsed.code.strip()) == (outcome, code)
