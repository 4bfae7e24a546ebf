"""Data to train on: cold-start traces, data sets from records, and which problem is for what."""
