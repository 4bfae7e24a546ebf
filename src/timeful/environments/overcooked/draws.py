"""Random draws whose whole state is one position in a fixed list of 32-bit words.

The published partner makes a new `RandomState(42)` for each stage of his work. Such a generator
always yields the same words, so a position in that list *is* the generator: as cheap to make,
copy and save as an integer, and equal draw for draw (a test compares it with numpy).
"""

from functools import cache, lru_cache

import numpy as np

from timeful.seeding import child

WORDS = 8192
"""More words than the partner can use in an episode; a test bounds the need."""

PUBLISHED_SEED = 42


class Draws:
    """A generator: draws whole numbers below n as `RandomState.randint(0, n)` does."""

    __slots__ = ("at", "words")

    def __init__(self, words: tuple[int, ...], at: int = 0) -> None:
        self.words = words
        self.at = at

    def copy(self) -> "Draws":
        """An independent generator at the same position."""
        return Draws(self.words, self.at)

    def below(self, n: int) -> int:
        """Draw a whole number from 0 to n - 1, for n from 1 to 2**31.

        Numpy masks a word to the bits of n - 1 and rejects what is still too large; a range of
        one value takes no word at all.
        """
        top = n - 1
        if top == 0:
            return 0
        mask = (1 << top.bit_length()) - 1
        while True:
            value = self.words[self.at] & mask
            self.at += 1
            if value <= top:
                return value

    def skip_double(self) -> None:
        """Draw a uniform double that nobody looks at: two words."""
        self.at += 2


@cache
def published_words() -> tuple[int, ...]:
    """The words of `RandomState(42)`."""
    state = np.random.RandomState(PUBLISHED_SEED)
    return tuple(state.randint(0, 2**32, size=WORDS, dtype=np.uint32).tolist())


@lru_cache(maxsize=256)
def seeded_words(seed: int) -> tuple[int, ...]:
    """The words of the partner's own generator in an episode with this seed.

    Raw output of the bit generator, upper halves: unlike a `Generator`'s methods, it is promised
    to stay the same in later versions of numpy.
    """
    raw = child(seed, "partner").bit_generator.random_raw(WORDS)
    return tuple((raw >> np.uint64(32)).tolist())
