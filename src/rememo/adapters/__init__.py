"""Memory for agent frameworks: one module each, which is imported by its name and needs that framework."""
