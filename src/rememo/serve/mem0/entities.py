"""mem0's entities: users, agents, runs and apps that have memories."""

from collections.abc import Callable
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record
from rememo.serve.mem0.filters import APP, MEMORIES
from rememo.serve.mem0.request import Mem0Request

LABEL_OF: Final = {"user": "user", "agent": "agent", "run": "room"}
"""Our labels by mem0's entity types; an app is metadata."""
_TYPES: Final = (*LABEL_OF, "app")
_NAMES: Final[dict[str, Callable[[Memory], list[str]]]] = {
    "user": Memory.users,
    "agent": Memory.agents,
    "run": Memory.rooms,
}


def list_entities(request: Mem0Request) -> dict[str, Any]:
    """Handle `GET /v1/entities/`: all entities with memories in the key's scope, in one page."""
    request.allow_query()
    memory = request.view()
    results = [
        _to_entity(kind, name, *_first_and_last(memory.scope(**{label: name})))
        for kind, label in LABEL_OF.items()
        for name in _NAMES[kind](memory)
        if not name.startswith("pool:")
    ]
    results += [
        _to_entity("app", name, len(records), records[0], records[-1])
        for name, records in sorted(_records_by_app(memory).items())
    ]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def delete_entity(request: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v2/entities/{type}/{name}/`: delete all records of an entity."""
    request.allow_query()
    kind, name = request.path["type"], request.path["name"]
    if kind not in _TYPES:
        raise InvalidInput(f"unknown entity type {kind[:50]!r}; the types are {', '.join(_TYPES)}")
    if kind == "app":
        count = request.view().delete_where(metadata={APP: name})
    else:
        count = request.view({LABEL_OF[kind]: name}).clear()
    # Deleting an empty entity succeeds: their clients go through a list, in which a run may belong to a deleted user.
    return {"message": "Entity deleted successfully!", "count": count}


def _first_and_last(memory: Memory) -> tuple[int, Record | None, Record | None]:
    """Return the number of memories, the first and the last."""
    count = memory.count(kind=MEMORIES)
    if not count:
        return 0, None, None
    [first] = memory.list(kind=MEMORIES, limit=1, offset=count - 1) or [None]
    [last] = memory.list(kind=MEMORIES, limit=1) or [None]
    return count, first, last


def _records_by_app(memory: Memory) -> dict[str, list[Record]]:
    view = view_of(memory)
    filter = view.filter(kind=MEMORIES, metadata={APP: {"$exists": True}})
    records: dict[str, list[Record]] = {}
    for record in view.engine.store.read(filter, view.engine.now()):
        if isinstance(record.metadata[APP], str):
            records.setdefault(record.metadata[APP], []).append(record)
    return records


def _to_entity(kind: str, name: str, count: int, first: Record | None, last: Record | None) -> dict[str, Any]:
    return {
        "id": f"{kind}:{name}",
        "name": name,
        "type": kind,
        "total_memories": count,
        "count": count,
        "created_at": first and first.at.isoformat(),
        "updated_at": last and last.at.isoformat(),
    }
