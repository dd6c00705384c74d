"""The faces of a client: the methods of a memory that are served, each a request.

Made by tools/client.py from the methods themselves; change those and run the tool.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from rememo.ask.answer import Answer
from rememo.client.transport import Transport
from rememo.collections.actions import Action
from rememo.collections.document import Chunk, Document, DocumentReceipt, Passage
from rememo.collections.fields import ExternalId
from rememo.collections.goals import Goal
from rememo.collections.limits import Evict, Limits
from rememo.collections.message import Message
from rememo.collections.posts import Post
from rememo.collections.pruning import Pruned
from rememo.collections.records import Duration
from rememo.collections.revisions import Revised
from rememo.collections.tasks import Recurrence, Task
from rememo.collections.thoughts import Thought
from rememo.collections.turn import Image
from rememo.collections.working_limits import WorkingLimits
from rememo.context.item import Context, Recall
from rememo.context.state import State
from rememo.engine.search import Mode
from rememo.extract import ExtractedFact
from rememo.keep.retention import Ready, Span
from rememo.keep.versions import Diff
from rememo.learn.conflicts import Policy
from rememo.llm.spending import Spending
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
from rememo.model.unset import UNSET, Unset
from rememo.recall.question import THRESHOLD
from rememo.recall.relevance import FLOOR
from rememo.store.reports import Check, Stats
from rememo.summary.room_summaries import SummaryPolicy
from rememo.summary.running_summary import RunningSummary
from rememo.summary.stored import MAX_TOKENS
from rememo.summary.summary import Compressed, Summary
from rememo.text.tokens import TokenCounter
from rememo.working.profiles import Profile
from rememo.working.sessions import Session
from rememo.working.stats import WorkingStats
from rememo.working.todos import Todo


class RemoteMessages:
    """The messages within a view, ordered by when they were said, ties by arrival."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "messages.add",
                {
                    "role": role,
                    "content": content,
                    "id": id,
                    "external_id": external_id,
                    "reply_to": reply_to,
                    "name": name,
                    "username": username,
                    "tool_calls": tool_calls,
                    "tool_call_id": tool_call_id,
                    "images": images,
                    "data": data,
                    "metadata": metadata,
                    "at": at,
                    "pinned": pinned,
                    "importance": importance,
                    "source": source,
                    "trust": trust,
                    "learn": learn,
                    "key": key,
                },
            ),
        )

    def add_pair(
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
        return cast(
            "Receipt",
            self._transport.call(
                "messages.add_pair",
                {
                    "user": user,
                    "assistant": assistant,
                    "name": name,
                    "metadata": metadata,
                    "at": at,
                    "source": source,
                    "trust": trust,
                    "learn": learn,
                    "key": key,
                },
            ),
        )

    def clear(self) -> Receipt:
        """End every message in this scope, in one transaction; all else stays.

        What was learned from them goes too, in jobs that `wait()` on the receipt waits for; `undo()` of it brings
        everything back.
        """
        return cast("Receipt", self._transport.call("messages.clear", {}))

    def get(self, id: str | tuple[ExternalId, ExternalId], *, known_at: datetime | None = None) -> Message:
        """Return a message by its id or its external id; one that is not in this scope raises `NotFound`."""
        return cast("Message", self._transport.call("messages.get", {"id": id, "known_at": known_at}))

    def history(
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
        return cast(
            "list[Message]",
            self._transport.call(
                "messages.history",
                {
                    "limit": limit,
                    "offset": offset,
                    "roles": roles,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "known_at": known_at,
                },
            ),
        )

    def latest(self, n: int = 1) -> list[Message]:
        """Return the last `n` messages, oldest first."""
        return cast("list[Message]", self._transport.call("messages.latest", {"n": n}))

    def replies(self, id: str | tuple[ExternalId, ExternalId], *, limit: int = 100) -> list[Message]:
        """Return the direct answers to a message, oldest first; of more than `limit`, the latest.

        The message may be anybody's in this room; the answers are those in this scope.
        """
        return cast("list[Message]", self._transport.call("messages.replies", {"id": id, "limit": limit}))

    def thread(self, id: str | tuple[ExternalId, ExternalId]) -> list[Message]:
        """Return what a message answers, what that answers, and so on: from the root to the message itself.

        It begins later where a message in between is gone, and where links go round in a circle it is cut there. Links
        are followed through the whole room, and the messages in this scope are given.
        """
        return cast("list[Message]", self._transport.call("messages.thread", {"id": id}))

    def window(
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
        return cast(
            "list[Message]",
            self._transport.call(
                "messages.window", {"max_tokens": max_tokens, "counter": counter, "known_at": known_at}
            ),
        )

    def for_model(
        self, *, system: str | None = None, user: str | None = None, image: Image | None = None, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return a model's input in the OpenAI chat shape: a system prompt, the latest `limit` messages, the current one.

        `image` (bytes, a path, an address or a data URL) goes with the current message. Nothing is stored. Tool results
        follow their calls; what a model would refuse (a result without its call, an old call without its result) is
        left out.
        """
        return cast(
            "list[dict[str, Any]]",
            self._transport.call(
                "messages.for_model", {"system": system, "user": user, "image": image, "limit": limit}
            ),
        )

    def limit(
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
        return cast(
            "Limits",
            self._transport.call(
                "messages.limit",
                {
                    "max_messages": max_messages,
                    "max_tokens": max_tokens,
                    "evict": evict,
                    "keep_roles": keep_roles,
                    "on_overflow": on_overflow,
                },
            ),
        )

    def limits(self) -> Limits | None:
        """Return the limits of this room, or None when it has none."""
        return cast("Limits | None", self._transport.call("messages.limits", {}))

    def unlimit(self) -> bool:
        """Take the limits of this room away; False when it had none."""
        return cast("bool", self._transport.call("messages.unlimit", {}))


class RemoteFacts:
    """The facts of one scope, added by hand or learned from what was said."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "facts.add",
                {
                    "subject": subject,
                    "predicate": predicate,
                    "object": object,
                    "confidence": confidence,
                    "sources": sources,
                    "valid_from": valid_from,
                    "valid_to": valid_to,
                    "wording": wording,
                    "key": key,
                },
            ),
        )

    def update(
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
        return cast(
            "Receipt",
            self._transport.call(
                "facts.update",
                {
                    "id": id,
                    "object": object,
                    "confidence": confidence,
                    "valid_from": valid_from,
                    "valid_to": valid_to,
                    "wording": wording,
                },
            ),
        )

    def resolve(self, conflict: Conflict, *, keep: Fact | str) -> Receipt:
        """Settle a conflict: the fact to keep (itself, its id or its object) holds, the others are `retracted`."""
        return cast("Receipt", self._transport.call("facts.resolve", {"conflict": conflict, "keep": keep}))

    def policy(self, predicate: str, mode: Policy | None = None) -> Policy:
        """Return how contradictions of a predicate are treated in this tenant, or set it and settle what is there.

        `latest`: what began later ends the older. `keep`: the first stays. `ask`: both stay until `resolve`.
        `gather`: all hold, as with predicates of many values.
        """
        return cast("Policy", self._transport.call("facts.policy", {"predicate": predicate, "mode": mode}))

    def get(self, id: str, *, known_at: datetime | None = None) -> Fact:
        """Return a fact, whatever its status; raises `NotFound` when there is none in this scope."""
        return cast("Fact", self._transport.call("facts.get", {"id": id, "known_at": known_at}))

    def list(
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
        return cast(
            "list[Fact]",
            self._transport.call(
                "facts.list",
                {
                    "subject": subject,
                    "predicate": predicate,
                    "object": object,
                    "current_only": current_only,
                    "valid_at": valid_at,
                    "known_at": known_at,
                    "min_confidence": min_confidence,
                    "limit": limit,
                },
            ),
        )

    def count(
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
        return cast(
            "int",
            self._transport.call(
                "facts.count",
                {
                    "subject": subject,
                    "predicate": predicate,
                    "object": object,
                    "current_only": current_only,
                    "valid_at": valid_at,
                    "known_at": known_at,
                    "min_confidence": min_confidence,
                },
            ),
        )

    def conflicts(self) -> "list[Conflict]":
        """Return what contradicts each other and waits for `resolve`.

        That is what the policy `ask` leaves open, and what somebody said under a key that is bound to a room, say,
        against what holds in another: it could not end what the key does not see.
        """
        return cast("list[Conflict]", self._transport.call("facts.conflicts", {}))

    def extract(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None, model: bool = False
    ) -> "list[ExtractedFact]":
        """Return the facts a text states, without keeping them; "I" is `speaker`, else the view's user.

        With `model`, the memory's language model is asked too, and what it adds comes after what rules found; raises
        `ModelFailed` or `OverBudget` when it gives nothing.
        """
        return cast(
            "list[ExtractedFact]",
            self._transport.call("facts.extract", {"text": text, "speaker": speaker, "at": at, "model": model}),
        )


class RemoteRevisions:
    """What later statements made of earlier ones, in one scope."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, id: str | None = None, max_confidence: float = 1.0, decided: bool | None = None, limit: int = 100
    ) -> "list[Revised]":
        """Return the latest `limit` revisions of records that this view sees, oldest first.

        `id` is an earlier record. `max_confidence=0.6` gives those that do not count by themselves; `decided` those that
        somebody confirmed or rejected, or (false) the others.
        """
        return cast(
            "list[Revised]",
            self._transport.call(
                "revisions.list", {"id": id, "max_confidence": max_confidence, "decided": decided, "limit": limit}
            ),
        )

    def confirm(self, id: str, by: str) -> Revised:
        """Say that the later record `by` did replace what the record `id` says: it counts as certain from now on."""
        return cast("Revised", self._transport.call("revisions.confirm", {"id": id, "by": by}))

    def reject(self, id: str, by: str) -> Revised:
        """Say that the later record `by` did not replace what `id` says: it holds, and so do the facts it taught."""
        return cast("Revised", self._transport.call("revisions.reject", {"id": id, "by": by}))


class RemoteRelationships:
    """The relationships of one scope, added by hand or learned from what was said."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "relationships.add",
                {
                    "entity": entity,
                    "target": target,
                    "type": type,
                    "strength": strength,
                    "sentiment": sentiment,
                    "metadata": metadata,
                },
            ),
        )

    def update(
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
        return cast(
            "Receipt",
            self._transport.call(
                "relationships.update", {"id": id, "strength": strength, "sentiment": sentiment, "metadata": metadata}
            ),
        )

    def touch(self, entity: str, target: str, type: str, *, at: datetime | None = None) -> Receipt:
        """Note one interaction, now or `at`: it is counted and strengthens the relationship, which is made if need be.

        Each interaction closes a tenth of what is missing to a strength of 1.
        """
        return cast(
            "Receipt",
            self._transport.call("relationships.touch", {"entity": entity, "target": target, "type": type, "at": at}),
        )

    def remove(self, id: str) -> Receipt:
        """Remove one relationship."""
        return cast("Receipt", self._transport.call("relationships.remove", {"id": id}))

    def remove_entity(self, name: str) -> int:
        """Remove every relationship from or to an entity, so that none points at nothing; returns how many."""
        return cast("int", self._transport.call("relationships.remove_entity", {"name": name}))

    def get(self, id: str) -> Relationship:
        """Return a relationship; raises `NotFound` when there is none in this scope."""
        return cast("Relationship", self._transport.call("relationships.get", {"id": id}))

    def list(
        self,
        *,
        entity: str | None = None,
        target: str | None = None,
        type: str | None = None,
        min_strength: float = 0.0,
        limit: int = 100,
    ) -> "list[Relationship]":
        """Return relationships, the strongest first."""
        return cast(
            "list[Relationship]",
            self._transport.call(
                "relationships.list",
                {"entity": entity, "target": target, "type": type, "min_strength": min_strength, "limit": limit},
            ),
        )

    def graph(self, entity: str, depth: int = 2) -> Graph:
        """Return everything within `depth` steps of an entity, in either direction; alone it is one node."""
        return cast("Graph", self._transport.call("relationships.graph", {"entity": entity, "depth": depth}))

    def path(self, a: str, b: str, max_depth: int = 6) -> "list[Relationship]":
        """Return the shortest way from one entity to another, in either direction; the empty list when there is none."""
        return cast(
            "list[Relationship]", self._transport.call("relationships.path", {"a": a, "b": b, "max_depth": max_depth})
        )


class RemoteDocuments:
    """The documents within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "DocumentReceipt",
            self._transport.call(
                "documents.add",
                {
                    "title": title,
                    "text": text,
                    "path": path,
                    "data": data,
                    "source": source,
                    "tags": tags,
                    "media_type": media_type,
                    "metadata": metadata,
                    "key": key,
                },
            ),
        )

    def update(
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
        return cast(
            "DocumentReceipt",
            self._transport.call(
                "documents.update",
                {
                    "id": id,
                    "title": title,
                    "text": text,
                    "path": path,
                    "data": data,
                    "source": source,
                    "tags": tags,
                    "media_type": media_type,
                    "metadata": metadata,
                    "expected_version": expected_version,
                    "key": key,
                },
            ),
        )

    def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a document with all its chunks, in one transaction; `undo()` of the receipt brings all of it back."""
        return cast(
            "Receipt",
            self._transport.call("documents.delete", {"id": id, "expected_version": expected_version, "key": key}),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Document:
        """Return a document; one that is not in this scope raises `NotFound`."""
        return cast("Document", self._transport.call("documents.get", {"id": id, "known_at": known_at}))

    def list(
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
        return cast(
            "list[Document]",
            self._transport.call(
                "documents.list",
                {
                    "tags": tags,
                    "source": source,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )

    def text(self, id: str, *, known_at: datetime | None = None) -> str:
        """Return the whole text of a document, exactly as it was read."""
        return cast("str", self._transport.call("documents.text", {"id": id, "known_at": known_at}))

    def chunks(
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
        return cast(
            "list[Chunk]",
            self._transport.call(
                "documents.chunks",
                {"id": id, "relevant_to": relevant_to, "limit": limit, "offset": offset, "known_at": known_at},
            ),
        )

    def search(
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
        return cast(
            "list[Passage]",
            self._transport.call(
                "documents.search",
                {
                    "query": query,
                    "limit": limit,
                    "tags": tags,
                    "source": source,
                    "threshold": threshold,
                    "mode": mode,
                    "known_at": known_at,
                    "explain": explain,
                },
            ),
        )

    def summary(self, id: str, *, sentences: int = 5) -> str:
        """Return the sentences of a document that say most, in their order, word for word."""
        return cast("str", self._transport.call("documents.summary", {"id": id, "sentences": sentences}))


class RemoteGoals:
    """The goals within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "goals.add",
                {
                    "text": text,
                    "priority": priority,
                    "due": due,
                    "parent": parent,
                    "metadata": metadata,
                    "id": id,
                    "pinned": pinned,
                    "importance": importance,
                    "key": key,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Goal:
        """Return a goal; one that is not in this scope raises `NotFound`."""
        return cast("Goal", self._transport.call("goals.get", {"id": id, "known_at": known_at}))

    def update(
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
        return cast(
            "Receipt",
            self._transport.call(
                "goals.update",
                {
                    "id": id,
                    "text": text,
                    "status": status,
                    "priority": priority,
                    "due": due,
                    "parent": parent,
                    "expected_version": expected_version,
                    "key": key,
                },
            ),
        )

    def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Say that a goal is reached."""
        return cast("Receipt", self._transport.call("goals.done", {"id": id, "key": key}))

    def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Give a goal up."""
        return cast("Receipt", self._transport.call("goals.drop", {"id": id, "key": key}))

    def open(self, *, limit: int = 100) -> "list[Goal]":
        """Return the open goals, most urgent first: by priority, then by when they are due, then oldest first."""
        return cast("list[Goal]", self._transport.call("goals.open", {"limit": limit}))

    def list(
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
        return cast(
            "list[Goal]",
            self._transport.call(
                "goals.list",
                {
                    "status": status,
                    "parent": parent,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )


class RemoteTasks:
    """The tasks within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "tasks.add",
                {
                    "text": text,
                    "due": due,
                    "recurrence": recurrence,
                    "priority": priority,
                    "goal": goal,
                    "parent": parent,
                    "metadata": metadata,
                    "id": id,
                    "pinned": pinned,
                    "importance": importance,
                    "source": source,
                    "trust": trust,
                    "key": key,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Task:
        """Return a task; one that is not in this scope raises `NotFound`."""
        return cast("Task", self._transport.call("tasks.get", {"id": id, "known_at": known_at}))

    def update(
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
        return cast(
            "Receipt",
            self._transport.call(
                "tasks.update",
                {
                    "id": id,
                    "text": text,
                    "status": status,
                    "due": due,
                    "recurrence": recurrence,
                    "priority": priority,
                    "parent": parent,
                    "expected_version": expected_version,
                    "key": key,
                },
            ),
        )

    def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Say that a task is done; one that is done already is left as it is (`unchanged`).

        A recurring one stays open and is due the next time that lies past both its due time and now. When two do the
        same one at once it moves on once.
        """
        return cast("Receipt", self._transport.call("tasks.done", {"id": id, "key": key}))

    def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Give a task up; a recurring one does not come round again."""
        return cast("Receipt", self._transport.call("tasks.drop", {"id": id, "key": key}))

    def due(self, now: datetime | None = None, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks that are due at a moment (the present one unless given), longest due first."""
        return cast("list[Task]", self._transport.call("tasks.due", {"now": now, "limit": limit}))

    def open(self, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks: those due first come first, then the more urgent, then the older."""
        return cast("list[Task]", self._transport.call("tasks.open", {"limit": limit}))

    def list(
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
        return cast(
            "list[Task]",
            self._transport.call(
                "tasks.list",
                {
                    "status": status,
                    "goal": goal,
                    "parent": parent,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )


class RemoteActions:
    """The actions within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "actions.add",
                {
                    "tool": tool,
                    "parameters": parameters,
                    "result": result,
                    "success": success,
                    "duration": duration,
                    "error": error,
                    "at": at,
                    "metadata": metadata,
                    "id": id,
                    "pinned": pinned,
                    "importance": importance,
                    "source": source,
                    "trust": trust,
                    "key": key,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Action:
        """Return an action; one that is not in this scope raises `NotFound`."""
        return cast("Action", self._transport.call("actions.get", {"id": id, "known_at": known_at}))

    def latest(self, n: int = 10, *, tool: str | None = None) -> "list[Action]":
        """Return the latest actions, oldest first."""
        return cast("list[Action]", self._transport.call("actions.latest", {"n": n, "tool": tool}))

    def success_rate(
        self, tool: str | None = None, *, after: datetime | None = None, before: datetime | None = None
    ) -> float | None:
        """Return which part of the actions went well, from 0 to 1; None when there were none."""
        return cast(
            "float | None",
            self._transport.call("actions.success_rate", {"tool": tool, "after": after, "before": before}),
        )

    def list(
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
        return cast(
            "list[Action]",
            self._transport.call(
                "actions.list",
                {
                    "tool": tool,
                    "success": success,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )


class RemoteThoughts:
    """The thoughts within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "thoughts.add",
                {
                    "step": step,
                    "text": text,
                    "at": at,
                    "metadata": metadata,
                    "id": id,
                    "pinned": pinned,
                    "importance": importance,
                    "key": key,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Thought:
        """Return a thought; one that is not in this scope raises `NotFound`."""
        return cast("Thought", self._transport.call("thoughts.get", {"id": id, "known_at": known_at}))

    def latest(self, n: int = 10, *, step: str | None = None) -> "list[Thought]":
        """Return the latest thoughts, oldest first."""
        return cast("list[Thought]", self._transport.call("thoughts.latest", {"n": n, "step": step}))

    def list(
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
        return cast(
            "list[Thought]",
            self._transport.call(
                "thoughts.list",
                {
                    "step": step,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )


class RemotePosts:
    """The posts within a view."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
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
        return cast(
            "Receipt",
            self._transport.call(
                "posts.add",
                {
                    "content": content,
                    "type": type,
                    "location": location,
                    "prompt": prompt,
                    "image": image,
                    "external_id": external_id,
                    "published_at": published_at,
                    "metadata": metadata,
                    "id": id,
                    "pinned": pinned,
                    "importance": importance,
                    "key": key,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Post:
        """Return a post; one that is not in this scope raises `NotFound`."""
        return cast("Post", self._transport.call("posts.get", {"id": id, "known_at": known_at}))

    def recent_locations(self, n: int = 5) -> "list[str]":
        """Return the last `n` different locations of posts, newest first, so as not to repeat them.

        Spellings that differ in case or outer blanks only are one; the newest is given.
        """
        return cast("list[str]", self._transport.call("posts.recent_locations", {"n": n}))

    def list(
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
        return cast(
            "list[Post]",
            self._transport.call(
                "posts.list",
                {
                    "type": type,
                    "location": location,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )


class RemoteSummaries:
    """The summaries within a view, and the policy of the room that it is bound to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def policy(self, policy: SummaryPolicy | Unset | None = UNSET) -> SummaryPolicy | None:
        """Return the policy of this room, or set it: for all users and agents, in every process and over restarts.

        From then on, when `threshold` messages have gathered that no summary stands for, all but the latest `keep` are
        summarised in a job of the message that was one too many. None ends the policy; summaries that are there stay.
        """
        return cast("SummaryPolicy | None", self._transport.call("summaries.policy", {"policy": policy}))

    def current(self, room: str | None = None, *, max_tokens: int = MAX_TOKENS) -> RunningSummary | None:
        """Return what the summaries of a room say together, oldest first; None when there are none.

        The newest are there in whole, as far as they fit. When all of them are too long, of each older one only the line
        that says most is there, and of these the weightiest that fit. The first line, which says how many messages they
        stand for, is always there.
        """
        return cast(
            "RunningSummary | None", self._transport.call("summaries.current", {"room": room, "max_tokens": max_tokens})
        )

    def update(self, room: str | None = None, *, keep: int | None = None) -> RunningSummary | None:
        """Summarise what was said in a room up to now, without waiting for a threshold, and return the running summary.

        The latest `keep` messages stay out of it: as many as the room's policy says, none without a policy. Like a
        policy, this is about all messages of the room, whoever the view is bound to; a summary of others' messages is not
        returned to it. A room without messages and summaries raises `NotFound`.
        """
        return cast("RunningSummary | None", self._transport.call("summaries.update", {"room": room, "keep": keep}))

    def list(
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
        return cast(
            "list[Summary]",
            self._transport.call(
                "summaries.list",
                {"limit": limit, "offset": offset, "after": after, "before": before, "known_at": known_at},
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Summary:
        """Return a summary; one that is not in this scope raises `NotFound`."""
        return cast("Summary", self._transport.call("summaries.get", {"id": id, "known_at": known_at}))

    def sources(self, id: str) -> "list[Message]":
        """Return the messages that a summary stands for, oldest first; those that left as they last were."""
        return cast("list[Message]", self._transport.call("summaries.sources", {"id": id}))

    def compress(
        self, *, older_than: Duration = "7d", room: str | None = None, max_tokens: int = MAX_TOKENS
    ) -> Compressed:
        """Let messages older than that leave, each room's into summaries; returns how many, from when to when.

        A summary and the end of its messages (100 at the most) are one transaction, so a large room is not held up.
        Pinned and system messages stay, a tool call stays or leaves with its results, and what was learned stays. Without a
        room, all rooms of the view are done. Nothing old enough is no error: the count is 0. Interrupted, it is begun
        again.
        """
        return cast(
            "Compressed",
            self._transport.call(
                "summaries.compress", {"older_than": older_than, "room": room, "max_tokens": max_tokens}
            ),
        )


class RemoteKeyValues:
    """The keys of one scope: exactly this view's labels are their namespace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none or it has expired."""
        return self._transport.call("kv.get", {"key": key, "default": default})

    def version(self, key: str) -> int:
        """Return the version of a value, for `compare_and_set`; 0 when there is none."""
        return cast("int", self._transport.call("kv.version", {"key": key}))

    def set(
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
        return cast(
            "int",
            self._transport.call(
                "kv.set", {"key": key, "value": value, "ttl": ttl, "sliding": sliding, "keep_ttl": keep_ttl}
            ),
        )

    def compare_and_set(
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
        return cast(
            "int",
            self._transport.call(
                "kv.compare_and_set",
                {
                    "key": key,
                    "value": value,
                    "expected_version": expected_version,
                    "ttl": ttl,
                    "sliding": sliding,
                    "keep_ttl": keep_ttl,
                },
            ),
        )

    def delete(self, key: str) -> bool:
        """Remove a key; False when it was not there."""
        return cast("bool", self._transport.call("kv.delete", {"key": key}))

    def invalidate(self, pattern: str) -> int:
        """Remove every key that a glob pattern such as "user:*" matches; returns how many."""
        return cast("int", self._transport.call("kv.invalidate", {"pattern": pattern}))

    def keys(self, pattern: str = "*") -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        return cast("list[str]", self._transport.call("kv.keys", {"pattern": pattern}))


class RemoteProfiles:
    """The profiles of one scope: exactly this view's labels are their namespace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, key: str) -> Profile | None:
        """Return what is known under a key, or None when nothing is."""
        return cast("Profile | None", self._transport.call("profiles.get", {"key": key}))

    def update(self, key: str, fields: Mapping[str, Any] | None = None, **more: Any) -> Profile:
        """Change some fields and return the whole; nothing comes in between, in any process.

        Fields are given by name, or as a mapping where their names are not Python's. What is not given stays, mappings
        are merged field by field, and None takes a field away.
        """
        return cast("Profile", self._transport.call("profiles.update", {"key": key, "fields": fields, **more}))

    def forget(self, key: str) -> bool:
        """Forget what is known under a key; False when nothing was."""
        return cast("bool", self._transport.call("profiles.forget", {"key": key}))

    def forget_all(self) -> int:
        """Forget every profile of this scope; returns how many."""
        return cast("int", self._transport.call("profiles.forget_all", {}))

    def keys(self) -> list[str]:
        """Return the keys that something is known under, sorted."""
        return cast("list[str]", self._transport.call("profiles.keys", {}))


class RemoteSessions:
    """The saved sessions of exactly this view's labels."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def save(self, name: str) -> Session:
        """Keep the workbench of this view as it is now; a session of that name is replaced.

        The name must be fit for a file on any system, and differ from the others by more than small and large letters,
        or `InvalidInput` or `AlreadyExists` is raised.
        """
        return cast("Session", self._transport.call("sessions.save", {"name": name}))

    def load(self, name: str) -> Receipt:
        """Make the workbench of this view what it was when it was saved, in one transaction; what is not in it ends.

        `memory.undo(receipt)` takes that back. A session that is not there raises `NotFound`.
        """
        return cast("Receipt", self._transport.call("sessions.load", {"name": name}))

    def get(self, name: str) -> dict[str, Any]:
        """Return a saved session as `working.export()` made it, for a file or for another memory's `working.import_`."""
        return cast("dict[str, Any]", self._transport.call("sessions.get", {"name": name}))

    def list(self) -> "list[Session]":
        """Return the saved sessions, the one saved first at the start."""
        return cast("list[Session]", self._transport.call("sessions.list", {}))

    def delete(self, name: str) -> bool:
        """Forget a saved session; False when there is none of that name. The workbench itself stays as it is."""
        return cast("bool", self._transport.call("sessions.delete", {"name": name}))


class RemoteTodos:
    """The tasks within a view: `memory.tasks` has the same ones, with their due times and recurrence."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(self, text: str, *, priority: int = 0, parent: str | None = None, id: str | None = None) -> Receipt:
        """Plan something; a `parent` that is not there raises `NotFound`. `priority` is from 0 to 10, the most urgent."""
        return cast(
            "Receipt",
            self._transport.call("working.todos.add", {"text": text, "priority": priority, "parent": parent, "id": id}),
        )

    def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        priority: int | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        done: bool | Unset = UNSET,
    ) -> Receipt:
        """Change some of a to-do; what is not given stays. It cannot become a part of its own parts."""
        return cast(
            "Receipt",
            self._transport.call(
                "working.todos.update", {"id": id, "text": text, "priority": priority, "parent": parent, "done": done}
            ),
        )

    def done(self, id: str) -> Receipt:
        """Say that one is done; its parts stay as they are."""
        return cast("Receipt", self._transport.call("working.todos.done", {"id": id}))

    def drop(self, id: str) -> Receipt:
        """Give one up; its parts stay as they are."""
        return cast("Receipt", self._transport.call("working.todos.drop", {"id": id}))

    def delete(self, id: str) -> Receipt:
        """End the record of one; its parts stand on their own from then on."""
        return cast("Receipt", self._transport.call("working.todos.delete", {"id": id}))

    def get(self, id: str) -> Todo:
        """Return one; one that is not in this scope raises `NotFound`."""
        return cast("Todo", self._transport.call("working.todos.get", {"id": id}))

    def list(self, *, open: bool | None = None) -> "list[Todo]":
        """Return the plan: each to-do before its parts, those side by side the most urgent first, then the older.

        With `open` only those that are open, or only those that are not.
        """
        return cast("list[Todo]", self._transport.call("working.todos.list", {"open": open}))

    def next(self) -> Todo | None:
        """Return what to do next: the first open one of the plan none of whose parts is open; None when all is done."""
        return cast("Todo | None", self._transport.call("working.todos.next", {}))


class RemoteContextValues:
    """The values of exactly this scope, by name: any JSON, and what a workbench declares by its type."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def set(self, name: str, value: Any) -> Receipt:
        """Keep a value under a name, whatever was there."""
        return cast("Receipt", self._transport.call("working.context.set", {"name": name, "value": value}))

    def get(self, name: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none."""
        return self._transport.call("working.context.get", {"name": name, "default": default})

    def delete(self, name: str) -> bool:
        """Forget a value; False when there was none."""
        return cast("bool", self._transport.call("working.context.delete", {"name": name}))

    def all(self) -> dict[str, Any]:
        """Return every value by its name, sorted by name."""
        return cast("dict[str, Any]", self._transport.call("working.context.all", {}))


class RemoteJobs:
    """The jobs of one tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, state: JobState | None = None, *, limit: int | None = None, before: str | None = None
    ) -> "list[Job]":
        """Return jobs, oldest first: all, or those `waiting`, `running`, `done` or `dead`.

        With a `limit`, the latest so many; `before` is the id of a job, to go back page by page.
        """
        return cast("list[Job]", self._transport.call("jobs.list", {"state": state, "limit": limit, "before": before}))

    def get(self, id: str) -> Job:
        """Return one job; raises `NotFound` when there is none."""
        return cast("Job", self._transport.call("jobs.get", {"id": id}))

    def retry(self, id: str) -> Job:
        """Let a dead job be tried again from now on, as often as a new one, and return it."""
        return cast("Job", self._transport.call("jobs.retry", {"id": id}))


class RemoteAudit:
    """The audit trail of a tenant; a view bound to labels lists what concerns them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
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
        return cast(
            "list[AuditEntry]",
            self._transport.call(
                "audit.list",
                {
                    "after": after,
                    "before": before,
                    "actor": actor,
                    "operation": operation,
                    "up_to": up_to,
                    "limit": limit,
                },
            ),
        )

    def head(self) -> AuditHead:
        """Return where the trail ends now: keep it outside the store, and `verify(head=…)` shows any change before it."""
        return cast("AuditHead", self._transport.call("audit.head", {}))

    def verify(self, *, head: AuditHead | None = None) -> AuditCheck:
        """Check the whole trail of the tenant, line by line; faults name the line that was altered, removed or inserted.

        The store itself knows where the trail must end. A head that was kept outside shows even a trail that was
        forged as a whole, up to that head.
        """
        return cast("AuditCheck", self._transport.call("audit.verify", {"head": head}))


class RemoteQuarantine:
    """The records within a view that are held back: stored as they came, but neither recalled nor learned from."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
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
        return cast(
            "list[Record]",
            self._transport.call(
                "quarantine.list",
                {
                    "kind": kind,
                    "after": after,
                    "before": before,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                },
            ),
        )

    def get(self, id: str, *, known_at: datetime | None = None) -> Record:
        """Return a record in quarantine; raises `NotFound` when it is not there."""
        return cast("Record", self._transport.call("quarantine.get", {"id": id, "known_at": known_at}))

    def count(self) -> int:
        """Return how many records are held back, with the chunks of documents."""
        return cast("int", self._transport.call("quarantine.count", {}))

    def release(self, id: str, *, by: str) -> Receipt:
        """Let a record go, a document with its chunks: it is found and learned from as if it had come in now.

        `by` is who decided so; it is kept in the record's metadata as `released_by`, and in the audit
        trail where nobody acts already. The next version is free, the one
        before stays what it was; `undo()` of the receipt holds it back again.
        """
        return cast("Receipt", self._transport.call("quarantine.release", {"id": id, "by": by}))

    def hold(self, id: str, reason: str) -> Receipt:
        """Put a record into quarantine by hand, a document with its chunks; what was learned from it is taken back."""
        return cast("Receipt", self._transport.call("quarantine.hold", {"id": id, "reason": reason}))

    def delete(self, id: str) -> Receipt:
        """End a record in quarantine, a document with its chunks."""
        return cast("Receipt", self._transport.call("quarantine.delete", {"id": id}))

    def rules(self) -> dict[str, str]:
        """Return the names of the rules in force, each with what it is about."""
        return cast("dict[str, str]", self._transport.call("quarantine.rules", {}))


class RemoteRetention:
    """The policies of a view's scope and of narrower ones. They are kept in the memory, for every process."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def set(
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
        return cast(
            "RetentionPolicy",
            self._transport.call(
                "retention.set",
                {
                    "name": name,
                    "kind": kind,
                    "older_than": older_than,
                    "at_most": at_most,
                    "max_bytes": max_bytes,
                    "keep_pinned": keep_pinned,
                    "keep_important": keep_important,
                    "archive": archive,
                    "allow_all": allow_all,
                },
            ),
        )

    def use(self, ready: Ready, **changes: Any) -> RetentionPolicy:
        """Switch a ready-made policy on, perhaps with changes; it is named as it is called here.

        `messages` removes those older than 30 days; `facts` keeps at most 1,000 in a room, the surest and newest;
        `compress` lets those older than a week leave into summaries; `duplicates` removes copies of facts, notes and relationships in the same scope; `references` mends references to
        what is gone; `orphans` removes relationships whose ends are gone; `versions` keeps all versions for 30 days and
        then one a day, and with `forget="90d"` lets what was removed longer ago be gone for good.
        """
        return cast("RetentionPolicy", self._transport.call("retention.use", {"ready": ready, **changes}))

    def list(self) -> "list[RetentionPolicy]":
        """Return the policies of this scope and of narrower ones, in the order they run."""
        return cast("list[RetentionPolicy]", self._transport.call("retention.list", {}))

    def remove(self, name: str) -> bool:
        """Forget a policy of exactly this scope; False when there is none."""
        return cast("bool", self._transport.call("retention.remove", {"name": name}))

    def undo(self, report: Maintenance) -> Undone:
        """Take back what a run of `maintain()` removed and mended, the last write first, by new versions.

        What has changed since, and what was thinned meanwhile, is left as it is and counted.
        """
        return cast("Undone", self._transport.call("retention.undo", {"report": report}))


class RemoteArchive:
    """The archives of a view's tenant, at the address of the setting `archive`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, user: str | None = None, agent: str | None = None, room: str | None = None
    ) -> "list[ArchiveEntry]":
        """Return the archives, oldest first: all, or those that hold something of a user, agent and room."""
        return cast(
            "list[ArchiveEntry]", self._transport.call("archive.list", {"user": user, "agent": agent, "room": room})
        )

    def restore(self, name: str) -> Restored:
        """Bring everything in an archive back; what is there already stays as it is, so repeating it is harmless.

        The archive is read and checked as a whole first: one that is damaged restores nothing.
        """
        return cast("Restored", self._transport.call("archive.restore", {"name": name}))

    def search(self, query: str, *, limit: int = 10) -> "list[ArchiveHit]":
        """Return archived records of this scope that have the words of a question, the most of them first.

        Archives are read one after the other; there is no index of them.
        """
        return cast("list[ArchiveHit]", self._transport.call("archive.search", {"query": query, "limit": limit}))


class RemoteWorking:
    """What an agent has at hand within a scope: messages, actions, thoughts, to-dos and free values."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def think(self, text: str, *, step: str = "THINK", metadata: Mapping[str, Any] | None = None) -> Receipt:
        """Remember a step of reasoning: THINK, ACT, OBSERVE or ANSWER (which is kept as FINAL)."""
        return cast(
            "Receipt", self._transport.call("working.think", {"text": text, "step": step, "metadata": metadata})
        )

    def limits(self) -> WorkingLimits:
        """Return how much pruning leaves: what `limit` set, else 100 messages, 50 actions and 200 thoughts.

        `enforced` names those that `limit` set, which hold after every write.
        """
        return cast("WorkingLimits", self._transport.call("working.limits", {}))

    def limit(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> WorkingLimits:
        """Hold at most so many here from now on, in every process and over restarts; what is not given stays as it is.

        What is too much leaves at once, and after each message, action or thought that is added in exactly this scope,
        by the workbench or otherwise (after a batch: with the next one). What leaves, and what stays, is as with `prune`.
        """
        return cast(
            "WorkingLimits",
            self._transport.call(
                "working.limit",
                {"max_messages": max_messages, "max_actions": max_actions, "max_thoughts": max_thoughts},
            ),
        )

    def unlimit(self) -> bool:
        """Take the limits of this workbench away; False when it had none."""
        return cast("bool", self._transport.call("working.unlimit", {}))

    def prune(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> Pruned:
        """Let the oldest leave in one transaction until no more than this is left; `limits()` where nothing is given.

        Pinned records, system messages and the newest turn stay, and count; a tool call and its results leave together.
        What was learned from messages stays known. The result says what left, and `memory.undo(pruned.receipt)` brings it
        back.
        """
        return cast(
            "Pruned",
            self._transport.call(
                "working.prune",
                {"max_messages": max_messages, "max_actions": max_actions, "max_thoughts": max_thoughts},
            ),
        )

    def clear(self) -> int:
        """End everything on the workbench, its values and limits too; returns how many.

        Other kinds stay, and so does what was learned from the messages: `memory.clear()` ends everything.
        """
        return cast("int", self._transport.call("working.clear", {}))

    def stats(self) -> WorkingStats:
        """Return the workbench in numbers."""
        return cast("WorkingStats", self._transport.call("working.stats", {}))

    def export(self) -> dict[str, Any]:
        """Return everything on the workbench as one JSON value with a format version, limits included.

        It is what is now, without older versions; `memory.export` takes those too.
        """
        return cast("dict[str, Any]", self._transport.call("working.export", {}))

    def import_(self, exported: Mapping[str, Any]) -> Receipt:
        """Make the workbench what an export says, in one transaction; what is not in it ends.

        Ids and times are kept; a record whose id belongs to another scope of this memory becomes a copy. Nothing is
        learned from what comes in. In a room, the room's limits become those of the export. `memory.undo(receipt)` takes
        the records back. What is no export, damaged, or of a newer format raises `InvalidInput` and changes nothing.
        """
        return cast("Receipt", self._transport.call("working.import_", {"exported": exported}))

    @property
    def messages(self) -> RemoteMessages:
        """What was said; `history(roles="user")` asks by role."""
        return RemoteMessages(self._transport)

    @property
    def actions(self) -> RemoteActions:
        """What was done with tools; `success_rate()` says how well."""
        return RemoteActions(self._transport)

    @property
    def thoughts(self) -> RemoteThoughts:
        """Steps of reasoning."""
        return RemoteThoughts(self._transport)

    @property
    def todos(self) -> RemoteTodos:
        """What is planned."""
        return RemoteTodos(self._transport)

    @property
    def context(self) -> RemoteContextValues:
        """Free values by name, and the declared ones."""
        return RemoteContextValues(self._transport)


class RemoteMemory:
    """What an agent remembers, seen through one scope."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def compose(
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
        return cast(
            "State",
            self._transport.call(
                "compose", {"message": message, "user": user, "include": include, "exclude": exclude, "fresh": fresh}
            ),
        )

    def context(
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
        return cast(
            "Context",
            self._transport.call(
                "context",
                {
                    "query": query,
                    "max_tokens": max_tokens,
                    "recall": recall,
                    "user": user,
                    "system": system,
                    "template": template,
                    "counter": counter,
                    "at": at,
                    "threshold": threshold,
                    "ids": ids,
                },
            ),
        )

    def ask(
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
        return cast(
            "Answer",
            self._transport.call(
                "ask",
                {
                    "question": question,
                    "max_tokens": max_tokens,
                    "recall": recall,
                    "user": user,
                    "at": at,
                    "threshold": threshold,
                    "model": model,
                },
            ),
        )

    def history(self, id: str, *, quarantined: bool = False) -> list[Record]:
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`.

        Versions that are or were in quarantine come only with `quarantined`.
        """
        return cast("list[Record]", self._transport.call("history", {"id": id, "quarantined": quarantined}))

    def changes(self, *, after: datetime | str | None = None, limit: int = 100) -> list[ChangeEvent]:
        """Return what was added, changed and ended in this scope, in the order it was committed, by whichever process.

        `after` is a moment, or the `cursor` of a change that was given before: asking with the last one goes on without a
        loss. What is held in quarantine is not told; what is imported stands at the times it brings. Expiry is no change.
        """
        return cast("list[ChangeEvent]", self._transport.call("changes", {"after": after, "limit": limit}))

    def snapshot(self, name: str) -> datetime:
        """Name the present state of the whole tenant, for `as_of`, `diff` and `rollback`; returns its system time."""
        return cast("datetime", self._transport.call("snapshot", {"name": name}))

    def snapshots(self) -> dict[str, datetime]:
        """Return the names of snapshots with their system times, oldest first."""
        return cast("dict[str, datetime]", self._transport.call("snapshots", {}))

    def diff(self, before: str | datetime, after: str | datetime | None = None) -> Diff:
        """Return what was added, removed and changed in this scope from one moment to another, or until now."""
        return cast("Diff", self._transport.call("diff", {"before": before, "after": after}))

    def rollback(self, to: str | datetime) -> Receipt:
        """Make this scope what it was known to be at a snapshot or a moment, by new versions; nothing is lost."""
        return cast("Receipt", self._transport.call("rollback", {"to": to}))

    def undo(self, receipt: Receipt) -> Receipt:
        """Take one write back, by new versions; a record that somebody changed since raises `VersionConflict`.

        What was learned since is no conflict: it goes with what it was learned from.
        """
        return cast("Receipt", self._transport.call("undo", {"receipt": receipt}))

    def erase(
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
        return cast(
            "ErasureReceipt",
            self._transport.call(
                "erase", {"user": user, "room": room, "agent": agent, "tenant": tenant, "ids": ids, "dry_run": dry_run}
            ),
        )

    def verify(self) -> Check:
        """Check that the file is sound, that records, words, vectors and jobs agree, and that no vector is missing."""
        return cast("Check", self._transport.call("verify", {}))

    def stats(self) -> Stats:
        """Count what this tenant holds, and weigh the store; keys on a server that is lost are not counted."""
        return cast("Stats", self._transport.call("stats", {}))

    def spending(self, *, days: int = 30, backlog: bool = False) -> Spending:
        """Return what this tenant spent on models on the latest days (UTC), by day and purpose.

        `left` says what may still be spent today under the settings' `spend_daily_tokens`. With `backlog`, also what the
        messages that wait to be learned from would take at the most; nobody is asked for that.
        """
        return cast("Spending", self._transport.call("spending", {"days": days, "backlog": backlog}))

    def maintain(self, *, dry_run: bool = False) -> Maintenance:
        """Reclaim what has expired and run the policies of this scope and of narrower ones, in short steps.

        Without a policy nothing that can be read is removed. Returns what was done, policy by policy, for
        `retention.undo`; `dry_run=True` tells what would be done. A run or an
        erasure that was interrupted is ended by the next one.
        """
        return cast("Maintenance", self._transport.call("maintain", {"dry_run": dry_run}))

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
        return cast(
            "Receipt",
            self._transport.call(
                "add",
                {
                    "text": text,
                    "kind": kind,
                    "data": data,
                    "metadata": metadata,
                    "occurred_at": occurred_at,
                    "valid_from": valid_from,
                    "valid_to": valid_to,
                    "id": id,
                    "on_conflict": on_conflict,
                    "pinned": pinned,
                    "importance": importance,
                    "ttl": ttl,
                    "source": source,
                    "trust": trust,
                    "embedding": embedding,
                    "learn": learn,
                    "key": key,
                },
            ),
        )

    def add_many(self, items: Iterable[str | Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Remember many texts in one transaction, in the order given: all of them or none.

        An item is a text, or a mapping of `add`'s arguments. Facts and documents are added one by one.
        """
        return cast("Receipt", self._transport.call("add_many", {"items": items, "key": key}))

    def update(
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
        return cast(
            "Receipt",
            self._transport.call(
                "update",
                {
                    "id": id,
                    "text": text,
                    "kind": kind,
                    "data": data,
                    "metadata": metadata,
                    "occurred_at": occurred_at,
                    "valid_from": valid_from,
                    "valid_to": valid_to,
                    "pinned": pinned,
                    "importance": importance,
                    "ttl": ttl,
                    "source": source,
                    "trust": trust,
                    "embedding": embedding,
                    "expected_version": expected_version,
                    "key": key,
                },
            ),
        )

    def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a record; its versions stay for views of the past until retention or erasure removes them."""
        return cast(
            "Receipt", self._transport.call("delete", {"id": id, "expected_version": expected_version, "key": key})
        )

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
        return cast(
            "int",
            self._transport.call(
                "delete_where",
                {
                    "kind": kind,
                    "ids": ids,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "pinned": pinned,
                    "valid_at": valid_at,
                },
            ),
        )

    def clear(self) -> int:
        """End every record in this scope; returns how many. The memory stays usable, and its past readable."""
        return cast("int", self._transport.call("clear", {}))

    def get(self, id: str, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> Record:
        """Return a record; one that is not in this scope, deleted or expired raises `NotFound`."""
        return cast("Record", self._transport.call("get", {"id": id, "known_at": known_at, "valid_at": valid_at}))

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

        They are ordered by when they happened, ties by arrival. `after` is included, `before` is not. Of `kind="fact"`
        these are the facts that hold now, or at `valid_at`; `facts.list(current_only=False)` gives what ended too. What is
        kept beside records about what became of them comes only with `kind="revision"` or by its id.
        """
        return cast(
            "list[Record]",
            self._transport.call(
                "list",
                {
                    "kind": kind,
                    "ids": ids,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "pinned": pinned,
                    "limit": limit,
                    "offset": offset,
                    "known_at": known_at,
                    "valid_at": valid_at,
                },
            ),
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
        """Return how many records the filter means, as many as `list()` gives without a limit.

        Of `kind="fact"` these are the facts that hold, as in `list()`; `facts.count()` counts one from several rooms once.
        """
        return cast(
            "int",
            self._transport.call(
                "count",
                {
                    "kind": kind,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "pinned": pinned,
                    "known_at": known_at,
                    "valid_at": valid_at,
                },
            ),
        )

    def search(
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
        return cast(
            "list[Hit]",
            self._transport.call(
                "search",
                {
                    "query": query,
                    "kind": kind,
                    "ids": ids,
                    "limit": limit,
                    "after": after,
                    "before": before,
                    "metadata": metadata,
                    "threshold": threshold,
                    "mode": mode,
                    "at": at,
                    "known_at": known_at,
                    "valid_at": valid_at,
                    "explain": explain,
                    "rerank": rerank,
                    "rewrite": rewrite,
                },
            ),
        )

    def similar(
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
        return cast(
            "list[Hit]",
            self._transport.call(
                "similar",
                {
                    "vector": vector,
                    "threshold": threshold,
                    "limit": limit,
                    "kind": kind,
                    "ids": ids,
                    "metadata": metadata,
                    "known_at": known_at,
                    "valid_at": valid_at,
                },
            ),
        )

    def rooms(self, *, prefix: str = "") -> "list[str]":
        """Return the rooms that have a record in this scope, sorted; with `prefix`, those whose names begin with it."""
        return cast("list[str]", self._transport.call("rooms", {"prefix": prefix}))

    def users(self) -> "list[str]":
        """Return the users that have a record in this scope, sorted."""
        return cast("list[str]", self._transport.call("users", {}))

    def agents(self) -> "list[str]":
        """Return the agents that have a record in this scope, sorted."""
        return cast("list[str]", self._transport.call("agents", {}))

    @property
    def messages(self) -> RemoteMessages:
        """Conversations, turn by turn."""
        return RemoteMessages(self._transport)

    @property
    def facts(self) -> RemoteFacts:
        """What is known of whom, with sources, confidence and validity."""
        return RemoteFacts(self._transport)

    @property
    def revisions(self) -> RemoteRevisions:
        """What later statements made of earlier ones."""
        return RemoteRevisions(self._transport)

    @property
    def relationships(self) -> RemoteRelationships:
        """Who has to do with whom."""
        return RemoteRelationships(self._transport)

    @property
    def documents(self) -> RemoteDocuments:
        """Texts read in whole and found in parts."""
        return RemoteDocuments(self._transport)

    @property
    def goals(self) -> RemoteGoals:
        """What is to be reached."""
        return RemoteGoals(self._transport)

    @property
    def tasks(self) -> RemoteTasks:
        """What is to be done, and when."""
        return RemoteTasks(self._transport)

    @property
    def actions(self) -> RemoteActions:
        """What was done, with its outcome."""
        return RemoteActions(self._transport)

    @property
    def thoughts(self) -> RemoteThoughts:
        """Steps of reasoning."""
        return RemoteThoughts(self._transport)

    @property
    def posts(self) -> RemotePosts:
        """What was published."""
        return RemotePosts(self._transport)

    @property
    def summaries(self) -> RemoteSummaries:
        """What stands for messages that are old, many, or gone."""
        return RemoteSummaries(self._transport)

    @property
    def profiles(self) -> RemoteProfiles:
        """What is known of users, by any key of theirs."""
        return RemoteProfiles(self._transport)

    @property
    def working(self) -> RemoteWorking:
        """The agent's workbench in this scope: messages, actions, thoughts, to-dos and free values together."""
        return RemoteWorking(self._transport)

    @property
    def sessions(self) -> RemoteSessions:
        """Workbenches saved by name."""
        return RemoteSessions(self._transport)

    @property
    def quarantine(self) -> RemoteQuarantine:
        """What was held back, and the rules that do so."""
        return RemoteQuarantine(self._transport)

    @property
    def jobs(self) -> RemoteJobs:
        """The later work of this tenant, and what went wrong with it."""
        return RemoteJobs(self._transport)

    @property
    def kv(self) -> RemoteKeyValues:
        """Key-value state of exactly this scope, with an end."""
        return RemoteKeyValues(self._transport)

    @property
    def audit(self) -> RemoteAudit:
        """Who did what, when and from where."""
        return RemoteAudit(self._transport)

    @property
    def retention(self) -> RemoteRetention:
        """What is kept, and for how long: policies that `maintain()` runs."""
        return RemoteRetention(self._transport)

    @property
    def archive(self) -> RemoteArchive:
        """What was put away before policies removed it."""
        return RemoteArchive(self._transport)
