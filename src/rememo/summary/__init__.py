"""Summaries: stored summaries of a conversation, the running summary of a room, and the sentences that say most."""
