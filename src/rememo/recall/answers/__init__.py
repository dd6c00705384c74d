"""Answer selection: which of several statements answers a question, and which of them no longer hold."""
