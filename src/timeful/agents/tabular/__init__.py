"""Agents that learn a table of values, one for each situation and choice."""
