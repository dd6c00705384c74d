"""Client: a memory on a server, with the methods of `Memory`."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

from rememo.client import files
from rememo.client.change_stream import stream_changes
from rememo.client.flow import ClientFlow
from rememo.client.overrides import ClientAudit, ClientKeyValues, ClientWorking
from rememo.client.pending_batch import PendingBatch
from rememo.client.remote import RemoteMemory
from rememo.client.transport import Transport, open_http_client
from rememo.client.typed import RemoteTyped, remote_view
from rememo.errors import InvalidInput
from rememo.keep.export import Transferred
from rememo.model.change_event import ChangeEvent
from rememo.model.check import check_label
from rememo.model.receipt import Receipt
from rememo.model.scope import DEFAULT_TENANT, LabelValue, Scope
from rememo.model.spelling import usual_spellings
from rememo.model.times import to_utc
from rememo.runtime.closing import Closing
from rememo.working.type_schema import V
from rememo.working.typed import Typed

__all__ = ["Client"]

C = TypeVar("C", bound="Client")


@usual_spellings
class Client(Closing, RemoteMemory):
    """A memory on a server, seen through one scope.

    What takes functions that run inside the memory (hooks, providers, rules, checks) is not served; what changes a value
    by a function is, since the function runs here. Errors are the same exceptions as those of `Memory`; a server that
    cannot be reached raises `Unavailable`.
    """

    def __init__(
        self, url: str, key: str | None = None, *, tenant: str = DEFAULT_TENANT, timeout: float = 30.0
    ) -> None:
        """Connect to a server with a key; `timeout` is the seconds to wait for a response."""
        scope = Scope().narrow(tenant=tenant)
        super().__init__(Transport(http=open_http_client(url, key, timeout), scope=scope))

    @property
    def bound(self) -> Scope:
        """The scope that this view is bound to."""
        return self._transport.scope

    def scope(
        self,
        *,
        tenant: LabelValue | None = None,
        agent: LabelValue | None = None,
        user: LabelValue | None = None,
        room: LabelValue | None = None,
    ) -> "Client":
        """Return a narrower view of the same memory; a label that is bound already cannot be changed.

        A label is a text, or the whole number that a platform gives: `user=42` is `user="42"`.
        """
        if isinstance(room, str) and room.startswith("pool:") and room != self.bound.room:
            raise InvalidInput("rooms whose name begins with 'pool:' are pools; open one with pool(name)")
        narrow = self.bound.narrow(tenant=tenant, agent=agent, user=user, room=room)
        return _make_client(Client, replace(self._transport, scope=narrow))

    def pool(self, name: str) -> "Client":
        """Return the view of a pool: what its group shares within this tenant, whoever opens it by this name."""
        return _make_client(Client, replace(self._transport, pool=check_label(name, "name")))

    def as_of(self, moment: str | datetime) -> "Client":
        """Return a read-only view of what was known at a snapshot or a moment; a snapshot is asked for at once."""
        if not isinstance(moment, datetime):
            check_label(moment, "snapshot")
        then = self._transport.at(to_utc(moment, "the moment") if isinstance(moment, datetime) else moment)
        if isinstance(moment, str):
            then.ask("list", {"limit": 1})
        return _make_client(Client, then)

    def live(self, *, after: datetime | str | None = None) -> Generator[ChangeEvent]:
        """Yield each change in this scope as it is committed, from now on or after a cursor or moment, until it is closed.

        Reconnects without a loss. Raises `Unauthorised` when the key is revoked or expires.
        """
        return stream_changes(self._transport, after)

    @property
    def kv(self) -> ClientKeyValues:
        """Key-value state of exactly this scope, with expiry."""
        return ClientKeyValues(self._transport)

    @property
    def working(self) -> ClientWorking:
        """The agent's workbench in this scope: messages, actions, thoughts, to-dos and free values together."""
        return ClientWorking(self._transport)

    @property
    def audit(self) -> ClientAudit:
        """Who did what, when and from where."""
        return ClientAudit(self._transport)

    def flow(
        self,
        name: str,
        *,
        steps: Sequence[str],
        ttl: float | str | timedelta = "24h",
        sliding: bool = True,
        transitions: Mapping[str, Iterable[str]] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> ClientFlow:
        """Return a process of several steps whose state, user by user, is kept until it expires.

        A state lives for `ttl` after it was last read or changed; without `sliding`, after its start. `transitions` says
        where a step may go, a step not named there may go anywhere; `models` holds types that pydantic can check, for
        the data under a step's name.
        """
        return ClientFlow(
            self._transport, name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions, models=models
        )  # fmt: skip

    def typed(
        self,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> Typed[V]:
        """Return a value of any type that pydantic can check, kept under a name in exactly this scope.

        The type is that of the default unless given, as `list[int]` must be. `migrate` makes the new value of a stored
        one that does not fit the type any more, or has other fields than the type has.
        """
        return RemoteTyped(self._transport, name, default, type=type, migrate=migrate)

    @contextmanager
    def batch(self, *, key: str | None = None) -> Generator["ClientBatch"]:
        """Collect writes and execute them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see the stored state, not the pending writes. Receipts inside are `pending`; the batch's `receipt`
        covers them all.
        """
        view = remote_view(self._transport)
        view.need_present()
        view.need_no_batch("batch()")
        gathering = PendingBatch()
        inside = _make_client(ClientBatch, replace(self._transport, batch=gathering))
        try:
            yield inside
        finally:
            # Later writes through it go straight to the server.
            gathering.open = False
        alone = replace(self._transport, pool=None)
        inside.receipt = alone.ask("batch", {"operations": gathering.steps, "key": key})

    def export(self, path: str | Path, *, plain: bool = False) -> Transferred:
        """Write everything in this scope to a new JSON Lines file here: all versions, and for a whole tenant its other state.

        The export of an encrypted memory is encrypted with the server's master key; `plain` asks for one that anybody can read.
        """
        return files.export(self._transport, path, plain=plain)

    def import_(self, path: str | Path) -> Transferred:
        """Import an export from a file here into this scope's tenant without a loss; repeating it is harmless."""
        return files.import_(self._transport, path)

    def close(self) -> None:
        """Close the connections, for every view of them; closing twice is harmless."""
        self._transport.http.close()


class ClientBatch(Client):
    """A view whose writes are collected, as `Client.batch()` yields it."""

    receipt: Receipt | None = None
    """The receipt of the batch, once its block has ended."""


def _make_client(kind: type[C], transport: Transport) -> C:
    client = object.__new__(kind)
    RemoteMemory.__init__(client, transport)
    return client
