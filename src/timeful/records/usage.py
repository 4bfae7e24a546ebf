"""Token usage: what the server of a model counted of one thought."""

from collections.abc import Iterable
from typing import Literal

import msgspec

Counted = Literal["running", "settled", "estimated"]
"""How the tokens of a thought were counted.

running: the server reported a total with each part of the answer.
settled: the server reported the total at the end, and the parts share it.
estimated: the server reported no total, or its text was priced before the total was known.
"""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tokens of one thought, as far as they were counted.

    Attributes:
        prompt: The tokens of the prompt; None if the server does not report them.
        cached: The part of the prompt that the server had in a cache.
        completion: The generated tokens, reasoning included.
        reasoning: The part of the generated tokens that is reasoning, hidden or visible.
        counted: How the generated tokens were counted.
        reported: The total of a server that had counted more tokens before; else None.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int
    reasoning: int | None = None
    counted: Counted
    reported: int | None = None


def sum_usage(usages: Iterable[Usage]) -> Usage | None:
    """Add up the counts of the answers to one question; None if there are none."""
    known = list(usages)
    if not known:
        return None
    ways: tuple[Counted, ...] = ("estimated", "settled", "running")
    return Usage(
        prompt=sum_counts(usage.prompt for usage in known),
        cached=sum_counts(usage.cached for usage in known),
        completion=sum(usage.completion for usage in known),
        reasoning=sum_counts(usage.reasoning for usage in known),
        counted=next(way for way in ways if any(usage.counted == way for usage in known)),
    )


def sum_counts(counts: Iterable[int | None]) -> int | None:
    """The sum of the numbers that are known; None if none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
