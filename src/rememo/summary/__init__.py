"""Summaries: chapters of a conversation, the summary of a room, and the sentences that say most."""
