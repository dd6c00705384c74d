"""View: an engine seen through a scope, at a moment, perhaps inside a batch. What every face of a memory is made on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rememo.engine.batch import Batch, Rebuild, as_record, pending_receipt
from rememo.engine.engine import Engine
from rememo.engine.learning import LEARN, LEARNED_KINDS, add_learning, may_learn_from
from rememo.errors import Forbidden, InvalidInput, NotFound, ReadOnly, VersionConflict
from rememo.model.check import check_label, check_version
from rememo.model.derived_ids import DerivedId, is_derived, may_be_older
from rememo.model.derived_names import typed_name
from rememo.model.filters import Filter, make_filter, parse_conditions
from rememo.model.receipt import Receipt
from rememo.model.record import STATE, Record
from rememo.model.scope import LABELS, Scope
from rememo.model.spelling import explain_missing_method
from rememo.store.writes import Put, Remove, RemoveAll, Revise, Write

BOUND = "bound"
"""The field in the data of a message or note that names the labels its writer was bound to: learning gives it no say beyond them."""
_NOT_LEARNED_FROM = frozenset({"metadata", "pinned", "importance", "expires_at", "ttl", "embedding"})
"""Fields of a record that say nothing about anybody."""
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where reads look and writes go."""

    engine: Engine
    scope: Scope
    known_at: datetime | None = None
    """A view of the past: nothing recorded later is seen, and nothing can be written."""
    batch: Batch | None = None
    """An open batch: writes wait in it."""
    author: Scope | None = None
    """Of a view that many share: whose agent and user new records carry. Reads are not narrowed by it."""
    wall: Scope | None = None
    """The largest scope that this view's user may reach; recall widens no view beyond it."""

    @property
    def home(self) -> Scope:
        """Where new records belong: the view's scope, with the author's labels where others read them too."""
        if self.author is None:
            return self.scope
        agent, user = self.scope.agent or self.author.agent, self.scope.user or self.author.user
        return replace(self.scope, agent=agent, user=user)

    @property
    def bound(self) -> tuple[str, ...]:
        """The labels that this view's user is bound to."""
        return () if self.wall is None else tuple(name for name in LABELS if getattr(self.wall, name) is not None)

    @property
    def reach(self) -> Scope | None:
        """How far what follows from a write may go; None for all of the tenant."""
        return self.wall if self.bound else None

    def attributed(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of a record with what says how far its writer reached, where it will be learned from."""
        if not self.bound or fields.get("kind", "note") not in LEARNED_KINDS:
            return fields
        return {**fields, "data": {**(fields.get("data") or {}), BOUND: list(self.bound)}}

    def revision(self, record: Record, changes: Mapping[str, Any]) -> Revise:
        """Return the write that changes some fields of a record in the name of this view's user."""
        if record.kind not in LEARNED_KINDS and changes.get("kind") not in LEARNED_KINDS:
            return self.engine.drafts.revise(record, changes)
        bound_before = bound_to(record)
        if "text" in changes:
            # Other words: they are this writer's, whoever wrote those before.
            bound = self.bound
        elif "data" in changes:
            bound = tuple(name for name in LABELS if name in bound_before or name in self.bound)
        else:
            return self.engine.drafts.revise(record, changes)
        if "data" not in changes and bound == bound_before:
            return self.engine.drafts.revise(record, changes)
        new_data: Mapping[str, Any] | None = changes.get("data", record.data)
        if new_data is None:
            new_data = {}
        elif not isinstance(new_data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - of a caller
            return self.engine.drafts.revise(record, changes)  # refused there
        data: dict[str, Any] = {name: value for name, value in new_data.items() if name != BOUND}
        if bound:
            data[BOUND] = list(bound)
        if not may_learn_from(record.data):
            data[LEARN] = False
        return self.engine.drafts.revise(record, {**changes, "data": data})

    def narrow(self, scope: Scope) -> "View":
        """Return the view of another scope; one that is not behind the wall raises `Forbidden`."""
        if self.wall is not None and not self.wall.contains(scope):
            raise Forbidden(
                "this lies beyond the tenant and labels that may be reached here; ask for less, or with another key"
            )
        return replace(self, scope=scope)

    def whole_room(self) -> "View":
        """Return the view of everything in this view's room: for links between messages.

        It says which messages there are, and its contents are for no caller who could not read them anyhow. Behind a
        wall that binds other labels but not this room, it sees what the wall lets through. A view without a room stays
        as it is.
        """
        if self.scope.room is None:
            return self
        scope = Scope(tenant=self.scope.tenant, room=self.scope.room)
        if self.wall is not None and self.wall.room != scope.room:
            scope = scope.within(self.wall)
        return replace(self, scope=scope)

    def at(self, moment: datetime) -> "View":
        """Return a view of the past; one of a view of the past never sees more than that one."""
        return replace(self, known_at=moment if self.known_at is None else min(moment, self.known_at))

    def need_present(self) -> None:
        """Refuse to write through a view of the past."""
        if self.known_at is not None:
            raise ReadOnly("this is a view of the past and cannot be written to; use the memory it came from")

    def need_no_batch(self, verb: str) -> None:
        """Refuse what cannot wait."""
        if self.batching is not None:
            raise InvalidInput(f"{verb} cannot be part of a batch; call it before or after the batch")

    @property
    def batching(self) -> Batch | None:
        """The batch that writes wait in, while it is open."""
        return self.batch if self.batch is not None and self.batch.open else None

    # ---- reading

    def wait_for_extraction(self) -> None:
        """Let what was written be learned before it is read, for as long as the settings say; the past has nothing to wait for."""
        if self.known_at is None:
            self.engine.pending_extraction.wait(self.scope)

    def filter(self, *, known_at: datetime | None = None, **parts: Any) -> Filter:
        """Return a checked filter within this view."""
        filter = make_filter(self.scope, known_at=known_at, **parts)
        if self.known_at is not None:
            filter = filter.narrowed(known_at=min(filter.known_at or self.known_at, self.known_at))
        return filter

    def find(
        self,
        id: str,
        *,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
        quarantined: bool | None = False,
    ) -> Record | None:
        """Return a record, or None when there is none in this view; one in quarantine only where that is asked for.

        An id that an earlier release derived still finds its record.
        """
        record = self._find(id, known_at, valid_at, quarantined)
        if record is None and may_be_older(id):
            record = self._find(self.engine.ids.derive(self.scope.tenant, id), known_at, valid_at, quarantined)
        return record

    def _find(
        self, id: str, known_at: datetime | None, valid_at: datetime | None, quarantined: bool | None
    ) -> Record | None:
        if known_at is None and valid_at is None and self.known_at is None:
            filter = Filter(scope=self.scope, ids=(check_label(id, "id"),), quarantined=quarantined)
        else:
            filter = self.filter(ids=[id], known_at=known_at, valid_at=valid_at, quarantined=quarantined)
        return self.engine.store.get(filter, self.engine.now())

    def get(self, id: str, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> Record:
        """Return a record; raises `NotFound` when there is none in this view."""
        record = self.find(id, known_at=known_at, valid_at=valid_at)
        if record is None:
            quarantined = self.find(id, known_at=known_at, valid_at=valid_at, quarantined=True)
            if quarantined is not None:
                raise NotFound(
                    f"record {id!r} is in quarantine ({quarantined.quarantine}); look at it by quarantine.get() and release it"
                )
            raise NotFound(f"there is no record {id!r} in this scope")
        return record

    # ---- writing

    def put(self, items: Sequence[Mapping[str, Any]], key: str | None = None) -> Receipt:
        """Create records of `Memory.add`'s arguments, all or none."""
        self.need_present()
        if (first := self._first(key)) is not None:
            return first
        learn, by_rules = self.engine.settings.learn, self.engine.models is None
        copies = [self._recognised(dict(item)) for item in items]
        for item in copies:
            add_learning(item, enabled=learn, by_rules=by_rules)
        items = [self.attributed(item) for item in copies]
        writes = self.engine.drafts.puts(self.home, items)
        self.engine.guard.count(writes, self.engine.now)
        batch = self.batching
        if batch is None:
            return self.commit(writes, key)
        for item, write in zip(items, writes, strict=True):
            batch.add(write, self._rebuild(item, write))
        return pending_receipt(write.draft.id for write in writes)

    def _rebuild(self, item: Mapping[str, Any], write: Put) -> Rebuild:
        """Return what makes a write of this view anew with other fields."""
        fields = {name: value for name, value in item.items() if name != "id" or value is not None}

        def rebuild(changes: Mapping[str, Any]) -> Put:
            again = self.engine.drafts.put(self.home, self.attributed({"id": write.draft.id, **fields, **changes}))
            return replace(again, fresh=write.fresh)

        return rebuild

    def _recognised(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return an item with its id as a derived one, where a client far away stores a typed value of this very view."""
        id, data = item.get("id"), item.get("data")
        if not isinstance(id, str) or isinstance(id, DerivedId) or not is_derived(id) or item.get("kind") != STATE:
            return item
        name = data.get("name") if isinstance(data, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - checked later
        if not isinstance(name, str):
            return item
        own = self.engine.ids.derive(self.scope.tenant, typed_name(self.scope, name))
        return item | {"id": own} if id == own else item

    def revise(
        self,
        id: str,
        changes: Mapping[str, Any],
        expected: int | None = None,
        key: str | None = None,
        *,
        check: Callable[[Record, Mapping[str, Any]], None] | None = None,
    ) -> Receipt:
        """Change some fields of a record; without an expected version, of whatever version is current.

        `check` is shown the record and the changes, and raises where they do not go together.
        """
        self.need_present()
        check_label(id, "id")
        if expected is not None:
            check_version(expected)
        if (first := self._first(key)) is not None:
            return first
        batch = self.batching
        if batch is not None:
            if check is not None and isinstance(waiting := batch.waiting(id), Put | Revise):
                check(as_record(waiting), changes)
            if self._change_waiting(batch, id, changes):
                return pending_receipt([id])
        for _ in range(_MOST_TRIES):
            record = self.get(id)
            if expected is not None and record.version != expected:
                raise VersionConflict(
                    f"record {id!r} is at version {record.version}, not {expected}; read it again and repeat the change"
                )
            if check is not None:
                check(record, changes)
            write = self.revision(record, changes)
            if batch is not None:
                batch.add(write, lambda more, record=record: self.revision(record, {**changes, **more}))
                return pending_receipt([id])
            try:
                return self.commit([write], key, unlearn=not changes.keys() <= _NOT_LEARNED_FROM)
            except VersionConflict:
                if expected is not None:
                    raise
        raise VersionConflict(f"record {id!r} changed {_MOST_TRIES} times while it was being updated; try again later")

    def _change_waiting(self, batch: Batch, id: str, changes: Mapping[str, Any]) -> bool:
        if id in batch.removed:
            raise NotFound(f"record {id!r} is deleted earlier in this batch")
        waiting = batch.waiting(id)
        # One that would be ignored leaves the stored record as it is: then that is what is changed.
        if isinstance(waiting, Put) and waiting.on_conflict == "ignore" and self.find(id) is not None:
            return False
        return batch.change(id, changes)

    def remove(self, id: str, expected: int | None = None, key: str | None = None) -> Receipt:
        """End a record."""
        self.need_present()
        check_label(id, "id")
        if expected is not None:
            check_version(expected)
        if (first := self._first(key)) is not None:
            return first
        record = self.find(id, quarantined=None)
        id = id if record is None else record.id
        write = Remove(id=id, scope=self.scope, expected=expected)
        parts = [] if record is None else parts_of(self.engine, [record])
        batch = self.batching
        if batch is None:
            return self.commit([write, *parts], key)
        if not batch.drop(id):
            batch.remove(write)
            for part in parts:
                batch.remove(part)
        return pending_receipt([id])

    def remove_all(self, filter: Filter, *, operation: str = "write") -> Receipt:
        """End every record that a filter means, in quarantine or not."""
        self.need_present()
        filter = filter.narrowed(quarantined=None)
        parts: list[Remove] = []
        if not filter.selects_everything and (not filter.kinds or "document" in filter.kinds):
            documents = self.engine.store.read(filter.narrowed(kinds=("document",)), self.engine.now())
            parts = parts_of(self.engine, documents)
        # What belongs to another goes first: the filter may mean it too, and then finds it gone.
        return self.commit([*parts, RemoveAll(filter=filter)], operation=operation)

    def commit(
        self,
        writes: Iterable[Write],
        key: str | None = None,
        *,
        operation: str = "write",
        unlearn: bool = True,
        still_learned: frozenset[str] = frozenset(),
    ) -> Receipt:
        """Write at once, as one transaction; what was learned from records that are `still_learned` stays when they end.

        Without `unlearn` all that was learned stays as it is: the writes change nothing that lessons rest on.
        """
        return self.engine.commit(
            self.scope,
            list(writes),
            key,
            unlearn=unlearn,
            reach=self.reach,
            operation=operation,
            still_learned=still_learned,
        )

    def _first(self, key: str | None) -> Receipt | None:
        """Return what was done under an idempotency key before, so that a retry needs nothing to be as it was."""
        if key is None:
            return None
        if self.batching is not None:
            raise InvalidInput("a key names a whole batch: give it to batch(key=…), not to a write inside")
        return self.engine.first_receipt(self.scope, key)


class ViewHolder:
    """What is bound to a view: a memory, its collections, its working memory."""

    def __init__(self, view: View) -> None:
        self._view = view

    if not TYPE_CHECKING:

        def __getattr__(self, name):  # noqa: ANN001, ANN204 - type checkers report such a name themselves
            raise explain_missing_method(self, name)


def view_of(holder: ViewHolder) -> View:
    """Return the view that a memory or a collection is bound to, and with it the engine.

    This is the way in for the packages of this library; it is no part of the public surface.
    """
    view: View = vars(holder)["_view"]
    return view


def bound_to(record: Record) -> tuple[str, ...]:
    """Return the labels that the writer of a record was bound to by an API key."""
    named: object = record.data.get(BOUND)
    if not isinstance(named, list):
        return ()
    return tuple(name for name in LABELS if name in named and getattr(record.scope, name) is not None)


def parts_of(engine: Engine, records: Iterable[Record]) -> list[Remove]:
    """Return the writes that end what cannot be without these records of a tenant: the chunks of documents."""
    documents = [record for record in records if record.kind == "document"]
    if not documents:
        return []
    chunks = Filter(
        scope=Scope(tenant=documents[0].scope.tenant),
        kinds=("chunk",),
        conditions=parse_conditions("data", {"document": {"$in": [document.id for document in documents]}}),
        quarantined=None,
    )
    return [Remove(id=chunk.id, scope=chunks.scope) for chunk in engine.store.read(chunks, engine.now())]
