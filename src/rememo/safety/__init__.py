"""Content safety: what is held back, what is taken out of texts, and how far a record is trusted."""
