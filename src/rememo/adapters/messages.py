"""Messages of a framework as records: what somebody says is a message, anything else is state, which no search finds."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rememo.memory import Memory


def add_message_or_state(
    batch: Memory,
    role: str,
    text: str,
    *,
    data: Mapping[str, Any],
    metadata: Mapping[str, Any],
    id: str | None = None,
    name: str | None = None,
    at: datetime | None = None,
    tool_calls: Sequence[Mapping[str, Any]] | None = None,
    tool_call_id: str | None = None,
) -> None:
    """Add a message; one without words and without tool calls is added as state."""
    if not text.strip() and not tool_calls:
        batch.add("", kind="state", id=id, data=data, metadata=metadata, occurred_at=at)
        return
    batch.messages.add(
        role,
        text,
        id=id,
        name=name,
        data=data,
        metadata=metadata,
        at=at,
        tool_calls=tool_calls,
        tool_call_id=tool_call_id,
    )
