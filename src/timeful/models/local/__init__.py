"""Models in this process: sampled in batches, thought by thought, and told token by token."""
