"""The Light on Skerry: a small game of our own, 100 points, won in some eighty moves.

A lighthouse is dark. To light it, the player needs the keeper's keys, oil, a wick, the lens that
smugglers took, and the clockwork wound, in an order to be found out. The seed sets the number
that opens the safe, and whether the wick is in the sea chest or in the crypt. The story itself is
in `skerry.toml`.
"""

import json
import tomllib
from functools import cache
from importlib.resources import files
from string import Template

import msgspec

from timeful.environments.fiction.story import Story
from timeful.seeding import child

_WICK_IN_CHEST = {
    "chest": "move wick cellar, ",
    "under_lid": "a new wick",
    "niche": "",
    "behind_slab": "sand",
}
_WICK_IN_CRYPT = {
    "chest": "",
    "under_lid": "old sailcloth, and nothing else",
    "niche": "move wick crypt, ",
    "behind_slab": "a new wick, wrapped in wax paper",
}


@cache
def _template() -> Template:
    """The story as JSON, with placeholders; TOML is slow to parse for each episode."""
    text = files(__package__).joinpath("skerry.toml").read_text(encoding="utf-8")
    return Template(json.dumps(tomllib.loads(text)))


def skerry(seed: int) -> Story:
    """Make the story that belongs to a seed."""
    rng = child(seed, "skerry")
    code = str(rng.integers(100, 1000))
    wick = _WICK_IN_CHEST if rng.integers(2) else _WICK_IN_CRYPT
    return msgspec.json.decode(_template().substitute(wick, code=code), type=Story)
