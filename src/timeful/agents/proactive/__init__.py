"""Proactive agents: they listen to a conversation, and say what could be done and asked."""
