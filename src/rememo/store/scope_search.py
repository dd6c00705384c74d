"""Finding in views held in memory: what a filter means there, and which vectors are near."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.errors import ModelChanged
from rememo.model.filters import Filter
from rememo.model.timeline import Timeline
from rememo.model.times import to_micros
from rememo.store.matches import Nearest
from rememo.store.scope_cache import CachedScope, ScopeCache, ScopeColumns

_SPARE = 50  # how many more than asked for are scored exactly, since rounding may have changed their order


class ScopeSearch:
    """The part of `Finding` that is the same for every store; a store reads what the views do not hold."""

    _scopes: ScopeCache

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the store is, for messages."""

    @abstractmethod
    def _elsewhen(self, filter: Filter, moment: datetime) -> tuple[int, ScopeColumns]:
        """Read what another time is asked for by, with the model in use; only the present is held ready."""

    @abstractmethod
    def _numbers(self, filter: Filter, moment: datetime) -> Sequence[int]:
        """Return the numbers of what a filter means."""

    @abstractmethod
    def _exact(self, tenant: str, /, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of a vector with those of some versions, 0 where there is none."""

    def timeline(self, filter: Filter, moment: datetime) -> Timeline:
        """Return every record of a filter's scope, as it is or as it was known."""
        if filter.known_at is None and filter.valid_at is None:
            return self._scopes.get(filter.scope, moment).timeline
        return self._elsewhen(filter, moment)[1].timeline()

    def eligible(self, filter: Filter, timeline: Timeline, moment: datetime) -> NDArray[np.bool_] | None:
        """Return which entries of its scope's timeline a filter means; None when all are meant."""
        if filter.selects_everything:
            return None
        if filter.conditions or filter.ids is not None or filter.rooms or filter.valid_at or filter.pinned is not None:
            return np.isin(timeline.numbers, np.array(self._numbers(filter, moment), np.int64))
        meant = np.ones(len(timeline.numbers), np.bool_)
        if filter.kinds:
            wanted = [place for place, name in enumerate(timeline.kind_names) if name in filter.kinds]
            meant &= np.isin(timeline.kinds, wanted)
        # Times are held in milliseconds; where the borders lie within one, the store must tell.
        for border, before in ((filter.after, False), (filter.before, True)):
            if border is not None:
                micros = to_micros(border)
                inside = timeline.times < micros // 1000 if before else timeline.times > micros // 1000
                meant &= inside | (
                    (timeline.times == micros // 1000) & self._at_border(filter, timeline, moment, micros)
                )
        return meant

    def _at_border(self, filter: Filter, timeline: Timeline, moment: datetime, micros: int) -> NDArray[np.bool_]:
        near = timeline.times == micros // 1000
        if not near.any():
            return near
        return near & np.isin(timeline.numbers, np.array(self._numbers(filter, moment), np.int64))

    def _nearest_by_index(
        self, _held: CachedScope, _filter: Filter, _vector: NDArray[np.float32], _limit: int, _moment: datetime, /
    ) -> Nearest | None:
        """Return what an index finds where the store has one for the scope; None: the vectors held here are compared."""
        return None

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
        """Return the nearest records that a filter means; `ModelChanged` when the vector is not of the model in use."""
        if filter.known_at is None and filter.valid_at is None:
            held = self._scopes.get(filter.scope, moment)
            timeline, vectors, in_use = held.timeline, held.vectors, held.stamp.model
            if in_use == model and (nearest := self._nearest_by_index(held, filter, vector, limit, moment)):
                return nearest
        else:
            in_use, columns = self._elsewhen(filter, moment)
            timeline, vectors = columns.timeline(), columns.vectors()
        if in_use != model:
            raise ModelChanged(f"{self.place} has another embedding model in use by now")
        products, unit = vectors.products(vector)
        eligible = self.eligible(filter, timeline, moment)
        if eligible is None and vectors.complete:
            places, near, known = None, products, products
        else:
            places = np.flatnonzero(vectors.embedded if eligible is None else vectors.embedded & eligible)
            near, known = products[places], products[vectors.embedded]
        wanted = limit + _SPARE if exact else limit
        best = np.arange(len(near))
        if wanted < len(near):
            best = np.argpartition(near, len(near) - wanted)[len(near) - wanted :]
        numbers = timeline.numbers[best if places is None else places[best]]
        scores = (near[best] * unit).astype(np.float32)
        if exact:
            scores = self._exact(filter.scope.tenant, numbers, vector)
        best = np.lexsort((numbers, -scores))[:limit]
        return Nearest(
            numbers=numbers[best],
            scores=scores[best],
            mean=float(known.mean()) * unit if len(known) else 0.0,
            deviation=float(known.std()) * unit if len(known) else 0.0,
        )
