"""Context: what a model is shown, packed into its window."""
