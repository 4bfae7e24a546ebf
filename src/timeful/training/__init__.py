"""Training on the timeline: what episodes taught, and the optimiser that learns from it."""
