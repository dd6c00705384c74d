"""Learning: from what is said to facts, relationships and revisions, by policy and without a model."""
