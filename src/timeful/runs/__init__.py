"""Runs: episodes, batches of them, and reports."""
