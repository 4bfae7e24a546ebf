"""Agents: programs that a session runs."""
