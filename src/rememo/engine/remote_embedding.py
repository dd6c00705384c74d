"""Vectors of remote embedding models: cached, because each is paid for, and fetched after the write."""

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b

import numpy as np

from rememo.errors import EmbeddingFailed
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder, Vector
from rememo.store.kv.protocol import EMBED_CACHE, KeyValue

EmbedTexts = Callable[[Sequence[str]], list[Vector | None]]
"""Embeds texts; raises `EmbeddingFailed`."""

_log = logging.getLogger("rememo.engine")
_SECONDS_OF_A_DAY = 86_400.0


def check_endpoint(embedder: RemoteEmbedder) -> None:
    """Check whether an endpoint returns vectors of the declared length; one that is unreachable is checked later.

    Raises `EmbeddingMismatch`.
    """
    try:
        embedder.check()
    except EmbeddingFailed as error:
        _log.warning("the embedding endpoint is unreachable; its vectors are checked when it is back: %s", error)


class EmbeddingCache:
    """Vectors of one model that a tenant has paid for, by the hash of their texts, kept for some days.

    They are kept with the tenant's keys, encrypted where these are, and go with any erasure. In half precision, as search
    reads vectors anyway.
    """

    def __init__(self, kv: KeyValue, embedder: Embedder, *, tenant: str, days: float, moment: datetime) -> None:
        self._kv = kv
        self._tenant = tenant
        self._seconds = days * _SECONDS_OF_A_DAY
        self._moment = moment
        self._dimension = embedder.dimension
        self._salt = f"{embedder.name}\0{embedder.dimension}\0".encode()

    def find(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return those that are there."""
        if not self._seconds or not texts:
            return {}
        keys = [self._key(text) for text in texts]
        versions = self._kv.versions(self._tenant, [(EMBED_CACHE, key) for key in keys], self._moment)
        vectors: dict[str, Vector] = {}
        for text, key, version in zip(texts, keys, versions, strict=True):
            entry = self._kv.get(self._tenant, EMBED_CACHE, key, self._moment) if version else None
            if entry is not None:
                vector = np.frombuffer(b64decode(json.loads(entry.value)), np.float16).astype(np.float32)
                vectors[text] = vector / np.float32(np.linalg.norm(vector))
        return vectors

    def keep(self, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep more of them."""
        for text, vector in vectors if self._seconds else ():
            value = json.dumps(b64encode(vector.astype(np.float16).tobytes()).decode())
            self._kv.set(self._tenant, EMBED_CACHE, self._key(text), value, self._moment, ttl=self._seconds)

    def _key(self, text: str) -> str:
        return blake2b(self._salt + text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def fetch_vectors(
    texts: Sequence[str], ask: EmbedTexts, paid: EmbeddingCache | None
) -> list[Vector | EmbeddingFailed | None]:
    """Return the vector of each text, or why the model refuses just that one; None for a text without content.

    A text that stands here twice, or was paid for before, is not asked for. What fails for all alike is raised as
    `EmbeddingFailed`; what was answered before that is kept.
    """
    distinct = list(dict.fromkeys(text for text in texts if text.strip()))
    results: dict[str, Vector | EmbeddingFailed | None] = {**(paid.find(distinct) if paid is not None else {})}
    _ask_for([text for text in distinct if text not in results], ask, paid, results)
    return [results[text] if text.strip() else None for text in texts]


def _ask_for(
    texts: list[str], ask: EmbedTexts, paid: EmbeddingCache | None, results: dict[str, Vector | EmbeddingFailed | None]
) -> None:
    """Ask for texts; when they are refused, ask for their halves, so that one bad text stops no others."""
    if not texts:
        return
    try:
        vectors = ask(texts)
    except EmbeddingFailed as error:
        if error.transient:
            raise
        if len(texts) == 1:
            results[texts[0]] = error
            return
        half = len(texts) // 2
        _ask_for(texts[:half], ask, paid, results)
        if all(isinstance(results[text], EmbeddingFailed) for text in texts[:half]):
            # A bad key or a model that is not there refuses everything: that is found out without asking for each.
            _ask_for(texts[half : half + 1], ask, paid, results)
            if isinstance(failed := results[texts[half]], EmbeddingFailed):
                results.update(dict.fromkeys(texts[half + 1 :], failed))
                return
            half += 1
        _ask_for(texts[half:], ask, paid, results)
        return
    results.update(zip(texts, vectors, strict=True))
    if paid is not None:
        paid.keep([(text, vector) for text, vector in zip(texts, vectors, strict=True) if vector is not None])
