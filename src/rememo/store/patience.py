"""How the calls of a server wait for a store on another machine: it must answer while the store cannot be reached.

A program waits as long as for another writer. A request waits for moments, and what only asks whether the store is there
neither waits for the connections that others hold.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal

Caller = Literal["program", "request", "check"]
REQUEST_SECONDS: Final = 1.0
"""How long a request waits for a connection that cannot be made."""

_caller: ContextVar[Caller] = ContextVar("rememo_caller", default="program")


@contextmanager
def calling_as(caller: Caller) -> Generator[None]:
    """Say for the block who calls."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def is_program() -> bool:
    """Whether the caller can wait."""
    return _caller.get() == "program"


def is_check() -> bool:
    """Whether the caller asks whether the store is there."""
    return _caller.get() == "check"
