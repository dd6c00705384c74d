"""Small lives that a stranger told: what holds now, and what held before, is found and shown."""

from pathlib import Path

import pytest

from rememo.bench.lives.judge import measure

DATA = Path(__file__).parents[2] / "data"
# Some points below what is reached, so that only a real loss is noticed.
LEAST = {
    "plain_lives": {"first now": 0.83, "first past": 0.9, "context now": 0.82, "context past": 0.98},
    "everyday_lives": {"first now": 0.8, "first past": 0.82, "context now": 0.73, "context past": 0.98},
    "steady_lives": {"first now": 0.77, "context now": 0.95},
}


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize("name", LEAST)
def test_most_questions_about_lives_are_answered_by_what_held_then(name: str):
    (scores,) = measure(DATA / f"{name}.jsonl").doors
    shares = {name: share.right / share.questions for name, share in scores.shares.items() if share.questions}
    assert shares.keys() == LEAST[name].keys()
    lost = {judged: share for judged, share in shares.items() if share < LEAST[name][judged]}
    assert lost == {}, "\n".join(scores.misses)
