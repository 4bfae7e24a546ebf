"""The Engagement Process suite: toys, inbox and kitchen (arXiv 2605.11484, section 5)."""
