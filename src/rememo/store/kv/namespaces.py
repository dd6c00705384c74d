"""Namespaces of keys: the user's own names, and those of views, which say whose they are and what for."""

import json
from typing import Any, cast

from rememo.model.scope import Scope


def parse_namespace(tenant: str, space: str) -> tuple[Scope, str]:
    """Return the scope that a namespace of keys belongs to and its purpose; "" for the user's own keys."""
    if not space.startswith("["):
        return Scope(tenant=tenant), space
    agent, user, room, *rest = cast("list[Any]", json.loads(space))
    return Scope(tenant=tenant, agent=agent, user=user, room=room), str(rest[0]) if rest else ""
