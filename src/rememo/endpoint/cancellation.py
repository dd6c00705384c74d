"""Cancellation: end the calls of a thread from outside."""

import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any


class CancelToken:
    """Cancels the calls that are made under it, and lets none begin after. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._calls: set[Future[Any]] = set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel()` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the calls that run."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    @contextmanager
    def register(self, call: "Future[Any]") -> Generator[None]:
        """Let a call be cancelled as long as the block lasts."""
        with self._lock:
            self._calls.add(call)
        if self._cancelled:
            call.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)


_tokens: ContextVar[tuple[CancelToken, ...]] = ContextVar("rememo_cancel_tokens", default=())


@contextmanager
def cancelled_by(token: CancelToken) -> Generator[None]:
    """Let `token`, and those of enclosing blocks, cancel every call that this thread makes inside the block."""
    before = _tokens.set((*_tokens.get(), token))
    try:
        yield
    finally:
        _tokens.reset(before)


@contextmanager
def cancellable(call: "Future[Any]") -> Generator[None]:
    """Register a call with every token of this thread."""
    with ExitStack() as stack:
        for token in _tokens.get():
            stack.enter_context(token.register(call))
        yield
