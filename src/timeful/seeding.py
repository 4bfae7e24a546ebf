"""Randomness by name: every consumer of chance has a child generator of its own.

A child is derived from a seed and the names of its purpose, so a new consumer never shifts
the numbers that another one sees.
"""

from hashlib import sha256

import numpy as np


def child_seed(seed: int, *purpose: str | int) -> int:
    """Derive a 63-bit seed from a seed and a purpose, the same on every machine."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


def child(seed: int, *purpose: str | int) -> np.random.Generator:
    """Make the generator that belongs to a purpose, such as `child(7, "partner")`."""
    return np.random.Generator(np.random.PCG64(child_seed(seed, *purpose)))
