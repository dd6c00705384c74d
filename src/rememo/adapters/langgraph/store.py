"""LangGraph's long-term memory: items by namespace and key, found by filter and by meaning."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    validate_op_namespace,
)
from langgraph.store.base.embed import EmbeddingsFunc

from rememo.adapters.langchain.embedder import LangChainEmbedder
from rememo.adapters.langgraph.items import RememoSearchItem, namespace_filter, searchable_text, value_filter
from rememo.adapters.memory_holder import MemoryHolder, MemorySource, derived_id
from rememo.adapters.retrieval import Mode, RetrievedRecord, current_record, retrieve
from rememo.adapters.store_items import (
    ITEM,
    ROOMS,
    item_data,
    item_metadata,
    item_name,
    item_room,
    item_user,
    read_item,
)
from rememo.adapters.threads import run_in_thread
from rememo.errors import InvalidInput, NotFound, ReadOnly, VersionConflict
from rememo.memory import Memory
from rememo.model.check import check_label
from rememo.model.record import Record
from rememo.model.times import Clock, now

_KIND: Final = "note"
_REFRESH_SHARE: Final = 20
_MOST_TRIES: Final = 100


class RememoStore(MemoryHolder, BaseStore):
    """A LangGraph store on a memory: each namespace is a room, each item a record that `memory.search` finds too.

    `memory` is a memory, a view of one that is bound to no room, or where to open one. `index` says which `fields` of a
    value are searched, every text in it unless given; its `embed` is the model of a memory that is opened here. `ttl` is
    as LangGraph has it, in minutes; what has expired is never returned. `mode` is that of `memory.search`.

    `user_of` names the user of a namespace: "I" in its items is that user, and what they say in one of their namespaces
    revises what they said in another. A view that is bound to a user keeps everything for that one.

    The reads of a batch see what was there before it; its writes are one transaction.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemorySource = "rememo.db",
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        mode: Mode = "hybrid",
        user_of: Callable[[tuple[str, ...]], str | None] = item_user,
        clock: Clock = now,
    ) -> None:
        index = index or {}
        embed = index.get("embed")
        if embed is None:
            MemoryHolder.__init__(self, memory, clock=clock)
        elif isinstance(memory, Memory):
            raise InvalidInput(
                "index has an embed, but this memory is open and has an embedder; open it with"
                " Memory(…, embedder=LangChainEmbedder(…)), or give its path here"
            )
        else:
            plain = _run_coroutine(embed) if inspect.iscoroutinefunction(embed) else embed
            model = LangChainEmbedder(ensure_embeddings(plain), dimension=index.get("dims"))
            MemoryHolder.__init__(self, memory, embedder=model, clock=clock)
        if self._memory.bound.room is not None:
            self.close()
            raise InvalidInput(
                f"a store has a room for each namespace; give it a view without room={self._memory.bound.room!r}"
            )
        self.ttl_config = ttl
        self._fields = index.get("fields")
        self._mode: Mode = mode
        self._user_of = user_of
        self._clock = clock

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: reads first, then all writes or none; results are in the order of the operations."""
        operations = list(ops)
        writes: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in operations:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                writes[tuple(op.namespace), op.key] = op
        results = [self._read(op) for op in operations]
        if writes:
            self._write(list(writes.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as `batch` does, on a thread."""
        return await run_in_thread(self.batch, ops)

    # ---- reading

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            records = self._memory.list(ids=[self._id(op.namespace, op.key)], kind=_KIND, limit=1)
            self._refresh(records, enabled=op.refresh_ttl)
            return Item(**_item_fields(records[0])) if records else None
        if isinstance(op, SearchOp):
            hits = self._search(op)
            self._refresh([hit.record for hit in hits], enabled=op.refresh_ttl)
            return [self._to_search_item(hit) for hit in hits]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _search(self, op: SearchOp) -> list[RetrievedRecord]:
        prefix = tuple(op.namespace_prefix)
        view, metadata = self._within(prefix), {**ITEM, **namespace_filter(prefix), **value_filter(op.filter or {})}
        if op.query:
            return retrieve(view, op.query, op.offset + op.limit, mode=self._mode, kind=_KIND, metadata=metadata)[
                op.offset :
            ]
        records = view.list(kind=_KIND, metadata=metadata, limit=op.limit, offset=op.offset)
        return [RetrievedRecord(record=record, score=None) for record in reversed(records)]

    def _within(self, prefix: tuple[str, ...]) -> Memory:
        """Return the view of what lies in a namespace or below it: of its user alone, where all of it has the same."""
        name = item_room(prefix)
        rooms = [room for room in self._memory.rooms(prefix=name) if not prefix or f"{room}.".startswith(f"{name}.")]
        users = {self._user(_read_namespace(room)) for room in rooms}
        view = self._memory
        if len(users) == 1 and (user := users.pop()) is not None:
            user_view = self._memory.scope(user=user)
            # What was stored before its user was known has no user.
            view = user_view if set(user_view.rooms(prefix=name)).issuperset(rooms) else view
        # Where nothing lies below, the room alone is searched, at once.
        return view.scope(room=name) if prefix and rooms in ([], [name]) else view

    def _to_search_item(self, result: RetrievedRecord) -> RememoSearchItem:
        holding = current_record(self._memory, result.standing)
        item = _item_fields(holding) if holding is not None and "langgraph" in holding.metadata else None
        return RememoSearchItem(
            **_item_fields(result.record),
            score=result.score,
            status=result.standing.status,
            superseded_by=None if item is None else (item["namespace"], item["key"]),
        )

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        rooms = self._memory.rooms(prefix=ROOMS)
        spaces = map(_read_namespace, rooms)
        namespaces = {
            namespace[: op.max_depth]
            for namespace in spaces
            if all(_matches(namespace, by) for by in op.match_conditions or ())
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _refresh(self, records: Sequence[Record], *, enabled: bool) -> None:
        """Renew the time to live of items that were read, once a twentieth of it has passed."""
        current_time = self._clock()
        due = [
            record
            for record in records
            if enabled and record.expires_at and record.expires_at - current_time < _refresh_threshold(record)
        ]
        if due and not self._prolong(due):
            for record in due:
                self._prolong([record])

    def _prolong(self, records: Sequence[Record]) -> bool:
        """Renew the time to live of items, all or none; False where one is gone or was changed by another writer."""
        try:
            with self._memory.batch() as batch:
                for record in records:
                    batch.update(record.id, ttl=record.data["ttl"], expected_version=record.version)
        except (NotFound, VersionConflict):
            return False
        except ReadOnly:  # the past stays as it was
            return True
        return True

    # ---- writing

    def _write(self, ops: Sequence[PutOp]) -> None:
        added: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for op in ops:
            if op.value is not None:
                added.setdefault(tuple(op.namespace), []).append(self._item(op, op.value))
        homes = {namespace: self._home(namespace) for namespace in added}
        doomed = [self._id(op.namespace, op.key) for op in ops if op.value is None]
        for tries in range(_MOST_TRIES):
            existing = self._memory.list(ids=doomed, limit=len(doomed)) if doomed else []
            try:
                with self._memory.batch() as batch:
                    for namespace, items in added.items():
                        batch.scope(user=homes[namespace], room=item_room(namespace)).add_many(items)
                    for record in existing:
                        batch.delete(record.id)
            except NotFound:  # another writer deleted it first
                if tries + 1 == _MOST_TRIES:
                    raise
            else:
                return

    def _item(self, op: PutOp, value: Mapping[str, Any]) -> dict[str, Any]:
        if not op.namespace:
            raise InvalidInput(f"the item {op.key!r} has no namespace; name at least one label")
        fields = self._fields if op.index is None else op.index
        lives = None if op.ttl is None else op.ttl * 60
        return {
            "id": self._id(op.namespace, op.key),
            "kind": _KIND,
            "text": "" if fields is False else searchable_text(value, fields),
            "data": item_data(op.key, value, lives),
            "metadata": item_metadata(op.namespace, value),
            "occurred_at": self._clock(),
            "ttl": lives,
            "on_conflict": "replace",
        }

    def _user(self, namespace: tuple[str, ...]) -> str | None:
        return None if self._memory.bound.user is not None else self._user_of(namespace)

    def _home(self, namespace: tuple[str, ...]) -> str | None:
        """Return the user of a namespace's records; none where it has records from before its user was known."""
        user, room = self._user(namespace), check_label(item_room(namespace), "room")
        if user is None or room in self._memory.scope(user=user).rooms(prefix=room):
            return user
        return None if room in self._memory.rooms(prefix=room) else user

    def _id(self, namespace: Sequence[str], key: str) -> str:
        return derived_id(self._memory, item_name(self._memory.bound, namespace, key))


def _refresh_threshold(record: Record) -> timedelta:
    """Return the remaining time to live from which on an item need not be renewed."""
    return timedelta(seconds=(record.data["ttl"] or 0) * (1 - 1 / _REFRESH_SHARE))


def _item_fields(record: Record) -> dict[str, Any]:
    levels, (key, value) = record.metadata["namespace"], read_item(record.data)
    return {
        "key": key,
        "value": value,
        "namespace": tuple(levels[str(depth)] for depth in range(len(levels))),
        "created_at": record.created_at,
        "updated_at": max(record.at, record.created_at),  # by another clock, and a moment before it was stored
    }


def _read_namespace(room: str) -> tuple[str, ...]:
    return tuple(room.removeprefix(ROOMS).split("."))


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f'a namespace is matched by "prefix" or "suffix", not {condition.match_type!r}')
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or (
        len(part) == len(path) and all(expected in ("*", label) for label, expected in zip(part, path, strict=True))
    )


def _run_coroutine(embed: Callable[[Sequence[str]], Coroutine[Any, Any, list[list[float]]]]) -> EmbeddingsFunc:
    """Return a synchronous function that runs an asynchronous one on an event loop in a thread."""

    def plain(texts: Sequence[str]) -> list[list[float]]:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, embed(texts)).result()

    return plain
