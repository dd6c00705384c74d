"""mem0's writing routes: add, update and delete memories."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from rememo.collections.limits import RoomLimits
from rememo.context.chat import address_url
from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.extract.predicates import normalise_predicate
from rememo.learn.fact_sentences import sentence
from rememo.learn.facts import is_fact
from rememo.learn.statements import folded
from rememo.memory import BatchView, Memory
from rememo.model.check import check_label
from rememo.model.filters import Condition
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import LABELS
from rememo.serve.mem0.filters import ANY, APP, ENTITIES, MEMORIES, add_span, parse_day, parse_time
from rememo.serve.mem0.reading import find_memory
from rememo.serve.mem0.request import DeferredResponse, Mem0Request, RequestBody
from rememo.serve.mem0.serializer import REPLACES, replaced_ids, to_event, to_memory

_PATIENCE: Final = 5.0
"""Seconds to wait for what is learned; the rules take milliseconds."""
_MOST_MESSAGES: Final = 1_000
_LONGEST: Final = 4_096
_DAY: Final = timedelta(days=1)
_NAMES: Final = (*ENTITIES, APP)


class IncomingMessage(BaseModel):
    """A chat message; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: str = "user"
    content: str | list[Any] | dict[str, Any] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    def parts(self) -> tuple[str, list[str]]:
        """Return the text and the URLs of the images."""
        if self.content is None or isinstance(self.content, str):
            return self.content or "", []
        texts: list[str] = []
        images: list[str] = []
        for part in self.content if isinstance(self.content, list) else [self.content]:
            match part:
                case str():
                    texts.append(part)
                case {"type": "text", "text": str(text)}:
                    texts.append(text)
                case {"type": "image_url", "image_url": {"url": str(url)}}:
                    images.append(address_url(url, "image_url"))
                case _:
                    raise InvalidInput(
                        "a part of a message must be text or an image_url; add documents with POST /v1/documents"
                    )
        return "\n".join(texts), images


class AddBody(RequestBody):
    """The body of an add."""

    messages: list[IncomingMessage] = Field(min_length=1, max_length=_MOST_MESSAGES)
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    filters: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    infer: bool | None = None
    timestamp: int | float | str | None = None
    expiration_date: str | None = None


class UpdateBody(RequestBody):
    """The body of an update; fields that are not given stay."""

    text: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: int | float | str | None = None
    expiration_date: str | None = None


class UpdateItem(UpdateBody):
    """One update of a batch."""

    memory_id: str


class UpdateManyBody(RequestBody):
    """The body of a batch update."""

    memories: list[UpdateItem] = Field(min_length=1, max_length=_MOST_MESSAGES)


class MemoryReference(BaseModel):
    """A memory by its id."""

    model_config = ConfigDict(extra="forbid", strict=True)
    memory_id: str


class DeleteManyBody(RequestBody):
    """The body of a batch delete."""

    memories: list[MemoryReference] = Field(min_length=1, max_length=_MOST_MESSAGES)


# ---- adding


def add(asked: Mem0Request) -> DeferredResponse:
    """Handle `POST /v3/memories/add/`: store the messages verbatim, and return the facts extracted from them.

    With `infer` false each message becomes a note and nothing is extracted.
    """
    asked.allow_query()
    given = asked.body(AddBody)
    named = _named_entities({name: getattr(given, name) for name in _NAMES}, given.filters)
    if ANY in named.values():
        raise InvalidInput(f"a memory needs an owner; {ANY!r} is for filters only")
    if not named and not asked.key.is_bound:
        raise InvalidInput(f"a memory needs an owner: give one of {', '.join(_NAMES)}")
    memory = asked.view(_labels(named))
    metadata = {**(given.metadata or {}), **({APP: named[APP]} if APP in named else {})}
    at = None if given.timestamp is None else parse_time(given.timestamp, "timestamp")
    end = _end_of_day(memory, given.expiration_date)
    if given.infer is False:
        receipt = view_of(memory).put([_note_from_message(message, metadata, at, end) for message in given.messages])
        return DeferredResponse(lambda: None, lambda _: _add_response(memory, receipt, [], learned=True))
    receipt = _add_messages(memory, given.messages, metadata, at, end)
    return DeferredResponse(
        lambda: receipt.wait(_PATIENCE),
        lambda learned: _add_response(
            memory, receipt, _learned_facts(memory, receipt.ids, metadata, end), learned=learned
        ),
    )


