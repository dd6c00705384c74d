"""The public operations of a memory: the classes that have them, and the names that they go by.

The async mirror and the HTTP client are generated from this list, and whoever observes operations wraps them. Routes, rights
and what a batch may hold are in `rememo.serve.rest.operations`: a row for each method, or the reason why it has none.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
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

PUBLIC_CLASSES: Final[Mapping[type[Any], str]] = {
    KeyValues: "kv.",
    Cached: "kv.cached.",
    Messages: "messages.",
    Facts: "facts.",
    Revisions: "revisions.",
    Relationships: "relationships.",
    Documents: "documents.",
    Goals: "goals.",
    Tasks: "tasks.",
    Actions: "actions.",
    Thoughts: "thoughts.",
    Posts: "posts.",
    Summaries: "summaries.",
    Profiles: "profiles.",
    ContextValues: "working.context.",
    Todos: "working.todos.",
    Working: "working.",
    Sessions: "sessions.",
    Flow: "flow.",
    Typed: "typed.",
    Quarantine: "quarantine.",
    Jobs: "jobs.",
    Audit: "audit.",
    Retention: "retention.",
    Archive: "archive.",
    Memory: "",
    RecentMessages: "recent.",
}
"""Each class with the prefix of its operations' names: a memory's own have none, those of its messages begin with `messages.`."""
WITHOUT_IO: Final = frozenset({"scope", "pool", "acting", "compliance", "provider", "rule", "on_change", "off_change"})
"""Methods that only configure later calls, or return a view that does the work: nothing is awaited, nothing is observed."""
_OPENERS: Final = frozenset({"flow", "typed"})
"""Methods that return an object whose methods are the operations."""


def public_operations() -> Iterator[tuple[type[Any], str, str]]:
    """Yield each operation: its class, its method, and its public name."""
    for owner, prefix in PUBLIC_CLASSES.items():
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_") and name not in WITHOUT_IO | _OPENERS and _is_plain_function(method):
                yield owner, name, prefix + name


def _is_plain_function(method: Callable[..., Any]) -> bool:
    """Whether the work is done when the call returns, unlike that of generators and context managers."""
    return not inspect.isgeneratorfunction(inspect.unwrap(method))
