"""The viewer: records as pages, in a browser or in one file; read `schema.py` first."""