def _add_messages(
    memory: Memory,
    messages: Sequence[IncomingMessage],
    metadata: dict[str, Any],
    at: datetime | None,
    end: datetime | None,
) -> Receipt:
    with memory.batch() as inside:
        for message in messages:
            text, images = message.parts()
            waiting = inside.messages.add(
                message.role, text, name=message.name, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id,
                images=images or None, metadata=metadata, at=at,
            )  # fmt: skip
            if end is not None:
                view_of(inside).revise(waiting.id, {"expires_at": end})
    RoomLimits(view_of(memory)).enforce()
    return cast("Receipt", inside.receipt)


def _note_from_message(
    message: IncomingMessage, metadata: dict[str, Any], at: datetime | None, end: datetime | None
) -> dict[str, Any]:
    text, images = message.parts()
    if images or not text.strip():
        raise InvalidInput("with infer false every message must have a text, and nothing but that")
    data = {"role": message.role, **({"name": message.name} if message.name else {})}
    return {
        "text": text, "data": data, "metadata": metadata, "occurred_at": at, "expires_at": end, "learn": False,
    }  # fmt: skip


def _learned_facts(
    memory: Memory, ids: Iterable[str], metadata: dict[str, Any], end: datetime | None
) -> list[tuple[Record, bool]]:
    """Return the facts extracted from messages, and whether each is new; new ones get the messages' metadata and expiry."""
    view, mine = view_of(memory), dict.fromkeys(ids)
    more: dict[str, Any] = {
        **({"metadata": metadata} if metadata else {}),
        **({} if end is None else {"expires_at": end}),
    }
    learned: dict[str, tuple[Record, bool]] = {}
    for id in mine:
        filter = view.filter(kind="fact", conditions=(Condition("data", ("sources",), "$contains", id),))
        for fact in view.engine.store.read(filter, view.engine.now()):
            if fact.id in learned or fact.data.get("status") == "retracted":
                continue
            is_new = mine.keys() >= set(fact.data["sources"])
            if is_new and more:
                view.revise(fact.id, more)
            learned[fact.id] = (memory.get(fact.id), is_new)
    return list(learned.values())


def _add_response(
    memory: Memory, receipt: Receipt, facts: Sequence[tuple[Record, bool]], *, learned: bool
) -> dict[str, Any]:
    """Return the extracted facts; where there are none, the stored messages."""
    results = [to_event(fact, "ADD" if is_new else "UPDATE") for fact, is_new in facts]
    if not results:
        stored = {record.id: record for record in memory.list(ids=receipt.ids, limit=len(receipt.ids))}
        results = [to_event(stored[id], "ADD") for id in receipt.ids if id in stored]
    held = [{"id": id, "event": "NOOP", "reason": f"held back: {why}"} for id, why in receipt.quarantined.items()]
    note = {"message": "stored; facts are still being extracted"} if not learned else {}
    return {"results": [*results, *held], "status": "SUCCEEDED" if learned else "PENDING", **note}


# ---- changing


def update(asked: Mem0Request) -> dict[str, Any]:
    """Handle `PUT /v1/memories/{id}/`."""
    asked.allow_query()
    memory, given = asked.view(), asked.body(UpdateBody)
    record = find_memory(memory, asked.path["id"])
    changed = _apply_update(memory, record, given)
    return to_memory(changed)


def update_many(asked: Mem0Request) -> dict[str, Any]:
    """Handle `PUT /v1/batch/`: all memories must exist before the first is updated."""
    asked.allow_query()
    memory, given = asked.view(), asked.body(UpdateManyBody).memories
    records = [find_memory(memory, item.memory_id) for item in given]
    facts = [(record, item) for record, item in zip(records, given, strict=True) if is_fact(record)]
    with memory.batch() as inside:
        for record, item in zip(records, given, strict=True):
            if not is_fact(record):
                view_of(inside).revise(record.id, _updated_fields(memory, record, item))
    for record, item in facts:
        _apply_update(memory, record, item)
    return {"message": f"Successfully updated {len(given)} memories"}


