"""The gateway to a memory's language model: calls are booked to a tenant and a purpose, and end when the memory closes."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rememo.endpoint.cancellation import CancelToken, cancelled_by
from rememo.engine.engine import Engine
from rememo.errors import Closed, ModelFailed, StorageError
from rememo.llm.protocol import LLM, ChatMessage, Completion, Streaming, Usage
from rememo.llm.spending import Booking, Ledger
from rememo.model.check import dump_json
from rememo.settings import Settings
from rememo.text.tokens import MESSAGE_TOKENS, default_counter

if TYPE_CHECKING:
    from rememo.llm.openai import OpenAICompatible

MAX_TOKENS: Final = 2_048
"""The longest answer of a model that says nothing of it."""
_MARGIN: Final = 1.2
"""Models count tokens each in their own way; what is booked beforehand is rounded up by that much."""
_UNPAID: Final = frozenset({"unreachable", "busy", "rejected"})
"""Failures before anything was read or written. Of others nobody knows, and what was booked stays."""
_log = logging.getLogger("rememo.llm")


class ModelGateway:
    """The language model of one engine. Closing the memory cancels running calls."""

    def __init__(self, engine: Engine, llm: LLM, *, owned: bool = False) -> None:
        """Ask `llm`; one that is `owned` is closed with the memory."""
        self.llm = llm
        self.ledger = Ledger(engine)
        self._owned = owned
        self.cancel_token = CancelToken()

    def by(self, tenant: str, operation: str) -> LLM:
        """Return the model as one tenant asks it for one purpose."""
        return _TenantModel(self, tenant, operation)

    def stop(self) -> None:
        """Cancel running calls and refuse new ones."""
        self.cancel_token.cancel()
        if self._owned:
            from rememo.llm.openai import OpenAICompatible  # noqa: PLC0415 - most memories have no model

            if isinstance(self.llm, OpenAICompatible):
                self.llm.close()


class _TenantModel:
    """The model for one tenant and purpose: each call is booked before it is made, and corrected after."""

    def __init__(self, models: ModelGateway, tenant: str, operation: str) -> None:
        self._models = models
        self._tenant = tenant
        self._operation = operation

    @property
    def name(self) -> str:
        """The model."""
        return self._models.llm.name

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return the answer; raises `OverBudget` instead of asking where the ceiling would be passed."""
        models, longest = self._models, max_tokens or getattr(self._models.llm, "max_tokens", MAX_TOKENS)
        prompt = prompt_tokens(messages, schema)
        booking = models.ledger.reserve(self._tenant, self._operation, upper_bound(prompt, longest))
        try:
            with cancelled_by(models.cancel_token):
                answer = models.llm.complete(messages, schema=schema, max_tokens=longest, timeout=timeout)
        except BaseException as error:
            settle_booking(models.ledger, booking, usage_of_failure(error, booking.usage), failed=True)
            raise
        usage = answer.usage if answer.usage.total else Usage(prompt, default_counter().count(answer.text))
        settle_booking(models.ledger, booking, usage, requests=answer.tries)
        return answer

    def stream(self, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """Give the answer in pieces; it is booked when it has ended, or is let go of."""
        models, prompt = self._models, prompt_tokens(messages)
        longest = getattr(models.llm, "max_tokens", MAX_TOKENS)
        booking = models.ledger.reserve(self._tenant, self._operation, upper_bound(prompt, longest))
        usage, failed, texts = booking.usage, True, list[str]()
        pieces = models.llm.stream(messages)
        try:
            while True:
                with cancelled_by(models.cancel_token):  # for each piece: whoever reads them does other things between
                    piece = next(pieces, None)
                if piece is None:
                    break
                texts.append(piece)
                yield piece
            charged = pieces.usage if isinstance(pieces, Streaming) else None
            usage = charged or Usage(prompt, default_counter().count("".join(texts)))
            failed = False
        except ModelFailed as error:
            usage = booking.usage if texts else usage_of_failure(error, booking.usage)
            raise
        finally:
            if isinstance(pieces, Streaming):
                pieces.close()
            settle_booking(models.ledger, booking, usage, failed=failed)


def model_for(engine: Engine, tenant: str, operation: str) -> LLM | None:
    """Return the model of a memory, as one tenant asks it for one purpose (`extract`, `ask` …); None without one.

    Its calls are booked to the tenant and the purpose, and raise `OverBudget` where they would pass the day's ceiling.
    """
    models = engine.models
    return models.by(tenant, operation) if isinstance(models, ModelGateway) else None


def model_of_settings(settings: Settings) -> "OpenAICompatible | None":
    """Return the model that the settings name; None when they name none."""
    if not settings.llm_url:
        return None
    from rememo.llm.openai import OpenAICompatible  # noqa: PLC0415 - most memories have no model

    return OpenAICompatible(
        settings.llm_url,
        settings.llm_model,
        settings.llm_key or None,
        timeout=settings.llm_timeout,
        concurrency=settings.llm_concurrency,
    )


def prompt_tokens(messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None) -> int:
    """Return the approximate number of prompt tokens."""
    count = default_counter().count
    shape = 0 if schema is None else count(dump_json(dict(schema)))
    return shape + sum(count(message.content) + MESSAGE_TOKENS for message in messages)


def upper_bound(prompt: int, longest: int) -> Usage:
    """Return the most that a call may cost."""
    return Usage(int(prompt * _MARGIN) + 1, longest)


def settle_booking(ledger: Ledger, booking: Booking, usage: Usage, *, requests: int = 1, failed: bool = False) -> None:
    """Write the actual cost of a call to the ledger, where that can be written now."""
    try:
        ledger.settle(booking, usage, requests=requests, failed=failed)
    except (Closed, StorageError) as error:
        # It was closed meanwhile, or is busy: the answer is worth more, and the most it may cost stays booked.
        _log.warning("what %s cost could not be corrected in the ledger: %s", booking.operation, error)


def usage_of_failure(error: BaseException, most: Usage) -> Usage:
    """Return the cost of a failed call: what the endpoint reports, nothing, or the most that it may be."""
    if not isinstance(error, ModelFailed):
        return most
    if any(error.tokens):
        return Usage(*error.tokens)
    return Usage() if error.reason in _UNPAID else most
