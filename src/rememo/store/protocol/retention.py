"""Protocol of a store: expiry and thinning."""

from datetime import datetime
from typing import Protocol

from rememo.model.scope import Scope
from rememo.store.reports import ThinningResult


class RecordRetention(Protocol):
    """Removal of what has expired, and of old versions."""

    def sweep(self, moment: datetime, *, keys_before: datetime, limit: int) -> int:
        """Close what has expired and forget old keys, at most `limit` of each; returns how many."""
        ...

    def thin(
        self,
        scope: Scope,
        *,
        keep_from: datetime | None,
        forget_before: datetime | None,
        start: str,
        limit: int,
        first: bool,
        dry: bool = False,
    ) -> ThinningResult:
        """Physically remove old versions (see `store.thinning`) of the next `limit` records by id, after `start`.

        `first` marks the first step of a run; both moments lie before that step, and are the same for all steps.
        """
        ...
