"""The search reasoner: a search that thinks aloud, so that everything runs offline."""
