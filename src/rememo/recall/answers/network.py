"""A small transformer in plain numpy: reads each claim together with the question, then all claims beside each other.

About half a million weights over the static word vectors that recall has anyway. It is trained by `tools/train_answers.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from rememo.recall.answers.encoding import EncodedClaims, EncodedText, Floats

HEADS: Final = 4
ANSWERS, OUTDATED = 0, 1
"""The columns of what the network returns, each a logit for each claim."""
_EPSILON: Final = 1e-5
_MASKED: Final = -1e4
_TOGETHER: Final = 6
"""Claims that are read at once."""


class AnswerNetwork:
    """The network with its weights. Immutable, so safe to share between threads."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], vectors: NDArray[np.float16]) -> None:
        """Take the weights by name, and the vector of each token."""
        self._weights: Final = {name: np.asarray(value, np.float32) for name, value in weights.items()}
        self._vectors: Final = vectors
        # Frequent tokens have a vector of their own beside the static one; row 0 is for all others.
        frequent = np.asarray(weights["frequent"], np.int64)
        self._frequent_rows: Final = np.zeros(len(vectors), np.int64)
        self._frequent_rows[frequent] = np.arange(1, len(frequent) + 1)

    def logits(self, encoded: EncodedClaims) -> Floats:
        """Return two columns for the claims: how well each answers beside the others, and how likely it no longer holds."""
        states = self._layer_norm(self._read(encoded.question, encoded.claims), "token_norm")
        states = self._linear(states, "claim") + self._linear(encoded.features, "features")
        everywhere = np.ones((1, len(encoded.claims)), bool)
        bias = self._linear(encoded.relations, "relations").transpose(2, 0, 1)[None]
        states = states[None]
        layer = 0
        while f"claim_block{layer}.attend.weight" in self._weights:
            states = self._block(states, everywhere, f"claim_block{layer}", bias)
            layer += 1
        states = states[0]
        return self._linear(self._layer_norm(states, "claim_norm"), "out") + self._linear(encoded.features, "direct")

    def _read(self, question: EncodedText, claims: Sequence[EncodedText]) -> Floats:
        """Return a state for each claim as it reads after the question."""
        # Claims of like length are read together, so that little is computed for what only fills up.
        order = sorted(range(len(claims)), key=lambda place: len(claims[place].tokens))
        parts = [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)]
        read = np.concatenate([self._read_together(question, [claims[place] for place in part]) for part in parts])
        return read[np.argsort(order)]

    def _read_together(self, question: EncodedText, claims: Sequence[EncodedText]) -> Floats:
        question_length = len(question.tokens)
        length = question_length + max(len(claim.tokens) for claim in claims)
        shape = (len(claims), length)
        tokens, mask = np.zeros(shape, np.int64), np.zeros((len(claims), length + 1), bool)
        flags = np.zeros((*shape, question.flags.shape[1]), np.float32)
        segments = np.zeros(shape, np.int64)
        tokens[:, :question_length], flags[:, :question_length], segments[:, :question_length] = (
            question.tokens,
            question.flags,
            1,
        )
        for row, claim in enumerate(claims):
            end = question_length + len(claim.tokens)
            tokens[row, question_length:end], flags[row, question_length:end], segments[row, question_length:end] = (
                claim.tokens,
                claim.flags,
                2,
            )
            mask[row, : end + 1] = True  # the summary's place comes before the tokens
        vectors = self._vectors[tokens].astype(np.float32)
        states = (
            self._linear(np.concatenate([vectors, flags], axis=-1), "token")
            + self._weights["frequent_vectors"][self._frequent_rows[tokens]]
            + self._weights["segments"][segments]
            + self._weights["positions"][:length]
        )
        summary = np.broadcast_to(self._weights["summary"], (len(claims), 1, states.shape[-1]))
        states = np.concatenate([summary, states], axis=1)
        layer = 0
        while f"token_block{layer}.attend.weight" in self._weights:
            states = self._block(states, mask, f"token_block{layer}")
            layer += 1
        return states[:, 0]

    def _block(self, states: Floats, mask: NDArray[np.bool_], name: str, bias: Floats | None = None) -> Floats:
        """Let every place look at the others that are not masked, then pass each through a small network."""
        batch, length, width = states.shape
        attended = self._linear(self._layer_norm(states, f"{name}.norm1"), f"{name}.attend")
        query, key, value = attended.reshape(batch, length, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        likeness = query @ key.swapaxes(-1, -2) / np.float32((width // HEADS) ** 0.5)
        if bias is not None:
            likeness = likeness + bias
        likeness = np.where(mask[:, None, None, :], likeness, np.float32(_MASKED))
        shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).swapaxes(1, 2).reshape(batch, length, width)
        states = states + self._linear(mixed, f"{name}.project")
        hidden = _gelu(self._linear(self._layer_norm(states, f"{name}.norm2"), f"{name}.expand"))
        return states + self._linear(hidden, f"{name}.shrink")

    def _linear(self, values: Floats, name: str) -> Floats:
        return cast("Floats", values @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"])

    def _layer_norm(self, values: Floats, name: str) -> Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(_EPSILON))
        return cast("Floats", centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def _gelu(values: Floats) -> Floats:
    inner = np.float32((2 / np.pi) ** 0.5) * (values + np.float32(0.044715) * values * values * values)
    return cast("Floats", np.float32(0.5) * values * (1 + np.tanh(inner)))
