"""A task of your own: guess a number with two tools, the better of which takes longer."""

import json
from functools import partial

from timeful import Message, Pace, Prompt, ScriptedModel, milliseconds, play, seconds
from timeful.agents.tool_user import tool_user
from timeful.environments.timed.latency import Constant
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.tools import Parameter, ToolSpec

NUMBER = Parameter(name="number", description="What it may be.", kind="integer")
LOOK = ToolSpec(name="look", description="Says whether it is that number.", parameters=(NUMBER,))
WEIGH = ToolSpec(name="weigh", description="Says whether it is above.", parameters=(NUMBER,))


class Guess:
    """Worth 1 if the number is found out; it knows nothing of time."""

    opening = "Which number from 1 to 16 is it?"
    tools = (LOOK, WEIGH)

    def __init__(self, number: int) -> None:
        self.number = number
        self.reset()

    def reset(self) -> None:
        self.score, self.over = 0.0, False

    def begin(self, call, limit):
        return None  # no real work: `finish` does it all

    def finish(self, call, result) -> str:
        guess = call.arguments["number"]
        is_so = self.number == guess if call.name == "look" else self.number > guess
        return "yes" if is_so else "no"

    def answer(self, text: str) -> None:
        self.score, self.over = float(text == str(self.number)), True

    def facts(self) -> dict:
        return {"found": self.score == 1.0}

    def close(self) -> None: ...


def say(name: str, number: int) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': {'number': number}})}</tool_call>"


def one_by_one(prompt: Prompt) -> str:
    """Look at one number after the other, 3 tokens of thought each."""
    rounds = prompt.view.rounds
    found = rounds and rounds[-1].replies[0].text.startswith("yes")
    return str(len(rounds)) if found else f"hm so {say('look', len(rounds) + 1)}"


def by_halves(prompt: Prompt) -> str:
    """Weigh the middle of what is left, after 3 tokens of thought."""
    low, high = 1, 16
    for one in prompt.view.rounds:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if one.replies[0].text.startswith("yes") else (low, middle)
    return str(low) if low == high else f"hm so {say('weigh', (low + high) // 2)}"


def brief(view, calls):
    tools = "\n".join(json.dumps(tool.schema()) for tool in view.tools)
    return [Message("system", f"Your tools:\n{tools}"), Message("user", view.opening)]


def guess(rule, number: int) -> str:
    """Play under a budget of 6 s; to look takes 0.2 s, to weigh 1 s, a token 50 ms."""
    time = TimeSettings(
        budget=seconds(6),
        latency=Constant(seconds(0.2)),
        of_tools={"weigh": Constant(seconds(1))},
    )
    model = ScriptedModel(rule, pace=Pace(per_token=milliseconds(50)))
    agent = partial(tool_user, model=model, briefing=brief)
    episode = play(agent, TimedTask(Guess(number), time, seed=0), interface="event-driven")
    [over] = (event.data for event in episode.events if getattr(event, "what", "") == "over")
    found = "found" if over["found"] else "not found"
    return f"{found}, {over['reason']} after {over['counted'] / 1e9:.2f} s"


for number in (3, 15):
    for rule in (one_by_one, by_halves):
        print(f"{number}, {rule.__name__}: {guess(rule, number)}")

# It prints:
# > 3, one_by_one: found, answered after 1.70 s
# > 3, by_halves: found, answered after 5.45 s
# > 15, one_by_one: not found, deadline after 6.00 s
# > 15, by_halves: found, answered after 5.45 s
