"""The codecs of an SQL store, in step with its transactions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.codecs import FieldCodecs

C = TypeVar("C", bound=FieldCodec)
T = TypeVar("T")


class SqlCodecs(FieldCodecs[C], Generic[C]):
    """Gives transactions the codecs that they encrypt with."""

    @abstractmethod
    def write(self, database: Any, run: Callable[[Any], T], *tenants: str, repeatable: bool = False) -> T:
        """Run a function that encrypts data of tenants inside a transaction, as `SqlDatabase.write`."""

    @abstractmethod
    def locked(self, session: Any, tenant: str) -> C:
        """Return a tenant's codec inside a transaction; its keys do not change until that ends."""

    @abstractmethod
    def bump_epoch(self, session: Any, tenant: str) -> C:
        """Let cached scopes of a tenant start over, and return its codec: no version changed, so no clock shows the change."""
