"""Records: the verbs that hold for every kind of thing that is remembered."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from rememo.collections.base import check_mode
from rememo.collections.kind_rules import KIND_RULES, add_messages, message_fields
from rememo.collections.update_rules import check_plain_change
from rememo.engine.search import Mode, Query, search, similar, with_sources
from rememo.engine.view import ViewHolder
from rememo.errors import InvalidFilter, InvalidInput, ModelChanged
from rememo.model.check import check_label, check_limit, check_many, check_offset, check_text, check_unit
from rememo.model.filters import Condition, Filter, make_filter
from rememo.model.hit import Hit
from rememo.model.receipt import OnConflict, Receipt
from rememo.model.record import REVISION, Record
from rememo.model.scope import Scope
from rememo.model.spelling import usual_spellings
from rememo.model.times import to_utc
from rememo.model.unset import UNSET, Unset

_MOST_HITS = 1_000
_LEARNED = frozenset({"fact", "relationship", REVISION})
"""Kinds of records that lessons make."""
_ITEM_FIELDS = {
    "text", "kind", "data", "metadata", "occurred_at", "valid_from", "valid_to", "id", "on_conflict", "pinned",
    "importance", "ttl", "source", "trust", "embedding", "learn",
}  # fmt: skip

Duration = float | str | timedelta


@usual_spellings
class Records(ViewHolder):
    """What is remembered within a view, whatever its kind."""

    @property
    def bound(self) -> Scope:
        """The scope this view is bound to."""
        return self._view.scope

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
        fields = {
            "text": text, "kind": kind, "data": data, "metadata": metadata, "occurred_at": occurred_at,
            "valid_from": valid_from, "valid_to": valid_to, "id": id, "on_conflict": on_conflict, "pinned": pinned,
            "importance": importance, "ttl": ttl, "source": source, "trust": trust, "embedding": embedding,
            "learn": learn,
        }  # fmt: skip
        add = KIND_RULES.get(kind) if isinstance(kind, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] - refused below
        return self._view.put([fields], key) if add is None else add(self._view, fields, key)

    def add_many(self, items: Iterable[str | Mapping[str, Any]], *, key: str | None = None) -> Receipt:
        """Remember many texts in one transaction, in the order given: all of them or none.

        An item is a text, or a mapping of `add`'s arguments. Facts and documents are added one by one.
        """
        if isinstance(items, str | Mapping):
            raise InvalidInput("add_many() takes a collection of items; use add() for one")
        fields = [self._item_fields(item) for item in check_many(items, "items")]
        if any(item.get("kind") == "message" for item in fields):
            return add_messages(self._view, fields, key)
        return self._view.put(fields, key)

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
        has another version raises `VersionConflict`; without it the current version is changed.
        """
        fields = {
            "text": text, "kind": kind, "data": data, "metadata": metadata, "occurred_at": occurred_at,
            "valid_from": valid_from, "valid_to": valid_to, "pinned": pinned, "importance": importance, "ttl": ttl,
            "source": source, "trust": trust, "embedding": embedding,
        }  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in fields.items() if value is not UNSET}
        if not changes:
            raise InvalidInput("update() was given nothing to change")
        if "ttl" in changes and changes["ttl"] is None:
            changes["expires_at"] = None
        return self._view.revise(id, changes, expected_version, key, check=check_plain_change)

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
        return len(self._view.remove_all(filter).ids)

    def clear(self) -> int:
        """End every record in this scope; returns how many. The memory stays usable, and its past readable."""
        self._view.need_no_batch("clear()")
        return len(self._view.remove_all(Filter(scope=self.bound), operation="clear").ids)

    def _item_fields(self, item: str | Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(item, str):
            return {"text": item, "learn": True}
        if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"an item of add_many() must be a text or a mapping, not {type(item).__name__}")
        if unknown := set(item) - _ITEM_FIELDS:
            raise InvalidInput(
                f"an item of add_many() has the unknown field {min(map(repr, unknown))}; see add() for the fields"
            )
        if "text" not in item:
            raise InvalidInput("an item of add_many() has no text")
        kind = item.get("kind")
        if isinstance(kind, str) and kind in ("fact", "document"):
            raise InvalidInput(f"add_many() cannot add a {kind}; add it by itself with {kind}s.add()")
        fields = {"learn": True, **item}
        is_message = isinstance(kind, str) and kind == "message"
        return message_fields(fields, self._view.engine.settings) if is_message else fields

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

        They are ordered by when they happened, ties by arrival. `after` is included, `before` is not. Of `kind="fact"`
        these are the facts that hold now, or at `valid_at`; `facts.list(current_only=False)` gives what ended too. What is
        kept beside records about what became of them comes only with `kind="revision"` or by its id.
        """
        filter = self._view.filter(
            kind=kind, ids=ids, after=after, before=before, metadata=metadata, pinned=pinned, known_at=known_at,
            valid_at=valid_at,
        )  # fmt: skip
        filter = self._only_valid_facts(filter)
        self._wait_for_extraction(filter)
        return self._view.engine.store.read(
            filter, self._view.engine.now(), limit=check_limit(limit), offset=check_offset(offset)
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
        filter = self._view.filter(
            kind=kind,
            after=after,
            before=before,
            metadata=metadata,
            pinned=pinned,
            known_at=known_at,
            valid_at=valid_at,
        )
        self._wait_for_extraction(filter)
        return self._view.engine.store.count(self._only_valid_facts(filter), self._view.engine.now())

    def _wait_for_extraction(self, filter: Filter) -> None:
        """Wait for what is being learned, where the filter may mean it."""
        if (
            filter.known_at is None
            and filter.ids is None
            and (not filter.kinds or not _LEARNED.isdisjoint(filter.kinds))
        ):
            self._view.wait_for_extraction()

    def _only_valid_facts(self, filter: Filter) -> Filter:
        """Return a filter of facts alone narrowed to those that hold; any other filter as it is.

        Whoever asks for facts asks for what is true. An id names one record, whatever became of it.
        """
        if filter.kinds != ("fact",) or filter.ids is not None:
            return filter
        at = filter.valid_at or filter.known_at or self._view.engine.now()
        retracted = Condition("data", ("status",), "$ne", "retracted")
        return filter.narrowed(valid_at=at, conditions=(*filter.conditions, retracted))

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
        filter = self._view.filter(
            kind=kind, ids=ids, after=after, before=before, metadata=metadata, known_at=known_at, valid_at=valid_at
        )
        search_query = Query(
            text=check_text(query, "query", max_bytes=self._view.engine.settings.max_text_bytes),
            filter=filter,
            limit=check_limit(limit, maximum=_MOST_HITS),
            threshold=check_unit(threshold, "threshold"),
            mode=check_mode(self._view.engine, mode),
            at=self._view.engine.now() if at is None else to_utc(at, "at"),
            explain=explain,
        )
        if not search_query.text.strip() and filter.selects_everything:
            raise InvalidInput("the query is empty; ask something, or give a filter such as kind= or after=")
        if filter.known_at is None:
            # Whatever its kind, what is found says whether something later revised it.
            self._view.wait_for_extraction()
        if (rerank or rewrite) and search_query.text.strip():
            from rememo.ask.model_search import search_with_model  # noqa: PLC0415 - models are loaded when one is wanted

            return search_with_model(self._view, search_query, rerank=rerank, rewrite=rewrite)
        return with_sources(self._view.engine, filter, search(self._view.engine, search_query))

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
        filter = self._view.filter(kind=kind, ids=ids, metadata=metadata, known_at=known_at, valid_at=valid_at)
        unit_vector, model = self._view.engine.drafts.check_vector(vector, "vector")
        most, least = check_limit(limit, maximum=_MOST_HITS), check_unit(threshold, "threshold")
        self._wait_for_extraction(filter)
        try:
            return similar(self._view.engine, filter, unit_vector, model, limit=most, threshold=least)
        except ModelChanged:
            # The vector may be of the new model already, where both are as long.
            self._view.engine.model.follow()
            unit_vector, model = self._view.engine.drafts.check_vector(vector, "vector")
            return similar(self._view.engine, filter, unit_vector, model, limit=most, threshold=least)

    def rooms(self, *, prefix: str = "") -> "list[str]":
        """Return the rooms that have a record in this scope, sorted; with `prefix`, those whose names begin with it."""
        self._view.wait_for_extraction()
        filter = self._view.filter()
        if prefix:
            filter = filter.narrowed(rooms=check_label(prefix, "prefix"))
        return self._view.engine.store.labels(filter, "room", self._view.engine.now())

    def users(self) -> "list[str]":
        """Return the users that have a record in this scope, sorted."""
        self._view.wait_for_extraction()
        return self._view.engine.store.labels(self._view.filter(), "user", self._view.engine.now())

    def agents(self) -> "list[str]":
        """Return the agents that have a record in this scope, sorted."""
        self._view.wait_for_extraction()
        return self._view.engine.store.labels(self._view.filter(), "agent", self._view.engine.now())
