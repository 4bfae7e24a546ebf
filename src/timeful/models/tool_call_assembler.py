"""Tool calls in a stream: from fragments to the text form of models without a calling API.

Servers agree on little: indices may be missing or all 0, ids missing or new with every fragment,
names repeated, arguments whole, in fragments, or `{}` before the true ones. So a fragment begins
another call if its index is new, or if it has a name and either another id or nothing to add to.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from re import compile as pattern

from timeful.errors import ModelError
from timeful.models.sse import CallPiece

_TAG = pattern(r"<(?=/?(?:tool_call|think)>)")
"""The beginning of a tag within an argument; JSON can escape it."""
_LESS = r"\\u003c"
_MARK = pattern(r'[\\"{}]')
"""The characters that tell where a JSON object ends."""
_MOST_CALLS = 128


@dataclass(slots=True)
class _Call:
    """An incomplete call; `whole` is its arguments once they are a JSON object."""

    name: str = ""
    id: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: dict[str, object] | None = None
    depth: int = 0
    is_text: bool = False
    is_escaped: bool = False
    is_wrong: bool = False

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)

    def add(self, piece: CallPiece) -> None:
        """Add a fragment; fragments after complete arguments are repetitions."""
        self.name = self.name or piece.name
        self.id = self.id or piece.id or ""
        if self.whole:
            return
        if self.whole is not None and piece.arguments.strip():
            self.pieces, self.whole = [], None  # {} was a placeholder
        self.pieces.append(piece.arguments)
        self._measure(piece.arguments)
        # Read once only: what is balanced and no object cannot become one.
        if not (self.depth or self.is_text or self.is_wrong) and "}" in piece.arguments:
            self.whole = _object(self.arguments)
            self.is_wrong = self.whole is None

    def _measure(self, text: str) -> None:
        """Keep the depth of braces, and whether the end is within a string."""
        after = 1 if self.is_escaped and text else 0
        self.is_escaped = self.is_escaped and not text
        for match in _MARK.finditer(text, after):
            at, mark = match.start(), match.group()
            if at < after:
                continue
            if mark == '"':
                self.is_text = not self.is_text
            elif self.is_text and mark == "\\":
                after = at + 2
                self.is_escaped = after > len(text)
            elif not self.is_text:
                self.depth += {"{": 1, "}": -1}.get(mark, 0)

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
        self._latest: dict[int | None, _Call] = {}
        self._given = 0

    def feed(self, pieces: Iterable[CallPiece]) -> str:
        """Add fragments and return the text of the calls that are now complete.

        Raises:
            ModelError: If there are too many calls.
        """
        for piece in pieces:
            self._of(piece).add(piece)
        return self._known(is_end=False)

    def flush(self) -> str:
        """Return the text of the remaining calls, at the end of the answer."""
        return self._known(is_end=True)

    def _of(self, piece: CallPiece) -> _Call:
        """The call that a fragment belongs to."""
        latest = self._latest.get(piece.index)
        if latest is not None and not _begins(piece, latest):
            return latest
        if len(self._calls) == _MOST_CALLS:
            raise ModelError(f"the server sent an answer of more than {_MOST_CALLS} calls")
        call = _Call()
        self._calls.append(call)
        self._latest[piece.index] = self._latest[None] = call
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
