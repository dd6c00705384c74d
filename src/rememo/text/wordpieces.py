"""Byte-pair encoding of single words, from nothing but a vocabulary in order of merges.

In a sentencepiece vocabulary a token's number is also the rank of the merge that makes it, so the vocabulary alone
says how to encode. For a word at a time that is faster to load than a general tokenizer by an order of magnitude, and
this is all that pooling word vectors needs.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

WORD_START: Final = "\u2581"
_SLICE: Final = 32
"""Words are encoded in slices of this many characters, because the work grows with the square of the length."""

_NEVER: Final = 1 << 62
"""The rank of what is no token."""


class WordPieces:
    """The tokens of words. Immutable, so safe to share between threads."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        """Take the number of each token; bytes are named ``<0x00>`` to ``<0xFF>``."""
        self._vocabulary: Final = vocabulary
        self._byte_tokens: Final = [vocabulary[f"<0x{byte:02X}>"] for byte in range(256)]

    @classmethod
    def from_file(cls, path: Path) -> "WordPieces":
        """Read the vocabulary of a ``tokenizer.json``, and only that."""
        data = path.read_bytes()
        start = data.index(b"{", data.index(b'"vocab"'))
        end = data.rfind(b'"merges"', start)  # these are most of the file, and need not be decoded
        vocabulary, _ = json.JSONDecoder().raw_decode(data[start : end if end > 0 else None].decode())
        return cls(cast("dict[str, int]", vocabulary))

    def encode(self, word: str) -> list[int]:
        """Return the token numbers of one word that stands after a space."""
        marked = WORD_START + word
        number = self._vocabulary.get(marked)
        if number is not None:
            return [number]
        tokens: list[int] = []
        for start in range(0, len(marked), _SLICE):
            tokens += self._encode_slice(marked[start : start + _SLICE])
        return tokens

    def _encode_slice(self, characters: str) -> list[int]:
        rank = self._vocabulary.get
        pieces = list(characters)
        # The rank of each piece joined with the next; after a merge only its two neighbours are looked up again.
        ranks = [rank(left + right, _NEVER) for left, right in pairwise(pieces)]
        while ranks and (best := min(ranks)) != _NEVER:
            at = ranks.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del ranks[at]
            if at:
                ranks[at - 1] = rank(pieces[at - 1] + pieces[at], _NEVER)
            if at < len(ranks):
                ranks[at] = rank(pieces[at] + pieces[at + 1], _NEVER)
        tokens: list[int] = []
        for piece in pieces:
            token = rank(piece)
            if token is not None:
                tokens.append(token)
            else:
                tokens += [self._byte_tokens[byte] for byte in piece.encode(errors="replace")]
        return tokens
