"""The entries of an export: each line is checked field by field before anything of it is stored.

What passes could have been written by this memory itself; so whoever reads it later need not ask again.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from rememo.engine.engine import Engine
from rememo.engine.job_payloads import check_payload
from rememo.errors import InvalidInput
from rememo.model.check import (
    check_json,
    check_label,
    check_object,
    check_offset,
    check_text,
    check_unit,
    check_version,
)
from rememo.model.data_schemas import check_data
from rememo.model.job import Job, JobState
from rememo.model.record import Record, check_kind
from rememo.model.scope import Scope
from rememo.model.times import to_seconds, to_utc
from rememo.store.job_rows import MOST_COUNTED
from rememo.store.kv.protocol import Entry
from rememo.store.versions import StoredVersion

FieldCheck = Callable[[object, str], Any]
"""Takes a value and the name of its field, and returns the value as it is kept; what cannot be raises `InvalidInput`."""
EntryCheck = Callable[[str, str, object], None]
"""Refuses a key-value entry by its namespace, its key and its value: what reads it later could not use it."""

_AHEAD: Final = timedelta(days=36_500)
"""How far the times of a store that is brought here may run ahead of this one's clock."""
_UNIT: Final = 0.01
"""How far the length of a vector may be from one."""


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A named moment."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class KeyValueEntry:
    """A key-value entry and its namespace."""

    space: str
    entry: Entry


ExportEntry = StoredVersion | SnapshotEntry | KeyValueEntry | Job


class EntryReader:
    """Reads the lines of one export for one view."""

    def __init__(
        self, engine: Engine, scope: Scope, header: Mapping[str, Any], check_entry: EntryCheck | None = None
    ) -> None:
        self._scope = scope
        self._settings = engine.settings
        self._latest = engine.now() + _AHEAD
        self._dimension = _read_dimension(header.get("model"))
        self._check_entry = check_entry
        self._record = self._record_checks()
        self._kv: dict[str, FieldCheck] = {
            "key": check_label,
            "value": _check_json_text,
            "version": check_version,
            "expires_at": optional(to_utc),
            "sliding": optional(_check_seconds),
        }
        self._job: dict[str, FieldCheck] = {
            "id": check_label,
            "tenant": check_label,
            "task": check_label,
            "payload": self._object_check("max_data_bytes"),
            "state": _check_state,
            "attempts": _check_attempts,
            "due_at": self._check_system_time,
            "leased_until": optional(to_utc),
            "error": optional(self._check_text),
            "created_at": self._check_system_time,
        }

    def read(self, line: Mapping[str, Any]) -> ExportEntry:
        """Return the entry of a line; one that cannot be raises `InvalidInput`, which names the field."""
        if "record" in line:
            return self._read_version(line)
        if "snapshot" in line:
            fields = check_fields(line, "", {"snapshot": check_label, "at": self._check_system_time})
            return SnapshotEntry(fields["snapshot"], fields["at"])
        if "kv" in line:
            return self._read_key_value(line)
        if "job" in line:
            return self._read_job(line)
        raise InvalidInput(f"there is no entry of the kind {next(iter(line), '')!r}")

    # ---- tables

    def _record_checks(self) -> dict[str, FieldCheck]:
        time = optional(to_utc)
        return {
            "id": check_label,
            "version": check_version,
            "kind": lambda value, _: check_kind(value),
            "text": self._check_text,
            "data": self._object_check("max_data_bytes"),
            "metadata": self._object_check("max_metadata_bytes"),
            "scope": lambda value, field: check_fields(value, f"{field}.", _SCOPE),
            "created_at": self._check_system_time,
            "recorded_at": self._check_system_time,
            "superseded_at": optional(self._check_system_time),
            "occurred_at": time,
            "valid_from": time,
            "valid_to": time,
            "expires_at": time,
            "deleted": _check_boolean,
            "pinned": _check_boolean,
            "importance": optional(check_unit),
            "source": optional(check_label),
            "trust": check_unit,
            "quarantine": optional(self._check_text),
        }

    def _check_text(self, value: object, field: str) -> str:
        return check_text(value, field, max_bytes=self._settings.max_text_bytes)

    def _object_check(self, limit: str) -> FieldCheck:
        most, depth = getattr(self._settings, limit), self._settings.max_depth

        def check(value: object, field: str) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise InvalidInput(f"{field} must be an object, not {type(value).__name__}")
            return check_object(value, field, max_bytes=most, max_depth=depth)  # pyright: ignore[reportUnknownArgumentType] - JSON

        return check

    def _check_system_time(self, value: object, field: str) -> datetime:
        """Return a moment that a store's own clock gave: one at the end of all time would leave none for later writes."""
        time = to_utc(value, field)
        if time > self._latest:
            raise InvalidInput(f"{field} lies more than a century ahead: {time.isoformat()}")
        return time

    # ---- kinds of lines

    def _read_version(self, line: Mapping[str, Any]) -> StoredVersion:
        fields = check_fields(
            line, "", {"record": lambda value, _: self._read_record(value), "speaker": optional(check_label), "vector": self._check_vector},
            missing=("speaker", "vector"),
        )  # fmt: skip
        return StoredVersion(record=fields["record"], speaker=fields.get("speaker"), vector=fields.get("vector"))

    def _read_record(self, value: object) -> Record:
        fields = check_fields(value, "record.", self._record, missing=_OPTIONAL)
        scope = Scope(**{**fields["scope"], "tenant": self._scope.tenant})
        fields["scope"] = scope
        record = Record(**fields)
        check_data(record.kind, record.data)
        if not self._scope.contains(scope):
            raise InvalidInput(f"record {record.id!r} lies outside this view's scope")
        for first, last in (("recorded_at", "superseded_at"), ("valid_from", "valid_to")):
            begin, end = getattr(record, first), getattr(record, last)
            if begin is not None and end is not None and begin > end:
                raise InvalidInput(f"record.{first} is later than record.{last}")
        return record

    def _check_vector(self, value: object, field: str) -> NDArray[np.float32]:
        if self._dimension is None:
            raise InvalidInput(f"{field} belongs to no model: the header names none")
        try:
            vector = np.frombuffer(b64decode(str(value), validate=True), np.float32)
        except ValueError:
            raise InvalidInput(f"{field} must be base64 of 32-bit numbers") from None
        if len(vector) != self._dimension:
            raise InvalidInput(f"{field} has {len(vector)} numbers, the model in the header has {self._dimension}")
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if not abs(length - 1) < _UNIT:  # NaN and infinity fail this too
            raise InvalidInput(f"{field} must be of length 1, not {length}")
        return vector

    def _read_key_value(self, line: Mapping[str, Any]) -> KeyValueEntry:
        table: dict[str, FieldCheck] = {
            "kv": lambda value, _: Entry(**check_fields(value, "kv.", self._kv, missing=("expires_at", "sliding"))),
            "space": check_label,
        }
        entry = KeyValueEntry(**_rename_fields(check_fields(line, "", table), kv="entry"))
        if self._check_entry is not None:
            try:
                self._check_entry(entry.space, entry.entry.key, json.loads(entry.entry.value))
            except (InvalidInput, KeyError, TypeError, ValueError, AttributeError) as error:
                raise InvalidInput(f"kv.value is nothing that {entry.space} can hold: {error}") from None
        return entry

    def _read_job(self, line: Mapping[str, Any]) -> Job:
        fields = check_fields(line, "", {"job": lambda value, _: check_fields(value, "job.", self._job)})["job"]
        check_payload(fields["task"], fields["payload"])
        # A lease is a promise of a worker elsewhere; here the job waits for one.
        fields["state"] = "waiting" if fields["state"] == "running" else fields["state"]
        fields["tenant"], fields["leased_until"] = self._scope.tenant, None
        return Job(**fields)


