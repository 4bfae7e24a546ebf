"""Domains of conversations, each a folder of configuration, and synthetic dialogues."""
