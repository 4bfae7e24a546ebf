"""A conversation that goes on while somebody thinks about it: a world of events."""
