"""Scores of hits that are lowered or raised for a reason."""

from dataclasses import replace

from rememo.model.hit import Hit


def scale(hit: Hit, factor: float, reason: str) -> Hit:
    """Return a hit with a part of its score, and the reason for what was taken or added."""
    lost = hit.score * (factor - 1)
    reasons = {**hit.reasons, reason: lost} if hit.reasons else hit.reasons
    return replace(hit, score=hit.score + lost, reasons=reasons)
