"""A task of your own: guess a number with two tools, the better of which takes longer."""

import json
from functools import partial

from timeful import Pace, ScriptedModel, ToolTask, milliseconds, play, seconds, tool, tool_user


class Guess(ToolTask):
    opening = "Which number from 1 to 16 is it?"

    def __init__(self, number: int) -> None:
        self.number = number

    @tool(latency=seconds(0.2))
    def look(self, number: int) -> str:
        """Says whether it is that number."""
        return "yes" if self.number == number else "no"

    @tool(latency=seconds(1))
    def weigh(self, number: int) -> str:
        """Says whether it is above that number."""
        return "yes" if self.number > number else "no"

    def grade(self, answer: str) -> float:
        return answer == str(self.number)


def say(name, number):
    call = {"name": name, "arguments": {"number": number}}
    return f"hm so <tool_call>{json.dumps(call)}</tool_call>"


def one_by_one(prompt):
    """Look at one number after the other."""
    replies = [turn.replies[0].text[0] for turn in prompt.view.rounds]
    return str(len(replies)) if "y" in replies else say("look", len(replies) + 1)


def by_halves(prompt):
    """Halve the range."""
    low, high, middle = 1, 16, 8
    for turn in prompt.view.rounds:
        low, high = (middle + 1, high) if turn.replies[0].text[0] == "y" else (low, middle)
        middle = (low + high) // 2
    return str(low) if low == high else say("weigh", middle)


for number in (3, 15):
    for rule in (one_by_one, by_halves):
        model = ScriptedModel(rule, pace=Pace(per_token=milliseconds(50)))
        world = Guess(number).world(budget=seconds(6))
        episode = play(partial(tool_user, model=model), world, interface="event-driven")
        print(f"{number}, {rule.__name__}: score {episode.score:.0f}")

# It prints:
# > 3, one_by_one: score 1
# > 3, by_halves: score 1
# > 15, one_by_one: score 0
# > 15, by_halves: score 1
