"""The served operations: each method of a memory with its route and the rights it needs.

Parameters, types and texts come from the method itself: a parameter that is added to it is served and documented.
"""

from dataclasses import dataclass
from typing import Final, Literal

Right = Literal["read", "write", "admin"]
Reach = Literal["scope", "room", "tenant", "store"]
"""What an operation reads or writes beyond the labels of a view. `scope`: nothing. `room`: a whole room, whoever speaks
there. `tenant`: the whole tenant. `store`: all tenants. A key needs the same reach."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One route."""

    verb: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    """Below `/v1`, with parameters in braces."""
    method_path: str
    """The method, as in `messages.add`; a method of the memory itself has no prefix."""
    right: Right
    reach: Reach = "scope"
    status: int = 200
    without: tuple[str, ...] = ()
    """Parameters that are not served."""
    also: Reach = "scope"
    """The reach that is needed when the parameter `sets` is given."""
    sets: str | None = None
    """The parameter that makes a reading operation write; it needs the right to write."""

    guarded: tuple[str, ...] = ()
    """Parameters that need the right `admin`."""
    batched: bool = False
    """Whether it can be part of a batch: it writes, and only within its scope."""
    more: bool = False
    """Whether the method takes further fields by name, and checks them itself."""
    reports: bool = False
    """Whether a writing operation returns its result in full to keys without the right to read, since it holds no contents
    of records or is for administrators. Other results are emptied for such keys."""

    @property
    def shows_answer(self) -> bool:
        """Whether every key that may call it sees the whole result."""
        return self.right == "read" or self.verb == "GET" or self.reports

    @property
    def name(self) -> str:
        """Its name in OpenAPI and in the client."""
        return self.method_path if "." in self.method_path else f"memory.{self.method_path}"


def _read(verb: Literal["GET", "POST"], path: str, calls: str, **more: object) -> Operation:
    return Operation(verb, path, calls, "read", **more)  # pyright: ignore[reportArgumentType] - see the fields


def _write(verb: Literal["POST", "PUT", "PATCH", "DELETE"], path: str, calls: str, **more: object) -> Operation:
    return Operation(verb, path, calls, "write", **more)  # pyright: ignore[reportArgumentType] - see the fields


def _plans(noun: str) -> list[Operation]:
    """Return the routes that goals and tasks share."""
    return [
        _write("POST", f"/{noun}", f"{noun}.add", batched=True, status=201),
        _read("GET", f"/{noun}", f"{noun}.list"),
        _read("GET", f"/{noun}:open", f"{noun}.open"),
        _read("GET", f"/{noun}/{{id}}", f"{noun}.get"),
        _write("PATCH", f"/{noun}/{{id}}", f"{noun}.update", batched=True),
        _write("POST", f"/{noun}/{{id}}/done", f"{noun}.done", batched=True),
        _write("POST", f"/{noun}/{{id}}/drop", f"{noun}.drop", batched=True),
    ]