def _apply_update(memory: Memory, record: Record, given: UpdateBody) -> Record:
    changes = _updated_fields(memory, record, given)
    if is_fact(record) and "text" in changes:
        return _replace_fact_text(memory, record, changes)
    view_of(memory).revise(record.id, changes)
    return memory.get(record.id)


def _updated_fields(memory: Memory, record: Record, given: UpdateBody) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if given.text is not None:
        if not given.text.strip():
            raise InvalidInput("text is empty; to remove a memory, delete it")
        changes["text"] = given.text
    if given.metadata is not None:
        kept = {name: record.metadata[name] for name in (APP, REPLACES) if name in record.metadata}
        changes["metadata"] = {**kept, **given.metadata}
    if given.timestamp is not None:
        if is_fact(record):
            raise InvalidInput(f"memory {record.id!r} is an extracted fact, and its time is that of its source")
        changes["occurred_at"] = parse_time(given.timestamp, "timestamp")
    if "expiration_date" in given.model_fields_set:
        changes["expires_at"] = _end_of_day(memory, given.expiration_date)
    if not changes:
        raise InvalidInput("nothing to update: give text, metadata, timestamp or expiration_date")
    return changes


def _replace_fact_text(memory: Memory, fact: Record, changes: dict[str, Any]) -> Record:
    """Replace the text of an extracted fact; the ids of both lead to the new record.

    Where the text states the same predicate of the same subject, it corrects the fact; otherwise it becomes a note.
    """
    text: str = changes.pop("text")
    before = replaced_ids(fact)
    metadata = {**fact.metadata, **changes.get("metadata", {})}
    changes["metadata"] = {**metadata, REPLACES: [*before, fact.id]}
    view, value = view_of(memory), _object_in_text(memory, fact, text)
    if value is not None:
        id = memory.facts.update(fact.id, object=value, wording=text).id
        view.revise(id, changes if id != fact.id else {**changes, "metadata": metadata})
        return memory.get(id)
    own = {name: getattr(fact.scope, name) for name in LABELS}
    with memory.scope(**own).batch() as inside:
        _delete_with_replaced(inside, fact)
        note = {"text": text, "learn": True, "occurred_at": fact.occurred_at, "expires_at": fact.expires_at, **changes}
        id = view_of(inside).put([note]).id
    return memory.get(id)


def _object_in_text(memory: Memory, fact: Record, text: str) -> str | None:
    """Return the object that a text states for a fact's subject and predicate, if any."""
    predicate: str = fact.data["predicate"]
    start, statement = sentence(fact.data["subject"], predicate, ""), text.strip().removesuffix(".")
    if statement.startswith(start) and len(statement) > len(start):
        return statement.removeprefix(start)
    objects = [
        stated.object
        for stated in memory.facts.extract(text, speaker=fact.scope.user)
        if folded(stated.subject) == fact.data["match"]["subject"]
        and normalise_predicate(stated.predicate) == predicate
    ]
    return objects[-1] if objects else None


# ---- deleting


