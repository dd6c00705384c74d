"""Typed values over HTTP: the same class, on a view of remote records."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import UnionType
from typing import Any, NoReturn, cast

from rememo.client.transport import Transport
from rememo.engine.view import View
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.model.derived_ids import DerivedId
from rememo.model.filters import Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.runtime.lazy import lazy
from rememo.settings import Settings
from rememo.store.writes import Remove
from rememo.working.type_schema import V
from rememo.working.typed import Typed

_MAX_BYTES = 2**40


class RemoteView:
    """The part of a view that typed values and flows need, over HTTP."""

    known_at: datetime | None = None
    """The server applies `as_of` itself."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.scope: Scope = transport.scope
        self.engine = self
        self.store = self
        # Limits of size and depth are the server's.
        self.settings = Settings(max_data_bytes=_MAX_BYTES, max_depth=200)

    @property
    def hooks(self) -> NoReturn:
        """Raise `InvalidInput`: hooks are functions, and not available over HTTP."""
        raise InvalidInput(
            "hooks run in the server's process; client.changes() and client.live() return changes over HTTP"
        )

    def now(self) -> datetime:
        """Return the local time; the server uses its own clock."""
        return datetime.now(UTC)

    def need_present(self) -> None:
        """Raise `ReadOnly` for a view of the past."""
        if self._transport.as_of:
            raise ReadOnly("this is a view of the past and cannot be written to; use the memory it came from")

    def need_no_batch(self, verb: str) -> None:
        """Raise `InvalidInput` inside a batch."""
        if self._transport.open_batch is not None:
            raise InvalidInput(f"{verb} cannot be part of a batch; call it before or after the batch")

    def put(self, items: Sequence[Mapping[str, Any]]) -> Receipt:
        """Create records."""
        return self._transport.call("add", items[0])

    def revise(self, id: str, changes: Mapping[str, Any], expected: int | None = None) -> Receipt:
        """Update a record."""
        return self._transport.call("update", {"id": id, "expected_version": expected, **changes})

    def remove(self, id: str) -> Receipt:
        """Delete a record."""
        return self._transport.call("delete", {"id": id})

    def commit(self, writes: Sequence[Remove]) -> Receipt:
        """Delete a record at the version that was read."""
        [write] = writes
        return self._transport.call("delete", {"id": write.id, "expected_version": write.expected})

    def find(self, id: str, *, known_at: datetime | None = None) -> Record | None:
        """Return a record, or None when there is none."""
        try:
            return cast("Record", self._transport.call("get", {"id": id, "known_at": known_at}))
        except NotFound:
            return None

    def get(self, filter: Filter, _: datetime) -> Record | None:
        """Return the record of an id."""
        return self.find((filter.ids or ("",))[0])

    def history(self, _: Scope, id: str) -> list[Record]:
        """Return all versions of a record."""
        try:
            return cast("list[Record]", self._transport.call("history", {"id": id}))
        except NotFound:
            return []


class RemoteTyped(Typed[V]):
    """A typed value with a remote record, whose id the server derives."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> None:
        super().__init__(remote_view(transport), name, default, type=type, migrate=migrate)
        self._transport = transport

    @lazy
    def _id(self) -> DerivedId:
        return DerivedId(self._transport.ask("typed.get", {"name": self._name}).id)


def remote_view(transport: Transport) -> View:
    """Return a remote view."""
    return cast("View", RemoteView(transport))
