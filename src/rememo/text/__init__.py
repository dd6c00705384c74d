"""Text without meaning: tokens, fences, windows, documents and prose. Below everything that reads."""
