"""Suites as tasks of Inspect, and runs and paces as its logs."""
