"""Typed values over HTTP: the same class, on a view whose records are elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import UnionType
from typing import Any, NoReturn, cast

from rememo.client.asking import Asking
from rememo.engine.view import View
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.model.derived_ids import DerivedId
from rememo.model.filters import Filter
from rememo.model.lazy import lazy
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.settings import Settings
from rememo.store.protocol import Remove
from rememo.working.shapes import V
from rememo.working.typed import Typed

_LARGE = 2**40


@dataclass(frozen=True, slots=True)
class _Changed:
    record: Record
    changes: Mapping[str, Any]


class FarView:
    """What typed values and flows need of a view, asked for over HTTP."""

    known_at: datetime | None = None
    """The server looks at the past by itself."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self.scope: Scope = asking.scope
        self.engine = self
        self.store = self
        # What is too large or too deep is the server's to say.
        self.settings = Settings(max_data_bytes=_LARGE, max_depth=200)

    @property
    def hooks(self) -> NoReturn:
        """Hooks are functions."""
        raise InvalidInput("hooks are called where the memory is; client.changes() tells of changes over HTTP")

    def now(self) -> datetime:
        """Return nothing that matters: the server has its own clock."""
        return datetime.now(UTC)

    def need_present(self) -> None:
        """Refuse to write through a view of the past."""
        if self._asking.as_of:
            raise ReadOnly("this is a view of the past and cannot be written to; use the memory it came from")

    def need_no_batch(self, verb: str) -> None:
        """Refuse what cannot wait."""
        if self._asking.batching is not None:
            raise InvalidInput(f"{verb} cannot be part of a batch; call it before or after the batch")

    def put(self, items: Sequence[Mapping[str, Any]]) -> Receipt:
        """Create records."""
        return self._asking.call("add", items[0])

    def revise(self, record: str | Record, changes: Mapping[str, Any], expected: int | None = None) -> Any:
        """Change a record, or make the write that does: an engine and a view have one of each."""
        if isinstance(record, Record):
            return _Changed(record, changes)
        return self._asking.call("update", {"id": record, "expected_version": expected, **changes})

    def remove(self, id: str) -> Receipt:
        """End a record."""
        return self._asking.call("delete", {"id": id})

    def commit(self, writes: Sequence[_Changed | Remove]) -> Receipt:
        """Make one write."""
        [one] = writes
        if isinstance(one, _Changed):
            return self.revise(one.record.id, one.changes, one.record.version)
        return self._asking.call("delete", {"id": one.id, "expected_version": one.expected})

    def find(self, id: str, *, known_at: datetime | None = None) -> Record | None:
        """Return a record, or None when there is none."""
        try:
            return cast("Record", self._asking.call("get", {"id": id, "known_at": known_at}))
        except NotFound:
            return None

    def get(self, wanted: Filter, _: datetime) -> Record | None:
        """Return the record of an id."""
        return self.find((wanted.ids or ("",))[0])

    def history(self, _: Scope, id: str) -> list[Record]:
        """Return all versions of a record."""
        try:
            return cast("list[Record]", self._asking.call("history", {"id": id}))
        except NotFound:
            return []


class FarTyped(Typed[V]):
    """A typed value whose record is elsewhere: how its id is derived, only the server knows."""

    def __init__(
        self,
        asking: Asking,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> None:
        super().__init__(far_view(asking), name, default, type=type, migrate=migrate)
        self._asking = asking

    @lazy
    def _id(self) -> DerivedId:
        return DerivedId(self._asking.ask("typed.get", {"name": self._name}).id)


def far_view(asking: Asking) -> View:
    """Return what passes for a view."""
    return cast("View", FarView(asking))
