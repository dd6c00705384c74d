"""What a memory loads when it is first used is loaded before a fork: imports may not be half done in a child."""

from importlib import import_module
from typing import Final

_LOADED_LATER: Final = (
    "collections.documents", "collections.facts", "collections.goals", "collections.jobs", "collections.posts",
    "collections.relationships", "collections.revisions", "collections.summaries", "context.compose", "keep.audit",
    "keep.changes", "keep.erase", "keep.maintenance", "keep.quarantine", "keep.reembed", "keep.undo", "ask.answering", "learn.model_learning",
    "working.flow_provider", "working.hooks", "working.import_checks", "working.kv", "working.profiles", "working.session_erasure", "working.sessions",
    "working.typed",
)  # fmt: skip
"""These bring everything with them that is loaded later than `rememo.memory`."""


def load_all() -> None:
    """Load what is loaded later: a child forked while a thread was at it would wait for that thread for ever."""
    for name in _LOADED_LATER:
        import_module(f"rememo.{name}")
