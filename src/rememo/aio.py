"""AsyncMemory: the same surface as `Memory`, each call on a thread of its own pool.

Made by tools/mirror.py from memory.py; change that file and run the tool.
"""

import asyncio
import contextvars
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType, UnionType
from typing import Any, Generic, Literal, ParamSpec, Self, TypeVar, cast

from rememo.ask.answer import Answer
from rememo.collections.actions import Action, Actions
from rememo.collections.document import Chunk, Document, DocumentReceipt, Passage
from rememo.collections.documents import Documents
from rememo.collections.facts import Facts
from rememo.collections.fields import ExternalId
from rememo.collections.goals import Goal, Goals
from rememo.collections.jobs import Jobs
from rememo.collections.limits import Evict, Limits
from rememo.collections.message import Message
from rememo.collections.messages import Messages
from rememo.collections.posts import Post, Posts
from rememo.collections.pruning import Pruned
from rememo.collections.records import Duration, Records
from rememo.collections.relationships import Relationships
from rememo.collections.revisions import Revised, Revisions
from rememo.collections.summaries import Summaries
from rememo.collections.tasks import Recurrence, Task, Tasks
from rememo.collections.thoughts import Thought, Thoughts
from rememo.collections.turn import Image
from rememo.collections.working_limits import WorkingLimits
from rememo.context.item import Context, Recall
from rememo.context.pool import caller_loop
from rememo.context.providers import DEFAULT_POSITION, DEFAULT_TIMEOUT, Providers
from rememo.context.state import State
from rememo.engine.audit import ActorContext, ComplianceCheck
from rememo.engine.search import Mode
from rememo.errors import Closed
from rememo.extract import ExtractedFact
from rememo.keep.archive import Archive
from rememo.keep.audit import Audit
from rememo.keep.encrypt import Keyring
from rememo.keep.export import Transferred
from rememo.keep.quarantine import C, Quarantine
from rememo.keep.retention import Ready, Retention, Span
from rememo.keep.versions import Diff
from rememo.learn.conflicts import Policy
from rememo.llm.protocol import LLM
from rememo.llm.spending import Spending
from rememo.memory import BatchView, F, Memory
from rememo.model.archive import ArchiveEntry, ArchiveHit, Restored
from rememo.model.audit import AuditCheck, AuditEntry, AuditHead
from rememo.model.change_event import ChangeEvent
from rememo.model.erasure import ErasureReceipt
from rememo.model.fact import Conflict, Fact, Source
from rememo.model.hit import Hit
from rememo.model.job import Job, JobState
from rememo.model.receipt import OnConflict, Receipt
from rememo.model.record import Record
from rememo.model.relationship import Graph, Relationship
from rememo.model.retention import Archived, Maintenance, RetentionPolicy, Undone
from rememo.model.scope import DEFAULT_TENANT, Scope
from rememo.model.times import Clock, now
from rememo.model.unset import UNSET, Unset
from rememo.recall.embed.protocol import Embedder
from rememo.recall.question import THRESHOLD
from rememo.recall.relevance import FLOOR
from rememo.recall.rerank.protocol import Reranker
from rememo.settings import Settings
from rememo.store.reports import Check, Stats
from rememo.summary.extractive import Summariser
from rememo.summary.room_summaries import SummaryPolicy
from rememo.summary.running_summary import RunningSummary
from rememo.summary.stored import MAX_TOKENS
from rememo.summary.summary import Compressed, Summary
from rememo.text.tokens import TokenCounter
from rememo.working.cached import Cached
from rememo.working.call import Call
from rememo.working.flows import Flow, FlowState
from rememo.working.hooks import Hooks
from rememo.working.kv import KeyValues
from rememo.working.profiles import Profile, Profiles
from rememo.working.recent import RecentMessages
from rememo.working.sessions import Session, Sessions
from rememo.working.shapes import V
from rememo.working.stats import WorkingStats
from rememo.working.todos import Todo, Todos
from rememo.working.typed import Typed, Version
from rememo.working.values import ContextValues
from rememo.working.working import Working

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 8