OPERATIONS: Final = (
    # Records
    _write("POST", "/records", "add", batched=True, status=201),
    _write("POST", "/records:bulk", "add_many", batched=True, status=201),
    _write("POST", "/records:delete", "delete_where"),
    _write("POST", "/batch", "batch"),
    _read("GET", "/records:count", "count"),
    _read("GET", "/records", "list"),
    _read("GET", "/records/{id}", "get"),
    _write("PATCH", "/records/{id}", "update", batched=True),
    _write("DELETE", "/records/{id}", "delete", batched=True),
    _write("DELETE", "/records", "clear"),
    _read("GET", "/records/{id}/history", "history", guarded=("quarantined",)),
    _read("POST", "/search", "search"),
    _read("POST", "/similar", "similar"),
    _read("GET", "/rooms", "rooms"),
    _read("GET", "/users", "users"),
    _read("GET", "/agents", "agents"),
    # What a model is shown; templates are programs, and programs of strangers are not run
    _read("POST", "/context", "context", without=("template", "counter")),
    _read("POST", "/compose", "compose"),
    _read("POST", "/ask", "ask"),
    # Messages
    _write("POST", "/messages", "messages.add", batched=True, status=201),
    _write("POST", "/messages:pair", "messages.add_pair", batched=True, status=201),
    _read("GET", "/messages", "messages.history"),
    _write("DELETE", "/messages", "messages.clear"),
    _read("GET", "/messages:latest", "messages.latest"),
    _read("GET", "/messages:window", "messages.window", without=("counter",)),
    _read("POST", "/messages:for-model", "messages.for_model"),
    _read("GET", "/messages:limits", "messages.limits", reach="room"),
    _write("PUT", "/messages:limits", "messages.limit", reach="room", without=("on_overflow",)),
    _write("DELETE", "/messages:limits", "messages.unlimit", reach="room"),
    _read("GET", "/messages/{id}", "messages.get"),
    _read("GET", "/messages/{id}/replies", "messages.replies"),
    _read("GET", "/messages/{id}/thread", "messages.thread"),
    # Facts
    _write("POST", "/facts", "facts.add", status=201),
    _read("GET", "/facts", "facts.list"),
    _read("GET", "/facts:count", "facts.count"),
    _read("GET", "/facts:conflicts", "facts.conflicts"),
    _write("POST", "/facts:resolve", "facts.resolve"),
    _read("POST", "/facts:extract", "facts.extract"),
    _read("GET", "/facts/{id}", "facts.get"),
    _write("PATCH", "/facts/{id}", "facts.update"),
    _read("POST", "/facts:policy", "facts.policy", sets="mode", also="tenant"),
    # Revisions
    _read("GET", "/revisions", "revisions.list"),
    _write("POST", "/revisions/{id}/confirm", "revisions.confirm"),
    _write("POST", "/revisions/{id}/reject", "revisions.reject"),
    # Relationships
    _write("POST", "/relationships", "relationships.add", status=201),
    _read("GET", "/relationships", "relationships.list"),
    _read("GET", "/relationships:graph", "relationships.graph"),
    _read("GET", "/relationships:path", "relationships.path"),
    _write("POST", "/relationships:touch", "relationships.touch"),
    _read("GET", "/relationships/{id}", "relationships.get"),
    _write("PATCH", "/relationships/{id}", "relationships.update"),
    _write("DELETE", "/relationships/{id}", "relationships.remove"),
    _write("DELETE", "/entities/{name}", "relationships.remove_entity"),
    # Documents; a path would be one of the server's own files
    _write("POST", "/documents", "documents.add", status=201, without=("path",)),
    _read("GET", "/documents", "documents.list"),
    _read("POST", "/documents:search", "documents.search"),
    _read("GET", "/documents/{id}", "documents.get"),
    _write("PATCH", "/documents/{id}", "documents.update", without=("path",)),
    _read("GET", "/documents/{id}/chunks", "documents.chunks"),
    _read("GET", "/documents/{id}/summary", "documents.summary"),
    _read("GET", "/documents/{id}/text", "documents.text"),
    _write("DELETE", "/documents/{id}", "documents.delete"),
    # Goals, tasks, actions, thoughts, posts
    *_plans("goals"),
    *_plans("tasks"),
    _read("GET", "/tasks:due", "tasks.due"),
    _write("POST", "/actions", "actions.add", batched=True, status=201),
    _read("GET", "/actions", "actions.list"),
    _read("GET", "/actions:latest", "actions.latest"),
    _read("GET", "/actions:success-rate", "actions.success_rate"),
    _read("GET", "/actions/{id}", "actions.get"),
    _write("POST", "/thoughts", "thoughts.add", batched=True, status=201),
    _read("GET", "/thoughts", "thoughts.list"),
    _read("GET", "/thoughts:latest", "thoughts.latest"),
    _read("GET", "/thoughts/{id}", "thoughts.get"),
    _write("POST", "/posts", "posts.add", batched=True, status=201),
    _read("GET", "/posts", "posts.list"),
    _read("GET", "/posts:recent-locations", "posts.recent_locations"),
    _read("GET", "/posts/{id}", "posts.get"),
    # Summaries: of a room, whoever speaks there
    _read("GET", "/summaries", "summaries.list"),
    _read("GET", "/summaries:current", "summaries.current", reach="room", without=("room",)),
    _write("POST", "/summaries:update", "summaries.update", reach="room", without=("room",)),
    _write("POST", "/summaries:compress", "summaries.compress", reach="room", without=("room",)),
    _read("POST", "/summaries:policy", "summaries.policy", reach="room", sets="policy"),
    _read("GET", "/summaries/{id}", "summaries.get"),
    _read("GET", "/summaries/{id}/sources", "summaries.sources"),
    # Working state
    _read("GET", "/kv", "kv.keys"),
    _write("DELETE", "/kv", "kv.invalidate"),
    _read("GET", "/kv/{key}", "kv.get", without=("default",)),
    _write("PUT", "/kv/{key}", "kv.set"),
    _write("DELETE", "/kv/{key}", "kv.delete"),
    _read("GET", "/kv/{key}/version", "kv.version"),
    _write("POST", "/kv/{key}/compare-and-set", "kv.compare_and_set"),
    _read("GET", "/profiles", "profiles.keys"),
    _write("DELETE", "/profiles", "profiles.forget_all"),
    _read("GET", "/profiles/{key}", "profiles.get"),
    _write("PATCH", "/profiles/{key}", "profiles.update"),
    _write("DELETE", "/profiles/{key}", "profiles.forget"),
    _read("GET", "/sessions", "sessions.list"),
    _read("GET", "/sessions/{name}", "sessions.get"),
    _write("PUT", "/sessions/{name}", "sessions.save"),
    _write("POST", "/sessions/{name}/load", "sessions.load"),
    _write("DELETE", "/sessions/{name}", "sessions.delete"),
    _read("GET", "/working", "working.export"),
    _write("PUT", "/working", "working.import_"),
    _write("DELETE", "/working", "working.clear"),
    _read("GET", "/working:stats", "working.stats"),
    _read("GET", "/working:limits", "working.limits"),
    _write("PUT", "/working:limits", "working.limit"),
    _write("DELETE", "/working:limits", "working.unlimit"),
    _write("POST", "/working:prune", "working.prune"),
    _write("POST", "/working:think", "working.think", batched=True, status=201),
    _write("POST", "/todos", "working.todos.add", batched=True, status=201),
    _read("GET", "/todos", "working.todos.list"),
    _read("GET", "/todos:next", "working.todos.next"),
    _read("GET", "/todos/{id}", "working.todos.get"),
    _write("PATCH", "/todos/{id}", "working.todos.update", batched=True),
    _write("POST", "/todos/{id}/done", "working.todos.done", batched=True),
    _write("POST", "/todos/{id}/drop", "working.todos.drop", batched=True),
    _write("DELETE", "/todos/{id}", "working.todos.delete", batched=True),
    _read("GET", "/values", "working.context.all"),
    _read("GET", "/values/{name}", "working.context.get", without=("default",)),
    _write("PUT", "/values/{name}", "working.context.set", batched=True),
    _write("DELETE", "/values/{name}", "working.context.delete", batched=True),
    _read("GET", "/typed/{name}", "typed.get"),
    _write("PUT", "/typed/{name}", "typed.set"),
    _write("DELETE", "/typed/{name}", "typed.clear"),
    _write("POST", "/typed/{name}/undo", "typed.undo"),
    _read("GET", "/typed/{name}/history", "typed.history"),
    _read("GET", "/flows/{name}", "flow.get"),
    _write("DELETE", "/flows/{name}", "flow.clear"),
    _read("GET", "/flows/{name}/active", "flow.active"),
    _write("POST", "/flows/{name}/start", "flow.start", status=201),
    _write("POST", "/flows/{name}/set", "flow.set"),
    _write("POST", "/flows/{name}/advance", "flow.advance"),
    _write("POST", "/flows/{name}/pause", "flow.pause"),
    _write("POST", "/flows/{name}/resume", "flow.resume"),
    _read("POST", "/flows/{name}/progress", "flow.progress"),
    # Time; `changes` is a stream for those who accept one
    _read("GET", "/changes", "changes"),
    _read("GET", "/snapshots", "snapshots", reach="tenant"),
    _write("PUT", "/snapshots/{name}", "snapshot", reach="tenant"),
    _read("POST", "/diff", "diff"),
    _write("POST", "/rollback", "rollback"),
    _write("POST", "/undo", "undo"),
    # Keeping
    _read("GET", "/stats", "stats", reach="tenant"),
    _read("GET", "/spending", "spending", reach="tenant"),
    _read("GET", "/jobs", "jobs.list", reach="tenant"),
    _read("GET", "/jobs/{id}", "jobs.get", reach="tenant"),
    _write("POST", "/jobs/{id}/retry", "jobs.retry", reach="tenant"),
    Operation("GET", "/audit", "audit.list", "admin"),
    Operation("GET", "/audit:head", "audit.head", "admin", reach="tenant"),
    Operation("POST", "/audit:verify", "audit.verify", "admin", reach="tenant", reports=True),
    _read("POST", "/receipts:wait", "wait"),
    Operation("POST", "/reset", "reset", "admin"),
    Operation("GET", "/quarantine", "quarantine.list", "admin"),
    Operation("GET", "/quarantine:count", "quarantine.count", "admin"),
    Operation("GET", "/quarantine:rules", "quarantine.rules", "admin"),
    Operation("GET", "/quarantine/{id}", "quarantine.get", "admin"),
    Operation("POST", "/quarantine/{id}/release", "quarantine.release", "admin"),
    Operation("POST", "/quarantine/{id}/hold", "quarantine.hold", "admin"),
    Operation("DELETE", "/quarantine/{id}", "quarantine.delete", "admin"),
    Operation("GET", "/retention", "retention.list", "admin", reach="tenant"),
    Operation("PUT", "/retention/{name}", "retention.set", "admin", reach="tenant", reports=True),
    Operation("POST", "/retention/{ready}/use", "retention.use", "admin", reach="tenant", more=True, reports=True),
    Operation("DELETE", "/retention/{name}", "retention.remove", "admin", reach="tenant"),
    Operation("POST", "/retention:undo", "retention.undo", "admin", reach="tenant", reports=True),
    Operation("GET", "/archive", "archive.list", "admin", reach="tenant", without=("agent", "user", "room")),
    Operation("POST", "/archive:search", "archive.search", "admin", reach="tenant", reports=True),
    Operation("POST", "/archive/{name}/restore", "archive.restore", "admin", reach="tenant"),
    # It redacts the tenant's audit trail, and facts of others may stand on what goes.
    Operation("POST", "/erase", "erase", "admin", reach="tenant", reports=True),
    Operation("POST", "/verify", "verify", "admin", reach="store", reports=True),
    Operation("POST", "/maintain", "maintain", "admin", reach="store", reports=True),
)

