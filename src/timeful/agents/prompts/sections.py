"""Sections that the prompts of all games share: advice, answer formats and state."""

import json
from collections.abc import Mapping, Sequence

from timeful.environments.game import View
from timeful.models.model import Guidance

_ADVICE = """\
## Advice

A planner with more time than you looked at an earlier turn. Below is what it has said so far,
perhaps in mid-thought. The game has moved on since then: use what still holds, and trust the
current state wherever the two disagree."""


def join_sections(*sections: str) -> str:
    """Join the nonempty sections with blank lines."""
    return "\n\n".join(section.strip("\n") for section in sections if section)


def guidance_section(guidance: Sequence[Guidance]) -> str:
    """The section that quotes planners, each with the turn of its state; empty without advice."""
    quotes = [advice for advice in guidance if advice.text.strip()]
    return join_sections(_ADVICE, *(_quoted(advice) for advice in quotes)) if quotes else ""


def _quoted(advice: Guidance) -> str:
    lines = (f"> {line}" for line in advice.text.splitlines())
    return "\n".join([f"Advice from the planner, who saw turn {advice.turn}:", *lines])


def one_action_answer(names: Mapping[str, str], *, example: str) -> str:
    """The answer format of a reactive model.

    Args:
        names: The word of each letter, such as UP for U.
        example: The letter in the example.
    """
    return (
        "## Answer\n\n"
        f"Choose one action for this turn: {_choices(names)}. You have little time, so be brief. "
        "End with its letter in a box, and with nothing else in the box, in this form (the letter "
        "is only an example):\n\n"
        f"\\boxed{{{example}}}"
    )


def plan_answer(names: Mapping[str, str], *, turn: int, example: str) -> str:
    """The answer format of a planning model.

    Args:
        names: The word of each letter, such as UP for U.
        turn: The turn of the plan's first action.
        example: The letters in the example.
    """
    lines = "\n".join(f"Turn {turn + ahead}: {letter}" for ahead, letter in enumerate(example))
    return (
        "## Answer\n\n"
        f"Each action is {_choices(names)}. First say in one sentence what your plan comes to. "
        "Then end with the plan in a box, one line a turn without a gap, "
        f"beginning with turn {turn}, in this form (the letters are only an example):\n\n"
        f"\\boxed{{\n{lines}\n}}"
    )


def code_answer(names: Mapping[str, str], *, form: str, example: str) -> str:
    """The answer format of a model that writes a policy.

    Args:
        names: The word of each letter, such as UP for U.
        form: The keys of the state and their content, one a line.
        example: The letter that the example returns.
    """
    return (
        "## Answer\n\n"
        "Write a Python function `next_action(json_state)` that returns the letter of one "
        f"action: {_choices(names)}. It is called once a turn with the state of that turn, a "
        "dictionary in this form:\n\n"
        f"{form.strip()}\n\n"
        "Use the standard library only, read and write no files, and return quickly: a call "
        "that fails or is slow counts as no answer.\n\n"
        "First say in one sentence what the function does. Then give all of the code in one "
        "block, in this form:\n\n"
        f'```python\ndef next_action(json_state):\n    return "{example}"\n```'
    )


def state_as_json(view: View) -> str:
    """The current state, in the form that a policy receives."""
    return f"## State (turn {view.turn})\n\n```json\n{json.dumps(view.json_state())}\n```"


def _choices(names: Mapping[str, str]) -> str:
    *choices, last = (f"{letter} ({word.lower()})" for word, letter in names.items())
    return f"{', '.join(choices)} or {last}"