class Mirror:
    """A synchronous object and the threads its calls run on."""

    def __init__(self, mirrored: Any, threads: ThreadPoolExecutor) -> None:
        self._mirrored = mirrored
        self._threads = threads

    async def _call_apart(self, run: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run one call on a thread of the event loop's own; async functions it calls run on that loop."""
        context = contextvars.copy_context()
        context.run(caller_loop.set, asyncio.get_running_loop())
        return await asyncio.get_running_loop().run_in_executor(None, lambda: context.run(run, *arguments, **named))

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

    async def _leave(self, manager: AbstractContextManager[object], error: BaseException) -> bool | None:
        """End a block that raised, on a thread; a generator that is thrown away may not wait, so it does so here."""
        if isinstance(error, GeneratorExit):
            return manager.__exit__(type(error), error, error.__traceback__)
        return await self._call(manager.__exit__, type(error), error, error.__traceback__)


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
        learn: bool = True,
        key: str | None = None,
    ) -> Receipt:
        """Remember a text; it is durable and findable when this returns.

        Facts are learned from notes and messages, where "the user" and "I" are the view's user; `learn=False` keeps them
        from it, for good. A kind that has rules of its own obeys them: a `message` has a role in its `data`, `user` unless
        given; a `fact` has subject, predicate and object in its `data`, or a text that states them; a `document` is kept
        in chunks. They take what `messages.add`, `facts.add` and `documents.add` take.

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
            learn=learn,
            key=key,
        )

    async def add_many(self, items: Iterable[str | Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Remember many texts in one transaction, in the order given: all of them or none.

        An item is a text, or a mapping of `add`'s arguments. Facts and documents are added one by one.
        """
        return await self._call(self._own.add_many, items, key=key)

    async def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        kind: str | Unset = UNSET,
        data: Mapping[str, Any] | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        occurred_at: datetime | Unset | None = UNSET,
        valid_from: datetime | Unset | None = UNSET,
        valid_to: datetime | Unset | None = UNSET,
        pinned: bool | Unset = UNSET,
        importance: float | Unset | None = UNSET,
        ttl: Duration | Unset | None = UNSET,
        source: str | Unset | None = UNSET,
        trust: float | Unset | None = UNSET,
        embedding: Iterable[float] | Unset = UNSET,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some fields of a record: its version ends and the next begins. What is not given stays.

        `data` and `metadata` replace what was there; `ttl=None` lets it live on. What is made of something (documents and
        their chunks, facts, relationships, summaries) keeps its text and data: their own verbs change those. With `expected_version` a record that
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

        They are ordered by when they happened, ties by arrival. `after` is included, `before` is not. Of `kind="fact"`
        these are the facts that hold now, or at `valid_at`; `facts.list(current_only=False)` gives what ended too. What is
        kept beside records about what became of them comes only with `kind="revision"` or by its id.
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
        """Return how many records the filter means, as many as `list()` gives without a limit.

        Of `kind="fact"` these are the facts that hold, as in `list()`; `facts.count()` counts one from several rooms once.
        """
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
        ids: Iterable[str] | None = None,
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
        rerank: bool = False,
        rewrite: bool = False,
    ) -> "list[Hit]":
        """Return the records that answer a question, best first.

        `at` is the moment the question is asked, for words such as "yesterday"; now unless given. A blank query needs
        a filter, and returns what it means, newest first. `ids` looks among these records only. `explain` fills each
        hit's reasons. `rerank` lets the memory's reranker, else its language model, order what was found; `rewrite` lets
        the model put the question into searches first. Where they fail, the search goes on without them; a memory that
        has none raises `InvalidInput`.
        """
        return await self._call(
            self._own.search,
            query,
            kind=kind,
            ids=ids,
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
            rerank=rerank,
            rewrite=rewrite,
        )

    async def similar(
        self,
        vector: Iterable[float],
        *,
        threshold: float = 0.0,
        limit: int = 10,
        kind: str | Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
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
            ids=ids,
            metadata=metadata,
            known_at=known_at,
            valid_at=valid_at,
        )

    async def rooms(self, *, prefix: str = "") -> "list[str]":
        """Return the rooms that have a record in this scope, sorted; with `prefix`, those whose names begin with it."""
        return await self._call(self._own.rooms, prefix=prefix)

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
        self,
        key: str,
        value: Any,
        *,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
        keep_ttl: bool = False,
    ) -> int:
        """Store a JSON value and return its version.

        `ttl` is how long it lives; with `sliding` each read lets it live that long again (within a twentieth of it).
        Without a `ttl` it has no end, but for `keep_ttl`: then the end of the value that it replaces is its own.
        """
        return await self._call(self._own.set, key, value, ttl=ttl, sliding=sliding, keep_ttl=keep_ttl)

    async def compare_and_set(
        self,
        key: str,
        value: Any,
        *,
        expected_version: int,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
        keep_ttl: bool = False,
    ) -> int:
        """Store a value only if the version that is there is the expected one (0: nothing there).

        Returns the new version; another version raises `VersionConflict`. Its end is given as by `set()`.
        """
        return await self._call(
            self._own.compare_and_set,
            key,
            value,
            expected_version=expected_version,
            ttl=ttl,
            sliding=sliding,
            keep_ttl=keep_ttl,
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

        It keeps its end, fixed or sliding, unless another `ttl` is given. `change` runs again when another thread or
        process was faster, so it must not do anything else.
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

    async def cached(
        self,
        name: str,
        load: Callable[[str], Any],
        *,
        save: Callable[[str, Any], object] | None = None,
        ttl: float | str | timedelta = "1h",
        sliding: bool = False,
    ) -> "AsyncCached":
        """Return values that are kept elsewhere, such as agents' configuration, to be held ready here.

        `load(key)` reads one from where it is kept, `save(key, value)` writes one there; both are plain functions. What was loaded lives for `ttl`
        at the most, and goes at once when it is written or forgotten.
        """
        view = AsyncCached.__new__(AsyncCached)
        Mirror.__init__(
            view, await self._call(self._own.cached, name, load, save=save, ttl=ttl, sliding=sliding), self._threads
        )
        return view


class AsyncCached(Mirror):
    """Session data, agent configuration and the like, read through to where it is kept; shared by processes."""

    @property
    def _own(self) -> Cached:
        return cast("Cached", self._mirrored)

    async def get(self, key: str) -> Any:
        """Return a copy of the value: the one held ready, else what `load(key)` gives, which is then held.

        A value that was written or forgotten while it was being loaded is returned, but not held.
        """
        return await self._call(self._own.get, key)

    async def set(self, key: str, value: Any) -> None:
        """Write a value to where it is kept, by `save(key, value)`, and forget the one held ready."""
        return await self._call(self._own.set, key, value)

    async def forget(self, key: str) -> bool:
        """Load it anew the next time; False when it was not held."""
        return await self._call(self._own.forget, key)

    async def invalidate(self, pattern: str = "*") -> int:
        """Load anew the next time whatever a glob pattern matches; returns how many were held."""
        return await self._call(self._own.invalidate, pattern)


class AsyncMessages(Mirror):
    """The messages within a view, ordered by when they were said, ties by arrival."""

    @property
    def _own(self) -> Messages:
        return cast("Messages", self._mirrored)

    async def add(
        self,
        role: str,
        content: str,
        *,
        id: str | None = None,
        external_id: tuple[ExternalId, ExternalId] | None = None,
        reply_to: str | tuple[ExternalId, ExternalId] | None = None,
        name: str | None = None,
        username: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        images: Sequence[Image] | None = None,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        learn: bool = True,
        key: str | None = None,
    ) -> Receipt:
        """Remember a turn; it is durable and findable when this returns, and learned from later.

        `at` is the platform's time. `external_id` is the platform's chat and message, unique together within the tenant:
        a repeat is stored once and its receipt says `ignored`. `reply_to` is the id, or the external id, of a message of
        this room, whoever wrote it (without a room: of this scope); one that is not there raises `NotFound`. The content may be empty only beside tool calls or images.
        `data` is kept in `record.data` beside the turn's own fields, whose names it may not have: a framework's own
        message, for example. Outside a batch, a limit of the room is applied before this returns.
        """
        return await self._call(
            self._own.add,
            role,
            content,
            id=id,
            external_id=external_id,
            reply_to=reply_to,
            name=name,
            username=username,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            images=images,
            data=data,
            metadata=metadata,
            at=at,
            pinned=pinned,
            importance=importance,
            source=source,
            trust=trust,
            learn=learn,
            key=key,
        )

    async def add_pair(
        self,
        user: str,
        assistant: str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        source: str | None = None,
        trust: float | None = None,
        learn: bool = True,
        key: str | None = None,
    ) -> Receipt:
        """Remember what a user said and the answer to it, both or neither; the answer is a reply to the other."""
        return await self._call(
            self._own.add_pair,
            user,
            assistant,
            name=name,
            metadata=metadata,
            at=at,
            source=source,
            trust=trust,
            learn=learn,
            key=key,
        )

    async def clear(self) -> Receipt:
        """End every message in this scope, in one transaction; all else stays.

        What was learned from them goes too, in jobs that `wait()` on the receipt waits for; `undo()` of it brings
        everything back.
        """
        return await self._call(self._own.clear)

    async def get(self, id: str | tuple[ExternalId, ExternalId], *, known_at: datetime | None = None) -> Message:
        """Return a message by its id or its external id; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def history(
        self,
        limit: int = 20,
        offset: int = 0,
        *,
        roles: str | Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        known_at: datetime | None = None,
    ) -> list[Message]:
        """Return the latest `limit` messages, oldest first; `offset` passes over the newest.

        `after` is included, `before` is not.
        """
        return await self._call(
            self._own.history,
            limit,
            offset,
            roles=roles,
            after=after,
            before=before,
            metadata=metadata,
            known_at=known_at,
        )

    async def latest(self, n: int = 1) -> list[Message]:
        """Return the last `n` messages, oldest first."""
        return await self._call(self._own.latest, n)

    async def replies(self, id: str | tuple[ExternalId, ExternalId], *, limit: int = 100) -> list[Message]:
        """Return the direct answers to a message, oldest first; of more than `limit`, the latest.

        The message may be anybody's in this room; the answers are those in this scope.
        """
        return await self._call(self._own.replies, id, limit=limit)

    async def thread(self, id: str | tuple[ExternalId, ExternalId]) -> list[Message]:
        """Return what a message answers, what that answers, and so on: from the root to the message itself.

        It begins later where a message in between is gone, and where links go round in a circle it is cut there. Links
        are followed through the whole room, and the messages in this scope are given.
        """
        return await self._call(self._own.thread, id)

    async def window(
        self, max_tokens: int, *, counter: TokenCounter | None = None, known_at: datetime | None = None
    ) -> list[Message]:
        """Return the newest messages that fit a number of tokens, oldest first, whole and without a hole.

        System messages are always there. What a summary of the room stands for is passed over, and the summary is shown
        before the turns, as a system message whose `record.kind` is `summary`, in a quarter of the tokens at the most, or in
        what the turns leave, and where the newest turn leaves room for it. A tool call and its
        results are shown together or not at all; a result whose call is gone is left out. When the newest turn alone does
        not fit, its longest text is cut at the end and marked with "…"; `InvalidInput` when even that does not help. A
        message costs 4 tokens beside its text, an image 765.
        """
        return await self._call(self._own.window, max_tokens, counter=counter, known_at=known_at)

    async def for_model(
        self, *, system: str | None = None, user: str | None = None, image: Image | None = None, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return a model's input in the OpenAI chat shape: a system prompt, the latest `limit` messages, the current one.

        `image` (bytes, a path, an address or a data URL) goes with the current message. Nothing is stored. Tool results
        follow their calls; what a model would refuse (a result without its call, an old call without its result) is
        left out.
        """
        return await self._call(self._own.for_model, system=system, user=user, image=image, limit=limit)

    async def limit(
        self,
        *,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        evict: Evict = "fifo",
        keep_roles: Iterable[str] = ("system",),
        on_overflow: Callable[[list[Message]], object] | None = None,
    ) -> Limits:
        """Limit this room (of all its users and agents) from now on, in every process and over restarts.

        What is too much leaves after each `add`, and at once now: the oldest first (`fifo`), the oldest into a summary
        (`summarise`), or in the order a function returns that is given the messages which may leave. Pinned messages,
        `keep_roles` and the newest turn stay; a tool call and its results leave together. `on_overflow` sees what leaves
        before it leaves; when it raises, that is logged and nothing leaves. Functions are known in this process only:
        elsewhere, and after a restart until `limit()` is called again, the oldest leave and no handler is called.
        """
        return await self._call(
            self._own.limit,
            max_messages=max_messages,
            max_tokens=max_tokens,
            evict=evict,
            keep_roles=keep_roles,
            on_overflow=on_overflow,
        )

    async def limits(self) -> Limits | None:
        """Return the limits of this room, or None when it has none."""
        return await self._call(self._own.limits)

    async def unlimit(self) -> bool:
        """Take the limits of this room away; False when it had none."""
        return await self._call(self._own.unlimit)


class AsyncFacts(Mirror):
    """The facts of one scope, added by hand or learned from what was said."""

    @property
    def _own(self) -> Facts:
        return cast("Facts", self._mirrored)

    async def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        confidence: float = 1.0,
        sources: Iterable[str | Source] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        wording: str | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Hold something to be so; an equal fact gathers the sources and the confidence, 1 - (1-a)(1-b).

        "I" and "user" are the view's user, and wordings such as "moved to" become the predicate they mean. Without
        `valid_from` it counts as said now. A contradiction is settled by the predicate's policy before this returns.
        """
        return await self._call(
            self._own.add,
            subject,
            predicate,
            object,
            confidence=confidence,
            sources=sources,
            valid_from=valid_from,
            valid_to=valid_to,
            wording=wording,
            key=key,
        )

    async def update(
        self,
        id: str,
        *,
        object: str | Unset = UNSET,
        confidence: float | Unset = UNSET,
        valid_from: datetime | Unset | None = UNSET,
        valid_to: datetime | Unset | None = UNSET,
        wording: str | Unset = UNSET,
    ) -> Receipt:
        """Change a fact by hand; what is set so stays, whatever is learned later.

        Another `object` is a correction: the fact becomes `retracted` and the returned one takes its place.
        """
        return await self._call(
            self._own.update,
            id,
            object=object,
            confidence=confidence,
            valid_from=valid_from,
            valid_to=valid_to,
            wording=wording,
        )

    async def resolve(self, conflict: Conflict, *, keep: Fact | str) -> Receipt:
        """Settle a conflict: the fact to keep (itself, its id or its object) holds, the others are `retracted`."""
        return await self._call(self._own.resolve, conflict, keep=keep)

    async def policy(self, predicate: str, mode: Policy | None = None) -> Policy:
        """Return how contradictions of a predicate are treated in this tenant, or set it and settle what is there.

        `latest`: what began later ends the older. `keep`: the first stays. `ask`: both stay until `resolve`.
        `gather`: all hold, as with predicates of many values.
        """
        return await self._call(self._own.policy, predicate, mode)

    async def get(self, id: str, *, known_at: datetime | None = None) -> Fact:
        """Return a fact, whatever its status; raises `NotFound` when there is none in this scope."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def list(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        current_only: bool = True,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        min_confidence: float = 0.0,
        limit: int = 100,
    ) -> "list[Fact]":
        """Return the latest `limit` facts, oldest first: what holds now, or at `valid_at`, or all of it.

        `current_only=False` adds what is superseded and retracted. The same fact from several rooms is one. `count()`
        tells how many there are.
        """
        return await self._call(
            self._own.list,
            subject=subject,
            predicate=predicate,
            object=object,
            current_only=current_only,
            valid_at=valid_at,
            known_at=known_at,
            min_confidence=min_confidence,
            limit=limit,
        )

    async def count(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        current_only: bool = True,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        min_confidence: float = 0.0,
    ) -> int:
        """Return how many facts `list()` would give without a limit.

        `memory.count(kind="fact")` is the same, but counts a fact that several rooms know once for each.
        """
        return await self._call(
            self._own.count,
            subject=subject,
            predicate=predicate,
            object=object,
            current_only=current_only,
            valid_at=valid_at,
            known_at=known_at,
            min_confidence=min_confidence,
        )

    async def conflicts(self) -> "list[Conflict]":
        """Return what contradicts each other and waits for `resolve`.

        That is what the policy `ask` leaves open, and what somebody said under a key that is bound to a room, say,
        against what holds in another: it could not end what the key does not see.
        """
        return await self._call(self._own.conflicts)

    async def extract(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None, model: bool = False
    ) -> "list[ExtractedFact]":
        """Return the facts a text states, without keeping them; "I" is `speaker`, else the view's user.

        With `model`, the memory's language model is asked too, and what it adds comes after what rules found; raises
        `ModelFailed` or `OverBudget` when it gives nothing.
        """
        return await self._call(self._own.extract, text, speaker=speaker, at=at, model=model)


