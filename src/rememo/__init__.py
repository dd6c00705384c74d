"""Rememo: memory for AI agents."""

from typing import TYPE_CHECKING, Any

from rememo._version import __version__ as __version__
from rememo.context.providers import Asked, Provided
from rememo.errors import RememoError
from rememo.keep.encrypt import Keyring
from rememo.learn.room_summaries import SummaryPolicy
from rememo.memory import Memory
from rememo.model.hit import Hit
from rememo.model.receipt import Change, Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.settings import Settings
from rememo.working.working import Working

if TYPE_CHECKING:
    from rememo.aio import AsyncMemory
    from rememo.client import Client

__all__ = [
    "Asked",
    "AsyncMemory",
    "Change",
    "Client",
    "Hit",
    "Keyring",
    "Memory",
    "Provided",
    "Receipt",
    "Record",
    "RememoError",
    "Scope",
    "Settings",
    "SummaryPolicy",
    "Working",
]


def __getattr__(name: str) -> Any:
    # Those who do not wait for anything do not pay for asyncio.
    if name == "AsyncMemory":
        from rememo.aio import AsyncMemory  # noqa: PLC0415 - see above

        return AsyncMemory
    if name == "Client":
        from rememo.client import Client  # noqa: PLC0415 - nor for HTTP

        return Client
    raise AttributeError(f"module 'rememo' has no attribute {name!r}")
