"""Models: sources of chunks with a pace."""
