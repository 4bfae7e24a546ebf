"""A question that is asked until it is answered in its form: what is shown again, and how often."""

from timeful.core.source import Chunk, End
from timeful.errors import ModelError
from timeful.models.model import Message, Prompt
from timeful.models.scripted import ListSource, Piece, ScriptedModel
from timeful.models.structured_output import (
    StructuredAnswer,
    StructuredQuestion,
    ask_structured,
    strip_fence,
)

QUESTION = (Message("system", "Count."), Message("user", "How many?"))


def how(tries: int = 3) -> StructuredQuestion:
    return StructuredQuestion(label="judge", max_tokens=9, tries=tries, seed=5)


class Listening(ScriptedModel):
    """A scripted model that notes the seeds and limits it is given."""

    def __init__(self, answers: list[str | list[Piece]]) -> None:
        super().__init__(answers)
        self.given: list[tuple[int | None, int]] = []

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> ListSource:
        self.given.append((max_tokens, seed))
        return super().open(prompt, max_tokens=max_tokens, seed=seed)


def test_a_further_try_shows_the_last_answer_alone_and_what_is_wrong_with_it() -> None:
    model = Listening(["one", "two", "3"])
    assert ask_structured(model, QUESTION, int, how()) == StructuredAnswer(value=3, tries=3)
    first, second, third = (prompt.messages for prompt in model.asked)
    assert first == QUESTION
    assert [one.content for one in second[:3]] == ["Count.", "How many?", "one"]
    assert "invalid literal for int() with base 10: 'one'" in second[3].content
    assert [one.content for one in third[:3]] == ["Count.", "How many?", "two"]
    assert len(third) == 4


def test_each_try_has_a_seed_of_its_own_the_same_each_time() -> None:
    seeds = []
    for _ in range(2):
        model = Listening(["x", "x", "x"])
        ask_structured(model, QUESTION, int, how())
        assert {limit for limit, _ in model.given} == {9}
        seeds.append([seed for _, seed in model.given])
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 3


def test_what_was_only_thought_is_no_answer() -> None:
    thought: list[Piece] = [Chunk("1 or 2? ", 1, "reasoning"), Chunk("7", 1)]
    assert ask_structured(Listening([thought]), QUESTION, int, how()).value == 7


def test_the_last_error_is_told_and_what_it_failed_by() -> None:
    found = ask_structured(Listening(["a", "b"]), QUESTION, int, how(2))
    assert (found.value, found.failure, found.tries) == (None, "answer", 2)
    assert "'b'" in found.error


def test_an_answer_that_is_nothing_is_shown_as_such() -> None:
    model = Listening(["", "1"])
    ask_structured(model, QUESTION, int, how())
    assert model.asked[1].messages[2].content == "(nothing)"


def test_a_model_that_gives_nothing_is_asked_once_and_one_that_breaks_off_again() -> None:
    broken: list[Piece] = [ModelError("gone")]
    found = ask_structured(Listening([broken, "1"]), QUESTION, int, how())
    assert (found.failure, found.error, found.tries) == ("endpoint", "gone", 1)
    torn: list[Piece] = [Chunk("4", 1), ModelError("gone")]
    model = Listening([torn, "5"])
    assert ask_structured(model, QUESTION, int, how()) == StructuredAnswer(value=5, tries=2)
    assert model.asked[1].messages == QUESTION
    found = ask_structured(Listening([torn, torn]), QUESTION, int, how(2))
    assert (found.value, found.failure) == (None, "endpoint")


def test_an_answer_that_was_cut_off_says_where() -> None:
    cut: list[Piece] = [Chunk("x", 1), End("length")]
    assert "cut off at 9 tokens" in ask_structured(Listening([cut]), QUESTION, int, how(1)).error


def test_a_fence_is_taken_off_where_it_is_all_there_is() -> None:
    assert strip_fence(" ```json\n{}\n``` ") == "{}"
    assert strip_fence("```\n1\n2\n```") == "1\n2"
    assert strip_fence("so: ```json\n{}\n```") == "so: ```json\n{}\n```"
