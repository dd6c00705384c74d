"""Remote embedding, booked to the ledger like every call to a model."""

from collections.abc import Sequence

from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.engine.remote_embedding import EmbedTexts
from rememo.errors import EmbeddingFailed
from rememo.llm.gateway import settle_booking, upper_bound, usage_of_failure
from rememo.llm.protocol import Usage
from rememo.llm.spending import Ledger
from rememo.recall.embed.protocol import RemoteEmbedder, Vector
from rememo.text.tokens import default_counter


def booked_embedding(engine: Engine, tenant: str, embedder: RemoteEmbedder) -> EmbedTexts:
    """Return a function that embeds texts for a tenant; it raises `OverBudget` where the daily limit would be exceeded."""
    ledger, count = Ledger(engine), default_counter().count
    longest: int | None = getattr(embedder, "max_chars", None)  # what is cut off is not paid for

    def ask(texts: Sequence[str]) -> list[Vector | None]:
        most = upper_bound(sum(count(text[:longest]) for text in texts), 0)
        booking = ledger.reserve(tenant, EMBED, most)
        try:
            embedded = embedder.attempt(texts)
        except BaseException as error:
            settle_booking(ledger, booking, _cost(error, most), failed=True)
            raise
        settle_booking(ledger, booking, Usage(embedded.tokens, 0))
        return embedded.vectors

    return ask


def _cost(error: BaseException, most: Usage) -> Usage:
    """Return the cost of a failure: nothing where no request was sent, as while the circuit breaker is open."""
    if not isinstance(error, EmbeddingFailed):
        return most
    return Usage() if error.__cause__ is None else usage_of_failure(error.__cause__, most)
