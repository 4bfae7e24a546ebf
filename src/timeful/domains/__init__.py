"""Domains of conversations, each a folder of configuration, and dialogues made by a seed."""
