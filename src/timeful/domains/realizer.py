"""Realizes the text of a conversation: paraphrases without repetition, and values of slots."""

from re import sub
from string import ascii_uppercase

import numpy as np

from timeful.domains.domain import Domain
from timeful.domains.nlg import Words


class Realizer:
    """Draws the templates and values of one conversation from a domain."""

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        self._domain = domain
        self._rng = rng
        self._used: set[str] = set()
        self._own: dict[str, str] = {}  # words of lists, so that a name and an e-mail address agree
        self._is_lower = rng.random() < domain.settings.habits.lower

    def pick(self, words: Words, **values: str) -> str:
        """Fill one of some paraphrases; unused ones come first."""
        fresh = [text for text in words if text not in self._used] or list(words)
        template = fresh[int(self._rng.integers(len(fresh)))]
        self._used.add(template)
        return fill(template, values)

    def style(self, text: str) -> str:
        """The text in the case that this customer writes."""
        return text.lower() if self._is_lower else text

    def value(self, slot: str, *, other_than: str | None = None) -> str:
        """Draw a value for a slot, different from `other_than`."""
        while True:
            value = self._draw(slot, is_lasting=other_than is None)
            if value != other_than:
                return value

    def _draw(self, slot: str, *, is_lasting: bool) -> str:
        templates = self._domain.speech.slots[slot]
        if not templates.made:
            values = self._domain.values(slot)
            return values[int(self._rng.integers(len(values)))]
        names = self._own if is_lasting else {}

        def word(name: str) -> str:
            words = self._domain.speech.lists[name]
            return names.setdefault(name, words[int(self._rng.integers(len(words)))])

        signs = {"#": "0123456789", "%": "123456789", "?": ascii_uppercase}
        digits = sub(r"[#%?]", lambda sign: self._draw_letter(signs[sign.group()]), templates.made)
        text = sub(r"{(\w+)}", lambda name: word(name.group(1)), digits)
        return text.lower() if templates.lower else text

    def _draw_letter(self, letters: str) -> str:
        return letters[int(self._rng.integers(len(letters)))]


def fill(text: str, values: dict[str, str]) -> str:
    """Replace `{name}` by its value; a name without a value stays."""
    return sub(r"{(\w+)}", lambda name: values.get(name.group(1), name.group()), text)


def terminate(text: str) -> str:
    """The text with a punctuation mark at its end."""
    return text if text.endswith((".", "!", "?", ",", ":")) else f"{text}."


def enumerate_words(words: list[str]) -> str:
    """Join words: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
