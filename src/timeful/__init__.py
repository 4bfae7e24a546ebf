"""timeful: agents for which time is real.

Thinking costs time, and the world moves meanwhile.
"""

from timeful.version import __version__

__all__ = ["__version__"]
