"""Whether an answer is the right number, word or letter: by rules, and nothing is evaluated.

Every rule looks at a short text: an answer longer than `LONGEST` is none.
"""

import re
from collections.abc import Sequence

LONGEST = 400
"""Characters of the longest answer that is looked at; a number or a choice needs fewer."""

_FRAMES = re.compile(r"\\[()\[\]]|\$|\*\*|__|`|\\(?:displaystyle|left|right)\b")
_SPACES = re.compile(r"\\[,;:! ]|\{,\}|[\u00a0\u2009\u202f~]")
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|operatorname)\s*\{([^{}]*)\}")
_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\uff0d": "-"})
_LEAD = re.compile(r".*(?:=|:|\b(?:is|are|equals|be)\b)", re.DOTALL | re.IGNORECASE)
# Digits are 0 to 9: to Python, many more characters are digits.
_WHOLE = re.compile(r"([+-]?)\s*((?:[0-9]{1,3}(?:[, ][0-9]{3})+)|[0-9]+)(?:\.0*)?( \D*)?")


def plain(answer: str) -> str:
    """An answer without what is only typography: frames of mathematics, stars, thin spaces."""
    text = answer.strip().translate(_MINUS)
    text = _SPACES.sub(" ", _FRAMES.sub("", text))
    for _ in range(3):  # \text{\textbf{B}}
        text = _WRAPPED.sub(r"\1", text)
    return " ".join(text.split()).rstrip(". ")


def whole_number(answer: str) -> str | None:
    """The whole number that an answer gives, as its plain digits; None if it is not just one.

    Words may lead up to it ("x =", "the answer is") and up to four may follow it, as units do.
    """
    if len(answer) > LONGEST:
        return None
    text = plain(answer)
    match = _WHOLE.fullmatch(text) or _WHOLE.fullmatch(_LEAD.sub("", text).strip())
    if match is None:
        return None
    sign, digits, unit = match.groups()
    words = (unit or "").replace("/", " ").split()
    if len(words) > 4 or not all(map(str.isalpha, words)):
        return None
    # Never `int`: digits may be many, and their text is all that is compared.
    size = re.sub("[, ]", "", digits).lstrip("0") or "0"
    return f"-{size}" if sign == "-" and size != "0" else size


def is_exact(gold: str, answer: str) -> bool:
    """Whether an answer is the same whole number, or else the same words whatever their case."""
    number = whole_number(gold)
    if number is not None:
        return whole_number(answer) == number
    return len(answer) <= LONGEST and plain(answer).casefold() == plain(gold).casefold() != ""


# --- letters -------------------------------------------------------------------------------------

_ALONE = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\]]?\s*[.:,)]?")
_LABEL = re.compile(
    r"(?:[(\[]\s*([A-Za-z])\s*[)\]]|([A-Za-z])\s*[.:)])\s*[.:,-]?\s+(.+)", re.DOTALL
)
_SAID = re.compile(
    r"\b(?i:answer|option|choice|choose|pick)\b"
    r"(?:\s+(?i:is|to|be|would|should|must|the|option|choice|answer))*\s*:?\s*"
    # A small letter only in brackets: "the answer is a number" gives none.
    r"(?:([A-Z])(?![\w'])|[(\[]\s*([A-Za-z])\s*[)\]])"
)
_OTHER = re.compile(r"[(\[]\s*([A-Za-z])\s*[)\]]|\b([A-Z])\b")


def match_choice(answer: str, choices: Sequence[str]) -> str | None:
    """The letter of the choice that an answer gives, as a capital; None if it is not just one.

    It may be a letter alone, in brackets or not, one that leads the words of its own choice,
    one that is said to be the answer, or the words of one choice and no other. A letter before
    the words of another choice is no answer.
    """
    if len(answer) > LONGEST + max(map(len, choices), default=0):
        return None
    text = plain(answer)
    match = _ALONE.fullmatch(text)
    if match is not None:
        return _of(match.group(1), choices)
    by_words = _by_words(text, choices)
    if by_words is not None:
        return by_words
    label = _LABEL.fullmatch(text)
    if label is not None:
        return _led_by(_of(label.group(1) or label.group(2), choices), label.group(3), choices)
    letters = {_of(bare or framed, choices) for bare, framed in _SAID.findall(text)}
    return letters.pop() if len(letters) == 1 else None


def _led_by(letter: str | None, words: str, choices: Sequence[str]) -> str | None:
    """The letter that leads some words, unless they name another choice."""
    letters = {_of(bare or framed, choices) for bare, framed in _OTHER.findall(words)}
    letters.add(_by_words(words, choices))
    return letter if letters <= {letter, None} else None


def _of(letter: str, choices: Sequence[str]) -> str | None:
    index = ord(letter.upper()) - ord("A")
    return letter.upper() if 0 <= index < len(choices) else None


def _by_words(text: str, choices: Sequence[str]) -> str | None:
    indices = [i for i, choice in enumerate(choices) if is_exact(choice, text)]
    return chr(ord("A") + indices[0]) if len(indices) == 1 else None
