"""A decoder small enough to be trained from nothing on a laptop, and its language."""
