"""Protocol of a store: what recall asks for."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.timeline import Timeline
from rememo.store.matches import Nearest, WordMatch


class RecordSearch(Protocol):
    """What recall asks for. Numbers are private to the store and live no longer than the question."""

    def timeline(self, filter: Filter, moment: datetime) -> Timeline:
        """Return every record of a filter's scope, as it is or as it was known; its other conditions do not matter here.

        Facts that hold no more are left out, unless the filter asks what held at a moment. Records of the kind `state`
        and what is in quarantine always are: they are not to be found.
        """
        ...

    def eligible(self, filter: Filter, timeline: Timeline, moment: datetime) -> NDArray[np.bool_] | None:
        """Return which entries of its scope's timeline a filter means; None when all are meant."""
        ...

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope: the timeline drops what lies outside.

        `held` is the length of that timeline, so that the store can choose its way.
        """
        ...

    def nearest(
        self,
        filter: Filter,
        vector: NDArray[np.float32],
        limit: int,
        moment: datetime,
        *,
        model: int,
        exact: bool = False,
    ) -> Nearest:
        """Return the nearest records that a filter means.

        None is passed over; scores may be rounded to three digits unless `exact`, and the order with them. `model` is
        the number of the one that made the vector; when the store has another in use, `ModelChanged` is raised.
        """
        ...

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        ...
