"""Conversations in which software could act: what was said, what was done, what was possible."""
