"""Sessions and memory of Google's Agent Development Kit, which share what was said instead of keeping it twice."""

from rememo.adapters.google_adk.memory_service import RememoMemoryService
from rememo.adapters.google_adk.session_service import RememoSessionService

__all__ = ["RememoMemoryService", "RememoSessionService"]
