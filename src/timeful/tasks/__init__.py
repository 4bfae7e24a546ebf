"""Tasks with a budget of time: cases of three families, how to open, play and summarize them."""
