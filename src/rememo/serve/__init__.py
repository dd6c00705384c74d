"""Serving: one memory for many programs, over HTTP."""
