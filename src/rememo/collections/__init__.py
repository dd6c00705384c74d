"""The collections of a memory: one typed face for each kind of thing that is remembered."""
