"""Proactive agents: they observe a conversation, and predict actions and questions."""
