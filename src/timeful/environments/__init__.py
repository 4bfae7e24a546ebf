"""Worlds that move by themselves."""
