"""Tool calls in a stream: from fragments to the text form of models without a calling API.

Servers agree on little: indices may be missing or all 0, ids missing or new with every fragment,
names repeated, arguments whole, in fragments, or `{}` before the true ones. So a fragment begins
another call if its index is new, or if it has a name and either another id or nothing to add to.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from re import compile as pattern

from timeful.models.sse import CallPiece

_TAG = pattern(r"<(?=/?(?:tool_call|think)>)")
"""The beginning of a tag within an argument; JSON can escape it."""
_LESS = r"\\u003c"


@dataclass(slots=True)
class _Call:
    """An incomplete call; `whole` is its arguments once they are a JSON object."""

    index: int | None
    name: str = ""
    id: str = ""
    arguments: str = ""
    whole: dict[str, object] | None = None

    def add(self, piece: CallPiece) -> None:
        """Add a fragment; fragments after complete arguments are repetitions."""
        self.name = self.name or piece.name
        self.id = self.id or piece.id or ""
        if self.whole:
            return
        if self.whole is not None and piece.arguments.strip():
            self.arguments, self.whole = "", None  # {} was a placeholder
        self.arguments += piece.arguments
        if self.arguments.rstrip().endswith("}"):
            self.whole = _object(self.arguments)

    def text(self) -> str:
        """The call between tags; arguments that are not an object are quoted as they came."""
        arguments = self.arguments if self.whole is not None else _quoted(self.arguments or "{}")
        identity = f', "id": {_quoted(self.id)}' if self.id else ""
        call = f'{{"name": {_quoted(self.name)}, "arguments": {arguments}{identity}}}'
        return f"<tool_call>{_TAG.sub(_LESS, call)}</tool_call>"


class ToolCallAssembler:
    """Joins the fragments of the calls of one answer; calls come out in the order of their start.

    A call is complete as soon as its arguments are a JSON object, or at the end of the answer.
    `{}` may still be a placeholder, until another call follows.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._given = 0

    def feed(self, pieces: Iterable[CallPiece]) -> str:
        """Add fragments and return the text of the calls that are now complete."""
        for piece in pieces:
            self._of(piece).add(piece)
        return self._known(is_end=False)

    def flush(self) -> str:
        """Return the text of the remaining calls, at the end of the answer."""
        return self._known(is_end=True)

    def _of(self, piece: CallPiece) -> _Call:
        """The call that a fragment belongs to."""
        candidates = [other for other in self._calls if piece.index in (None, other.index)]
        if candidates and not _begins(piece, candidates[-1]):
            return candidates[-1]
        call = _Call(piece.index)
        self._calls.append(call)
        return call

    def _known(self, *, is_end: bool) -> str:
        text = ""
        for call in self._calls[self._given :]:
            is_last = call is self._calls[-1]
            is_sure = bool(call.whole) or (call.whole == {} and not is_last)
            if not (is_end or is_sure):
                break
            text += call.text()
            self._given += 1
        return text


def _begins(piece: CallPiece, call: _Call) -> bool:
    if not piece.name:
        return False
    if piece.id and call.id:
        return piece.id != call.id
    return call.whole is not None


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
