"""Suites: one folder a paper."""
