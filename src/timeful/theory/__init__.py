"""The Engagement Process as mathematics: finite models, beliefs, values and reductions."""
