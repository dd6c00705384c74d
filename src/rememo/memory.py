"""Memory: the front door; a view of one engine bound to a scope."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from rememo.engine.batch import Batch
from rememo.engine.engine import Engine
from rememo.engine.opening import default_embedder, open_engine
from rememo.engine.search import Mode, Query, search, similar
from rememo.engine.view import View
from rememo.errors import InvalidFilter, InvalidInput, NotFound
from rememo.keep.export import Transferred, export, import_file
from rememo.keep.reembed import reembed
from rememo.keep.versions import Diff, diff, rolling_back, undoing
from rememo.model.check import check_label, check_limit, check_offset, check_text, check_unit
from rememo.model.filters import Filter, make_filter
from rememo.model.hit import Hit
from rememo.model.receipt import OnConflict, Receipt
from rememo.model.record import Record
from rememo.model.scope import DEFAULT_TENANT, Scope
from rememo.model.times import Clock, now, to_utc
from rememo.model.unset import NOTHING, Unset
from rememo.recall.embed.protocol import Embedder
from rememo.settings import Settings
from rememo.store.protocol import Check, Stats
from rememo.working.hooks import Hooks
from rememo.working.kv import KeyValues

_MOST_HITS = 1_000
_SWEEP = 1_000
_MICROSECOND = timedelta(microseconds=1)


_ITEM_FIELDS = {
    "text", "kind", "data", "metadata", "occurred_at", "valid_from", "valid_to", "id", "on_conflict", "pinned",
    "importance", "ttl", "source", "trust", "embedding",
}  # fmt: skip

M = TypeVar("M", bound="Memory")
Duration = float | str | timedelta


class Memory:
    """What an agent remembers, seen through one scope.

    Every read and write obeys the view's scope: labels that are bound must match, labels that are not do not matter.
    Thread-safe; many processes may open one file. Use it as a context manager, or call `close()`.
    """

    def __init__(
        self,
        url: str | Path = "rememo.db",
        *,
        tenant: str = DEFAULT_TENANT,
        embedder: Embedder | Literal["static"] | None = "static",
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a memory: a file's path, or ":memory:"; a file that is not there is made.

        `embedder` is the static one unless given; None keeps no vectors. `settings` come from the environment and
        `rememo.toml` unless given. `clock` tells the time, for tests.
        """
        settings = settings or Settings.load()
        model = default_embedder(settings) if isinstance(embedder, str) else embedder
        scope = Scope().narrow(tenant=tenant)
        self._view = View(engine=open_engine(str(url), embedder=model, settings=settings, clock=clock), scope=scope)

    def scope(
        self, *, tenant: str | None = None, agent: str | None = None, user: str | None = None, room: str | None = None
    ) -> "Memory":
        """Return a narrower view of the same memory; a label that is bound already cannot be changed."""
        return _memory(Memory, self._view.narrow(self.bound.narrow(tenant=tenant, agent=agent, user=user, room=room)))

    @property
    def bound(self) -> Scope:
        """The scope this view is bound to."""
        return self._view.scope

    @property
    def _engine(self) -> Engine:
        return self._view.engine

    @property
    def kv(self) -> KeyValues:
        """Key-value state of exactly this scope, with an end."""
        return KeyValues(self._view)

    @property
    def hooks(self) -> Hooks:
        """Functions to be called after changes in this scope."""
        return Hooks(self._view)

    # ---- writing

    def add(
        self,
        text: str,
        *,
        kind: str = "note",
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        id: str | None = None,
        on_conflict: OnConflict = "error",
        pinned: bool = False,
        importance: float | None = None,
        ttl: Duration | None = None,
        source: str | None = None,
        trust: float | None = None,
        embedding: Iterable[float] | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember a text; it is durable and findable when this returns.

        `on_conflict` says what happens when `id` is taken: `error`, `ignore` (the record stays) or `replace` (a new
        version). `key` makes a retry harmless: a second write under it returns the first one's receipt.
        """
        fields = {
            "text": text, "kind": kind, "data": data, "metadata": metadata, "occurred_at": occurred_at,
            "valid_from": valid_from, "valid_to": valid_to, "id": id, "on_conflict": on_conflict, "pinned": pinned,
            "importance": importance, "ttl": ttl, "source": source, "trust": trust, "embedding": embedding,
        }  # fmt: skip
        return self._view.put([fields], key)

    def add_many(self, items: Iterable[str | Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Remember many texts in one transaction, in the order given: all of them or none.

        An item is a text, or a mapping of `add`'s arguments.
        """
        if isinstance(items, str | Mapping):
            raise InvalidInput("add_many() takes a collection of items; use add() for one")
        return self._view.put([_fields(item) for item in items], key)

    def update(
        self,
        id: str,
        *,
        text: str | Unset = NOTHING,
        kind: str | Unset = NOTHING,
        data: Mapping[str, Any] | Unset | None = NOTHING,
        metadata: Mapping[str, Any] | Unset | None = NOTHING,
        occurred_at: datetime | Unset | None = NOTHING,
        valid_from: datetime | Unset | None = NOTHING,
        valid_to: datetime | Unset | None = NOTHING,
        pinned: bool | Unset = NOTHING,
        importance: float | Unset | None = NOTHING,
        ttl: Duration | Unset | None = NOTHING,
        source: str | Unset | None = NOTHING,
        trust: float | Unset | None = NOTHING,
        embedding: Iterable[float] | Unset = NOTHING,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some fields of a record: its version ends and the next begins. What is not given stays.

        `data` and `metadata` replace what was there; `ttl=None` lets it live on. With `expected_version` a record that
        has moved on raises `VersionConflict`; without it the change is made to whatever is current.
        """
        given = {
            "text": text, "kind": kind, "data": data, "metadata": metadata, "occurred_at": occurred_at,
            "valid_from": valid_from, "valid_to": valid_to, "pinned": pinned, "importance": importance, "ttl": ttl,
            "source": source, "trust": trust, "embedding": embedding,
        }  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not NOTHING}
        if not changes:
            raise InvalidInput("update() was given nothing to change")
        if "ttl" in changes and changes["ttl"] is None:
            changes["expires_at"] = None
        return self._view.revise(id, changes, expected_version, key)

    def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a record; its versions stay for views of the past until retention or erasure removes them."""
        return self._view.remove(id, expected_version, key)

    def delete_where(
        self,
        *,
        kind: str | Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool | None = None,
        valid_at: datetime | None = None,
    ) -> int:
        """End every record in this scope that the filter means; returns how many. To end all of them say `clear()`."""
        self._view.need_no_batch("delete_where()")
        filter = make_filter(
            self.bound, kind=kind, ids=ids, after=after, before=before, metadata=metadata, pinned=pinned,
            valid_at=valid_at,
        )  # fmt: skip
        if filter.selects_everything:
            raise InvalidFilter(
                "delete_where() was given nothing to choose by; use clear() to end everything in this scope"
            )
        return self._view.remove_all(filter)

    def clear(self) -> int:
        """End every record in this scope; returns how many. The memory stays usable, and its past readable."""
        self._view.need_no_batch("clear()")
        return self._view.remove_all(Filter(scope=self.bound))

    @contextmanager
    def batch(self, *, key: str | None = None) -> Generator["BatchView"]:
        """Gather writes and make them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see what is stored, not what waits. Receipts inside are `pending`; the batch's `receipt` has it all.
        """
        self._view.need_present()
        self._view.need_no_batch("batch()")
        batch = Batch()
        inside = _memory(BatchView, replace(self._view, batch=batch))
        try:
            yield inside
        finally:
            # Whatever is written through it later goes straight to the store.
            batch.open = False
        inside.receipt = self._view.commit(batch.writes, key)

    # ---- reading

    def get(self, id: str, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> Record:
        """Return a record; one that is not in this scope, deleted or expired raises `NotFound`."""
        return self._view.get(id, known_at=known_at, valid_at=valid_at)

    def list(
        self,
        *,
        kind: str | Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> "list[Record]":
        """Return the latest `limit` records, oldest first; `offset` passes over the newest.

        They are ordered by when they happened, ties by arrival. `after` is included, `before` is not.
        """
        filter = self._view.filter(
            kind=kind, ids=ids, after=after, before=before, metadata=metadata, pinned=pinned, known_at=known_at,
            valid_at=valid_at,
        )  # fmt: skip
        return self._engine.store.read(
            filter, self._engine.now(), limit=check_limit(limit), offset=check_offset(offset)
        )

    def count(
        self,
        *,
        kind: str | Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool | None = None,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> int:
        """Return how many records the filter means."""
        filter = self._view.filter(
            kind=kind,
            after=after,
            before=before,
            metadata=metadata,
            pinned=pinned,
            known_at=known_at,
            valid_at=valid_at,
        )
        return self._engine.store.count(filter, self._engine.now())

    def search(
        self,
        query: str = "",
        *,
        kind: str | Iterable[str] | None = None,
        limit: int = 10,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        threshold: float = 0.0,
        mode: Mode = "hybrid",
        at: datetime | None = None,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
        explain: bool = False,
    ) -> "list[Hit]":
        """Return the records that answer a question, best first.

        `at` is the moment the question is asked, for words such as "yesterday"; now unless given. A blank query needs
        a filter, and returns what it means, newest first. `explain` fills each hit's reasons.
        """
        filter = self._view.filter(
            kind=kind, after=after, before=before, metadata=metadata, known_at=known_at, valid_at=valid_at
        )
        if mode not in ("hybrid", "words", "vector"):
            raise InvalidInput(f'mode must be "hybrid", "words" or "vector", not {mode!r}')
        if mode == "vector" and self._engine.embedder is None:
            raise InvalidInput("mode='vector' needs an embedder, and this memory was opened with embedder=None")
        asked = Query(
            text=check_text(query, "query", max_bytes=self._engine.settings.max_text_bytes),
            filter=filter,
            limit=check_limit(limit, maximum=_MOST_HITS),
            threshold=check_unit(threshold, "threshold"),
            mode=mode,
            at=self._engine.now() if at is None else to_utc(at, "at"),
            explain=explain,
        )
        if not asked.text.strip() and filter.selects_everything:
            raise InvalidInput("the query is empty; ask something, or give a filter such as kind= or after=")
        return search(self._engine, asked)

    def similar(
        self,
        vector: Iterable[float],
        *,
        threshold: float = 0.0,
        limit: int = 10,
        kind: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> "list[Hit]":
        """Return the records whose vectors are nearest to the given one; scores are cosines, from `threshold` up."""
        filter = self._view.filter(kind=kind, metadata=metadata, known_at=known_at, valid_at=valid_at)
        wanted = self._engine.check_vector(vector, "vector")
        most = check_limit(limit, maximum=_MOST_HITS)
        return similar(self._engine, filter, wanted, limit=most, threshold=check_unit(threshold, "threshold"))

    def rooms(self) -> "list[str]":
        """Return the rooms that have a record in this scope, sorted."""
        return self._engine.store.labels(self._view.filter(), "room", self._engine.now())

    def users(self) -> "list[str]":
        """Return the users that have a record in this scope, sorted."""
        return self._engine.store.labels(self._view.filter(), "user", self._engine.now())

    def agents(self) -> "list[str]":
        """Return the agents that have a record in this scope, sorted."""
        return self._engine.store.labels(self._view.filter(), "agent", self._engine.now())

    # ---- time

    def history(self, id: str) -> "list[Record]":
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`."""
        versions = self._engine.store.history(self.bound, check_label(id, "id"))
        if self._view.known_at is not None:
            versions = [one for one in versions if one.recorded_at <= self._view.known_at]
        if not versions:
            raise NotFound(f"there is no record {id!r} in this scope, and never was")
        return versions

    def snapshot(self, name: str) -> datetime:
        """Name the present state of the whole tenant, for `as_of`, `diff` and `rollback`; returns its system time."""
        self._view.need_present()
        return self._engine.store.put_snapshot(self.bound.tenant, check_label(name, "name"), self._engine.now())

    def snapshots(self) -> dict[str, datetime]:
        """Return the names of snapshots with their system times, oldest first."""
        return self._engine.store.snapshots(self.bound.tenant)

    def as_of(self, moment: str | datetime) -> "Memory":
        """Return a read-only view of what was known at a snapshot or a moment."""
        return _memory(Memory, self._view.at(self._moment(moment)))

    def diff(self, before: str | datetime, after: str | datetime | None = None) -> Diff:
        """Return what was added, removed and changed in this scope from one moment to another, or until now."""
        since, until = self._moment(before), None if after is None else self._moment(after)
        if self._view.known_at is not None:
            since, until = min(since, self._view.known_at), min(until or self._view.known_at, self._view.known_at)
        return diff(self._engine, self.bound, since, until)

    def rollback(self, to: str | datetime) -> Receipt:
        """Make this scope what it was known to be at a snapshot or a moment, by new versions; nothing is lost."""
        self._view.need_present()
        self._view.need_no_batch("rollback()")
        return self._view.commit(rolling_back(self._engine, self.bound, self._moment(to)))

    def undo(self, receipt: Receipt) -> Receipt:
        """Take one write back, by new versions; a record that changed since raises `VersionConflict`."""
        self._view.need_present()
        self._view.need_no_batch("undo()")
        if receipt.recorded_at is None:
            raise InvalidInput("this receipt is of a batch that was not committed; there is nothing to undo")
        return self._view.commit(undoing(self._engine, self.bound, receipt, receipt.recorded_at - _MICROSECOND))

    def _moment(self, moment: str | datetime) -> datetime:
        if isinstance(moment, datetime):
            return to_utc(moment, "the moment")
        found = self.snapshots().get(check_label(moment, "snapshot"))
        if found is None:
            raise NotFound(f"there is no snapshot {moment!r}; snapshots() lists them")
        return found

    # ---- keeping

    def export(self, path: str | Path) -> Transferred:
        """Write everything in this scope to a new JSON Lines file: all versions, and for a whole tenant its other state."""
        return export(self._engine, self.bound, path, known_at=self._view.known_at)

    def import_(self, path: str | Path) -> Transferred:
        """Bring an export into this scope's tenant without a loss; repeating it is harmless."""
        self._view.need_present()
        return import_file(self._engine, self.bound, path)

    def backup(self, path: str | Path) -> None:
        """Copy the whole store, all tenants, to a new file while others go on writing."""
        self._engine.store.backup(str(path))

    def verify(self) -> Check:
        """Check that the file is sound and that records, words, vectors and jobs agree."""
        return self._engine.store.verify()

    def stats(self) -> Stats:
        """Count what this tenant holds, and weigh the store."""
        return self._engine.store.stats(self.bound.tenant, self._engine.now())

    def maintain(self) -> int:
        """Reclaim what has expired, in short steps; returns how much. Nothing that can be read is removed."""
        self._view.need_present()
        moment = self._engine.now()
        keys_before = moment - timedelta(days=self._engine.settings.key_days)
        total = 0
        while done := self._engine.store.sweep(moment, keys_before=keys_before, limit=_SWEEP):
            total += done
        return total

    def reembed(self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Change the embedding model of the whole store; returns how many versions were embedded anew.

        The new vectors are built beside the old ones and take over when complete; searches go on meanwhile, and an
        interrupted run goes on where it stopped. `progress(done, of)` is told how far it is.
        """
        self._view.need_present()
        return reembed(self._engine, embedder, progress)

    def close(self) -> None:
        """Let go of the store, for every view of it; closing twice is harmless."""
        self._engine.close()

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class BatchView(Memory):
    """A view whose writes wait to be made as one; what `Memory.batch()` lends."""

    receipt: Receipt | None = None
    """What the batch did, once its block has ended."""


def _memory(kind: type[M], view: View) -> M:
    """Return a memory over a view whose engine is open already."""
    memory = object.__new__(kind)
    memory.__dict__["_view"] = view
    return memory


def _fields(item: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"an item of add_many() must be a text or a mapping, not {type(item).__name__}")
    if unknown := set(item) - _ITEM_FIELDS:
        raise InvalidInput(
            f"an item of add_many() has the unknown field {min(map(repr, unknown))}; see add() for the fields"
        )
    if "text" not in item:
        raise InvalidInput("an item of add_many() has no text")
    return dict(item)
