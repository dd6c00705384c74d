"""Erasure targets: what is to be erased, and which keys belong to it."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from rememo.errors import InvalidInput
from rememo.model.check import check_label, check_many
from rememo.model.erasure import ErasureTarget
from rememo.model.scope import Scope
from rememo.store.kv.namespaces import parse_namespace

_MOST_IDS = 10_000


def make_target(
    scope: Scope,
    *,
    user: str | None,
    room: str | None,
    agent: str | None,
    tenant: str | None,
    ids: Iterable[str] | None,
) -> ErasureTarget:
    """Return what is to be erased within a scope; nobody named, or too much at once, is an error.

    `tenant` is the name of the tenant to erase as a whole, and must be the one that the scope belongs to.
    """
    labels = [label for label in (user, room, agent) if label is not None]
    if tenant is not None:
        check_tenant(scope, tenant)
        if labels or ids is not None:
            raise InvalidInput(f"tenant={tenant!r} erases everything; leave user, room, agent and ids out")
        if scope != Scope(tenant=scope.tenant):
            raise InvalidInput("this view is bound to labels and cannot erase its whole tenant; use the memory itself")
        return ErasureTarget(scope=scope)
    if ids is not None:
        if labels:
            raise InvalidInput("erase either ids, or what belongs to a user, room or agent, not both at once")
        checked_ids = [check_label(id, "id") for id in ([ids] if isinstance(ids, str) else check_many(ids, "ids"))]
        if not 1 <= len(checked_ids) <= _MOST_IDS:
            raise InvalidInput(f"ids must name 1 to {_MOST_IDS:,} records, not {len(checked_ids):,}")
        return ErasureTarget(scope=scope, ids=tuple(sorted(set(checked_ids))))
    if not labels:
        raise InvalidInput(
            "erase() was given no target: name a user, room or agent, some ids, or the whole tenant by its name:"
            f" tenant={scope.tenant!r}"
        )
    return ErasureTarget(scope=scope.narrow(user=user, room=room, agent=agent))


def check_tenant(scope: Scope, tenant: object) -> None:
    """Refuse to erase a whole tenant unless it is named, and is the one that the scope belongs to."""
    bound = scope.tenant
    if not isinstance(tenant, str):
        raise InvalidInput(
            f"tenant must be the name of the tenant to erase, not {tenant!r}; nothing was erased:"
            f" write erase(tenant={bound!r}) to erase everything of the tenant that this memory is bound to"
        )
    if tenant != bound:
        raise InvalidInput(
            f"this memory is bound to tenant {bound!r} and cannot erase tenant {tenant!r}; nothing was erased:"
            f" open a memory with tenant={tenant!r} for that"
        )


def key_predicate(target: ErasureTarget) -> Callable[[str, str], bool]:
    """Return what tells whether a key of a namespace goes: of the scope, and what other scopes keep under the user's name."""
    bound, tenant = target.scope, target.scope.tenant
    alone = bound == Scope(tenant=tenant, user=bound.user)

    def doomed(space: str, key: str) -> bool:
        scope, name = parse_namespace(tenant, space)
        named = alone and bound.user == key and name in ("flows", "profiles")
        in_flow = name == "flows" and bound.user == key and replace(bound, user=None).contains(scope)
        return target.covers(scope) or named or in_flow

    return doomed
