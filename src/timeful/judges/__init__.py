"""Judges: language models that rate what agents did. What they say is data; metrics sum it up."""