BATCHED: Final = frozenset(operation.method_path for operation in OPERATIONS if operation.batched)
"""The operations that can be part of a batch."""

NOT_SERVED: Final = {
    "acting": "the server says in whose name it acts: the key's",
    "as_of": "the parameter as_of of every route",
    "audit.denied": "refusals are noted by those who refuse",
    "audit.export": "GET /audit:export streams it",
    "backup": "writes a file of the server's; `rememo backup` does it",
    "bound": "what a client asked for itself",
    "close": "the server's own",
    "compliance": "takes a function",
    "drop_key": "a master key's owner does it, where the keyring is",
    "export": "GET /export streams it",
    "hooks": "takes functions",
    "import_": "POST /import takes it",
    "kv.cached": "takes functions",
    "quarantine.rule": "takes a function",
    "kv.update": "takes a function",
    "pool": "the parameter pool of every route",
    "provider": "takes a function",
    "providers": "takes functions",
    "reembed": "takes a model; `rememo reembed` does it",
    "rotate_keys": "a master key's owner does it, where the keyring is",
    "scope": "the parameters tenant, agent, user and room of every route",
    "sessions.run": "a block of Python",
    "summaries.use": "takes a function",
    "working.actions": "the same as actions",
    "working.bound": "what a client asked for itself",
    "working.change": "takes a function",
    "working.context.update": "takes a function",
    "working.messages": "the same as messages",
    "working.thoughts": "the same as thoughts",
    "working.tool": "a block of Python",
}
"""Methods of a memory without a route, and why."""
