"""AsyncMemory: the same surface as `Memory`, each call on a thread of its own pool.

Made by tools/mirror.py from memory.py; change that file and run the tool.
"""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar, cast

from rememo.collections.records import Duration, Records
from rememo.engine.search import Mode
from rememo.errors import Closed
from rememo.keep.export import Transferred
from rememo.keep.versions import Diff
from rememo.memory import BatchView, Memory
from rememo.model.hit import Hit
from rememo.model.receipt import OnConflict, Receipt
from rememo.model.record import Record
from rememo.model.scope import DEFAULT_TENANT, Scope
from rememo.model.times import Clock, now
from rememo.model.unset import NOTHING, Unset
from rememo.recall.embed.protocol import Embedder
from rememo.settings import Settings
from rememo.store.protocol import Check, Stats
from rememo.working.hooks import Hooks
from rememo.working.kv import KeyValues

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 8


class Mirror:
    """A synchronous object and the threads its calls run on."""

    def __init__(self, mirrored: Any, threads: ThreadPoolExecutor) -> None:
        self._mirrored = mirrored
        self._threads = threads

    async def _call(self, run: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run one call on a thread; the context (tracing and the like) goes with it."""
        context = contextvars.copy_context()

        def call() -> T:
            return context.run(run, *arguments, **named)

        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, call)
        except RuntimeError:  # what a pool that was shut down says
            raise Closed("this memory was closed; open it again with AsyncMemory(url)") from None
        return await running


class AsyncRecords(Mirror):
    """What is remembered within a view, whatever its kind."""

    @property
    def _own(self) -> Records:
        return cast("Records", self._mirrored)

    @property
    def bound(self) -> Scope:
        """The scope this view is bound to."""
        return self._own.bound

    async def add(
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
        return await self._call(
            self._own.add,
            text,
            kind=kind,
            data=data,
            metadata=metadata,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_to=valid_to,
            id=id,
            on_conflict=on_conflict,
            pinned=pinned,
            importance=importance,
            ttl=ttl,
            source=source,
            trust=trust,
            embedding=embedding,
            key=key,
        )

    async def add_many(self, items: Iterable[str | Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Remember many texts in one transaction, in the order given: all of them or none.

        An item is a text, or a mapping of `add`'s arguments.
        """
        return await self._call(self._own.add_many, items, key=key)

    async def update(
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
        return await self._call(
            self._own.update,
            id,
            text=text,
            kind=kind,
            data=data,
            metadata=metadata,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_to=valid_to,
            pinned=pinned,
            importance=importance,
            ttl=ttl,
            source=source,
            trust=trust,
            embedding=embedding,
            expected_version=expected_version,
            key=key,
        )

    async def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a record; its versions stay for views of the past until retention or erasure removes them."""
        return await self._call(self._own.delete, id, expected_version=expected_version, key=key)

    async def delete_where(
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
        return await self._call(
            self._own.delete_where,
            kind=kind,
            ids=ids,
            after=after,
            before=before,
            metadata=metadata,
            pinned=pinned,
            valid_at=valid_at,
        )

    async def clear(self) -> int:
        """End every record in this scope; returns how many. The memory stays usable, and its past readable."""
        return await self._call(self._own.clear)

    async def get(self, id: str, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> Record:
        """Return a record; one that is not in this scope, deleted or expired raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at, valid_at=valid_at)

    async def list(
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
        return await self._call(
            self._own.list,
            kind=kind,
            ids=ids,
            after=after,
            before=before,
            metadata=metadata,
            pinned=pinned,
            limit=limit,
            offset=offset,
            known_at=known_at,
            valid_at=valid_at,
        )

    async def count(
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
        return await self._call(
            self._own.count,
            kind=kind,
            after=after,
            before=before,
            metadata=metadata,
            pinned=pinned,
            known_at=known_at,
            valid_at=valid_at,
        )

    async def search(
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
        return await self._call(
            self._own.search,
            query,
            kind=kind,
            limit=limit,
            after=after,
            before=before,
            metadata=metadata,
            threshold=threshold,
            mode=mode,
            at=at,
            known_at=known_at,
            valid_at=valid_at,
            explain=explain,
        )

    async def similar(
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
        return await self._call(
            self._own.similar,
            vector,
            threshold=threshold,
            limit=limit,
            kind=kind,
            metadata=metadata,
            known_at=known_at,
            valid_at=valid_at,
        )

    async def rooms(self) -> "list[str]":
        """Return the rooms that have a record in this scope, sorted."""
        return await self._call(self._own.rooms)

    async def users(self) -> "list[str]":
        """Return the users that have a record in this scope, sorted."""
        return await self._call(self._own.users)

    async def agents(self) -> "list[str]":
        """Return the agents that have a record in this scope, sorted."""
        return await self._call(self._own.agents)


class AsyncKeyValues(Mirror):
    """The keys of one scope: exactly this view's labels are their namespace."""

    @property
    def _own(self) -> KeyValues:
        return cast("KeyValues", self._mirrored)

    async def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none or it has expired."""
        return await self._call(self._own.get, key, default)

    async def version(self, key: str) -> int:
        """Return the version of a value, for `compare_and_set`; 0 when there is none."""
        return await self._call(self._own.version, key)

    async def set(
        self, key: str, value: Any, *, ttl: float | str | timedelta | None = None, sliding: bool = False
    ) -> int:
        """Store a JSON value and return its version.

        `ttl` is how long it lives; with `sliding` each read lets it live that long again (within a twentieth of it).
        """
        return await self._call(self._own.set, key, value, ttl=ttl, sliding=sliding)

    async def compare_and_set(
        self,
        key: str,
        value: Any,
        *,
        expected_version: int,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
    ) -> int:
        """Store a value only if the version that is there is the expected one (0: nothing there).

        Returns the new version; another version raises `VersionConflict`.
        """
        return await self._call(
            self._own.compare_and_set, key, value, expected_version=expected_version, ttl=ttl, sliding=sliding
        )

    async def update(
        self,
        key: str,
        change: Callable[[Any], Any],
        *,
        default: Any = None,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
    ) -> Any:
        """Replace a value by what `change` makes of it, and return that; nothing comes in between.

        `change` runs again when another thread or process was faster, so it must not do anything else.
        """
        return await self._call(self._own.update, key, change, default=default, ttl=ttl, sliding=sliding)

    async def delete(self, key: str) -> bool:
        """Remove a key; False when it was not there."""
        return await self._call(self._own.delete, key)

    async def invalidate(self, pattern: str) -> int:
        """Remove every key that a glob pattern such as "user:*" matches; returns how many."""
        return await self._call(self._own.invalidate, pattern)

    async def keys(self, pattern: str = "*") -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        return await self._call(self._own.keys, pattern)


class AsyncMemory(AsyncRecords):
    """What an agent remembers, seen through one scope.

    Every read and write obeys the view's scope: labels that are bound must match, labels that are not do not matter.
    Thread-safe; many processes may open one file. Use it as a context manager, or call `close()`.
    """

    @property
    def _own(self) -> Memory:
        return cast("Memory", self._mirrored)

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
        super().__init__(
            Memory(url, tenant=tenant, embedder=embedder, settings=settings, clock=clock),
            ThreadPoolExecutor(_THREADS, "rememo"),
        )

    def scope(
        self, *, tenant: str | None = None, agent: str | None = None, user: str | None = None, room: str | None = None
    ) -> "AsyncMemory":
        """Return a narrower view of the same memory; a label that is bound already cannot be changed."""
        view = AsyncMemory.__new__(AsyncMemory)
        Mirror.__init__(view, self._own.scope(tenant=tenant, agent=agent, user=user, room=room), self._threads)
        return view

    @property
    def kv(self) -> "AsyncKeyValues":
        """Key-value state of exactly this scope, with an end."""
        return AsyncKeyValues(self._own.kv, self._threads)

    @property
    def hooks(self) -> Hooks:
        """Functions to be called after changes in this scope."""
        return self._own.hooks

    @asynccontextmanager
    async def batch(self, *, key: str | None = None) -> AsyncGenerator["AsyncBatchView"]:
        """Gather writes and make them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see what is stored, not what waits. Receipts inside are `pending`; the batch's `receipt` has it all.
        """
        manager = self._own.batch(key=key)
        view = AsyncBatchView.__new__(AsyncBatchView)
        Mirror.__init__(view, manager.__enter__(), self._threads)
        try:
            yield view
        except BaseException as error:
            if not manager.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            await self._call(manager.__exit__, None, None, None)

    async def history(self, id: str) -> "list[Record]":
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`."""
        return await self._call(self._own.history, id)

    async def snapshot(self, name: str) -> datetime:
        """Name the present state of the whole tenant, for `as_of`, `diff` and `rollback`; returns its system time."""
        return await self._call(self._own.snapshot, name)

    async def snapshots(self) -> dict[str, datetime]:
        """Return the names of snapshots with their system times, oldest first."""
        return await self._call(self._own.snapshots)

    async def as_of(self, moment: str | datetime) -> "AsyncMemory":
        """Return a read-only view of what was known at a snapshot or a moment."""
        view = AsyncMemory.__new__(AsyncMemory)
        Mirror.__init__(view, await self._call(self._own.as_of, moment), self._threads)
        return view

    async def diff(self, before: str | datetime, after: str | datetime | None = None) -> Diff:
        """Return what was added, removed and changed in this scope from one moment to another, or until now."""
        return await self._call(self._own.diff, before, after)

    async def rollback(self, to: str | datetime) -> Receipt:
        """Make this scope what it was known to be at a snapshot or a moment, by new versions; nothing is lost."""
        return await self._call(self._own.rollback, to)

    async def undo(self, receipt: Receipt) -> Receipt:
        """Take one write back, by new versions; a record that changed since raises `VersionConflict`."""
        return await self._call(self._own.undo, receipt)

    async def export(self, path: str | Path) -> Transferred:
        """Write everything in this scope to a new JSON Lines file: all versions, and for a whole tenant its other state."""
        return await self._call(self._own.export, path)

    async def import_(self, path: str | Path) -> Transferred:
        """Bring an export into this scope's tenant without a loss; repeating it is harmless."""
        return await self._call(self._own.import_, path)

    async def backup(self, path: str | Path) -> None:
        """Copy the whole store, all tenants, to a new file while others go on writing."""
        return await self._call(self._own.backup, path)

    async def verify(self) -> Check:
        """Check that the file is sound and that records, words, vectors and jobs agree."""
        return await self._call(self._own.verify)

    async def stats(self) -> Stats:
        """Count what this tenant holds, and weigh the store."""
        return await self._call(self._own.stats)

    async def maintain(self) -> int:
        """Reclaim what has expired, in short steps; returns how much. Nothing that can be read is removed."""
        return await self._call(self._own.maintain)

    async def reembed(self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Change the embedding model of the whole store; returns how many versions were embedded anew.

        The new vectors are built beside the old ones and take over when complete; searches go on meanwhile, and an
        interrupted run goes on where it stopped. `progress(done, of)` is told how far it is.
        """
        return await self._call(self._own.reembed, embedder, progress=progress)

    async def close(self) -> None:
        """Let go of the store, for every view of it; closing twice is harmless."""
        await self._call(self._own.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()


class AsyncBatchView(AsyncMemory):
    """A view whose writes wait to be made as one; what `Memory.batch()` lends."""

    @property
    def _own(self) -> BatchView:
        return cast("BatchView", self._mirrored)

    @property
    def receipt(self) -> Receipt | None:
        """What the batch did, once its block has ended."""
        return self._own.receipt
