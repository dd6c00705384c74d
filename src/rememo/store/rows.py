"""Records out of the rows of a store: every store has the same columns in the same order."""

import json
from functools import lru_cache
from typing import Any

from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import from_micros


class _MutableRecord:
    """A record while it is filled: laid out as `Record`, which it then becomes.

    The constructor of a frozen class takes four times as long, and lists are made of many records.
    """

    __slots__ = Record.__slots__


def make_record(row: Any, tenant: str) -> Record:
    """Return the record of a row that has the fields of a version in the order below; what cannot be one raises `ValueError` and the like."""
    raw: Any = _MutableRecord()
    (
        raw.id, raw.version, raw.kind, agent, user, room, created_at, recorded_at, superseded_at, occurred_at, valid_from,
        valid_to, expires_at, deleted, pinned, raw.importance, raw.source, raw.trust, raw.quarantine, data,
        metadata, raw.text,
    ) = row  # fmt: skip
    raw.data = {} if data == "{}" else _from_json(data)
    raw.metadata = {} if metadata == "{}" else _from_json(metadata)
    raw.scope = _scope(tenant, agent, user, room)
    raw.created_at = _time(created_at)
    raw.recorded_at = _time(recorded_at)
    raw.superseded_at = None if superseded_at is None else _time(superseded_at)
    raw.occurred_at = None if occurred_at is None else _time(occurred_at)
    raw.valid_from = None if valid_from is None else _time(valid_from)
    raw.valid_to = None if valid_to is None else _time(valid_to)
    raw.expires_at = None if expires_at is None else _time(expires_at)
    raw.deleted = bool(deleted)
    raw.pinned = bool(pinned)
    raw.__class__ = Record
    return raw


_decode = json.JSONDecoder().raw_decode
_time = lru_cache(maxsize=4_096)(from_micros)


@lru_cache(maxsize=1_024)
def _scope(tenant: str, agent: str | None, user: str | None, room: str | None) -> Scope:
    return Scope(tenant=tenant, agent=agent, user=user, room=room)


def _from_json(text: str) -> Any:
    value, end = _decode(text)  # does not look for blanks, which we never write
    if end != len(text):
        raise ValueError("something stands behind its JSON")
    return value
