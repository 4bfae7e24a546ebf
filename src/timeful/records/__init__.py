"""Records: what happened, as typed events on one timeline."""
