"""Timed reasoning: problems with one answer that only thinking finds (Timely Machine, 4.1.3)."""
