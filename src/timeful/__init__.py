"""timeful: agents for which time is real.

Thinking costs time, and the world moves meanwhile.
"""

__version__ = "0.1.0"
