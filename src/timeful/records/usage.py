"""Token usage: what the server of a model counted of one thought."""

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
