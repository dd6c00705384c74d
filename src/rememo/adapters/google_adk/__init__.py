"""Sessions and memory of Google's Agent Development Kit, which share what was said instead of keeping it twice."""

from rememo.adapters.google_adk.memories import RememoMemoryService
from rememo.adapters.google_adk.sessions import RememoSessionService

__all__ = ["RememoMemoryService", "RememoSessionService"]
