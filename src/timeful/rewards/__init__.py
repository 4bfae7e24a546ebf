"""Rewards: pure functions of records, for training and for the audit of it."""
