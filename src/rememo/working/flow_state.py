"""Flow states: where a user is in a flow, and where that is stored."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.store.kv.protocol import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowState:
    """Where a user is in a flow."""

    user: str
    step: str
    data: dict[str, Any]
    """What was gathered, by field group; a copy: changing it changes nothing stored."""
    paused: bool
    started_at: datetime
    updated_at: datetime
    expires_at: datetime
    """From then on it is gone; a sliding end moves with every read and change."""
    version: int
    """Grows with every change."""

    @property
    def active(self) -> bool:
        """Whether it is running, that is not paused."""
        return not self.paused


def flow_space(scope: Scope, name: str) -> str:
    """Return the namespace of a flow; the user is the key in it, so that all users of a flow are found together."""
    return dump_json([scope.agent, None, scope.room, "flows", name])


def flow_state(entry: Entry) -> FlowState:
    """Return the state that stands in an entry of a flow's namespace."""
    value: dict[str, Any] = json.loads(entry.value)
    updated_at = to_utc(value["updated_at"], "updated_at")
    return FlowState(
        user=entry.key,
        step=value["step"],
        data=value["data"],
        paused=value["paused"],
        started_at=to_utc(value["started_at"], "started_at"),
        updated_at=updated_at,
        expires_at=entry.expires_at or updated_at,
        version=entry.version,
    )