def delete(asked: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/memories/{id}/`; with `delete_linked` delete the facts it superseded too."""
    asked.allow_query("delete_linked")
    memory = asked.view()
    record = find_memory(memory, asked.path["id"])
    linked = asked.query.get("delete_linked", "false").lower()
    if linked not in ("true", "false"):
        raise InvalidInput(f"delete_linked must be true or false, not {linked[:50]!r}")
    with memory.batch() as inside:
        _delete_with_replaced(inside, record)
        if linked == "true" and is_fact(record):
            slot = memory.facts.list(
                subject=record.data["subject"], predicate=record.data["predicate"], current_only=False, limit=1_000
            )
            for older in slot:
                if older.status in ("superseded", "retracted") and older.record.scope == record.scope:
                    _delete_with_replaced(inside, older.record)
    return {"message": "Memory deleted successfully!"}


def delete_many(asked: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/batch/`: all of them or none."""
    asked.allow_query()
    memory, given = asked.view(), asked.body(DeleteManyBody).memories
    records = {record.id: record for record in (find_memory(memory, reference.memory_id) for reference in given)}
    with memory.batch() as inside:
        for record in records.values():
            _delete_with_replaced(inside, record)
    return {"message": f"Successfully deleted {len(records)} memories"}


def _delete_with_replaced(inside: BatchView, record: Record) -> None:
    """Delete a memory with those that it replaced, which would come back otherwise; missing ones are skipped."""
    view = view_of(inside)
    for id in (record.id, *replaced_ids(record)):
        if (view.batch is None or id not in view.batch.removed) and view.find(id) is not None:
            inside.delete(id)


def delete_all(asked: Mem0Request) -> dict[str, Any]:
    """Handle `DELETE /v1/memories/`: delete the memories of the entities that the request must name."""
    asked.allow_query(*_NAMES, "filters")
    filters = asked.query.get("filters")
    named = _named_entities(
        {name: asked.query.get(name) for name in _NAMES}, None if filters is None else _parse_python_dict(filters)
    )
    if not named:
        raise InvalidInput(f"say whose memories to delete: give one of {', '.join(_NAMES)}; '*' is any")
    stars = [label for name, label in ENTITIES.items() if named.get(name) == ANY]
    app = named.get(APP)
    metadata = None if app is None else {APP: {"$exists": True} if app == ANY else app}
    if len(stars) == len(ENTITIES):
        stars, metadata = [], None if app == ANY else metadata  # everything
    memory = asked.view(_labels({name: value for name, value in named.items() if value != ANY}))
    count = sum(view.delete_where(kind=MEMORIES, metadata=metadata) for view in _expand_wildcards(memory, stars))
    return {"message": f"Memories deleted successfully! ({count})", "count": count}


def _expand_wildcards(memory: Memory, stars: Sequence[str]) -> list[Memory]:
    """Return the views of all values of the wildcard labels."""
    if not stars:
        return [memory]
    label, *rest = stars
    names = {"user": memory.users, "agent": memory.agents, "room": memory.rooms}[label]()
    own = [name for name in names if label != "room" or not name.startswith("pool:")]
    return [view for name in own for view in _expand_wildcards(memory.scope(**{label: name}), rest)]


# ---- inside


def _named_entities(given: Mapping[str, str | None], filters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the entities named by fields or by filters that name nothing else."""
    named = {name: check_label(value, name) for name, value in given.items() if value is not None}
    for name, value in (filters or {}).items():
        if name not in _NAMES or named.get(name, value) != value:
            raise InvalidInput(f"filters may name {', '.join(_NAMES)} here, each once, and nothing else")
        named[name] = check_label(value, name)
    return named


def _labels(named: Mapping[str, str]) -> dict[str, str]:
    return {ENTITIES[name]: value for name, value in named.items() if name in ENTITIES}


def _parse_python_dict(text: str) -> Mapping[str, Any]:
    """Return the filters in a query: mem0's client writes them as Python literals."""
    try:
        parsed: object = ast.literal_eval(text) if len(text) <= _LONGEST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise InvalidInput("filters in a query cannot be parsed; give user_id, agent_id, app_id or run_id instead")
    return {str(name): value for name, value in cast("dict[object, Any]", parsed).items()}


def _end_of_day(memory: Memory, expiration: str | None) -> datetime | None:
    """Return the end of an expiration date's day."""
    if expiration is None:
        return None
    if parse_day(expiration, "expiration_date") is None:
        raise InvalidInput(f"expiration_date must be a date such as 2026-12-31, not {expiration[:50]!r}")
    end = add_span(parse_time(expiration, "expiration_date"), _DAY, "expiration_date")
    if end <= view_of(memory).engine.now():
        raise InvalidInput(f"expiration_date {expiration} is in the past")
    return end
