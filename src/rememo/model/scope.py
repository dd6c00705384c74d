"""Scope: the tenant's wall and the labels inside it."""

from dataclasses import dataclass, replace

from rememo.errors import InvalidInput
from rememo.model.check import check_label

DEFAULT_TENANT = "default"
LABELS = ("agent", "user", "room")
LabelValue = str | int
"""A label as callers have it: a text, or the number that a platform gives a user or a chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a record belongs, or where a view looks; a label that is None does not matter to a view."""

    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    user: str | None = None
    room: str | None = None

    def narrow(
        self,
        *,
        tenant: LabelValue | None = None,
        agent: LabelValue | None = None,
        user: LabelValue | None = None,
        room: LabelValue | None = None,
    ) -> "Scope":
        """Return this scope with labels added; changing one that is set is refused.

        Only the default tenant without any label may step into another tenant.
        """
        scope = self
        if tenant is not None and (tenant := read_label(tenant, "tenant")) != self.tenant:
            if self != Scope():
                raise InvalidInput(f"this view belongs to tenant {self.tenant!r} and cannot reach {tenant!r}")
            scope = Scope(tenant=tenant)
        for name, label in (("agent", agent), ("user", user), ("room", room)):
            if label is None:
                continue
            bound: str | None = getattr(self, name)
            if (value := read_label(label, name)) != bound:
                if bound is not None:
                    raise InvalidInput(f"this view is bound to {name} {bound!r} and cannot become {value!r}")
                scope = replace(scope, **{name: value})
        return scope

    def within(self, wall: "Scope") -> "Scope":
        """Return as much of this scope as lies behind a wall: the labels that the wall binds are the wall's."""
        return replace(self, **{name: value for name in LABELS if (value := getattr(wall, name)) is not None})

    def contains(self, other: "Scope") -> bool:
        """Whether a view of this scope sees a record of the other."""
        return (
            self.tenant == other.tenant
            and (self.agent is None or self.agent == other.agent)
            and (self.user is None or self.user == other.user)
            and (self.room is None or self.room == other.room)
        )


def read_label(value: object, field: str) -> str:
    """Return a label as it is stored: a number, such as a platform's id of a user, becomes its text."""
    return check_label(str(value) if isinstance(value, int) and not isinstance(value, bool) else value, field)
