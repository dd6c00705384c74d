"""What the typed collections share: records of one kind, and checks that name the field."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any

from rememo.engine.engine import Engine
from rememo.engine.search import Mode
from rememo.engine.view import ViewHolder
from rememo.errors import AlreadyExists, InvalidInput, NotFound
from rememo.model.check import check_label, check_limit, check_offset, check_text
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import external_name, value_name
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.runtime.retry import retry_on_conflict

ExternalId = str | int
_MOST_TRIES = 100
MOST_PRIORITY = 10
_PARTS = 2


class Collection(ViewHolder):
    """The records of one kind within a view; what the collections are made of."""

    kind = "note"

    def _filter(
        self, *, known_at: datetime | None = None, data: Mapping[str, Any] | None = None, **parts: Any
    ) -> Filter:
        """Return a filter of this kind; `data` holds what fields must equal (any of a tuple), None does not matter."""
        conditions = tuple(
            Condition("data", (name,), "$in", list(value))  # pyright: ignore[reportUnknownArgumentType] - of text
            if isinstance(value, tuple)
            else Condition("data", (name,), "$eq", _check_plain(value, name))
            for name, value in (data or {}).items()
            if value is not None
        )
        return self._view.filter(kind=self.kind, known_at=known_at, conditions=conditions, **parts)

    def _read(self, filter: Filter, limit: int | None, offset: int = 0) -> list[Record]:
        engine = self._view.engine
        most = None if limit is None else check_limit(limit)
        return engine.store.read(filter, engine.now(), limit=most, offset=check_offset(offset))

    def _record(self, id: str, *, known_at: datetime | None = None) -> Record:
        record = self._view.find(id, known_at=known_at)
        if record is None or record.kind != self.kind:
            raise NotFound(f"there is no {self.kind} {id!r} in this scope")
        return record

    def _add_record(self, key: str | None, **fields: Any) -> Receipt:
        """Add a record of this kind."""
        return self._view.put([{"kind": self.kind, **fields}], key)

    def _change(
        self,
        id: str,
        change: Callable[[Record], Mapping[str, Any] | None],
        expected: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change a record by what a function makes of its current version; None leaves it as it is."""
        # A retry under a known key needs nothing to be as it was; a key inside a batch is refused by the view.
        if key is not None and self._view.batching is None:
            first = self._view.engine.first_receipt(self._view.scope, key)
            if first is not None:
                return first

        def prepare() -> tuple[Record, Mapping[str, Any] | None]:
            record = self._record(id)
            return record, change(record)

        def write(prepared: tuple[Record, Mapping[str, Any] | None]) -> Receipt:
            record, changes = prepared
            if changes is None:
                self._view.need_present()
                return Receipt(ids=(id,), versions={id: record.version}, outcomes={id: "unchanged"})
            return self._view.revise(id, changes, record.version if expected is None else expected, key)

        if expected is not None:
            return write(prepare())
        return retry_on_conflict(prepare, write, f"{self.kind} {id!r}", attempts=_MOST_TRIES)

    def _external_id(self, parts: Sequence[str]) -> DerivedId:
        """Return the id of the record that a platform's ids name: the same in every process, so it is stored once."""
        return self._view.engine.ids.derive(self._view.scope.tenant, external_name(self.kind, parts))

    def _need_parent(self, id: str, part: str | None = None) -> str:
        """Return the id of what something is a part of; `part` is that something, which it must not be a part of."""
        check_label(id, "parent")
        batch = self._view.batching
        if batch is not None and batch.waiting(id) is not None:
            return id
        record = self._view.find(id)
        if record is None or record.kind != self.kind:
            raise NotFound(f"parent {id!r} is no {self.kind} in this scope; add it first")
        seen: set[str] = set()
        while part is not None and record is not None and record.id not in seen:
            if record.id == part:
                raise InvalidInput(f"{self.kind} {part!r} cannot be a part of {id!r}, which is a part of it")
            seen.add(record.id)
            above: str | None = record.data.get("parent")
            record = None if above is None else self._view.find(above)
        return id


def _check_plain(value: object, field: str) -> str | float:
    if not isinstance(value, str | int | float):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}")
    return value


def drop_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value: what is not there takes no room in a record."""
    return {name: value for name, value in fields.items() if value is not None}


def check_external_id(value: object, field: str = "external_id") -> list[str]:
    """Return a platform's ids as two texts; numbers are what platforms give, so they are taken too."""
    if not isinstance(value, tuple | list) or len(value) != _PARTS:  # pyright: ignore[reportUnknownArgumentType] - checked below
        raise InvalidInput(f"{field} must be two ids together, such as ('chat-7', 42), not {value!r}")
    parts: list[str] = []
    for part in value:  # pyright: ignore[reportUnknownVariableType] - checked here
        if isinstance(part, bool) or not isinstance(part, str | int):
            raise InvalidInput(f"{field} must hold texts or whole numbers, not {part!r}")
        parts.append(check_label(str(part), field))
    return parts


def value_id(engine: Engine, scope: Scope, use: str, name: str) -> DerivedId:
    """Return the id of the record that holds a value of exactly this scope."""
    return engine.ids.derive(scope.tenant, _value_name(scope, use, name))


_value_name = lru_cache(maxsize=4_096)(value_name)


@contextmanager
def naming_external_id(parts: Sequence[str] | None) -> Generator[None]:
    """Name the platform's ids in the error, not the record id derived from them, when another scope has that record."""
    try:
        yield
    except AlreadyExists:
        if parts is None:
            raise
        raise AlreadyExists(
            f"external_id {tuple(parts)!r} is stored outside of this scope already; look for it by a view that binds less"
        ) from None


def check_mode(engine: Engine, mode: Mode) -> Mode:
    """Return a search mode; one that is unknown, or needs an embedder that is not there, raises `InvalidInput`."""
    if mode not in ("hybrid", "words", "vector"):
        raise InvalidInput(f'mode must be "hybrid", "words" or "vector", not {mode!r}')
    if mode == "vector" and not engine.model.active.chosen:
        raise InvalidInput("mode='vector' needs an embedder, and this memory was opened with embedder=None")
    return mode


def check_not_blank(value: object, field: str, *, most: int) -> str:
    """Return text that is not blank."""
    text = check_text(value, field, max_bytes=most)
    if not text.strip():
        raise InvalidInput(f"{field} is empty; give it a text")
    return text


def check_choice(value: object, field: str, choices: tuple[str, ...]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{field} must be one of {', '.join(choices)}, not {value!r}")
    return value


def check_priority(value: object) -> int:
    """Return a priority: a whole number from 0 to 10, the most urgent."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_PRIORITY:
        raise InvalidInput(f"priority must be a whole number from 0 to {MOST_PRIORITY}, not {value!r}")
    return value


def to_iso(value: object, field: str) -> str | None:
    """Return a time as data holds it: in UTC, so that texts sort as the times do."""
    return None if value is None else to_utc(value, field).isoformat()


def read_time(record: Record, field: str) -> datetime | None:
    """Return a time that `to_iso` wrote."""
    value = record.data.get(field)
    return None if value is None else to_utc(value, field)
