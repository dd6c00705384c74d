"""mem0's deleting routes: one memory, several, or all of an owner's."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.learn.facts import is_fact
from rememo.memory import BatchView, Memory
from rememo.model.record import Record
from rememo.serve.mem0.filters import ANY, APP, ENTITIES, MEMORIES
from rememo.serve.mem0.owners import OWNERS, labels_of, named_entities
from rememo.serve.mem0.reading import find_memory
from rememo.serve.mem0.request import MOST_ITEMS, Mem0Request, RequestBody
from rememo.serve.mem0.serializer import replaced_ids

_LONGEST: Final = 4_096
"""The most characters of filters in a query."""


class MemoryReference(BaseModel):
    """A memory by its id."""

    model_config = ConfigDict(extra="forbid", strict=True)
    memory_id: str


class DeleteManyBody(RequestBody):
    """The body of a batch delete."""

    memories: list[MemoryReference] = Field(min_length=1, max_length=MOST_ITEMS)


def delete(request: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/memories/{id}/`; with `delete_linked` delete the facts it superseded too."""
    request.allow_query("delete_linked")
    memory = request.view()
    record = find_memory(memory, request.path["id"])
    linked = request.query.get("delete_linked", "false").lower()
    if linked not in ("true", "false"):
        raise InvalidInput(f"delete_linked must be true or false, not {linked[:50]!r}")
    with memory.batch() as inside:
        delete_with_replaced(inside, record)
        if linked == "true" and is_fact(record):
            slot = memory.facts.list(
                subject=record.data["subject"], predicate=record.data["predicate"], current_only=False, limit=1_000
            )
            for older in slot:
                if older.status in ("superseded", "retracted") and older.record.scope == record.scope:
                    delete_with_replaced(inside, older.record)
    return {"message": "Memory deleted successfully!"}


def delete_many(request: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/batch/`: all of them or none."""
    request.allow_query()
    memory, body = request.view(), request.body(DeleteManyBody).memories
    records = {record.id: record for record in (find_memory(memory, reference.memory_id) for reference in body)}
    with memory.batch() as inside:
        for record in records.values():
            delete_with_replaced(inside, record)
    return {"message": f"Successfully deleted {len(records)} memories"}


def delete_with_replaced(inside: BatchView, record: Record) -> None:
    """Delete a memory with those that it replaced, which would come back otherwise; missing ones are skipped."""
    view = view_of(inside)
    for id in (record.id, *replaced_ids(record)):
        if (view.batch is None or id not in view.batch.removed) and view.find(id) is not None:
            inside.delete(id)


def delete_all(request: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/memories/`: delete the memories of the entities that the request must name."""
    request.allow_query(*OWNERS, "filters")
    filters = request.query.get("filters")
    named = named_entities(
        {name: request.query.get(name) for name in OWNERS}, None if filters is None else _parse_python_dict(filters)
    )
    if not named:
        raise InvalidInput(f"say whose memories to delete: give one of {', '.join(OWNERS)}; '*' is any")
    stars = [label for name, label in ENTITIES.items() if named.get(name) == ANY]
    app = named.get(APP)
    metadata = None if app is None else {APP: {"$exists": True} if app == ANY else app}
    if len(stars) == len(ENTITIES):
        stars, metadata = [], None if app == ANY else metadata  # everything
    memory = request.view(labels_of({name: value for name, value in named.items() if value != ANY}))
    count = sum(view.delete_where(kind=MEMORIES, metadata=metadata) for view in _expand_wildcards(memory, stars))
    return {"message": f"Memories deleted successfully! ({count})", "count": count}


def _expand_wildcards(memory: Memory, stars: Sequence[str]) -> list[Memory]:
    """Return the views of all values of the wildcard labels."""
    if not stars:
        return [memory]
    label, *rest = stars
    names = {"user": memory.users, "agent": memory.agents, "room": memory.rooms}[label]()
    matching = [name for name in names if label != "room" or not name.startswith("pool:")]
    return [view for name in matching for view in _expand_wildcards(memory.scope(**{label: name}), rest)]


def _parse_python_dict(text: str) -> Mapping[str, Any]:
    """Return the filters in a query: mem0's client writes them as Python literals."""
    try:
        parsed: object = ast.literal_eval(text) if len(text) <= _LONGEST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise InvalidInput("filters in a query cannot be parsed; give user_id, agent_id, app_id or run_id instead")
    return {str(name): value for name, value in cast("dict[object, Any]", parsed).items()}
