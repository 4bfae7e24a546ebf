"""Experiments: a suite as one value, its sweep, its run and its report."""
