"""Small lives that a stranger told: what holds now, and what held before, is found and shown."""

from pathlib import Path

import pytest

from rememo.bench.lives.judge import measure

DATA = Path(__file__).parents[2] / "data"
# Some points below what is reached, so that only a real loss is noticed.
LEAST = {
    "plain_lives": {"first now": 0.84, "first past": 0.93, "context now": 0.82, "context past": 0.98},
    "everyday_lives": {"first now": 0.8, "first past": 0.93, "context now": 0.7, "context past": 0.98},
    "changing_lives": {"first now": 0.83, "first past": 0.82, "context now": 0.79, "context past": 0.96},
    "long_lives": {"first now": 0.64, "first past": 0.7, "context now": 0.46, "context past": 0.82},
    "steady_lives": {"first now": 0.78, "context now": 0.96},
}
HELD_OUT = ("everyday_lives", "changing_lives", "long_lives")
"""Those of which only the part that nothing was fitted to is asked."""


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize("name", LEAST)
def test_most_questions_about_lives_are_answered_by_what_held_then(name: str):
    (scores,) = measure(DATA / f"{name}.jsonl", held_out=True if name in HELD_OUT else None).doors
    shares = {name: share.right / share.questions for name, share in scores.shares.items() if share.questions}
    assert shares.keys() == LEAST[name].keys()
    lost = {judged: share for judged, share in shares.items() if share < LEAST[name][judged]}
    assert lost == {}, "\n".join(scores.misses)
