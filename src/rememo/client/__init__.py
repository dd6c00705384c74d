"""Client: a memory that is served elsewhere, with the surface of `Memory`."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rememo.client.asking import Asking, open_web
from rememo.client.faces import RemoteMemory
from rememo.errors import AlreadyExists, InvalidInput
from rememo.keep.export import Transferred
from rememo.model.check import check_label
from rememo.model.scope import DEFAULT_TENANT, Scope
from rememo.serve.wire import from_json

__all__ = ["Client"]

_LINES: Final = "application/x-ndjson"


class Client(RemoteMemory):
    """A memory on a server, seen through one scope.

    What takes functions (hooks, providers, `kv.update` …), flows, typed values and batches are not served. Errors are
    the same exceptions as those of `Memory`; a server that cannot be reached raises `Unavailable`.
    """

    def __init__(
        self, url: str, key: str | None = None, *, tenant: str = DEFAULT_TENANT, timeout: float = 30.0
    ) -> None:
        """Speak to the server at an address, with a key; `timeout` is how many seconds an answer may take."""
        scope = Scope().narrow(tenant=tenant)
        super().__init__(Asking(web=open_web(url, key, timeout), scope=scope))

    @property
    def bound(self) -> Scope:
        """The scope that this view is bound to."""
        return self._asking.scope

    def scope(
        self, *, tenant: str | None = None, agent: str | None = None, user: str | None = None, room: str | None = None
    ) -> "Client":
        """Return a narrower view of the same memory; a label that is bound already cannot be changed."""
        if isinstance(room, str) and room.startswith("pool:") and room != self.bound.room:
            raise InvalidInput("rooms whose name begins with 'pool:' are pools; open one with pool(name)")
        narrow = self.bound.narrow(tenant=tenant, agent=agent, user=user, room=room)
        return _client(replace(self._asking, scope=narrow))

    def pool(self, name: str) -> "Client":
        """Return the view of a pool: what its group shares within this tenant, whoever opens it by this name."""
        return _client(replace(self._asking, pool=check_label(name, "name")))

    def as_of(self, moment: str | datetime) -> "Client":
        """Return a read-only view of what was known at a snapshot or a moment."""
        return _client(self._asking.at(moment))

    def export(self, path: str | Path) -> None:
        """Write everything in this scope to a new JSON Lines file here."""
        target = Path(path)
        if target.exists():
            raise AlreadyExists(f"{target} is there already; choose another file for the export")
        target.write_bytes(self._asking.send("GET", "/export").content)

    def import_(self, path: str | Path) -> Transferred:
        """Bring an export from here into this scope's tenant; repeating it is harmless."""
        with Path(path).open("rb") as file:
            answer = self._asking.send("POST", "/import", content=file, kind=_LINES)
        return from_json(Transferred, answer.json())

    def close(self) -> None:
        """Let go of the connections, for every view of them; closing twice is harmless."""
        self._asking.web.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _client(asking: Asking) -> Client:
    client = object.__new__(Client)
    RemoteMemory.__init__(client, asking)
    return client
