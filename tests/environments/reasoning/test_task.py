"""Promises of a problem as a task in a world with a timer and a deadline."""

import json

import pytest

from timeful.core.units import START
from timeful.environments.reasoning.checking import Checker, Graded
from timeful.environments.reasoning.files import GPQA
from timeful.environments.reasoning.problems import Problem, load
from timeful.environments.reasoning.task import LONGEST_FACT, ReasoningTask
from timeful.environments.timed.world import ANSWER, TimedTask, TimeSettings
from timeful.tools import ToolCall

SECRET = "words that must stay where they are"


def problem(**others):
    values = {"id": "p", "family": "f", "question": "What is 5 + 7?", "answer": "12"}
    return Problem(**{**values, "kind": "exact", **others})


def answered(task, text):
    world, at = TimedTask(task, TimeSettings(), seed=0), START
    world.intervene([str(ToolCall(name=ANSWER, arguments={"text": text}))], at=at)
    (over,) = world.advance(at)
    return world, over


def test_an_answer_is_graded_as_it_is_given_and_the_facts_say_how():
    world, over = answered(ReasoningTask(problem(), Checker()), "I think <answer>12</answer>")
    assert (world.score, over.reward) == (1.0, 1.0)
    assert over.data["reason"] == "answered"
    facts = {name: over.data[name] for name in ("answer", "correct", "checked")}
    assert facts == {"answer": "12", "correct": True, "checked": "exact"}


def test_a_wrong_answer_scores_nothing_and_ends_the_task_too():
    task = ReasoningTask(problem(), Checker())
    world, over = answered(task, "<answer>13</answer>")
    assert (world.score, task.over) == (0.0, True)
    assert (over.data["answer"], over.data["correct"]) == ("13", False)
    task.reset()
    assert (task.score, task.over) == (0.0, False)


def test_there_is_nothing_to_call_but_the_timer():
    world = TimedTask(ReasoningTask(problem(), Checker()), TimeSettings(), seed=0)
    assert [tool.name for tool in world.view().tools] == ["get_duration"]


def test_the_opening_holds_the_question_the_choices_and_the_form_of_the_answer():
    (one,) = load("choices", size=1, seed=1)
    lines = ReasoningTask(one, Checker()).opening.split("\n")
    assert lines[0] == one.question
    assert lines[1:5] == [f"{letter}. {c}" for letter, c in zip("ABCD", one.choices, strict=True)]
    assert "<answer>A</answer>" in lines[-1]
    for kind, form in [("exact", "<answer>42<"), ("math", r"<answer>\boxed{42}<"), ("gym", "<ans")]:
        assert form in ReasoningTask(problem(kind=kind), Checker()).opening


@pytest.mark.parametrize("kind", ["exact", "letter"])
def test_of_a_private_problem_nothing_is_told_in_words(kind):
    private = problem(
        kind=kind, question=SECRET, answer="A", choices=(SECRET, "other"), private=GPQA.private
    )
    task = ReasoningTask(private, Checker())
    _, over = answered(task, f"<answer>{SECRET}</answer>")
    told = json.dumps([dict(over.data), repr(private), repr(task), repr(over.view.json_state())])
    assert SECRET not in told
    assert len(over.data["answer"]) == 64
    assert over.data["correct"] == (kind == "letter")


def test_an_answer_without_end_is_cut_in_the_record():
    _, over = answered(ReasoningTask(problem(), Checker()), f"<answer>{'9' * 10**6}</answer>")
    assert over.data["answer"] == "9" * LONGEST_FACT + "..."


def test_what_cannot_be_told_as_text_has_a_fingerprint_too():
    private = problem(private=True)
    _, over = answered(
        ReasoningTask(private, lambda *_: Graded(answer="\ud800", correct=False, checked="exact")),
        "x",
    )
    assert len(over.data["answer"]) == 64
