"""Small lives that a stranger told: what holds now, and what held before, is found and shown."""

from pathlib import Path

import pytest

from rememo.bench.lives.judge import measure

LIVES = Path(__file__).parents[2] / "data" / "plain_lives.jsonl"


@pytest.mark.requirement("conflict.policy")
def test_most_questions_about_plain_lives_are_answered_by_what_held_then():
    (scores,) = measure(LIVES).doors
    shares = {name: share.right / share.questions for name, share in scores.shares.items()}
    # Well below what is reached, so that only a real loss is noticed.
    least = {"first now": 0.84, "first past": 0.84, "context now": 0.79, "context past": 0.96}
    assert {name: share for name, share in shares.items() if share < least[name]} == {}, "\n".join(scores.misses)
