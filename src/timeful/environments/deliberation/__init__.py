"""Deliberation: tasks with deadlines, and modes of thinking about them that take time."""
