"""Tasks whose tools are methods."""

import json
from functools import partial

import pytest

from timeful import ScriptedModel, ToolTask, milliseconds, play, seconds, tool, tool_user
from timeful.core.units import Duration
from timeful.environments.timed.latency import Constant
from timeful.errors import SettingsError
from timeful.models.model import Prompt
from timeful.models.pace import Pace


class Vault(ToolTask):
    """Two wheels to turn; the code is the number of turns."""

    opening = "Open the vault."

    def start(self) -> None:
        self.turns = 0

    @tool(latency=seconds(2))
    def turn(self, times: int, gently: bool) -> str:
        """Turn the wheel."""
        self.turns += times
        return f"turned {self.turns}, gently: {gently}"

    @tool()
    def look(self) -> str:
        """Look at the wheel."""
        return str(self.turns)

    def grade(self, answer: str) -> float:
        return float(answer == str(self.turns))


def call(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def script(*answers: str) -> ScriptedModel:
    def answer(prompt: Prompt) -> str:
        return answers[len(prompt.view.rounds)]

    return ScriptedModel(answer, pace=Pace(per_token=milliseconds(1)))


def score(task: ToolTask, model: ScriptedModel, budget: Duration) -> float:
    world = task.world(budget=budget, latency="0.5s")
    return play(partial(tool_user, model=model), world, interface="event-driven").score


def test_tools_are_described_by_signature_and_docstring() -> None:
    turn, look = Vault().tools
    assert (turn.name, turn.description) == ("turn", "Turn the wheel.")
    assert [(p.name, p.kind) for p in turn.parameters] == [
        ("times", "integer"),
        ("gently", "boolean"),
    ]
    assert (look.name, look.parameters) == ("look", ())


def test_a_tool_takes_its_own_latency_and_others_the_usual_one() -> None:
    model = script(call("turn", times=3, gently=True), call("look"), "3")
    assert score(Vault(), model, seconds(2.6)) == 1.0
    assert score(Vault(), model, seconds(2.4)) == 0.0


def test_a_call_that_the_deadline_cuts_has_no_effect() -> None:
    task = Vault()
    assert score(task, script(call("turn", times=3, gently=True), "3"), seconds(1.9)) == 0.0
    assert task.turns == 0


def test_reset_begins_again() -> None:
    task = Vault()
    model = script(call("turn", times=3, gently=False), "3")
    assert [score(task, model, seconds(9)) for _ in range(2)] == [1.0, 1.0]


def test_a_subclass_inherits_tools_and_may_replace_one() -> None:
    class Safe(Vault):
        @tool(latency="1s")
        def look(self) -> str:
            """Look closely."""
            return "hidden"

    assert [spec.description for spec in Safe().tools] == ["Turn the wheel.", "Look closely."]
    assert dict(Safe()._latencies())["look"] == Constant(seconds(1))


def test_a_parameter_without_a_plain_type_is_refused() -> None:
    def turn(self: Vault, times: list[int]) -> str:
        return ""

    with pytest.raises(SettingsError, match="times"):
        tool()(turn)


def test_a_bad_budget_or_latency_is_refused() -> None:
    with pytest.raises(SettingsError):
        Vault().world(budget=seconds(0))
    with pytest.raises(SettingsError):
        Vault().world(budget=seconds(1), latency="soon")
    with pytest.raises(SettingsError):
        tool(latency="soon")
