"""Timely-Eval: work with tools under a time budget (Timely Machine, section 4.1)."""
