"""What statements say differently on each SQL database."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rememo.model.erasure import ErasureTarget
from rememo.model.scope import Scope
from rememo.store.filter_sql import Sql


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDialect:
    """How a database says what statements need."""

    within: Callable[[Scope], Sql]
    """Returns the condition of a scope: the tenant first."""
    any_of: Callable[[str], str]
    """Returns the condition that a text is one of those in one parameter, which `array` makes."""
    array: Callable[[Sequence[Any]], Any]
    payload_field: Callable[[str], str]
    """Returns the expression for a top-level field in the payload of a job."""
    text_columns: tuple[str, ...]
    """The columns of a record's text."""
    erased_of: str
    """The condition on the table `erased` of a tenant's erasure: its parameters are the tenant and the number."""
    erased_of_tenant: str
    """The condition on the table `erased` of all erasures of a tenant."""
    bump_epoch: str
    """Lets the cached scopes of a tenant start over: where no version changed, no clock shows the change."""
    lock: str = ""
    """What keeps others from changing the selected rows until the transaction ends."""

    def target_condition(self, target: ErasureTarget) -> Sql:
        """Return the condition of versions within the target of an erasure."""
        inside, values = self.within(target.scope)
        if target.ids is None:
            return inside, values
        return f"{inside} AND {self.any_of('id')}", [*values, self.array(target.ids)]


def in_steps(rows: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Give rows in parts, so that no transaction holds others up for long."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
