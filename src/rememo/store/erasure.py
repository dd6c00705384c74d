"""What an erasure means for the rows of a store: the same for every one of them."""

import json
from collections.abc import Container, Mapping

from rememo.model.check import dump_json
from rememo.model.erasure import ErasureTarget
from rememo.model.scope import Scope

NOTE = "erased"
"""The field that what is noted of an erased record is encrypted as."""


def add_up(held: str | None, counts: Mapping[str, int]) -> str:
    """Return counts as a store keeps them, with more of them."""
    total: dict[str, int] = json.loads(held or "{}")
    for name, count in counts.items():
        if count:
            total[name] = total.get(name, 0) + count
    return dump_json(total)


def tells_of(target: ErasureTarget, gone: Container[str], scope: str, commit: str) -> bool:
    """Whether what was kept under an idempotency key tells of what is erased."""
    own = Scope(tenant=target.scope.tenant, **json.loads(scope))
    return target.covers(own) or any(written[0] in gone for written in json.loads(commit)["written"])
