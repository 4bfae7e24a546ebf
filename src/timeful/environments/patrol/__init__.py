"""Patrol: rounds of checkpoints, and alarms that do not wait."""
