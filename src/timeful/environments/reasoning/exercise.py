"""A problem that we made ourselves, worked out step by step.

A step is a sentence that ends in a figure: what is done, a colon, and the sum that does it. So it
can be told in full or by the sum alone, and the last figure of the last step is the answer.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A question, its answer, and how one comes to it.

    Attributes:
        question: In words.
        answer: A whole number, or the letter of the right choice.
        worked: The steps, each computed from those before it.
        choices: What there is to choose from; empty if a number is asked for.
    """

    question: str
    answer: str
    worked: tuple[str, ...]
    choices: tuple[str, ...] = ()


def join_names(things: list[str]) -> str:
    """Things as a list in a sentence: "a, b and c"."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"
