"""The observed operations: the public methods of `Memory` and its faces, by their public names."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from rememo.collections.actions import Actions
from rememo.collections.documents import Documents
from rememo.collections.facts import Facts
from rememo.collections.goals import Goals
from rememo.collections.jobs import Jobs
from rememo.collections.messages import Messages
from rememo.collections.posts import Posts
from rememo.collections.relationships import Relationships
from rememo.collections.revisions import Revisions
from rememo.collections.summaries import Summaries
from rememo.collections.tasks import Tasks
from rememo.collections.thoughts import Thoughts
from rememo.jobs.worker import Worker
from rememo.keep.archive import Archive
from rememo.keep.audit import Audit
from rememo.keep.quarantine import Quarantine
from rememo.keep.retention import Retention
from rememo.memory import Memory
from rememo.working.cached import Cached
from rememo.working.context_values import ContextValues
from rememo.working.flows import Flow
from rememo.working.kv import KeyValues
from rememo.working.profiles import Profiles
from rememo.working.recent_messages import RecentMessages
from rememo.working.sessions import Sessions
from rememo.working.todos import Todos
from rememo.working.typed import Typed
from rememo.working.working import Working

FACES: Final[dict[type[Any], str]] = {
    Memory: "",
    Messages: "messages.",
    Facts: "facts.",
    Relationships: "relationships.",
    Revisions: "revisions.",
    Documents: "documents.",
    Goals: "goals.",
    Tasks: "tasks.",
    Actions: "actions.",
    Thoughts: "thoughts.",
    Posts: "posts.",
    Summaries: "summaries.",
    Profiles: "profiles.",
    Working: "working.",
    ContextValues: "working.context.",
    Todos: "working.todos.",
    Sessions: "sessions.",
    KeyValues: "kv.",
    Cached: "kv.cached.",
    Flow: "flow.",
    Typed: "typed.",
    Quarantine: "quarantine.",
    Jobs: "jobs.",
    Audit: "audit.",
    Retention: "retention.",
    Archive: "archive.",
    RecentMessages: "recent.",
}
WORK: Final = "jobs.work"
"""The worker's own operation."""
# These only configure later calls, or return an object that does the work.
_NOT_OPERATIONS: Final = {
    "scope",
    "pool",
    "acting",
    "compliance",
    "provider",
    "rule",
    "on_change",
    "off_change",
    "flow",
    "typed",
}


def operations() -> Iterator[tuple[type[Any], str, str]]:
    """Yield each operation: its class, its method, and its public name."""
    for face, prefix in FACES.items():
        for name, method in inspect.getmembers(face, inspect.isfunction):
            if not name.startswith("_") and name not in _NOT_OPERATIONS and _is_plain_function(method):
                yield face, name, prefix + name
    yield Worker, "do", WORK


def _is_plain_function(method: Callable[..., Any]) -> bool:
    """Whether the work is done when the call returns, unlike that of generators and context managers."""
    return not inspect.isgeneratorfunction(inspect.unwrap(method))
