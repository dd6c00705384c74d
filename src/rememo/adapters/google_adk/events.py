"""Events of the Agent Development Kit in records.

An app is the agent, its user the user, a session the room. An event is one record, whoever stored it: the session service
marks it as one of its session's, the memory service as one to be recalled. What nobody marks any more ends.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import derived_id
from rememo.adapters.messages import add_message_or_state
from rememo.adapters.missing_framework import missing_framework
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.derived_ids import DerivedId
from rememo.model.record import Record

try:
    from google.adk.events.event import Event
except ImportError as error:
    raise missing_framework("the Google Agent Development Kit", "google-adk", error) from error

_NAMESPACE = UUID("5c8e2a14-63d7-4b0d-9a77-1f6b0e9d3c58")
IN_SESSION, IN_MEMORY = "adk_session", "adk_memory"
MARK = "google_adk"


def record_id(memory: Memory, *names: str) -> DerivedId:
    """Return the record id derived from these names: the same in every process, so each is stored once."""
    return derived_id(memory, str(uuid5(_NAMESPACE, dump_json(list(names)))))


def labelled_view(memory: Memory, labels: Sequence[str | None]) -> Memory:
    """Return the view of an app, a user of it, or a session of that user."""
    return memory.scope(**dict(zip(("agent", "user", "room"), labels, strict=False)))


def event_id(memory: Memory, app_name: str, user_id: str, session_id: str, event: Event) -> DerivedId:
    """Return the id of an event's record."""
    return record_id(memory, "event", app_name, user_id, session_id, event.id)


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event as JSON values."""
    return event.model_dump(mode="json", exclude_none=True)


def read_event(record: Record) -> Event:
    """Return the event of a record."""
    return Event.model_validate_json(json.dumps(unpack_json(record.data)))


def event_text(event: Event) -> str:
    """Return the text of a user or an agent in an event; empty for calls, their results and thoughts."""
    parts = (event.content.parts if event.content is not None else None) or []
    return storable_text("\n".join(part.text for part in parts if part.text and not part.thought))


def store_event(batch: Memory, id: str, event: Event, metadata: dict[str, Any]) -> None:
    """Store an event as it is: as a message when somebody says something in it, else as state."""
    role = "user" if event.author == "user" else "assistant"
    add_message_or_state(
        batch,
        role,
        event_text(event),
        id=id,
        name=event.author if role == "assistant" and event.author else None,
        data=pack_json(event_to_json(event)),
        metadata={MARK: "event", **metadata},
        at=datetime.fromtimestamp(event.timestamp, UTC),
    )
