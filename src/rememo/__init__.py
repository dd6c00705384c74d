"""Rememo: memory for AI agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rememo._version import __version__ as __version__

if TYPE_CHECKING:
    from rememo.aio import AsyncMemory, AsyncRecentMessages
    from rememo.client import Client
    from rememo.context.providers import ProviderRequest, ProviderResponse
    from rememo.errors import (
        AlreadyExists,
        ArchiveError,
        Busy,
        Closed,
        CommitUnknown,
        Corrupt,
        DiskFull,
        EmbeddingFailed,
        EmbeddingMismatch,
        Forbidden,
        IncompatibleStore,
        InvalidFilter,
        InvalidInput,
        InvalidStep,
        JobFailed,
        KeyMismatch,
        MissingExtra,
        ModelChanged,
        ModelFailed,
        NotFound,
        OverBudget,
        Paused,
        RateLimited,
        ReadOnly,
        ReadOnlyStore,
        RememoError,
        StorageError,
        TypeMismatch,
        Unauthorised,
        Unavailable,
        VersionConflict,
    )
    from rememo.keep.keyring import Keyring
    from rememo.memory import Memory
    from rememo.model.hit import Hit
    from rememo.model.receipt import Change, Receipt
    from rememo.model.record import Record
    from rememo.model.scope import Scope
    from rememo.settings import Settings
    from rememo.summary.room_summaries import SummaryPolicy
    from rememo.working.recent_messages import RecentMessages
    from rememo.working.working import Working

__all__ = [
    "AlreadyExists",
    "ArchiveError",
    "AsyncMemory",
    "AsyncRecentMessages",
    "Busy",
    "Change",
    "Client",
    "Closed",
    "CommitUnknown",
    "Corrupt",
    "DiskFull",
    "EmbeddingFailed",
    "EmbeddingMismatch",
    "Forbidden",
    "Hit",
    "IncompatibleStore",
    "InvalidFilter",
    "InvalidInput",
    "InvalidStep",
    "JobFailed",
    "KeyMismatch",
    "Keyring",
    "Memory",
    "MissingExtra",
    "ModelChanged",
    "ModelFailed",
    "NotFound",
    "OverBudget",
    "Paused",
    "ProviderRequest",
    "ProviderResponse",
    "RateLimited",
    "ReadOnly",
    "ReadOnlyStore",
    "Receipt",
    "RecentMessages",
    "Record",
    "RememoError",
    "Scope",
    "Settings",
    "StorageError",
    "SummaryPolicy",
    "TypeMismatch",
    "Unauthorised",
    "Unavailable",
    "VersionConflict",
    "Working",
]

_MODULES: Final = {
    "AsyncMemory": "aio",
    "AsyncRecentMessages": "aio",
    "Change": "model.receipt",
    "Client": "client",
    "Hit": "model.hit",
    "Keyring": "keep.keyring",
    "Memory": "memory",
    "ProviderRequest": "context.providers",
    "ProviderResponse": "context.providers",
    "Receipt": "model.receipt",
    "RecentMessages": "working.recent_messages",
    "Record": "model.record",
    "Scope": "model.scope",
    "Settings": "settings",
    "SummaryPolicy": "summary.room_summaries",
    "Working": "working.working",
}
"""The module of each public name; those that are not listed are errors."""


def __getattr__(name: str) -> Any:
    # A command that answers before it opens a memory, as `rememo mcp` does, does not wait for all of this first.
    if name not in __all__:
        raise AttributeError(f"module 'rememo' has no attribute {name!r}")
    value = getattr(import_module(f"rememo.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
