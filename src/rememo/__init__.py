"""Rememo: memory for AI agents."""

from rememo._version import __version__ as __version__
from rememo.aio import AsyncMemory
from rememo.errors import RememoError
from rememo.memory import Memory
from rememo.model.hit import Hit
from rememo.model.receipt import Change, Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.settings import Settings

__all__ = ["AsyncMemory", "Change", "Hit", "Memory", "Receipt", "Record", "RememoError", "Scope", "Settings"]
