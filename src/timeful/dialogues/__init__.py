"""Conversations in which software could act: turns, observed actions, opportunities."""
