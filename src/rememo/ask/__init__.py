"""Questions: a search with a model's help, and an answer with the records it rests on."""
