"""mem0's writing routes: add and update memories."""

from collections.abc import Iterable, Sequence
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
from rememo.memory import Memory
from rememo.model.filters import Condition
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import LABELS
from rememo.serve.mem0.deleting import delete_with_replaced
from rememo.serve.mem0.filters import ANY, APP, add_span, parse_day, parse_time
from rememo.serve.mem0.owners import OWNERS, labels_of, named_entities
from rememo.serve.mem0.reading import find_memory
from rememo.serve.mem0.request import MOST_ITEMS, DeferredResponse, Mem0Request, RequestBody
from rememo.serve.mem0.serializer import REPLACES, replaced_ids, to_event, to_memory

_PATIENCE: Final = 5.0
"""Seconds to wait for what is learned; the rules take milliseconds."""
_DAY: Final = timedelta(days=1)


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

    messages: list[IncomingMessage] = Field(min_length=1, max_length=MOST_ITEMS)
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

    memories: list[UpdateItem] = Field(min_length=1, max_length=MOST_ITEMS)


# ---- adding


def add(request: Mem0Request) -> DeferredResponse:
    """Handle `POST /v3/memories/add/`: store the messages verbatim, and return the facts extracted from them.

    With `infer` false each message becomes a note and nothing is extracted.
    """
    request.allow_query()
    body = request.body(AddBody)
    named = named_entities({name: getattr(body, name) for name in OWNERS}, body.filters)
    if ANY in named.values():
        raise InvalidInput(f"a memory needs an owner; {ANY!r} is for filters only")
    if not named and not request.key.is_bound:
        raise InvalidInput(f"a memory needs an owner: give one of {', '.join(OWNERS)}")
    memory = request.view(labels_of(named))
    metadata = {**(body.metadata or {}), **({APP: named[APP]} if APP in named else {})}
    at = None if body.timestamp is None else parse_time(body.timestamp, "timestamp")
    end = _end_of_day(memory, body.expiration_date)
    if body.infer is False:
        receipt = view_of(memory).put([_note_from_message(message, metadata, at, end) for message in body.messages])
        return DeferredResponse(lambda: None, lambda _: _add_response(memory, receipt, [], learned=True))
    receipt = _add_messages(memory, body.messages, metadata, at, end)
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
    view, message_ids = view_of(memory), dict.fromkeys(ids)
    more: dict[str, Any] = {
        **({"metadata": metadata} if metadata else {}),
        **({} if end is None else {"expires_at": end}),
    }
    learned: dict[str, tuple[Record, bool]] = {}
    for id in message_ids:
        filter = view.filter(kind="fact", conditions=(Condition("data", ("sources",), "$contains", id),))
        for fact in view.engine.store.read(filter, view.engine.now()):
            if fact.id in learned or fact.data.get("status") == "retracted":
                continue
            is_new = message_ids.keys() >= set(fact.data["sources"])
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
    quarantined = [
        {"id": id, "event": "NOOP", "reason": f"held back: {why}"} for id, why in receipt.quarantined.items()
    ]
    note = {"message": "stored; facts are still being extracted"} if not learned else {}
    return {"results": [*results, *quarantined], "status": "SUCCEEDED" if learned else "PENDING", **note}


# ---- changing


def update(request: Mem0Request) -> dict[str, Any]:
    """Handle `PUT /v1/memories/{id}/`."""
    request.allow_query()
    memory, body = request.view(), request.body(UpdateBody)
    record = find_memory(memory, request.path["id"])
    changed = _apply_update(memory, record, body)
    return to_memory(changed)


def update_many(request: Mem0Request) -> dict[str, Any]:
    """Handle `PUT /v1/batch/`: all memories must exist before the first is updated."""
    request.allow_query()
    memory, body = request.view(), request.body(UpdateManyBody).memories
    records = [find_memory(memory, item.memory_id) for item in body]
    facts = [(record, item) for record, item in zip(records, body, strict=True) if is_fact(record)]
    with memory.batch() as inside:
        for record, item in zip(records, body, strict=True):
            if not is_fact(record):
                view_of(inside).revise(record.id, _updated_fields(memory, record, item))
    for record, item in facts:
        _apply_update(memory, record, item)
    return {"message": f"Successfully updated {len(body)} memories"}


def _apply_update(memory: Memory, record: Record, body: UpdateBody) -> Record:
    changes = _updated_fields(memory, record, body)
    if is_fact(record) and "text" in changes:
        return _replace_fact_text(memory, record, changes)
    view_of(memory).revise(record.id, changes)
    return memory.get(record.id)


def _updated_fields(memory: Memory, record: Record, body: UpdateBody) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if body.text is not None:
        if not body.text.strip():
            raise InvalidInput("text is empty; to remove a memory, delete it")
        changes["text"] = body.text
    if body.metadata is not None:
        internal = {name: record.metadata[name] for name in (APP, REPLACES) if name in record.metadata}
        changes["metadata"] = {**internal, **body.metadata}
    if body.timestamp is not None:
        if is_fact(record):
            raise InvalidInput(f"memory {record.id!r} is an extracted fact, and its time is that of its source")
        changes["occurred_at"] = parse_time(body.timestamp, "timestamp")
    if "expiration_date" in body.model_fields_set:
        changes["expires_at"] = _end_of_day(memory, body.expiration_date)
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
    labels = {name: getattr(fact.scope, name) for name in LABELS}
    with memory.scope(**labels).batch() as inside:
        delete_with_replaced(inside, fact)
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
