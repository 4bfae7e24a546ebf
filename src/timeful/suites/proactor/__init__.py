"""ProActor: proactive agents in conversations, and what the time that they take costs them."""
