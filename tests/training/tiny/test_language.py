"""The tiny language: its ways, its words, and how ordinary conversations are translated into it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.core.units import milliseconds
from timeful.environments.reasoning.levels import Course
from timeful.errors import SettingsError
from timeful.models.pace import Pace
from timeful.training.quick.recipe import find_recipe
from timeful.training.tiny.language import EOS, SPELL, TIMER_CALL, Language, answer, eighths, ids
from timeful.training.tiny.settings import WARM_UP, Phase

PACE = Pace(per_token=milliseconds(100))
LANGUAGE = Language(levels=10, events=6, strides=(6, 2, 1, 0), budgets=(4, 8), pace=PACE)
COURSE = Course(8, (1, 1, -1, -1, -1, 1))  # 9, 9, 8, 7, 6, 7

LONG = Course(4, (1, -1) * 12)

courses = st.builds(
    Course,
    st.integers(0, 9),
    st.lists(st.sampled_from([1, -1]), min_size=6, max_size=6).map(tuple),
)


@given(courses, st.sampled_from(LANGUAGE.strides))
def test_every_way_ends_with_the_level_in_the_end_and_has_its_length(
    course: Course, stride: int
) -> None:
    said = LANGUAGE.solution(course, stride)
    assert said[-2:] == [answer(course.levels[-1]), EOS]
    assert len(said) == LANGUAGE.length(stride)
    assert len(ids(said, LANGUAGE)) == len(said)


def test_ways_by_hand() -> None:
    say = LANGUAGE.solution
    assert say(COURSE, 6) == ["by6", answer(7), EOS]
    assert say(COURSE, 2) == ["by2", answer(9), answer(7), answer(7), EOS]
    assert say(COURSE, SPELL)[:5] == ["spell", "+", answer(9), "+", answer(9)]


def test_a_budget_has_room_for_the_longest_way_within_it() -> None:
    assert [LANGUAGE.length(stride) for stride in LANGUAGE.strides] == [3, 5, 8, 14]
    found = [LANGUAGE.longest_within(budget) for budget in (1, 3, 4, 5, 8, 13, 14, 99)]
    assert found == [6, 6, 6, 2, 1, 1, 0, 0]
    assert [LANGUAGE.reached(budget) for budget in (1, 4, 7, 8, 99)] == [4, 4, 4, 8, 8]


def test_no_word_is_there_twice() -> None:
    assert len(set(LANGUAGE.words)) == len(LANGUAGE.words)


@pytest.mark.parametrize(
    "wrong", [{"levels": 1}, {"levels": 11}, {"strides": (4,)}, {"budgets": (8, 4)}]
)
def test_what_is_no_language_is_refused(wrong: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"levels": 10, "events": 6, "strides": (6,), "budgets": (4, 8)}
    with pytest.raises(SettingsError):
        Language(**{**usual, **wrong}, pace=PACE)


def test_the_rate_of_a_phase_rises_and_then_falls_to_its_floor() -> None:
    phase = Phase(steps=200, batch=1, rate=1.0, floor=0.1, mix=(1.0,))
    rates = [phase.rate_at(step) for step in range(200)]
    assert rates[0] == pytest.approx(1 / WARM_UP)
    assert max(rates) > 0.9
    assert rates[-1] == pytest.approx(0.1, abs=0.01)
    assert rates[WARM_UP:] == sorted(rates[WARM_UP:], reverse=True)


TIMED = Language(
    levels=10,
    events=6,
    strides=(4, 2, 1, 0),
    budgets=(5, 6, 10, 12, 20, 24),
    pace=PACE,
    opening=2,
    rooms=(10, 12),
    devices=(0.5, 1.0, 2.0),
)


def test_with_an_opening_a_way_is_for_the_rest_by_hand() -> None:
    start = ["by1", answer(9), answer(9)]
    asked = [*start, TIMER_CALL, "<u3>"]
    assert TIMED.solution(COURSE, 4, 3) == [*asked, "by4", answer(7), EOS]
    assert TIMED.solution(COURSE, 2, 3) == [*asked, "by2", answer(7), answer(7), EOS]
    assert TIMED.solution(COURSE, 2) == [*start, "by2", answer(7), answer(7), EOS]
    assert TIMED.solution(COURSE, SPELL, 3)[5:8] == ["spell", "-", answer(8)]


@given(courses, st.sampled_from(TIMED.strides))
def test_the_clock_is_the_worlds_word_and_counts_for_no_token(course: Course, stride: int) -> None:
    said = TIMED.solution(course, stride, 3)
    assert len(said) - 1 == TIMED.length(stride)
    assert said[TIMED.before] == "<u3>"
    assert said[-2:] == [answer(course.levels[-1]), EOS]


@pytest.mark.parametrize(
    "wrong",
    [{"opening": 6}, {"opening": -1}, {"strides": (4,)}, {"rooms": (11,)}, {"devices": (3.0,)}],
)
def test_an_opening_or_a_device_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    usual = {name: getattr(TIMED, name) for name in TIMED.__slots__}
    with pytest.raises(SettingsError):
        Language(**{**usual, **wrong})


@pytest.mark.filterwarnings("ignore")  # of libraries, about each other
class TestTemplate:
    """How a conversation is read."""

    @pytest.fixture(scope="class")
    def tokenizer(self) -> Any:
        pytest.importorskip("transformers", reason="a tokenizer needs the extra `local`")
        return LANGUAGE.tokenizer()

    def read(self, tokenizer: Any, *messages: tuple[str, str]) -> list[str]:
        told = [{"role": role, "content": content} for role, content in messages]
        text: str = tokenizer.apply_chat_template(told, tokenize=False)
        return text.split()

    @pytest.mark.parametrize(
        ("told", "budget"), [("0.40", 4), ("0.39", 4), ("0.79", 4), ("0.80", 8), ("9.00", 8)]
    )
    def test_a_problem_under_a_budget(self, tokenizer: Any, told: str, budget: int) -> None:
        text = f"{COURSE.question}\n\nFinish within {told} seconds."
        found = self.read(tokenizer, ("system", "Be quick."), ("user", text))
        assert found == LANGUAGE.question(COURSE, budget)

    def test_without_a_budget_it_has_all_the_time(self, tokenizer: Any) -> None:
        assert self.read(tokenizer, ("user", COURSE.question)) == LANGUAGE.question(COURSE, 8)

    @pytest.mark.parametrize(("told", "eighth"), [("0.00", 0), ("0.41", 4), ("0.80", 8), ("9", 8)])
    def test_what_the_timer_says_is_eighths_of_the_budget(
        self, tokenizer: Any, told: str, eighth: int
    ) -> None:
        text = f"{COURSE.question}\n\nFinish within 0.80 seconds."
        reply = f"<tool_response>{told} seconds have passed.</tool_response>"
        found = self.read(
            tokenizer, ("user", text), ("assistant", f"by1 {TIMER_CALL}"), ("user", reply)
        )
        asked = LANGUAGE.question(COURSE, 8)
        assert found[: len(asked)] == asked
        assert found[-1] == f"<u{eighth}>"

    @pytest.mark.parametrize("alpha", [0.5, 1, 2])
    @pytest.mark.parametrize("room", [10, 14, 20, 28, 56])
    def test_a_lesson_has_the_clock_that_an_episode_would_tell(
        self, alpha: float, room: int
    ) -> None:
        language = find_recipe("quick", timer=True).language
        budget = int(room * alpha)
        text = f"{COURSE.question}\n\nFinish within {budget / 10:.2f} seconds."
        said = language.solution(LONG, 1, 0)[: language.before]
        reply = f"<tool_response>\n{language.before * alpha / 10:.2f} seconds.\n</tool_response>"
        found = self.read(
            language.tokenizer(), ("user", text), ("assistant", " ".join(said)), ("user", reply)
        )
        assert found[-1] == eighths(language.clock(room))

    def test_words_are_tokens_and_tokens_words(self, tokenizer: Any) -> None:
        said = LANGUAGE.solution(COURSE, 1)
        found = tokenizer(" ".join(said), add_special_tokens=False)["input_ids"]
        assert found == ids(said, LANGUAGE)
