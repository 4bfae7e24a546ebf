"""Control characters in texts of models, files and servers, made visible."""

from re import compile as pattern

_CONTROL = pattern(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0 and C1: terminal codes begin with them
    "\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"  # turn the direction or end the line
    "\\ud800-\\udfff]"  # halves of characters, which no stream takes
)


def escape(text: str) -> str:
    """The text with each control character but tab and newline as its code, as in JSON."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
