"""Keeping: retention, erasure, encryption, audit, export and repair."""
