"""Cutting the answer out of what was said: the last `<answer>`, else the last box, else a line.

What stands before a `</think>` was only thought. A box within the answer is opened. All is done
in one pass over the text, however long it is.
"""

import re
from typing import Literal

AnswerSource = Literal["tag", "box", "line", "none"]

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
"""Braces, and whatever follows a backslash, so that `\\}` is none of them."""

_OPEN, _CLOSE = "<answer>", "</answer>"


def extract_answer(text: str) -> tuple[str, AnswerSource]:
    """The answer, and how it was found; it is empty if there is none.

    The last pair of tags counts, or, where none is closed, what follows the last one. Two boxes
    are not two answers: the last one counts.
    """
    reply = text.rpartition("</think>")[2]
    tagged = _tagged(reply)
    if tagged is not None:
        boxed = last_box(tagged)
        return (tagged if boxed is None else boxed).strip(), "tag"
    boxed = last_box(reply)
    if boxed is not None:
        return boxed.strip(), "box"
    lines = reply.strip().rsplit("\n", 1)
    return (lines[-1].strip(), "line") if lines[-1] else ("", "none")


def _tagged(text: str) -> str | None:
    end = text.rfind(_CLOSE)
    if end >= 0:
        start = text.rfind(_OPEN, 0, end)
        if start >= 0:
            return text[start + len(_OPEN) : text.find(_CLOSE, start)]
    start = text.rfind(_OPEN)
    return None if start < 0 else text[start + len(_OPEN) :]


def last_box(text: str) -> str | None:
    r"""What stands in the last `\boxed{...}` whose braces close; None if there is none.

    A box within a box is its last one: `\boxed{\boxed{5}}` holds 5.
    """
    end = len(text)
    for box in reversed(list(_BOX.finditer(text))):
        inside = _braced(text, box.end(), end)
        if inside is not None:
            return inside
        end = box.start()  # no later brace could close this one
    return None


def _braced(text: str, start: int, end: int) -> str | None:
    """What stands from `start` to the brace that closes it."""
    depth = 1
    for brace in _BRACES.finditer(text, start, end):
        depth += (brace.group() == "{") - (brace.group() == "}")
        if depth == 0:
            return text[start : brace.start()]
    return None
