"""A checkpointer's records in a memory."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from langgraph.checkpoint.serde.base import SerializerProtocol

from rememo.adapters.memory_holder import derived_id, derived_name
from rememo.adapters.paging import iter_newest
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.record import STATE, Record

SAVER_RECORDS: Final[Mapping[str, Any]] = {"langgraph": {"$exists": True}}
"""The filter for a checkpointer's records."""
CHECKPOINTS: Final[Mapping[str, Any]] = {"langgraph": "checkpoint"}
"""The filter for checkpoints among them."""
_IDS: Final = UUID("3a4c8b0d-9d43-5b2f-a1f6-77c0f1a5d0e2")
_PIECE_LENGTH: Final = 500_000
_PAGE: Final = 1_000
_GREGORIAN: Final = datetime(1582, 10, 15, tzinfo=UTC)
_TIME_ORDERED_UUID: Final = 6

Tags = dict[str, Any]
"""The tags that identify a record of a thread: its id is derived from them, and its metadata holds them."""


class ThreadRecords:
    """A thread of a graph: a room of its name, with records of kind `state`."""

    def __init__(self, memory: Memory, name: str, serde: SerializerProtocol) -> None:
        self.name = name
        self.view = memory.scope(room=name)
        self._home = [memory.bound.agent, memory.bound.user, name]
        self._serde = serde

    def id(self, tags: Tags, piece: int = 0) -> str:
        """Return the id of a record, or of a later piece of it."""
        return self._piece_id(str(uuid5(_IDS, dump_json([*self._home, dict(sorted(tags.items()))]))), piece)

    def _piece_id(self, name: str, piece: int) -> str:
        return derived_id(self.view, f"{name}-{piece}" if piece else name)

    def items(
        self, tags: Tags, value: Any, at: datetime | None, *, replace: bool, more: Tags | None = None
    ) -> list[dict[str, Any]]:
        """Return the records of a value, for `add_many`: one, or several where it is too large for one."""
        kind, content = self._serde.dumps_typed(value)
        written = b64encode(content).decode()
        parts = [written[start : start + _PIECE_LENGTH] for start in range(0, len(written), _PIECE_LENGTH)] or [""]
        return [
            {
                "id": self.id(tags, index),
                "text": "",
                "kind": STATE,
                "data": {"use": "langgraph", "type": kind, "content": part, "piece": index, "pieces": len(parts)},
                "metadata": {**(more or {}), "langgraph": "piece" if index else tags["langgraph"], "tags": tags},
                "occurred_at": at,
                "on_conflict": "replace" if replace else "ignore",
            }
            for index, part in enumerate(parts)
        ]

    def copies(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Return the records of another thread as this one's, for `add_many`."""
        return [
            {
                "id": self.id(record.metadata["tags"], record.data["piece"]),
                "text": "",
                "kind": STATE,
                "data": record.data,
                "metadata": record.metadata,
                "occurred_at": record.occurred_at,
                "on_conflict": "replace",
            }
            for record in records
        ]

    def contents(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return the deserialized contents of records, by their ids."""
        names = {record.id: derived_name(self.view, record.id) for record in records}
        more = {
            record.id: [self._piece_id(names[record.id], index) for index in range(1, record.data["pieces"])]
            for record in records
        }
        piece_ids = [id for ids in more.values() for id in ids]
        pieces: dict[str, str] = {}
        for start in range(0, len(piece_ids), _PAGE):
            page = piece_ids[start : start + _PAGE]
            pieces |= {piece.id: piece.data["content"] for piece in self.view.list(ids=page, limit=len(page))}
        contents: dict[str, Any] = {}
        for record in records:
            rest = (pieces[id] for id in more[record.id])
            content = b64decode("".join((record.data["content"], *rest)))
            contents[record.id] = self._serde.loads_typed((record.data["type"], content))
        return contents


def checkpoint_tags(space: str, id: str) -> Tags:
    """Return the tags of a checkpoint."""
    return {**CHECKPOINTS, "space": space, "checkpoint": id}


def channel_tags(space: str, name: str, version: str | float) -> Tags:
    """Return the tags of a channel's value in one of its versions."""
    return {"langgraph": "channel", "space": space, "channel": name, "version": version}


def write_tags(space: str, id: str, task: str, index: int) -> Tags:
    """Return the tags of what a task wrote after a checkpoint."""
    return {"langgraph": "write", "space": space, "checkpoint": id, "task": task, "index": index}


def checkpoint_key(record: Record) -> tuple[str, str]:
    """Return the namespace and the id of the checkpoint that a record belongs to; of a channel, no id."""
    return record.metadata["tags"]["space"], record.metadata["tags"].get("checkpoint", "")


def id_time(id: str) -> datetime | None:
    """Return the time in a LangGraph id (a UUID version 6), by which checkpoints are ordered; None for any other id."""
    try:
        uuid = UUID(id)
    except ValueError:
        return None
    if uuid.version != _TIME_ORDERED_UUID:
        return None
    ticks = (uuid.int >> 80) << 12 | (uuid.int >> 64) & 0xFFF
    return _GREGORIAN + timedelta(microseconds=ticks // 10)


def iter_states(view: Memory, metadata: Mapping[str, Any], **more: Any) -> Iterator[Record]:
    """Yield the records of a filter, newest first."""
    return iter_newest(view, metadata=metadata, kind=STATE, **more)
