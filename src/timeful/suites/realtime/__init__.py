"""The real-time suite: Freeway, Snake and Overcooked under load and pressure."""
