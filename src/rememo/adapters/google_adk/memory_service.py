"""The memory service of the Agent Development Kit."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from rememo.adapters.google_adk.events import (
    IN_MEMORY,
    IN_SESSION,
    MARK,
    event_id,
    event_text,
    labelled_view,
    read_event,
    record_id,
    store_event,
)
from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder, derived_name
from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.retries import retry_conflicts
from rememo.adapters.retrieval import RetrievedRecord, drop_superseded, from_hit
from rememo.adapters.threads import run_in_thread
from rememo.errors import NotFound
from rememo.memory import Memory
from rememo.model.check import check_limit, check_unit
from rememo.model.derived_ids import DerivedId
from rememo.model.record import Record
from rememo.recall.relevance import FLOOR

try:
    from google.adk.events.event import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise missing_framework("the Google Agent Development Kit", "google-adk", error) from error

_CUSTOM = "adk_custom"
_PAGE = 1_000


class RememoMemoryService(MemoryHolder, BaseMemoryService):
    """What users and agents said in sessions that were added, found by words and meaning across all sessions of a user.

    Events that a `RememoSessionService` holds in the same memory are marked, not stored a second time. What was deleted
    is not added again with its session.
    """

    def __init__(self, memory: Memory | str | Path = "rememo.db", *, limit: int = 10, threshold: float = FLOOR) -> None:
        """Keep memories in a memory, or in one at a path or address; a search gives the best `limit` of them.

        None below `threshold` are given: nothing where nothing is relevant.
        """
        super().__init__(memory)
        self._limit = check_limit(limit)
        self._threshold = check_unit(threshold, "threshold")

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session to memory, so that they are recalled; those that are there already stay as they are."""
        await run_in_thread(self._add, (session.app_name, session.user_id, session.id), session.events, {})

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add some events to memory; `custom_metadata` is returned with them."""
        await run_in_thread(self._add, (app_name, user_id, session_id or ""), events, custom_metadata or {})

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add memories that are no events, all or none; an id that is taken is replaced."""
        await run_in_thread(self._add_entries, (app_name, user_id), memories, custom_metadata or {})

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories of a user that answer a question, best first; none for a blank one.

        The kit's tools put them before the model as they are: what something later superseded is left out, unless the
        question is about the past. Then its `custom_metadata` says so under `rememo`.
        """
        if not query.strip():
            return SearchMemoryResponse()
        view = self._memory.scope(agent=app_name, user=user_id)
        hits = await run_in_thread(
            view.search, storable_text(query), metadata={IN_MEMORY: True}, limit=self._limit, threshold=self._threshold
        )
        results = [from_hit(hit) for hit in drop_superseded(query, hits)]
        return SearchMemoryResponse(memories=[_retrieved_memory_entry(result) for result in results])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory by its id from a search; its session keeps the event."""
        if memory_id:
            await run_in_thread(self._forget, (app_name, user_id), memory_id)

    # ---- inside

    def _add(self, session_key: tuple[str, str, str], events: Sequence[Event], custom: Mapping[str, object]) -> None:
        events_by_id = {
            event_id(self._memory, *session_key, event): event for event in events if event_text(event).strip()
        }
        view = labelled_view(self._memory, (*session_key[:2], session_key[2] or None))
        more: dict[str, Any] = {_CUSTOM: to_jsonable_python(custom, serialize_unknown=True)} if custom else {}

        def change() -> None:
            existing = self._existing_records([name for id in events_by_id for name in (id, self._forgotten(id))])
            with view.batch() as batch:
                for id, event in events_by_id.items():
                    record = existing.get(id)
                    if self._forgotten(id) in existing or (record is not None and record.metadata.get(IN_MEMORY)):
                        continue
                    if record is None:
                        store_event(batch, id, event, {IN_MEMORY: True, **more})
                    else:
                        metadata = {**record.metadata, IN_MEMORY: True, **more}
                        batch.update(id, metadata=metadata, expected_version=record.version)

        retry_conflicts(change, "the events")

    def _existing_records(self, ids: list[str]) -> dict[str, Record]:
        pages = (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))
        return {record.id: record for page in pages for record in self._memory.list(ids=page, limit=_PAGE)}

    def _add_entries(
        self, user_key: tuple[str, str], memories: Sequence[MemoryEntry], custom: Mapping[str, object]
    ) -> None:
        with labelled_view(self._memory, user_key).batch() as batch:
            for memory in memories:
                entry = memory.model_copy(update={"custom_metadata": {**custom, **memory.custom_metadata}})
                text = storable_text("\n".join(part.text for part in entry.content.parts or [] if part.text))
                id = record_id(self._memory, "memory", *user_key, entry.id or str(uuid4()))
                data = pack_json(entry.model_dump(mode="json", exclude_none=True, fallback=repr))
                batch.add(text, id=id, data=data, metadata={MARK: "memory", IN_MEMORY: True}, on_conflict="replace")

    def _forgotten(self, id: str) -> DerivedId:
        """Return the id of the record that marks a memory as forgotten."""
        return record_id(self._memory, "forgotten", derived_name(self._memory, id))

    def _forget(self, user_key: tuple[str, str], id: str) -> None:
        view = labelled_view(self._memory, user_key)

        def change() -> None:
            try:
                record = view.get(id)  # by its id here, or by one of an earlier release
            except NotFound:
                return
            if not record.metadata.get(IN_MEMORY):
                return
            with view.batch() as batch:
                if record.metadata.get(IN_SESSION):
                    metadata = {**record.metadata, IN_MEMORY: False}
                    batch.update(record.id, metadata=metadata, expected_version=record.version)
                else:
                    batch.delete(record.id, expected_version=record.version)
                forgotten = self._forgotten(record.id)
                batch.add("", kind="state", id=forgotten, metadata={MARK: "forgotten"}, on_conflict="ignore")

        retry_conflicts(change, "the memory")


def _retrieved_memory_entry(result: RetrievedRecord) -> MemoryEntry:
    entry = _memory_entry(result.record)
    return entry.model_copy(update={"custom_metadata": {**entry.custom_metadata, **result.mark}})


def _memory_entry(record: Record) -> MemoryEntry:
    if record.metadata[MARK] == "memory":
        return MemoryEntry.model_validate_json(json.dumps({**unpack_json(record.data), "id": record.id}))
    event = read_event(record)
    assert event.content is not None  # noqa: S101 - what says nothing is not added
    return MemoryEntry(
        id=record.id,
        content=event.content,
        author=event.author,
        timestamp=record.at.isoformat(),
        custom_metadata=record.metadata.get(_CUSTOM, {}),
    )
