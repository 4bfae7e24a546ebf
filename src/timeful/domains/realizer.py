"""Who speaks, with what words and values: paraphrases that do not repeat, names that stay."""

from re import sub
from string import ascii_uppercase

import numpy as np

from timeful.domains.domain import Domain
from timeful.domains.nlg import Words


class Realizer:
    """The words of one conversation, drawn from a domain."""

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        self._domain = domain
        self._rng = rng
        self._used: set[str] = set()
        self._own: dict[str, str] = {}  # words of lists: whose name is in the e-mail address
        self._is_lower = rng.random() < domain.settings.habits.lower

    def pick(self, words: Words, **filled: str) -> str:
        """One of some paraphrases, filled; one that was not used yet, while there is one."""
        fresh = [one for one in words if one not in self._used] or list(words)
        chosen = fresh[int(self._rng.integers(len(fresh)))]
        self._used.add(chosen)
        return fill(chosen, filled)

    def style(self, text: str) -> str:
        """A text as this customer writes it."""
        return text.lower() if self._is_lower else text

    def value(self, slot: str, *, but: str | None = None) -> str:
        """A value for a slot; any other than `but`, where that is given."""
        while True:
            found = self._draw(slot, is_own=but is None)
            if found != but:
                return found

    def _draw(self, slot: str, *, is_own: bool) -> str:
        spoken = self._domain.speech.slots[slot]
        if not spoken.made:
            values = self._domain.values(slot)
            return values[int(self._rng.integers(len(values)))]
        own = self._own if is_own else {}

        def word(name: str) -> str:
            words = self._domain.speech.lists[name]
            return own.setdefault(name, words[int(self._rng.integers(len(words)))])

        signs = {"#": "0123456789", "%": "123456789", "?": ascii_uppercase}
        parts = sub(r"[#%?]", lambda sign: self._one_of(signs[sign.group()]), spoken.made)
        made = sub(r"{(\w+)}", lambda found: word(found.group(1)), parts)
        return made.lower() if spoken.lower else made

    def _one_of(self, letters: str) -> str:
        return letters[int(self._rng.integers(len(letters)))]


def fill(text: str, filled: dict[str, str]) -> str:
    """Put values in the places of their names; a name without a value stays."""
    return sub(r"{(\w+)}", lambda found: filled.get(found.group(1), found.group()), text)


def ended(text: str) -> str:
    """A text with an end, so that another can follow it."""
    return text if text.endswith((".", "!", "?", ",", ":")) else f"{text}."


def listed(words: list[str]) -> str:
    """Words in a row: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