class AsyncRevisions(Mirror):
    """What later statements made of earlier ones, in one scope."""

    @property
    def _own(self) -> Revisions:
        return cast("Revisions", self._mirrored)

    async def list(
        self, *, id: str | None = None, max_confidence: float = 1.0, decided: bool | None = None, limit: int = 100
    ) -> "list[Revised]":
        """Return the latest `limit` revisions of records that this view sees, oldest first.

        `id` is an earlier record. `max_confidence=0.6` gives those that do not count by themselves; `decided` those that
        somebody confirmed or rejected, or (false) the others.
        """
        return await self._call(self._own.list, id=id, max_confidence=max_confidence, decided=decided, limit=limit)

    async def confirm(self, id: str, by: str) -> Revised:
        """Say that the later record `by` did replace what the record `id` says: it counts as certain from now on."""
        return await self._call(self._own.confirm, id, by)

    async def reject(self, id: str, by: str) -> Revised:
        """Say that the later record `by` did not replace what `id` says: it holds, and so do the facts it taught."""
        return await self._call(self._own.reject, id, by)


class AsyncRelationships(Mirror):
    """The relationships of one scope, added by hand or learned from what was said."""

    @property
    def _own(self) -> Relationships:
        return cast("Relationships", self._mirrored)

    async def add(
        self,
        entity: str,
        target: str,
        type: str,
        *,
        strength: float | None = None,
        sentiment: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Connect an entity with a target; one that is there already takes the strength, sentiment and metadata given.

        `strength` is where it is now, 0.5 for a new one unless given: after n more interactions it is
        1 - (1 - strength) · 0.9^n.
        """
        return await self._call(
            self._own.add, entity, target, type, strength=strength, sentiment=sentiment, metadata=metadata
        )

    async def update(
        self,
        id: str,
        *,
        strength: float | Unset = UNSET,
        sentiment: float | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
    ) -> Receipt:
        """Change what was told of a relationship; `metadata` replaces what was there.

        `strength` is what it has from now on, whatever came before; later interactions strengthen it from there.
        """
        return await self._call(self._own.update, id, strength=strength, sentiment=sentiment, metadata=metadata)

    async def touch(self, entity: str, target: str, type: str, *, at: datetime | None = None) -> Receipt:
        """Note one interaction, now or `at`: it is counted and strengthens the relationship, which is made if need be.

        Each interaction closes a tenth of what is missing to a strength of 1.
        """
        return await self._call(self._own.touch, entity, target, type, at=at)

    async def remove(self, id: str) -> Receipt:
        """Remove one relationship."""
        return await self._call(self._own.remove, id)

    async def remove_entity(self, name: str) -> int:
        """Remove every relationship from or to an entity, so that none points at nothing; returns how many."""
        return await self._call(self._own.remove_entity, name)

    async def get(self, id: str) -> Relationship:
        """Return a relationship; raises `NotFound` when there is none in this scope."""
        return await self._call(self._own.get, id)

    async def list(
        self,
        *,
        entity: str | None = None,
        target: str | None = None,
        type: str | None = None,
        min_strength: float = 0.0,
        limit: int = 100,
    ) -> "list[Relationship]":
        """Return relationships, the strongest first."""
        return await self._call(
            self._own.list, entity=entity, target=target, type=type, min_strength=min_strength, limit=limit
        )

    async def graph(self, entity: str, depth: int = 2) -> Graph:
        """Return everything within `depth` steps of an entity, in either direction; alone it is one node."""
        return await self._call(self._own.graph, entity, depth)

    async def path(self, a: str, b: str, max_depth: int = 6) -> "list[Relationship]":
        """Return the shortest way from one entity to another, in either direction; the empty list when there is none."""
        return await self._call(self._own.path, a, b, max_depth)


class AsyncDocuments(Mirror):
    """The documents within a view."""

    @property
    def _own(self) -> Documents:
        return cast("Documents", self._mirrored)

    async def add(
        self,
        *,
        title: str | None = None,
        text: str | None = None,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        source: str | None = None,
        tags: Iterable[str] = (),
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> DocumentReceipt:
        """Remember a document: one of `text`, `path` or `data` (a file's bytes). All of it is stored, or nothing.

        Text, Markdown, HTML, PDF and DOCX are read; what a file is, its content decides before its name, and
        `media_type` is needed only where both say nothing. The same content again in the same scope is not stored
        twice: the outcome is `ignored` and the id is that of the first; content that a document got by `update()` is not
        looked for. A file that is empty, damaged, encrypted, too large or not what it says raises `InvalidInput`. Without
        a `source` it is the file's name.
        """
        return await self._call(
            self._own.add,
            title=title,
            text=text,
            path=path,
            data=data,
            source=source,
            tags=tags,
            media_type=media_type,
            metadata=metadata,
            key=key,
        )

    async def update(
        self,
        id: str,
        *,
        title: str | None = None,
        text: str | None = None,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        source: str | None = None,
        tags: Iterable[str] | None = None,
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> DocumentReceipt:
        """Change a document: one of `text`, `path` or `data` is read in the place of what was there, under the same id.

        It is split anew, and the document and all its chunks change in one transaction; `known_at` shows what was there,
        and `undo()` of the receipt brings it back. What is not given stays, but for a title: content that has one
        of its own gives the title. With `expected_version` a document that has moved on raises `VersionConflict`.
        """
        return await self._call(
            self._own.update,
            id,
            title=title,
            text=text,
            path=path,
            data=data,
            source=source,
            tags=tags,
            media_type=media_type,
            metadata=metadata,
            expected_version=expected_version,
            key=key,
        )

    async def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a document with all its chunks, in one transaction; `undo()` of the receipt brings all of it back."""
        return await self._call(self._own.delete, id, expected_version=expected_version, key=key)

    async def get(self, id: str, *, known_at: datetime | None = None) -> Document:
        """Return a document; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def list(
        self,
        *,
        tags: Iterable[str] = (),
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Document]":
        """Return the latest `limit` documents that have all the tags, oldest first; `offset` passes over the newest."""
        return await self._call(
            self._own.list, tags=tags, source=source, metadata=metadata, limit=limit, offset=offset, known_at=known_at
        )

    async def text(self, id: str, *, known_at: datetime | None = None) -> str:
        """Return the whole text of a document, exactly as it was read."""
        return await self._call(self._own.text, id, known_at=known_at)

    async def chunks(
        self,
        id: str,
        *,
        relevant_to: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Chunk]":
        """Return the chunks of a document in their order; with `relevant_to`, those that answer it, best first.

        Without a `limit` all come, or the ten best.
        """
        return await self._call(
            self._own.chunks, id, relevant_to=relevant_to, limit=limit, offset=offset, known_at=known_at
        )

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        tags: Iterable[str] = (),
        source: str | None = None,
        threshold: float = 0.0,
        mode: Mode = "hybrid",
        known_at: datetime | None = None,
        explain: bool = False,
    ) -> "list[Passage]":
        """Return the chunks of all documents that answer a question, each with its document, best first."""
        return await self._call(
            self._own.search,
            query,
            limit=limit,
            tags=tags,
            source=source,
            threshold=threshold,
            mode=mode,
            known_at=known_at,
            explain=explain,
        )

    async def summary(self, id: str, *, sentences: int = 5) -> str:
        """Return the sentences of a document that say most, in their order, word for word."""
        return await self._call(self._own.summary, id, sentences=sentences)


class AsyncGoals(Mirror):
    """The goals within a view."""

    @property
    def _own(self) -> Goals:
        return cast("Goals", self._mirrored)

    async def add(
        self,
        text: str,
        *,
        priority: int = 0,
        due: datetime | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember an open goal. `priority` is from 0 to 10, the most urgent; a `parent` that is not there raises `NotFound`."""
        return await self._call(
            self._own.add,
            text,
            priority=priority,
            due=due,
            parent=parent,
            metadata=metadata,
            id=id,
            pinned=pinned,
            importance=importance,
            key=key,
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Goal:
        """Return a goal; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        status: str | Unset = UNSET,
        priority: int | Unset = UNSET,
        due: datetime | Unset | None = UNSET,
        parent: str | Unset | None = UNSET,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some of a goal; what is not given stays. A goal cannot become a part of itself or of its own parts."""
        return await self._call(
            self._own.update,
            id,
            text=text,
            status=status,
            priority=priority,
            due=due,
            parent=parent,
            expected_version=expected_version,
            key=key,
        )

    async def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Say that a goal is reached."""
        return await self._call(self._own.done, id, key=key)

    async def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Give a goal up."""
        return await self._call(self._own.drop, id, key=key)

    async def open(self, *, limit: int = 100) -> "list[Goal]":
        """Return the open goals, most urgent first: by priority, then by when they are due, then oldest first."""
        return await self._call(self._own.open, limit=limit)

    async def list(
        self,
        *,
        status: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Goal]":
        """Return the latest `limit` goals, oldest first; `parent` asks for the parts of a goal."""
        return await self._call(
            self._own.list,
            status=status,
            parent=parent,
            metadata=metadata,
            limit=limit,
            offset=offset,
            known_at=known_at,
        )


class AsyncTasks(Mirror):
    """The tasks within a view."""

    @property
    def _own(self) -> Tasks:
        return cast("Tasks", self._mirrored)

    async def add(
        self,
        text: str,
        *,
        due: datetime | None = None,
        recurrence: Recurrence | None = None,
        priority: int = 0,
        goal: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember an open task.

        `recurrence` is "daily", "weekly", "monthly", "yearly" or a span of time, and needs a due time to count from. The
        calendar's words keep the time of day in the zone of `due`. A due time in the past is taken as it is: the task is
        due now, once, however many times have passed, and `done` moves it past now. A `parent`, the task that this one
        is a part of, must be there, or `NotFound` is raised.
        """
        return await self._call(
            self._own.add,
            text,
            due=due,
            recurrence=recurrence,
            priority=priority,
            goal=goal,
            parent=parent,
            metadata=metadata,
            id=id,
            pinned=pinned,
            importance=importance,
            source=source,
            trust=trust,
            key=key,
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Task:
        """Return a task; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        status: str | Unset = UNSET,
        due: datetime | Unset | None = UNSET,
        recurrence: Recurrence | Unset | None = UNSET,
        priority: int | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some of a task; what is not given stays. A new due time is what its recurrence counts from then on.

        A task cannot become a part of itself or of its own parts.
        """
        return await self._call(
            self._own.update,
            id,
            text=text,
            status=status,
            due=due,
            recurrence=recurrence,
            priority=priority,
            parent=parent,
            expected_version=expected_version,
            key=key,
        )

    async def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Say that a task is done; one that is done already is left as it is (`unchanged`).

        A recurring one stays open and is due the next time that lies past both its due time and now. When two do the
        same one at once it moves on once.
        """
        return await self._call(self._own.done, id, key=key)

    async def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Give a task up; a recurring one does not come round again."""
        return await self._call(self._own.drop, id, key=key)

    async def due(self, now: datetime | None = None, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks that are due at a moment (the present one unless given), longest due first."""
        return await self._call(self._own.due, now, limit=limit)

    async def open(self, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks: those due first come first, then the more urgent, then the older."""
        return await self._call(self._own.open, limit=limit)

    async def list(
        self,
        *,
        status: str | None = None,
        goal: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Task]":
        """Return the latest `limit` tasks, oldest first; `parent` asks for the parts of a task."""
        return await self._call(
            self._own.list,
            status=status,
            goal=goal,
            parent=parent,
            metadata=metadata,
            limit=limit,
            offset=offset,
            known_at=known_at,
        )


class AsyncActions(Mirror):
    """The actions within a view."""

    @property
    def _own(self) -> Actions:
        return cast("Actions", self._mirrored)

    async def add(
        self,
        tool: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        result: Any = None,
        success: bool | None = None,
        duration: float | timedelta | None = None,
        error: str | None = None,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember what a tool was given and what came of it.

        `result` is any JSON value; `duration` is in seconds. Without `success` it went well unless there is an `error`.
        """
        return await self._call(
            self._own.add,
            tool,
            parameters=parameters,
            result=result,
            success=success,
            duration=duration,
            error=error,
            at=at,
            metadata=metadata,
            id=id,
            pinned=pinned,
            importance=importance,
            source=source,
            trust=trust,
            key=key,
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Action:
        """Return an action; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def latest(self, n: int = 10, *, tool: str | None = None) -> "list[Action]":
        """Return the latest actions, oldest first."""
        return await self._call(self._own.latest, n, tool=tool)

    async def success_rate(
        self, tool: str | None = None, *, after: datetime | None = None, before: datetime | None = None
    ) -> float | None:
        """Return which part of the actions went well, from 0 to 1; None when there were none."""
        return await self._call(self._own.success_rate, tool, after=after, before=before)

    async def list(
        self,
        *,
        tool: str | None = None,
        success: bool | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Action]":
        """Return the latest `limit` actions, oldest first; `offset` passes over the newest."""
        return await self._call(
            self._own.list,
            tool=tool,
            success=success,
            after=after,
            before=before,
            metadata=metadata,
            limit=limit,
            offset=offset,
            known_at=known_at,
        )


class AsyncThoughts(Mirror):
    """The thoughts within a view."""

    @property
    def _own(self) -> Thoughts:
        return cast("Thoughts", self._mirrored)

    async def add(
        self,
        step: str,
        text: str,
        *,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember a step of reasoning: THINK, ACT, OBSERVE, or FINAL (ANSWER) for the answer; small letters will do."""
        return await self._call(
            self._own.add, step, text, at=at, metadata=metadata, id=id, pinned=pinned, importance=importance, key=key
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Thought:
        """Return a thought; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def latest(self, n: int = 10, *, step: str | None = None) -> "list[Thought]":
        """Return the latest thoughts, oldest first."""
        return await self._call(self._own.latest, n, step=step)

    async def list(
        self,
        *,
        step: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Thought]":
        """Return the latest `limit` thoughts, oldest first; `offset` passes over the newest."""
        return await self._call(
            self._own.list,
            step=step,
            after=after,
            before=before,
            metadata=metadata,
            limit=limit,
            offset=offset,
            known_at=known_at,
        )


class AsyncPosts(Mirror):
    """The posts within a view."""

    @property
    def _own(self) -> Posts:
        return cast("Posts", self._mirrored)

    async def add(
        self,
        content: str,
        *,
        type: str = "post",
        location: str | None = None,
        prompt: str | None = None,
        image: str | None = None,
        external_id: tuple[ExternalId, ExternalId] | None = None,
        published_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember what was published.

        `external_id` is the platform and the post's id there, unique together within the tenant: a repeat is stored
        once, and its receipt says `ignored`.
        """
        return await self._call(
            self._own.add,
            content,
            type=type,
            location=location,
            prompt=prompt,
            image=image,
            external_id=external_id,
            published_at=published_at,
            metadata=metadata,
            id=id,
            pinned=pinned,
            importance=importance,
            key=key,
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Post:
        """Return a post; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def recent_locations(self, n: int = 5) -> "list[str]":
        """Return the last `n` different locations of posts, newest first, so as not to repeat them.

        Spellings that differ in case or outer blanks only are one; the newest is given.
        """
        return await self._call(self._own.recent_locations, n)

    async def list(
        self,
        *,
        type: str | None = None,
        location: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Post]":
        """Return the latest `limit` posts, oldest first, by when they were published."""
        return await self._call(
            self._own.list,
            type=type,
            location=location,
            after=after,
            before=before,
            metadata=metadata,
            limit=limit,
            offset=offset,
            known_at=known_at,
        )


class AsyncSummaries(Mirror):
    """The summaries within a view, and the policy of the room that it is bound to.

    A summary carries the labels that all its messages share, so a view sees none of messages that it could not see.
    """

    @property
    def _own(self) -> Summaries:
        return cast("Summaries", self._mirrored)

    async def policy(self, policy: SummaryPolicy | Unset | None = UNSET) -> SummaryPolicy | None:
        """Return the policy of this room, or set it: for all users and agents, in every process and over restarts.

        From then on, when `threshold` messages have gathered that no summary stands for, all but the latest `keep` are
        summarised in a job of the message that was one too many. None ends the policy; summaries that are there stay.
        """
        return await self._call(self._own.policy, policy)

    async def use(self, summariser: Summariser | None) -> None:
        """Let a model write the summaries that this process makes from now on, in all tenants; None goes back.

        It has a method `summarise(text, *, max_tokens)`. When it raises, or returns nothing, or three times as much as
        asked, the summary is made of sentences instead, and its `fallback` says why.
        """
        return await self._call(self._own.use, summariser)

    async def current(self, room: str | None = None, *, max_tokens: int = MAX_TOKENS) -> RunningSummary | None:
        """Return what the summaries of a room say together, oldest first; None when there are none.

        The newest are there in whole, as far as they fit. When all of them are too long, of each older one only the line
        that says most is there, and of these the weightiest that fit. The first line, which says how many messages they
        stand for, is always there.
        """
        return await self._call(self._own.current, room, max_tokens=max_tokens)

    async def update(self, room: str | None = None, *, keep: int | None = None) -> RunningSummary | None:
        """Summarise what was said in a room up to now, without waiting for a threshold, and return the running summary.

        The latest `keep` messages stay out of it: as many as the room's policy says, none without a policy. Like a
        policy, this is about all messages of the room, whoever the view is bound to; a summary of others' messages is not
        returned to it. A room without messages and summaries raises `NotFound`.
        """
        return await self._call(self._own.update, room, keep=keep)

    async def list(
        self,
        limit: int = 20,
        offset: int = 0,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
        known_at: datetime | None = None,
    ) -> "list[Summary]":
        """Return the latest `limit` summaries, oldest first by the last message they stand for.

        `after` is included, `before` is not.
        """
        return await self._call(self._own.list, limit, offset, after=after, before=before, known_at=known_at)

    async def get(self, id: str, *, known_at: datetime | None = None) -> Summary:
        """Return a summary; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def sources(self, id: str) -> "list[Message]":
        """Return the messages that a summary stands for, oldest first; those that left as they last were."""
        return await self._call(self._own.sources, id)

    async def compress(
        self, *, older_than: Duration = "7d", room: str | None = None, max_tokens: int = MAX_TOKENS
    ) -> Compressed:
        """Let messages older than that leave, each room's into summaries; returns how many, from when to when.

        A summary and the end of its messages (100 at the most) are one transaction, so a large room is not held up.
        Pinned and system messages stay, a tool call stays or leaves with its results, and what was learned stays. Without a
        room, all rooms of the view are done. Nothing old enough is no error: the count is 0. Interrupted, it is begun
        again.
        """
        return await self._call(self._own.compress, older_than=older_than, room=room, max_tokens=max_tokens)


class AsyncProfiles(Mirror):
    """The profiles of one scope: exactly this view's labels are their namespace.

    What was read stays decoded in the process. Every read still asks the store for the version by its key, so a change
    by another process is seen by the very next read.
    """

    @property
    def _own(self) -> Profiles:
        return cast("Profiles", self._mirrored)

    async def get(self, key: str) -> Profile | None:
        """Return what is known under a key, or None when nothing is."""
        return await self._call(self._own.get, key)

    async def update(self, key: str, fields: Mapping[str, Any] | None = None, **more: Any) -> Profile:
        """Change some fields and return the whole; nothing comes in between, in any process.

        Fields are given by name, or as a mapping where their names are not Python's. What is not given stays, mappings
        are merged field by field, and None takes a field away.
        """
        return await self._call(self._own.update, key, fields, **more)

    async def forget(self, key: str) -> bool:
        """Forget what is known under a key; False when nothing was."""
        return await self._call(self._own.forget, key)

    async def forget_all(self) -> int:
        """Forget every profile of this scope; returns how many."""
        return await self._call(self._own.forget_all)

    async def keys(self) -> list[str]:
        """Return the keys that something is known under, sorted."""
        return await self._call(self._own.keys)


class AsyncContextValues(Mirror):
    """The values of exactly this scope, by name: any JSON, and what a workbench declares by its type.

    They are records of the kind `state`: versions, `as_of`, `undo`, batches and export hold for them, search does not
    find them.
    """

    @property
    def _own(self) -> ContextValues:
        return cast("ContextValues", self._mirrored)

    async def set(self, name: str, value: Any) -> Receipt:
        """Keep a value under a name, whatever was there."""
        return await self._call(self._own.set, name, value)

    async def get(self, name: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none."""
        return await self._call(self._own.get, name, default)

    async def update(self, name: str, change: Callable[[Any], Any], *, default: Any = None) -> Any:
        """Replace a value by what `change` makes of it, and return that; nothing comes in between.

        `change` runs again when another thread or process was faster, so it must not do anything else.
        """
        return await self._call(self._own.update, name, change, default=default)

    async def delete(self, name: str) -> bool:
        """Forget a value; False when there was none."""
        return await self._call(self._own.delete, name)

    async def all(self) -> dict[str, Any]:
        """Return every value by its name, sorted by name."""
        return await self._call(self._own.all)


class AsyncTodos(Mirror):
    """The tasks within a view: `memory.tasks` has the same ones, with their due times and recurrence."""

    @property
    def _own(self) -> Todos:
        return cast("Todos", self._mirrored)

    async def add(self, text: str, *, priority: int = 0, parent: str | None = None, id: str | None = None) -> Receipt:
        """Plan something; a `parent` that is not there raises `NotFound`. `priority` is from 0 to 10, the most urgent."""
        return await self._call(self._own.add, text, priority=priority, parent=parent, id=id)

    async def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        priority: int | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        done: bool | Unset = UNSET,
    ) -> Receipt:
        """Change some of a to-do; what is not given stays. It cannot become a part of its own parts."""
        return await self._call(self._own.update, id, text=text, priority=priority, parent=parent, done=done)

    async def done(self, id: str) -> Receipt:
        """Say that one is done; its parts stay as they are."""
        return await self._call(self._own.done, id)

    async def drop(self, id: str) -> Receipt:
        """Give one up; its parts stay as they are."""
        return await self._call(self._own.drop, id)

    async def delete(self, id: str) -> Receipt:
        """End the record of one; its parts stand on their own from then on."""
        return await self._call(self._own.delete, id)

    async def get(self, id: str) -> Todo:
        """Return one; one that is not in this scope raises `NotFound`."""
        return await self._call(self._own.get, id)

    async def list(self, *, open: bool | None = None) -> "list[Todo]":
        """Return the plan: each to-do before its parts, those side by side the most urgent first, then the older.

        With `open` only those that are open, or only those that are not.
        """
        return await self._call(self._own.list, open=open)

    async def next(self) -> Todo | None:
        """Return what to do next: the first open one of the plan none of whose parts is open; None when all is done."""
        return await self._call(self._own.next)


class AsyncWorking(Mirror):
    """What an agent has at hand within a scope: messages, actions, thoughts, to-dos and free values.

    It is no store of its own: everything on it is a record of the memory, durable and searched like the others. A
    subclass may declare fields by annotations; they are checked by their types and kept when they are assigned.
    """

    @property
    def _own(self) -> Working:
        return cast("Working", self._mirrored)

    @property
    def bound(self) -> Scope:
        """The scope this workbench is in."""
        return self._own.bound

    @property
    def messages(self) -> "AsyncMessages":
        """What was said; `history(roles="user")` asks by role."""
        return AsyncMessages(self._own.messages, self._threads)

    @property
    def actions(self) -> "AsyncActions":
        """What was done with tools; `success_rate()` says how well."""
        return AsyncActions(self._own.actions, self._threads)

    @property
    def thoughts(self) -> "AsyncThoughts":
        """Steps of reasoning."""
        return AsyncThoughts(self._own.thoughts, self._threads)

    @property
    def todos(self) -> "AsyncTodos":
        """What is planned."""
        return AsyncTodos(self._own.todos, self._threads)

    @property
    def context(self) -> "AsyncContextValues":
        """Free values by name, and the declared ones."""
        return AsyncContextValues(self._own.context, self._threads)

    @asynccontextmanager
    async def tool(
        self, name: str, params: Mapping[str, Any] | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> AsyncGenerator["Call"]:
        """Use a tool: set `call.result` inside, and when the block ends it is remembered as an action with its time.

        An exception is remembered as the action's error and goes on. Without one, `call.fail(reason)` says that it went
        wrong. A result that is no JSON value raises `InvalidInput` where it is set.
        """
        manager = self._own.tool(name, params, metadata=metadata)
        view = await self._call(manager.__enter__)
        try:
            yield view
        except BaseException as error:
            if not await self._leave(manager, error):
                raise
        else:
            await self._call(manager.__exit__, None, None, None)

    async def think(self, text: str, *, step: str = "THINK", metadata: Mapping[str, Any] | None = None) -> Receipt:
        """Remember a step of reasoning: THINK, ACT, OBSERVE or ANSWER (which is kept as FINAL)."""
        return await self._call(self._own.think, text, step=step, metadata=metadata)

    async def change(self, field: str, change: Callable[[Any], Any]) -> Any:
        """Replace a declared field by what `change` makes of it, and return that; nothing comes in between.

        `change` runs again when another thread or process was faster, so it must not do anything else.
        """
        return await self._call(self._own.change, field, change)

    async def limits(self) -> WorkingLimits:
        """Return how much pruning leaves: what `limit` set, else 100 messages, 50 actions and 200 thoughts.

        `enforced` names those that `limit` set, which hold after every write.
        """
        return await self._call(self._own.limits)

    async def limit(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> WorkingLimits:
        """Hold at most so many here from now on, in every process and over restarts; what is not given stays as it is.

        What is too much leaves at once, and after each message, action or thought that is added in exactly this scope,
        by the workbench or otherwise (after a batch: with the next one). What leaves, and what stays, is as with `prune`.
        """
        return await self._call(
            self._own.limit, max_messages=max_messages, max_actions=max_actions, max_thoughts=max_thoughts
        )

    async def unlimit(self) -> bool:
        """Take the limits of this workbench away; False when it had none."""
        return await self._call(self._own.unlimit)

    async def prune(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> Pruned:
        """Let the oldest leave in one transaction until no more than this is left; `limits()` where nothing is given.

        Pinned records, system messages and the newest turn stay, and count; a tool call and its results leave together.
        What was learned from messages stays known. The result says what left, and `memory.undo(pruned.receipt)` brings it
        back.
        """
        return await self._call(
            self._own.prune, max_messages=max_messages, max_actions=max_actions, max_thoughts=max_thoughts
        )

    async def clear(self) -> int:
        """End everything on the workbench, its values and limits too; returns how many.

        Other kinds stay, and so does what was learned from the messages: `memory.clear()` ends everything.
        """
        return await self._call(self._own.clear)

    async def stats(self) -> WorkingStats:
        """Return the workbench in numbers."""
        return await self._call(self._own.stats)

    async def export(self) -> dict[str, Any]:
        """Return everything on the workbench as one JSON value with a format version, limits included.

        It is what is now, without older versions; `memory.export` takes those too.
        """
        return await self._call(self._own.export)

    async def import_(self, exported: Mapping[str, Any]) -> Receipt:
        """Make the workbench what an export says, in one transaction; what is not in it ends.

        Ids and times are kept; a record whose id belongs to another scope of this memory becomes a copy. Nothing is
        learned from what comes in. In a room, the room's limits become those of the export. `memory.undo(receipt)` takes
        the records back. What is no export, damaged, or of a newer format raises `InvalidInput` and changes nothing.
        """
        return await self._call(self._own.import_, exported)


class AsyncSessions(Mirror):
    """The saved sessions of exactly this view's labels.

    They are kept beside the records: clearing or rolling back a scope leaves them as they are, a deleted one leaves no
    version behind.
    """

    @property
    def _own(self) -> Sessions:
        return cast("Sessions", self._mirrored)

    async def save(self, name: str) -> Session:
        """Keep the workbench of this view as it is now; a session of that name is replaced.

        The name must be fit for a file on any system, and differ from the others by more than small and large letters,
        or `InvalidInput` or `AlreadyExists` is raised.
        """
        return await self._call(self._own.save, name)

    async def load(self, name: str) -> Receipt:
        """Make the workbench of this view what it was when it was saved, in one transaction; what is not in it ends.

        `memory.undo(receipt)` takes that back. A session that is not there raises `NotFound`.
        """
        return await self._call(self._own.load, name)

    async def get(self, name: str) -> dict[str, Any]:
        """Return a saved session as `working.export()` made it, for a file or for another memory's `working.import_`."""
        return await self._call(self._own.get, name)

    async def list(self) -> "list[Session]":
        """Return the saved sessions, the one saved first at the start."""
        return await self._call(self._own.list)

    async def delete(self, name: str) -> bool:
        """Forget a saved session; False when there is none of that name. The workbench itself stays as it is."""
        return await self._call(self._own.delete, name)

    @asynccontextmanager
    async def run(self, name: str, *, clear: bool = False) -> AsyncGenerator["AsyncWorking"]:
        """Work in a session: it is loaded if it was saved before, and saved when the block ends, however it ends.

        With `clear` nothing of it stays: the workbench begins empty and lives in this process alone, with what is learned
        from it; nothing is written to the store, so neither an exception nor a crash leaves anything behind. When the
        block ends it is gone, and using it raises `Closed`. The name must not be that of a saved session.
        """
        manager = self._own.run(name, clear=clear)
        view = AsyncWorking.__new__(AsyncWorking)
        Mirror.__init__(view, await self._call(manager.__enter__), self._threads)
        try:
            yield view
        except BaseException as error:
            if not await self._leave(manager, error):
                raise
        else:
            await self._call(manager.__exit__, None, None, None)


class AsyncFlow(Mirror):
    """One process of several steps and the states of its users within a view; safe for threads and processes.

    A view that is bound to a user reaches that user's state only, and needs not name the user.
    """

    @property
    def _own(self) -> Flow:
        return cast("Flow", self._mirrored)

    @property
    def name(self) -> str:
        """What it is called in its scope."""
        return self._own.name

    @property
    def steps(self) -> tuple[str, ...]:
        """The declared steps, in order."""
        return self._own.steps

    async def start(
        self,
        user: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, Any] | None = None,
        restart: bool = False,
    ) -> FlowState:
        """Begin at the first step, or at the one given.

        One that is running or paused already raises `AlreadyExists`; with `restart` it is replaced.
        """
        return await self._call(self._own.start, user, step=step, data=data, restart=restart)

    async def get(self, user: str | None = None) -> FlowState | None:
        """Return where a user is, or None when there is nothing: not started, cleared or expired."""
        return await self._call(self._own.get, user)

    async def set(
        self,
        user: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> FlowState:
        """Merge data in, then move to a step; what is not given stays. Changes of others in between are kept.

        Mappings are merged field by field, and None takes a field away. Data of a step that has a model must fit it as
        far as it is given, and wholly when the flow moves on from that step. A step that is not declared or not allowed
        from here raises `InvalidStep`, a paused flow `Paused`, and one that is not there `NotFound`; with
        `expected_version` one that has moved on raises `VersionConflict`.
        """
        return await self._call(self._own.set, user, step=step, data=data, expected_version=expected_version)

    async def advance(
        self, user: str | None = None, *, data: Mapping[str, Any] | None = None, expected_version: int | None = None
    ) -> FlowState:
        """Merge data in, then move to the next step as declared; past the last one raises `InvalidStep`."""
        return await self._call(self._own.advance, user, data=data, expected_version=expected_version)

    async def pause(self, user: str | None = None) -> FlowState:
        """Let it rest with its data; one that rests already stays as it is."""
        return await self._call(self._own.pause, user)

    async def resume(self, user: str | None = None) -> FlowState:
        """Go on where it was; one that is running stays as it is, one that has expired raises `NotFound`."""
        return await self._call(self._own.resume, user)

    async def clear(self, user: str | None = None) -> bool:
        """End it and forget its data; False when there was none."""
        return await self._call(self._own.clear, user)

    async def progress(self, user: str | None = None) -> tuple[int, int]:
        """Return how far a user is: the number of the step, from 1, and how many there are."""
        return await self._call(self._own.progress, user)

    async def active(self, *, paused: bool = False) -> list[FlowState]:
        """Return every state that goes on, by user; with `paused` those that rest too. Looking prolongs none."""
        return await self._call(self._own.active, paused=paused)

    @asynccontextmanager
    async def run(
        self, user: str | None = None, *, on_error: Literal["clear", "pause"] = "pause"
    ) -> AsyncGenerator["FlowState"]:
        """Lend the state for a block: started where there is none, resumed where it is paused.

        An exception inside pauses or clears the flow, as told, and is raised on. Otherwise the flow stays as the block
        leaves it.
        """
        manager = self._own.run(user, on_error=on_error)
        view = await self._call(manager.__enter__)
        try:
            yield view
        except BaseException as error:
            if not await self._leave(manager, error):
                raise
        else:
            await self._call(manager.__exit__, None, None, None)


class AsyncTyped(Mirror, Generic[V]):
    """One value of one type, under a name in exactly this view's scope; thread-safe.

    It is a record of the kind `state` with the value as JSON in its `data`: versions, views of the past, undo, export
    and erasure hold for it as for any other. Nothing is stored until it is first set.
    """

    @property
    def _own(self) -> Typed[V]:
        return cast("Typed[V]", self._mirrored)

    @property
    def name(self) -> str:
        """What it is called in its scope."""
        return self._own.name

    @property
    def id(self) -> str:
        """The id of its record, made of the scope's labels and the name: the same in every process."""
        return self._own.id

    @property
    async def version(self) -> int:
        """The version of the stored value; 0 while nothing is stored."""
        return await self._call(lambda: self._own.version)

    async def get(self, *, known_at: datetime | None = None) -> V:
        """Return a copy of the value, now or as it was known then; the default when nothing is stored.

        A stored value that does not fit the type, or has other fields than the type stores, goes through `migrate`.
        Without one, a value that does not fit raises `TypeMismatch`.
        """
        return await self._call(self._own.get, known_at=known_at)

    async def set(self, value: V, *, expected_version: int | None = None) -> Receipt:
        """Store a value; one that cannot be stored raises `InvalidInput` and changes nothing.

        With `expected_version` (0: nothing stored) a value that has moved on raises `VersionConflict`.
        """
        return await self._call(self._own.set, value, expected_version=expected_version)

    async def update(self, change: Callable[[V], V]) -> V:
        """Replace the value by what `change` makes of it, and return that; nothing comes in between, in any process.

        `change` gets a copy and returns the new value. It runs again when another thread or process was faster, so it
        must not do anything else. What makes no difference is not written.
        """
        return await self._call(self._own.update, change)

    async def clear(self) -> bool:
        """Go back to the default; False when nothing was stored. The past stays readable."""
        return await self._call(self._own.clear)

    async def history(self) -> list[Version[V]]:
        """Return every value it had, oldest first; empty when nothing was ever stored."""
        return await self._call(self._own.history)

    async def undo(self) -> V:
        """Take the last change back by a new version, and return the value that holds now.

        Repeated, it goes further back, at last to the default; then `NotFound` is raised. A change that comes in
        between raises `VersionConflict`, and nothing is undone.
        """
        return await self._call(self._own.undo)

    def on_change(self, hook: Callable[[V], object]) -> Callable[[V], object]:
        """Call `hook(value)` with the value as it then is after every change of it; usable as a decorator.

        It runs in the writing thread, for changes made by this process. One that raises is logged and counted; the
        write stands. An async one is refused.
        """
        return self._own.on_change(hook)

    def off_change(self, hook: Callable[[V], object]) -> None:
        """Call it no more; one that is not there is no harm."""
        return self._own.off_change(hook)


class AsyncQuarantine(Mirror):
    """The records within a view that are held back: stored as they came, but neither recalled nor learned from."""

    @property
    def _own(self) -> Quarantine:
        return cast("Quarantine", self._mirrored)

    async def list(
        self,
        *,
        kind: str | Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Record]":
        """Return the latest `limit` records in quarantine, oldest first; each says why in its `quarantine`.

        The chunks of a document are held with it and come only where `kind` asks for them.
        """
        return await self._call(
            self._own.list, kind=kind, after=after, before=before, limit=limit, offset=offset, known_at=known_at
        )

    async def get(self, id: str, *, known_at: datetime | None = None) -> Record:
        """Return a record in quarantine; raises `NotFound` when it is not there."""
        return await self._call(self._own.get, id, known_at=known_at)

    async def count(self) -> int:
        """Return how many records are held back, with the chunks of documents."""
        return await self._call(self._own.count)

    async def release(self, id: str, *, by: str) -> Receipt:
        """Let a record go, a document with its chunks: it is found and learned from as if it had come in now.

        `by` is who decided so; it is kept in the record's metadata as `released_by`, and in the audit
        trail where nobody acts already. The next version is free, the one
        before stays what it was; `undo()` of the receipt holds it back again.
        """
        return await self._call(self._own.release, id, by=by)

    async def hold(self, id: str, reason: str) -> Receipt:
        """Put a record into quarantine by hand, a document with its chunks; what was learned from it is taken back."""
        return await self._call(self._own.hold, id, reason)

    async def delete(self, id: str) -> Receipt:
        """End a record in quarantine, a document with its chunks."""
        return await self._call(self._own.delete, id)

    async def rules(self) -> dict[str, str]:
        """Return the names of the rules in force, each with what it is about."""
        return await self._call(self._own.rules)

    def rule(self, name: str, *, reason: str | None = None, trusted: bool = False) -> Callable[[C], C]:
        """Apply the decorated function to every record that comes in from now on, in this process.

        It is told of an `IncomingRecord` and returns why the record is to be held back, True for `reason`, or None. It sees what
        is not fully trusted; with `trusted`, everything. One that fails holds the record back. A name that is taken
        raises `AlreadyExists`.
        """
        return self._own.rule(name, reason=reason, trusted=trusted)


class AsyncJobs(Mirror):
    """The jobs of one tenant."""

    @property
    def _own(self) -> Jobs:
        return cast("Jobs", self._mirrored)

    async def list(
        self, state: JobState | None = None, *, limit: int | None = None, before: str | None = None
    ) -> "list[Job]":
        """Return jobs, oldest first: all, or those `waiting`, `running`, `done` or `dead`.

        With a `limit`, the latest so many; `before` is the id of a job, to go back page by page.
        """
        return await self._call(self._own.list, state, limit=limit, before=before)

    async def get(self, id: str) -> Job:
        """Return one job; raises `NotFound` when there is none."""
        return await self._call(self._own.get, id)

    async def retry(self, id: str) -> Job:
        """Let a dead job be tried again from now on, as often as a new one, and return it."""
        return await self._call(self._own.retry, id)


class AsyncAudit(Mirror):
    """The audit trail of a tenant; a view bound to labels lists what concerns them.

    Lines are added only where auditing is on (`Settings(audit=True)`); what is there can always be read.
    """

    @property
    def _own(self) -> Audit:
        return cast("Audit", self._mirrored)

    async def list(
        self,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
        actor: str | None = None,
        operation: str | None = None,
        up_to: int | None = None,
        limit: int = 100,
    ) -> "list[AuditEntry]":
        """Return the latest lines, oldest first: from `after` on, earlier than `before`, of one actor or operation.

        `up_to` is the number of the last line that is wanted: to go back page by page, ask up to the one before the first.
        """
        return await self._call(
            self._own.list, after=after, before=before, actor=actor, operation=operation, up_to=up_to, limit=limit
        )

    async def head(self) -> AuditHead:
        """Return where the trail ends now: keep it outside the store, and `verify(head=…)` shows any change before it."""
        return await self._call(self._own.head)

    async def verify(self, *, head: AuditHead | None = None) -> AuditCheck:
        """Check the whole trail of the tenant, line by line; faults name the line that was altered, removed or inserted.

        The store itself knows where the trail must end. A head that was kept outside shows even a trail that was
        forged as a whole, up to that head.
        """
        return await self._call(self._own.verify, head=head)

    async def export(self, path: str | Path) -> int:
        """Write the whole trail of the tenant to a new JSON Lines file, with all that is needed to check it elsewhere.

        The first line tells format, tenant and head; returns how many lines of the trail follow.
        """
        return await self._call(self._own.export, path)

    async def denied(self, operation: str, *, reason: str, ids: Sequence[str] = ()) -> None:
        """Note that somebody was refused something; does nothing where auditing is off.

        `reason` is a short code such as "no_right": it stays in the trail when a user is erased.
        """
        return await self._call(self._own.denied, operation, reason=reason, ids=ids)


class AsyncRetention(Mirror):
    """The policies of a view's scope and of narrower ones. They are kept in the memory, for every process."""

    @property
    def _own(self) -> Retention:
        return cast("Retention", self._mirrored)

    async def set(
        self,
        name: str,
        *,
        kind: str | Iterable[str] | None = None,
        older_than: Span | None = None,
        at_most: int | None = None,
        max_bytes: int | None = None,
        keep_pinned: bool = True,
        keep_important: float | None = None,
        archive: Archived | None = None,
        allow_all: bool = False,
    ) -> RetentionPolicy:
        """Set a policy that removes records of this scope: by age, by number in each room, by size of all together.

        With several of them, a record leaves when one of them says so. Pinned records stay, those of at least the
        importance `keep_important` and system messages too. With `archive="all"` everything that leaves is put away
        before, with `"important"` what is pinned or has an importance of 0.7 or more. `older_than` is a duration such as "30d". A policy that keeps
        nothing needs `allow_all=True`. One of the same name and scope is replaced.
        """
        return await self._call(
            self._own.set,
            name,
            kind=kind,
            older_than=older_than,
            at_most=at_most,
            max_bytes=max_bytes,
            keep_pinned=keep_pinned,
            keep_important=keep_important,
            archive=archive,
            allow_all=allow_all,
        )

    async def use(self, ready: Ready, **changes: Any) -> RetentionPolicy:
        """Switch a ready-made policy on, perhaps with changes; it is named as it is called here.

        `messages` removes those older than 30 days; `facts` keeps at most 1,000 in a room, the surest and newest;
        `compress` lets those older than a week leave into summaries; `duplicates` removes copies of facts, notes and relationships in the same scope; `references` mends references to
        what is gone; `orphans` removes relationships whose ends are gone; `versions` keeps all versions for 30 days and
        then one a day, and with `forget="90d"` lets what was removed longer ago be gone for good.
        """
        return await self._call(self._own.use, ready, **changes)

    async def list(self) -> "list[RetentionPolicy]":
        """Return the policies of this scope and of narrower ones, in the order they run."""
        return await self._call(self._own.list)

    async def remove(self, name: str) -> bool:
        """Forget a policy of exactly this scope; False when there is none."""
        return await self._call(self._own.remove, name)

    async def undo(self, report: Maintenance) -> Undone:
        """Take back what a run of `maintain()` removed and mended, the last write first, by new versions.

        What has changed since, and what was thinned meanwhile, is left as it is and counted.
        """
        return await self._call(self._own.undo, report)


class AsyncArchive(Mirror):
    """The archives of a view's tenant, at the address of the setting `archive`."""

    @property
    def _own(self) -> Archive:
        return cast("Archive", self._mirrored)

    async def list(
        self, *, user: str | None = None, agent: str | None = None, room: str | None = None
    ) -> "list[ArchiveEntry]":
        """Return the archives, oldest first: all, or those that hold something of a user, agent and room."""
        return await self._call(self._own.list, user=user, agent=agent, room=room)

    async def restore(self, name: str) -> Restored:
        """Bring everything in an archive back; what is there already stays as it is, so repeating it is harmless.

        The archive is read and checked as a whole first: one that is damaged restores nothing.
        """
        return await self._call(self._own.restore, name)

    async def search(self, query: str, *, limit: int = 10) -> "list[ArchiveHit]":
        """Return archived records of this scope that have the words of a question, the most of them first.

        Archives are read one after the other; there is no index of them.
        """
        return await self._call(self._own.search, query, limit=limit)


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
        embedder: Embedder | str | None = "default",
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        encryption: Keyring | None = None,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a memory: a file's path, ":memory:" or "postgresql://…"; a file that is not there is made.

        `embedder` is the one that the settings name unless given, the static one where they name none; a name such as
        "static" or "openai:text-embedding-3-small" will do; None keeps no vectors. `llm` is a language model that
        sharpens what is learned, and that its owner closes; without one, the one that the settings name, if any.
        `reranker` orders hits where `search(rerank=True)` asks for it. With
        `encryption`, contents are stored
        encrypted; a file is encrypted from its beginning or never. `settings` come from the environment and
        `rememo.toml` unless given. `clock` tells the time, for tests.
        """
        super().__init__(
            Memory(
                url,
                tenant=tenant,
                embedder=embedder,
                llm=llm,
                reranker=reranker,
                encryption=encryption,
                settings=settings,
                clock=clock,
            ),
            ThreadPoolExecutor(_THREADS, "rememo"),
        )

    def scope(
        self, *, tenant: str | None = None, agent: str | None = None, user: str | None = None, room: str | None = None
    ) -> "AsyncMemory":
        """Return a narrower view of the same memory; a label that is bound already cannot be changed."""
        view = AsyncMemory.__new__(AsyncMemory)
        Mirror.__init__(view, self._own.scope(tenant=tenant, agent=agent, user=user, room=room), self._threads)
        return view

    def pool(self, name: str) -> "AsyncMemory":
        """Return the view of a pool: what its group shares within this tenant, whoever opens it by this name.

        A pool is a room of its own, `pool:` and the name. What is written through the view is there for all of them and
        carries this view's agent and user as its author; nothing else of theirs can be seen through it.
        """
        view = AsyncMemory.__new__(AsyncMemory)
        Mirror.__init__(view, self._own.pool(name), self._threads)
        return view

    @property
    def messages(self) -> "AsyncMessages":
        """Conversations, turn by turn."""
        return AsyncMessages(self._own.messages, self._threads)

    @property
    def facts(self) -> "AsyncFacts":
        """What is known of whom, with sources, confidence and validity."""
        return AsyncFacts(self._own.facts, self._threads)

    @property
    def revisions(self) -> "AsyncRevisions":
        """What later statements made of earlier ones."""
        return AsyncRevisions(self._own.revisions, self._threads)

    @property
    def relationships(self) -> "AsyncRelationships":
        """Who has to do with whom."""
        return AsyncRelationships(self._own.relationships, self._threads)

    @property
    def documents(self) -> "AsyncDocuments":
        """Texts read in whole and found in parts."""
        return AsyncDocuments(self._own.documents, self._threads)

    @property
    def goals(self) -> "AsyncGoals":
        """What is to be reached."""
        return AsyncGoals(self._own.goals, self._threads)

    @property
    def tasks(self) -> "AsyncTasks":
        """What is to be done, and when."""
        return AsyncTasks(self._own.tasks, self._threads)

    @property
    def actions(self) -> "AsyncActions":
        """What was done, with its outcome."""
        return AsyncActions(self._own.actions, self._threads)

    @property
    def thoughts(self) -> "AsyncThoughts":
        """Steps of reasoning."""
        return AsyncThoughts(self._own.thoughts, self._threads)

    @property
    def posts(self) -> "AsyncPosts":
        """What was published."""
        return AsyncPosts(self._own.posts, self._threads)

    @property
    def summaries(self) -> "AsyncSummaries":
        """What stands for messages that are old, many, or gone."""
        return AsyncSummaries(self._own.summaries, self._threads)

    @property
    def profiles(self) -> "AsyncProfiles":
        """What is known of users, by any key of theirs."""
        return AsyncProfiles(self._own.profiles, self._threads)

    @property
    def working(self) -> "AsyncWorking":
        """The agent's workbench in this scope: messages, actions, thoughts, to-dos and free values together."""
        return AsyncWorking(self._own.working, self._threads)

    @property
    def sessions(self) -> "AsyncSessions":
        """Workbenches saved by name."""
        return AsyncSessions(self._own.sessions, self._threads)

    @property
    def quarantine(self) -> "AsyncQuarantine":
        """What was held back, and the rules that do so."""
        return AsyncQuarantine(self._own.quarantine, self._threads)

    @property
    def jobs(self) -> "AsyncJobs":
        """The later work of this tenant, and what went wrong with it."""
        return AsyncJobs(self._own.jobs, self._threads)

    @property
    def kv(self) -> "AsyncKeyValues":
        """Key-value state of exactly this scope, with an end."""
        return AsyncKeyValues(self._own.kv, self._threads)

    async def flow(
        self,
        name: str,
        *,
        steps: Sequence[str],
        ttl: Duration = "24h",
        sliding: bool = True,
        transitions: Mapping[str, Iterable[str]] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> "AsyncFlow":
        """Return a process of several steps whose state, user by user, is kept until it expires.

        A state lives for `ttl` after it was last read or changed; without `sliding`, after its start. `transitions` says
        where a step may go, a step not named there may go anywhere; `models` holds types that pydantic can check, for
        the data under a step's name.
        """
        view = AsyncFlow.__new__(AsyncFlow)
        Mirror.__init__(
            view,
            await self._call(
                self._own.flow, name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions, models=models
            ),
            self._threads,
        )
        return view

    async def typed(
        self,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> "AsyncTyped[V]":
        """Return a value of any type that pydantic can check, kept under a name in exactly this scope.

        The type is that of the default unless given, as `list[int]` must be. `migrate` makes the new value of a stored
        one that does not fit the type any more, or has other fields than the type has.
        """
        return AsyncTyped[V](
            await self._call(self._own.typed, name, default, type=type, migrate=migrate), self._threads
        )

    @property
    def hooks(self) -> Hooks:
        """Functions to be called after changes in this scope."""
        return self._own.hooks

    @property
    def providers(self) -> Providers:
        """Those who have something to say when a state is composed."""
        return self._own.providers

    def provider(
        self,
        name: str,
        *,
        position: int = DEFAULT_POSITION,
        private: bool = False,
        timeout: float | str | timedelta = DEFAULT_TIMEOUT,
    ) -> Callable[[F], F]:
        """Register the decorated function, plain or async, as a provider of this view and of narrower ones.

        It is told what is `Asked` and returns text, `Provided(text=, values=, data=)`, a mapping with these names, or
        None for nothing. `position` orders the texts; a `private` one is used only when `include` names it; one that
        does not return within `timeout` is left out. A name that is taken raises `AlreadyExists`.
        """
        return self._own.provider(name, position=position, private=private, timeout=timeout)

    async def compose(
        self,
        message: str | Message | Record,
        *,
        user: str | None = None,
        include: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        fresh: bool = False,
    ) -> State:
        """Ask the providers about a message, side by side, and return what they say as one state.

        `user` is whom it is about, where the view is bound to none, as in a group's room: that user's profile is told,
        and what is recalled comes from all rooms of that user. `include` takes only those it names, private ones too; `exclude` leaves some out; a name that is not there raises
        `NotFound`. One that fails or takes too long is left out and stands in `State.failures`. A state is kept for five
        minutes and given again for the same message, until something within reach is written, by any process; `fresh`
        asks anew.
        """
        return await self._call_apart(
            self._own.compose, message, user=user, include=include, exclude=exclude, fresh=fresh
        )

    async def context(
        self,
        query: str,
        *,
        max_tokens: int = 2000,
        recall: Recall = "user",
        user: str | None = None,
        system: str | None = None,
        template: str | None = None,
        counter: TokenCounter | None = None,
        at: datetime | None = None,
        threshold: float = FLOOR,
        ids: bool = False,
    ) -> Context:
        """Return what a model should be shown for a question: the best use of `max_tokens`, never more than that.

        The latest turns come from this view; facts that hold now, passages, open goals and tasks and the profile are
        recalled from all rooms of the same user and agent (`recall="user"`), from this view alone (`"room"`), from all
        users of the agent (`"agent"`) or from the whole tenant (`"tenant"`). In a group room, bind no user and name the
        one who asks by `user`. What says the same is shown once. Recalled text stands in a fence that marks it as data.
        `system` goes before it in the messages; `template` is a Jinja template for what stands in the fence. Tokens are
        counted by `counter`. Where nothing is as relevant to the question as `threshold`, nothing is
        recalled: only the latest turns, the profile and open plans are left. `ids=True` writes ids
        instead of numbers before each item. A budget that is too small for the system prompt or the fence raises
        `InvalidInput`.
        """
        return await self._call(
            self._own.context,
            query,
            max_tokens=max_tokens,
            recall=recall,
            user=user,
            system=system,
            template=template,
            counter=counter,
            at=at,
            threshold=threshold,
            ids=ids,
        )

    async def ask(
        self,
        question: str,
        *,
        max_tokens: int = 2000,
        recall: Recall = "user",
        user: str | None = None,
        at: datetime | None = None,
        threshold: float = THRESHOLD,
        model: bool = True,
    ) -> Answer:
        """Return what memory says to a question, with the ids of the records it rests on, or that it is not in memory.

        With a language model, that one answers from the context of the question (`max_tokens`, `recall`, `user` and `at`
        are those of `context`); what it cites is checked against what it was shown. Without one, with `model=False`,
        beyond the day's ceiling, or when it fails, the answer is what the best records say themselves, and `threshold` is how
        sure recall must be of them, from 0 to 1.
        """
        return await self._call(
            self._own.ask,
            question,
            max_tokens=max_tokens,
            recall=recall,
            user=user,
            at=at,
            threshold=threshold,
            model=model,
        )

    @property
    def audit(self) -> "AsyncAudit":
        """Who did what, when and from where."""
        return AsyncAudit(self._own.audit, self._threads)

    def acting(
        self, *, actor: str | None = None, session: str | None = None, address: str | None = None
    ) -> ActorContext:
        """Act in somebody's name inside a `with` block: the audit trail says so. What is not given stays as it is.

        It holds for this thread or asyncio task, whichever view or memory is used inside.
        """
        return self._own.acting(actor=actor, session=session, address=address)

    def compliance(self, check: ComplianceCheck | None = None, *, content: bool = False) -> Callable[..., Any]:
        """Ask `check(intent)` before every write of this view and narrower ones; what it returns are flags in the trail.

        Usable as a decorator. A check returns one flag, several or None; it is not told the content unless it asks for
        it (`content=True`). One that raises leaves a flag that says so; the write goes on.
        """
        return self._own.compliance(check, content=content)

    @asynccontextmanager
    async def batch(self, *, key: str | None = None) -> AsyncGenerator["AsyncBatchView"]:
        """Gather writes and make them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see what is stored, not what waits. Receipts inside are `pending`; the batch's `receipt` has it all.
        """
        manager = self._own.batch(key=key)
        view = AsyncBatchView.__new__(AsyncBatchView)
        Mirror.__init__(view, await self._call(manager.__enter__), self._threads)
        try:
            yield view
        except BaseException as error:
            if not await self._leave(manager, error):
                raise
        else:
            await self._call(manager.__exit__, None, None, None)

    async def history(self, id: str, *, quarantined: bool = False) -> list[Record]:
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`.

        Versions that are or were in quarantine come only with `quarantined`.
        """
        return await self._call(self._own.history, id, quarantined=quarantined)

    async def changes(self, *, after: datetime | str | None = None, limit: int = 100) -> list[ChangeEvent]:
        """Return what was added, changed and ended in this scope, in the order it was committed, by whichever process.

        `after` is a moment, or the `cursor` of a change that was given before: asking with the last one goes on without a
        loss. What is held in quarantine is not told; what is imported stands at the times it brings. Expiry is no change.
        """
        return await self._call(self._own.changes, after=after, limit=limit)

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
        """Take one write back, by new versions; a record that somebody changed since raises `VersionConflict`.

        What was learned since is no conflict: it goes with what it was learned from.
        """
        return await self._call(self._own.undo, receipt)

    async def export(self, path: str | Path, *, plain: bool = False) -> Transferred:
        """Write everything in this scope to a new JSON Lines file: all versions, and for a whole tenant its other state.

        The export of an encrypted memory is encrypted with the same master key; `plain` asks for one that anybody can read.
        """
        return await self._call(self._own.export, path, plain=plain)

    async def import_(self, path: str | Path) -> Transferred:
        """Bring an export into this scope's tenant without a loss; repeating it is harmless."""
        return await self._call(self._own.import_, path)

    async def backup(self, path: str | Path) -> None:
        """Copy the whole store, all tenants, to a new file while others go on writing."""
        return await self._call(self._own.backup, path)

    async def erase(
        self,
        *,
        user: str | None = None,
        room: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        ids: Iterable[str] | None = None,
        dry_run: bool = False,
    ) -> ErasureReceipt:
        """Remove for good all that belongs to a user, room or agent, some records, or the whole tenant.

        To erase everything, name the tenant that this memory is bound to: `erase(tenant="acme")`. Any other name is
        refused.

        With it go all versions, vectors, words, jobs and keys, its key-value state, and what was learned from it and
        from nothing else; summaries are written anew without it, saved sessions lose it, caches are emptied, and audit
        lines lose what tells of it. No view of the past, undo or roll-back brings it back. The receipt says what was
        removed, and what a search of the index, of everything that is left and of the file's bytes found afterwards. Somebody nobody knows gets a receipt with nothing in it; nobody named is an
        error. An interrupted erasure goes on when it is asked for again, or by `maintain()`. With `dry_run` nothing is
        removed; the receipt counts the records, versions and keys that would go, and the sessions that would change.
        """
        return await self._call(
            self._own.erase, user=user, room=room, agent=agent, tenant=tenant, ids=ids, dry_run=dry_run
        )

    async def verify(self) -> Check:
        """Check that the file is sound, that records, words, vectors and jobs agree, and that no vector is missing."""
        return await self._call(self._own.verify)

    async def stats(self) -> Stats:
        """Count what this tenant holds, and weigh the store; keys on a server that is lost are not counted."""
        return await self._call(self._own.stats)

    async def spending(self, *, days: int = 30, backlog: bool = False) -> Spending:
        """Return what this tenant spent on models on the latest days (UTC), by day and purpose.

        `left` says what may still be spent today under the settings' `spend_daily_tokens`. With `backlog`, also what the
        messages that wait to be learned from would take at the most; nobody is asked for that.
        """
        return await self._call(self._own.spending, days=days, backlog=backlog)

    @property
    def retention(self) -> "AsyncRetention":
        """What is kept, and for how long: policies that `maintain()` runs."""
        return AsyncRetention(self._own.retention, self._threads)

    @property
    def archive(self) -> "AsyncArchive":
        """What was put away before policies removed it."""
        return AsyncArchive(self._own.archive, self._threads)

    async def maintain(self, *, dry_run: bool = False) -> Maintenance:
        """Reclaim what has expired and run the policies of this scope and of narrower ones, in short steps.

        Without a policy nothing that can be read is removed. Returns what was done, policy by policy, for
        `retention.undo`; `dry_run=True` tells what would be done. A run or an
        erasure that was interrupted is ended by the next one.
        """
        return await self._call(self._own.maintain, dry_run=dry_run)

    async def reembed(self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Change the embedding model of the whole store; returns how many versions were embedded anew.

        The new vectors are built beside the old ones and take over when complete; searches go on meanwhile, and an
        interrupted run goes on where it stopped. `progress(done, of)` is told how far it is.
        """
        return await self._call(self._own.reembed, embedder, progress=progress)

    async def rotate_keys(self, *, reencrypt: bool = True) -> Receipt:
        """Wrap the keys of the whole store by the keyring's first master key, at once; others are not needed any more.

        With `reencrypt`, every tenant gets a new data key too, and jobs seal its contents by it while others read and write;
        `wait()` on the receipt waits for them.
        """
        return await self._call(self._own.rotate_keys, reencrypt=reencrypt)

    async def drop_key(self, *, tenant: str) -> bool:
        """Make everything of this memory's tenant unreadable for ever, at once; False when it had no key.

        Name the tenant, so that it is meant. Copies of the file that were made before still have the key.
        """
        return await self._call(self._own.drop_key, tenant=tenant)

    async def close(self) -> None:
        """Let go of the store, for every view of it; closing twice is harmless."""
        await self._call(self._own.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """Return it; it is closed at the end."""
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


class AsyncRecentMessages(Mirror):
    """The latest messages of one room on a Redis server, with no store beside: for conversations that may be forgotten.

    The room holds at most `max_messages` and is gone `ttl_hours` after its last message. When one comes too many, the
    oldest leave: system messages only when nothing else is left, a tool call together with its results, never what has
    just come. They are in the order they came. Nothing is learned from them, searched or versioned. Thread-safe, and
    shared by all processes that name the same server, prefix, tenant and room; use it as a context manager, or call
    `close()`.
    """

    @property
    def _own(self) -> RecentMessages:
        return cast("RecentMessages", self._mirrored)

    def __init__(
        self,
        url: str,
        *,
        room: str,
        tenant: str = DEFAULT_TENANT,
        max_messages: int = 1000,
        ttl_hours: float = 24.0,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a room on the server at `redis://…`; one that cannot be reached raises `Unavailable`.

        `settings` (roles, sizes, what is redacted) come from the environment and `rememo.toml` unless given. `clock`
        tells the time, for tests.
        """
        super().__init__(
            RecentMessages(
                url,
                room=room,
                tenant=tenant,
                max_messages=max_messages,
                ttl_hours=ttl_hours,
                settings=settings,
                clock=clock,
            ),
            ThreadPoolExecutor(_THREADS, "rememo"),
        )

    async def add(
        self,
        role: str,
        content: str,
        *,
        id: str | None = None,
        user: str | None = None,
        name: str | None = None,
        username: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        images: Sequence[Image] | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Message:
        """Remember a turn and return it; an id that is in the room already raises `AlreadyExists`.

        `user` is its author in a group, `at` the platform's time. The content may be empty only beside tool calls or
        images.
        """
        return await self._call(
            self._own.add,
            role,
            content,
            id=id,
            user=user,
            name=name,
            username=username,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            images=images,
            metadata=metadata,
            at=at,
        )

    async def add_pair(
        self, user: str, assistant: str, *, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> tuple[Message, Message]:
        """Remember what a user said and the answer to it, both or neither."""
        return await self._call(self._own.add_pair, user, assistant, name=name, metadata=metadata)

    async def clear(self) -> int:
        """Remove every message of the room; returns how many."""
        return await self._call(self._own.clear)

    async def history(
        self, limit: int = 20, offset: int = 0, *, roles: str | Iterable[str] | None = None
    ) -> list[Message]:
        """Return the latest `limit` messages, oldest first; `offset` passes over the newest."""
        return await self._call(self._own.history, limit, offset, roles=roles)

    async def latest(self, n: int = 1) -> list[Message]:
        """Return the last `n` messages, oldest first."""
        return await self._call(self._own.latest, n)

    async def get(self, id: str) -> Message:
        """Return a message by its id; one that is not there, or not any more, raises `NotFound`."""
        return await self._call(self._own.get, id)

    async def count(self) -> int:
        """Return how many messages there are."""
        return await self._call(self._own.count)

    async def for_model(
        self, *, system: str | None = None, user: str | None = None, image: Image | None = None, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return a model's input in the OpenAI chat shape: a system prompt, the latest `limit` messages, the current one.

        `image` (bytes, a path, an address or a data URL) goes with the current message. Nothing is stored. What a model
        would refuse (a result without its call, an old call without its result) is left out.
        """
        return await self._call(self._own.for_model, system=system, user=user, image=image, limit=limit)

    async def close(self) -> None:
        """Let go of the server; closing twice is harmless."""
        await self._call(self._own.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()
