"""Cutting the answer out of what was said: the last `<answer>`, else the last box, else a line.

What stands before a `</think>` was only thought. A box within the answer is opened. All is done
in one pass over the text, however long it is.
"""

from typing import Literal

How = Literal["tag", "box", "line", "none"]

_BOXES = ("\\boxed", "\\fbox")
_OPEN, _CLOSE = "<answer>", "</answer>"


def cut(text: str) -> tuple[str, How]:
    """The answer, and how it was found; it is empty if there is none.

    The last pair of tags counts, or, where none is closed, what follows the last one. Two boxes
    are not two answers: the last one counts.
    """
    said = text.rpartition("</think>")[2]
    tagged = _tagged(said)
    if tagged is not None:
        boxed = last_box(tagged)
        return (tagged if boxed is None else boxed).strip(), "tag"
    boxed = last_box(said)
    if boxed is not None:
        return boxed.strip(), "box"
    lines = said.strip().rsplit("\n", 1)
    return (lines[-1].strip(), "line") if lines[-1] else ("", "none")


def _tagged(text: str) -> str | None:
    end = text.rfind(_CLOSE)
    if end >= 0:
        start = text.rfind(_OPEN, 0, end)
        if start >= 0:
            return text[start + len(_OPEN) : end]
    start = text.rfind(_OPEN)
    return None if start < 0 else text[start + len(_OPEN) :]


def last_box(text: str) -> str | None:
    r"""What stands in the last `\boxed{...}` whose braces close; None if there is none.

    A box within a box is its last one: `\boxed{\boxed{5}}` holds 5.
    """
    end = len(text)
    while True:
        start = max(text.rfind(box, 0, end) for box in _BOXES)
        if start < 0:
            return None
        inside = _braced(text, start, end)
        if inside is not None:
            return inside
        end = start


def _braced(text: str, start: int, end: int) -> str | None:
    """What stands in the braces that open after the command at `start`."""
    at = text.find("{", start, end)
    if at < 0 or text[start:at].strip() not in _BOXES:
        return None
    depth = 0
    for i in range(at, end):
        if text[i] == "\\" or (i > at and text[i - 1] == "\\"):
            continue  # a brace after a backslash is only shown
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[at + 1 : i]
    return None
