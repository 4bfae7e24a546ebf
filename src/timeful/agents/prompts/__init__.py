"""Prompts, one file a game."""
