"""The static word vectors and the tokens of words, read once in a process."""

from collections.abc import Sequence
from functools import cache
from json import loads
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from rememo.recall.embed.protocol import Vector
from rememo.text.wordfiles import vectors_file, vocabulary_file
from rememo.text.wordpieces import WordPieces


class WordVectors:
    """The vector of each token, and the tokens of words. Immutable, so safe to share between threads."""

    def __init__(self, vectors: NDArray[np.float16], pieces: WordPieces) -> None:
        self.vectors: Final = vectors
        self.tokenize: Final = pieces.encode

    def sum_of_words(self, words: Sequence[str]) -> Vector:
        """Add up the token vectors of all words; zeros for no words."""
        tokens = [token for word in words for token in self.tokenize(word)]
        return cast("Vector", np.add.reduce(self.vectors.take(tokens, 0), 0, np.float32))


@cache
def word_vectors() -> WordVectors:
    """Return the word vectors; raise `MissingExtra` where their files are missing."""
    return WordVectors(_map_safetensors(vectors_file(), "embedding.weight"), WordPieces.from_file(vocabulary_file()))


def _map_safetensors(path: Path, tensor: str) -> NDArray[np.float16]:
    """Map one half-precision tensor of a safetensors file, so that processes share its pages and none copies it."""
    with path.open("rb") as file:
        header_length = int.from_bytes(file.read(8), "little")
        header = cast("dict[str, Any]", loads(file.read(header_length)))
    entry = header[tensor]
    shape = cast("tuple[int, int]", tuple(entry["shape"]))
    start = 8 + header_length + int(entry["data_offsets"][0])
    # As a plain array, which numpy hands about faster than its subclass; it keeps the mapping alive.
    return np.asarray(np.memmap(path, dtype=np.float16, mode="r", offset=start, shape=shape))
