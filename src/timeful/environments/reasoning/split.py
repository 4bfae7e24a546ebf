"""Which problem is for training, for choosing and for the final table: by a hash of its words.

The same words fall on the same side on every machine, in every order and whatever else is in the
set; so no problem is ever on two sides, also not under two names. Everybody who divides problems
asks here.
"""

from hashlib import sha256
from math import isclose
from typing import Annotated, Literal, get_args

import msgspec

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Shares(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of all problems each side gets, about; together 1."""

    train: _Share = 0.8
    validation: _Share = 0.1
    test: _Share = 0.1

    def __post_init__(self) -> None:
        if not isclose(total := self.train + self.validation + self.test, 1.0):
            raise ValueError(f"the shares of the splits must sum to 1, got {total:g}")


SHARES = Shares()


def split_of(words: str, shares: Shares = SHARES) -> Split:
    """The side that a problem is on.

    Other shares move only the problems between the old border and the new one.

    Args:
        words: The question, as its reader sees it, without what it may be answered with: neither
            white space nor case makes another problem of it.
        shares: How much each side gets.
    """
    plain = " ".join(words.split()).casefold()
    fraction = int.from_bytes(sha256(f"split\x1f{plain}".encode()).digest()[:8], "big") / 2**64
    if fraction < shares.train:
        return "train"
    # Without a share of its own, the last side gets nothing of what rounding leaves.
    if fraction < shares.train + shares.validation or not shares.test:
        return "validation" if shares.validation else "train"
    return "test"
