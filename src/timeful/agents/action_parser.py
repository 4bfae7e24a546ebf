r"""From a model's words to actions, strictly: what was not said is not done.

The rules, for one action and for plans alike:

* After a `</think>` only what follows the last one is read; a `<think>` that never ends hides
  all that follows it. What was weighed while thinking is no answer.
* The answer is the content of the last complete `\boxed{...}`; a box around a box is one box, and
  one begun later but never completed changes nothing. If there is no box at all, complete or
  not, it is the last complete fenced block.
* Around an action, these are only dress: `\text{}` and its kin, braces, `[ ]`, `$`, `*`, quotes,
  backticks, and one mark of punctuation after it.
* An action is a legal letter, in upper case, or a whole name in any case (`Right`). Nothing is
  ever picked out of a longer word: `RIGHT` is never R and I.
* A remark in brackets after an action is ignored, unless it names another action.
* `Turn 3: U` gives an action its turn. The turns of a plan rise by one, one action each.
* In plans, `UUSD` is four actions if every letter is legal and the word is no name.
* Anything else makes the whole answer illegal; no part of it is used.

The published parser deletes all characters that are no action, which reads `Turn 1: S (STAY)`
as two stays and `RIGHT` as a turn and an interaction (facts file `realtime_games`, section 6).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import dedent
from typing import Final


class Outcome(StrEnum):
    """How reading an answer went; only `OK` comes with actions or code."""

    OK = "ok"
    NO_ANSWER = "no-answer"
    """Neither a box, a fenced block nor an element: nothing that was asked for."""
    EMPTY = "empty"
    """An answer with nothing in it."""
    UNCLOSED = "unclosed"
    """An answer was begun, never completed."""
    ILLEGAL = "illegal"
    """Something in the answer is no action, or a turn is out of order."""
    SEVERAL = "several"
    """Different actions where one was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The actions that an answer names, in order.

    `turns` runs along `actions`: the turn that the answer gives for each, or None. `detail`
    quotes what was found, or says what is wrong with it.
    """

    outcome: Outcome
    actions: tuple[str, ...] = ()
    turns: tuple[int | None, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCode:
    """The source of a code policy; empty unless the outcome is `OK`."""

    outcome: Outcome
    code: str = ""
    detail: str = ""


class _UnreadableError(ValueError):
    """The answer breaks a rule; the message says which. Never leaves this file."""


_SHOWN: Final = 80
_UNWRAPPINGS: Final = 8  # deeper nesting than this is nonsense, and would take time to undo

_BRACES = re.compile(r"\\{1,2}boxed\s*\{|\\\\|\\[{}]|[{}]")
_BREAKS = re.compile(r"\\\\|\\newline\b|\\(?:begin|end)\{[a-z]+\*?\}(?:\{[lcr|]*\})?")
_SPACES = re.compile(r"\\(?:quad\b|qquad\b|[,;:! ])|[~&]")
_WRAPPER = re.compile(
    r"(?:\\(?:text(?:tt|bf|it|rm|sf|normal)?|math(?:rm|tt|bf|it|sf)|boxed|operatorname)\s*)?"
    r"\{([^{}]*)\}"
)
_DRESS = re.compile(r"[$*`'\"“”‘’\[\]]")  # noqa: RUF001  # curly quotes are meant
_TURN = re.compile(r"\bturn\s*([0-9]{1,9})\b\s*[:.)=-]?", re.IGNORECASE)
_TOKEN = re.compile(r"\([^()]*\)|[^\s,;()]+|[()]")
_NEXT_ACTION = re.compile(r"^def\s+next_action\s*\(", re.MULTILINE)
_MARKS: Final = frozenset(".!?:")
_FENCE: Final = "```"
_PYTHON: Final = ("", "py", "python", "python3")


def parse_action(text: str, actions: Sequence[str], names: Mapping[str, str]) -> Parsed:
    """Read the answer of a reactive model: one action.

    Args:
        text: All that the model said.
        actions: The legal letters.
        names: What each letter is called: from an upper-case word to its letter.

    Returns:
        One action, or none and why. The same action said several times is one action.
    """
    plan = parse_plan(text, actions, names)
    if len(set(plan.actions)) > 1:
        return Parsed(outcome=Outcome.SEVERAL, detail=plan.detail)
    return Parsed(
        outcome=plan.outcome,
        actions=plan.actions[:1],
        turns=plan.turns[:1],
        detail=plan.detail,
    )


def parse_plan(text: str, actions: Sequence[str], names: Mapping[str, str]) -> Parsed:
    """Read the answer of a planning model: a sequence of actions.

    Args:
        text: All that the model said.
        actions: The legal letters.
        names: What each letter is called: from an upper-case word to its letter.

    Returns:
        The whole plan, or nothing and why: a plan is never read in part.
    """
    outcome, content = _find_answer(_after_thinking(text))
    if outcome is not Outcome.OK:
        return Parsed(outcome=outcome, detail=_short(content))
    try:
        # A tuple, since in a string "UD" would be found in "UDS".
        steps = list(_read_steps(_undress(content), tuple(actions), names))
    except _UnreadableError as error:
        return Parsed(outcome=Outcome.ILLEGAL, detail=str(error))
    if not steps:
        return Parsed(outcome=Outcome.EMPTY, detail=_short(content))
    return Parsed(
        outcome=Outcome.OK,
        actions=tuple(action for _, action in steps),
        turns=tuple(turn for turn, _ in steps),
        detail=_short(content),
    )


def parse_code(text: str) -> ParsedCode:
    """Read a code policy: the last fenced Python block that defines `next_action`.

    A block without a language counts as Python. The code is neither compiled nor run here.
    """
    blocks, remainder = _fenced_blocks(_after_thinking(text))
    for language, body in reversed(blocks):
        code = dedent(body)
        if language.lower() in _PYTHON and _NEXT_ACTION.search(code):
            return ParsedCode(outcome=Outcome.OK, code=code, detail=_short(code))
    if remainder is not None:
        return ParsedCode(outcome=Outcome.UNCLOSED, detail=_short(remainder))
    if blocks:
        detail = f"no Python block defines next_action: {_short(blocks[-1][1])}"
        return ParsedCode(outcome=Outcome.ILLEGAL, detail=detail)
    return ParsedCode(outcome=Outcome.NO_ANSWER)


def _after_thinking(text: str) -> str:
    return text.rpartition("</think>")[2].partition("<think>")[0]


def _find_answer(text: str) -> tuple[Outcome, str]:
    """The content of the answer, or why there is none and what there is instead."""
    box, half = _last_box(text)
    if box is not None:
        return Outcome.OK, box
    if half is not None:
        return Outcome.UNCLOSED, half
    blocks, remainder = _fenced_blocks(text)
    if blocks:
        return Outcome.OK, blocks[-1][1]
    return (Outcome.NO_ANSWER, "") if remainder is None else (Outcome.UNCLOSED, remainder)


def _last_box(text: str) -> tuple[str | None, str | None]:
    r"""The content of the last complete box, and what follows the first box left open.

    One pass, so that a model stuck in `\boxed{\boxed{...` costs no more than its length.
    """
    last = None
    open_braces: list[tuple[bool, int]] = []  # whether it opens a box, where its content begins
    for match in _BRACES.finditer(text):
        mark = match.group()
        if mark[-1] == "{" and mark != r"\{":
            open_braces.append((mark != "{", match.end()))
        elif mark == "}" and open_braces:
            is_box, start = open_braces.pop()
            if is_box:
                last = text[start : match.start()]
    half = next((text[start:] for is_box, start in open_braces if is_box), None)
    return last, half


def _fenced_blocks(text: str) -> tuple[list[tuple[str, str]], str | None]:
    """Language and body of each complete fenced block, and the rest of one that never ends."""
    blocks: list[tuple[str, str]] = []
    language, body = "", None
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.strip()
        if body is None:
            if bare.startswith(_FENCE):
                inner = bare.strip("`")
                if bare.endswith(_FENCE) and inner:
                    blocks.append(("", inner))
                else:
                    language, body = inner.strip(), list[str]()
        elif bare.startswith(_FENCE) and not bare.strip("`"):
            blocks.append((language, "\n".join(body)))
            body = None
        else:
            body.append(line)
    return blocks, None if body is None else "\n".join(body)


def _undress(content: str) -> str:
    """Take off what only surrounds actions; breaks and wrappers leave white space behind."""
    content = _SPACES.sub(" ", _BREAKS.sub("\n", content))
    for _ in range(_UNWRAPPINGS):
        content, count = _WRAPPER.subn(r" \1 ", content)
        if not count:
            break
    return _DRESS.sub("", content)


def _read_steps(
    content: str, actions: Sequence[str], names: Mapping[str, str]
) -> Iterator[tuple[int | None, str]]:
    """Read (turn, action) one after the other.

    Raises:
        _UnreadableError: If something is no action, or a turn is out of order.
    """
    marks = list(_TURN.finditer(content))
    if not marks:
        for action in _read_actions(content, actions, names):
            yield None, action
        return
    if stray := content[: marks[0].start()].strip():
        raise _UnreadableError(f"{_quote(stray)} before the first turn")
    ends = [mark.start() for mark in marks[1:]] + [len(content)]
    previous: int | None = None
    for mark, end in zip(marks, ends, strict=True):
        turn = int(mark.group(1))
        if previous is not None and turn != previous + 1:
            raise _UnreadableError(f"turn {turn} follows turn {previous}")
        letters = list(_read_actions(content[mark.end() : end], actions, names))
        if len(letters) != 1:
            raise _UnreadableError(f"turn {turn} has {len(letters)} actions, not one")
        yield turn, letters[0]
        previous = turn


def _read_actions(content: str, actions: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
    """Read actions without turns, and skip remarks in brackets after them."""
    latest: str | None = None
    for token in _TOKEN.findall(content):
        remark = token[1:-1].strip() if token.startswith("(") else ""
        if remark and latest is not None:
            if _letters(remark, actions, names) not in (None, [latest]):
                raise _UnreadableError(f"{latest} is said to be {_quote(remark)}")
            continue
        letters = [] if token in _MARKS else _letters(remark or token, actions, names)
        if letters is None:
            raise _UnreadableError(f"{_quote(remark or token)} is no action{_why(token)}")
        yield from letters
        latest = letters[-1] if letters else latest


def _letters(word: str, actions: Sequence[str], names: Mapping[str, str]) -> list[str] | None:
    """The actions that one word stands for, or None."""
    word = word[:-1] if word[-1:] in _MARKS else word
    if word in actions:
        return [word]
    # Without the check, upper case would make an S of the old long s and an I of dotless i.
    name = names.get(word.upper()) if word.isascii() else None
    if name is not None:
        return [name] if name in actions else None
    return list(word) if word and all(letter in actions for letter in word) else None


def _why(token: str) -> str:
    """Name the first letter that only looks like one of ours."""
    for letter in token:
        if not letter.isascii():
            name = unicodedata.name(letter, "unnamed")
            return f": it holds U+{ord(letter):04X} {name}"
    return ""


def _quote(text: str) -> str:
    return repr(_short(text))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
