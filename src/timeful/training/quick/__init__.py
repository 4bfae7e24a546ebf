"""The embedded run: what two papers found, from nothing, in minutes, on a laptop."""
