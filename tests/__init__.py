"""The promises of timeful."""
