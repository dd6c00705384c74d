"""LangGraph on a memory: `RememoStore` for what agents keep, `RememoSaver` for the state of graphs."""

from rememo.adapters.missing_framework import missing_framework

try:
    import langgraph.checkpoint.base as _checkpoints
    import langgraph.store.base as _stores
except ImportError as error:
    raise missing_framework("LangGraph", "langgraph", error) from None

from rememo.adapters.langgraph.saver import RememoSaver
from rememo.adapters.langgraph.store import RememoStore

del _checkpoints, _stores  # only to see that both are there

__all__ = ["RememoSaver", "RememoStore"]
