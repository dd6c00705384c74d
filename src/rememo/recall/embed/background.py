"""What is usual between unrelated texts under a model.

Models put unrelated texts at very different cosines: one at 0.1, another at 0.75. A score that means the same under all
of them has to be measured against that, and a small scope cannot tell it by itself.
"""

from itertools import combinations

import numpy as np

from rememo.recall.embed.protocol import Embedder

_UNRELATED = (
    "The ferry to the island leaves at seven in the morning",
    "Her grandmother taught her to bake rye bread",
    "The database migration failed on the second server",
    "He scored twice in the final minutes of the match",
    "We planted tomatoes and basil behind the garage",
    "Interest rates are expected to rise in autumn",
    "My knee still hurts after the operation",
    "The violinist tuned her instrument before the concert",
    "They adopted a grey kitten from the shelter",
    "Please return the library books by Friday",
    "The old castle was rebuilt after the fire",
    "I forgot the password of my email account",
)


def background(embedder: Embedder) -> tuple[float, float]:
    """Return mean and standard deviation of the cosine between unrelated texts; one call to the model."""
    vectors = [vector for vector in embedder.embed(_UNRELATED) if vector is not None]
    cosines = [float(first @ second) for first, second in combinations(vectors, 2)]
    return float(np.mean(cosines)), max(float(np.std(cosines)), 0.01)
