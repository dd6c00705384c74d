"""Methods of a client that need several requests: updates by a function, and defaults that are not JSON."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from rememo.client.files import download
from rememo.client.remote import RemoteAudit, RemoteContextValues, RemoteKeyValues, RemoteWorking
from rememo.model.check import check_function
from rememo.runtime.retry import retry_on_conflict


class ClientKeyValues(RemoteKeyValues):
    """Key-value state of exactly this scope, with expiry."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none or it has expired."""
        value = super().get(key)
        if value is not None or default is None:
            return value
        return None if self.version(key) else default

    def update(
        self,
        key: str,
        change: Callable[[Any], Any],
        *,
        default: Any = None,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
    ) -> Any:
        """Replace a value atomically by what `change` makes of it, and return that.

        It keeps its expiry, fixed or sliding, unless another `ttl` is given. `change` runs again when another thread or
        process was faster, so it must not do anything else.
        """
        check_function(change, "change")

        def prepare() -> tuple[int, Any]:
            # The version first: a value written in between is then not taken for the one of that version.
            version = self.version(key)
            return version, change(RemoteKeyValues.get(self, key) if version else default)

        def write(prepared: tuple[int, Any]) -> Any:
            version, value = prepared
            self.compare_and_set(key, value, expected_version=version, ttl=ttl, sliding=sliding, keep_ttl=ttl is None)
            return value

        return retry_on_conflict(prepare, write, f"key {key!r}")


class ClientContextValues(RemoteContextValues):
    """The values of exactly this scope, by name: any JSON."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none."""
        value = super().get(name)
        if value is not None or default is None:
            return value
        return None if name in self.all() else default


class ClientWorking(RemoteWorking):
    """What an agent has at hand within a scope: messages, actions, thoughts, to-dos and free values."""

    @property
    def context(self) -> ClientContextValues:
        """Free values by name."""
        return ClientContextValues(self._transport)


class ClientAudit(RemoteAudit):
    """Who did what, when and from where."""

    def export(self, path: str | Path) -> int:
        """Write the whole trail of the tenant to a new JSON Lines file here; returns how many lines of it follow the first."""
        with download(self._transport, "/audit:export", path, "the audit trail").open("rb") as file:
            return sum(1 for _ in file) - 1