def check_fields(
    values: object, where: str, checks: Mapping[str, FieldCheck], *, missing: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of an object, each checked by its own check; `missing` may be left out, and none may be added."""
    if not isinstance(values, dict):
        raise InvalidInput(f"{where.rstrip('.') or 'the line'} must be an object, not {type(values).__name__}")
    fields: dict[str, Any] = dict(values)  # pyright: ignore[reportUnknownArgumentType] - JSON
    if unknown := fields.keys() - checks.keys():
        raise InvalidInput(f"there is no field {where + min(unknown)!r} here")
    if lacking := [name for name in checks if name not in fields and name not in missing]:
        raise InvalidInput(f"the field {where + lacking[0]!r} is missing")
    return {name: check(fields[name], where + name) for name, check in checks.items() if name in fields}


def optional(check: FieldCheck) -> FieldCheck:
    """Return a check that also takes null."""
    return lambda value, field: None if value is None else check(value, field)


def _rename_fields(values: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _check_boolean(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be true or false, not {value!r}")
    return value


def _check_seconds(value: object, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{field} must be a number of seconds, not {value!r}")
    return to_seconds(value, field)


def _check_state(value: object, field: str) -> str:
    if value not in get_args(JobState):
        raise InvalidInput(f"{field} must be one of {', '.join(get_args(JobState))}, not {value!r}")
    return str(value)


def _check_attempts(value: object, field: str) -> int:
    if check_offset(value, field) > MOST_COUNTED:
        raise InvalidInput(f"{field} must be at most {MOST_COUNTED:,}, not {value!r}")
    return check_offset(value, field)


def _check_json_text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be JSON as text, not {type(value).__name__}")
    try:
        check_json(json.loads(value), field, max_bytes=len(value.encode()) + 1, depth=_DEEPEST)
    except RecursionError:
        raise InvalidInput(f"{field} is nested too deeply") from None
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(f"{field} is no JSON: {error}") from None
    return value


def _read_dimension(model: object) -> int | None:
    """Return the length of an export's vectors, by its header."""
    if model is None:
        return None
    fields = check_fields(model, "model.", {"name": check_label, "dimension": check_version})
    return fields["dimension"]


_DEEPEST: Final = 100
_SCOPE: Final[dict[str, FieldCheck]] = {
    "tenant": check_label, "agent": optional(check_label), "user": optional(check_label), "room": optional(check_label)
}  # fmt: skip
_OPTIONAL: Final = tuple(
    field.name for field in fields(Record) if (field.default, field.default_factory) != (MISSING, MISSING)
)
