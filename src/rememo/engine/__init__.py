"""The shared half of every view of a memory: its store, analyser, embedder, clock and hooks, and the way through them."""
