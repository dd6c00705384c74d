"""Scopes held ready in memory: the timeline and the vectors of a view, kept in step with the store.

A view's arrays are read once, then follow the store: new versions are appended, closed ones dropped, and a change of the
tenant's epoch starts them over. Another process's writes are seen by the same comparison as one's own.
"""

import os
from collections import OrderedDict
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import simsimd
from numpy.typing import NDArray

from rememo.model.scope import Scope
from rememo.model.timeline import Timeline
from rememo.model.times import to_micros
from rememo.runtime.counters import counts
from rememo.runtime.locks import ForkLock

_TYPES: dict[str, Any] = {
    "numbers": np.int64,
    "rooms": np.int32,
    "times": np.int64,
    "speakers": np.int32,
    "kinds": np.int8,
    "lengths": np.int32,
    "importance": np.float32,
    "trust": np.float32,
    "fingerprints": np.int64,
    "asks": np.bool_,
    "expires": np.int64,
    "embedded": np.bool_,
}
_NEVER = 2**63 - 1
_LARGE = 50_000
_LOCKS = 64


class _Threads:
    """How many threads may look through one large view."""

    most = 2

    def none(self) -> None:
        """Use the calling thread only: OpenMP's threads do not live on in a forked child, which would wait for them."""
        self.most = 1


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.none)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What must be equal for a view to be unchanged."""

    number: int
    """The newest version."""
    clock: int
    """The system time up to which endings were seen."""
    epoch: int
    model: int
    """The embedding model whose vectors are held; 0 for none."""

    def covers(self, other: "Stamp") -> bool:
        """Whether this is the other, or a later one."""
        return self.epoch >= other.epoch and self.clock >= other.clock and self.number >= other.number


class ScopeColumns:
    """Arrays that grow at their end without being copied each time; rows once written never change."""

    def __init__(self, dimension: int) -> None:
        self.count = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.zeros(64, kind) for name, kind in _TYPES.items()}
        self._arrays["vectors"] = np.zeros((64, dimension), np.int8)
        self._largest = 0.0
        self._names: dict[str, dict[str | None, int]] = {name: {None: -1} for name in ("rooms", "speakers", "kinds")}

    @property
    def dimension(self) -> int:
        """How long the vectors are; 0 where none are held."""
        return self._arrays["vectors"].shape[1]

    @property
    def bytes(self) -> int:
        """What they weigh."""
        return sum(array.nbytes for array in self._arrays.values())

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column as it is now."""
        return self._arrays[name][: self.count]

    def append(self, rows: list[Any]) -> None:
        """Add rows in order of their numbers: what a timeline tells, when it ends or None, and the float32 bytes of its vector or None."""
        if not rows:
            return
        start, self.count = self.count, self.count + len(rows)
        for name, array in self._arrays.items():
            if len(array) < self.count:
                grown = np.zeros((max(self.count, len(array) * 5 // 4 + 64), *array.shape[1:]), array.dtype)
                grown[:start] = array[:start]
                self._arrays[name] = grown
        numbers, rooms, times, speakers, kinds, lengths, importance, trust, prints, asks, expires, blobs = zip(
            *rows, strict=True
        )
        new = {
            "numbers": numbers,
            "rooms": self._numbered("rooms", rooms),
            "times": np.array(times, np.int64) // 1000,
            "speakers": self._numbered("speakers", speakers),
            "kinds": self._numbered("kinds", kinds),
            "lengths": lengths,
            "importance": [0.5 if value is None else value for value in importance],
            "trust": trust,
            "fingerprints": prints,
            "asks": asks,
            "expires": [_NEVER if end is None else end for end in expires],
        }
        for name, values in new.items():
            self._arrays[name][start : self.count] = values
        held = [place for place, blob in enumerate(blobs) if blob is not None]
        if held and self._arrays["vectors"].shape[1]:
            joined = np.frombuffer(b"".join(blobs[place] for place in held), np.float32)
            places = start + np.array(held)
            self._arrays["embedded"][places] = True
            self._scale_to(float(np.abs(joined).max()))
            self._arrays["vectors"][places] = np.rint(joined.reshape(len(held), -1) * self.scale)

    @property
    def scale(self) -> float:
        """What a vector's numbers are multiplied by to become whole ones: the same for all, or they could not be compared."""
        return 127 / self._largest if self._largest else 1.0

    def _scale_to(self, largest: float) -> None:
        """Make room for a larger number than any before; timelines that were handed out keep their arrays."""
        if largest > self._largest:
            before, self._largest = self.scale, largest * (1.25 if self._largest else 1.05)
            self._arrays["vectors"] = np.rint(self._arrays["vectors"] * (self.scale / before)).astype(np.int8)

    def _numbered(self, name: str, values: tuple[str | None, ...]) -> list[int]:
        places = self._names[name]
        return [places.setdefault(value, len(places) - 1) for value in values]

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names that a column of numbers stands for."""
        return tuple(label for label in self._names[name] if label is not None)

    def without(self, gone: NDArray[np.bool_]) -> "ScopeColumns":
        """Return them without some rows."""
        rest = ScopeColumns(self._arrays["vectors"].shape[1])
        rest.count = int(self.count - gone.sum())
        rest._arrays = {name: self[name][~gone] for name in self._arrays}
        rest._names, rest._largest = self._names, self._largest
        return rest

    def vectors(self) -> "QuantizedVectors":
        """Return the vectors as they are now."""
        embedded = self["embedded"]
        return QuantizedVectors(self["vectors"], embedded, self.scale, bool(embedded.all()))

    def timeline(self, grown_from: Timeline | None = None) -> Timeline:
        """Return what ranking must know, as it is now."""
        return Timeline(
            numbers=self["numbers"],
            rooms=self["rooms"],
            times=self["times"],
            speakers=self["speakers"],
            kinds=self["kinds"],
            lengths=self["lengths"],
            importance=self["importance"],
            trust=self["trust"],
            fingerprints=self["fingerprints"],
            asks=self["asks"],
            speaker_names=self.names("speakers"),
            kind_names=self.names("kinds"),
            grown_from=grown_from,
        )


@dataclass(frozen=True, slots=True)
class CachedScope:
    """A view as it was at one stamp."""

    stamp: Stamp
    columns: ScopeColumns
    timeline: Timeline
    vectors: "QuantizedVectors"
    next_end: int
    """When the first of its records expires."""
    weight: int
    """Its bytes."""


@dataclass(frozen=True, slots=True)
class QuantizedVectors:
    """The vectors of a view as whole numbers of one byte, all at one scale."""

    rows: NDArray[np.int8]
    embedded: NDArray[np.bool_]
    """Which records have a vector."""
    scale: float
    complete: bool
    """Whether all of them have."""

    def products(self, asked: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
        """Return the product of every vector with the one asked for, and what makes a cosine of it.

        That cosine is right within half a hundredth.
        """
        if not self.rows.size:
            return np.zeros(len(self.rows)), 1.0
        own_scale = 127 / float(np.abs(asked).max())
        whole = np.rint(asked * own_scale).astype(np.int8)
        threads = _threads.most if len(self.rows) > _LARGE else 1
        products = np.asarray(simsimd.cdist(whole[None], self.rows, metric="dot", threads=threads))[0]
        return products, 1 / (own_scale * self.scale)


class ScopeState(Protocol):
    """One consistent state of a store."""

    def stamp(self, tenant: str, /) -> Stamp:
        """Return what changes whenever something of the tenant does."""
        ...

    def dimension(self, scope: Scope, /) -> int:
        """Return how long the vectors are that are to be held of a scope; 0 where none are."""
        ...

    def ended(self, tenant: str, since: int) -> list[int]:
        """Return the numbers of versions that ended after a system time."""
        ...

    def read(self, scope: Scope, columns: ScopeColumns, start: int, now: int) -> None:
        """Append the current versions of a scope whose numbers are above `start`, in order."""
        ...


class ScopeSource(Protocol):
    """Where views come from."""

    def stamp(self, tenant: str, /) -> Stamp:
        """Return the stamp of the present state."""
        ...

    def state(self, stamp: Stamp, /) -> AbstractContextManager[ScopeState]:
        """Lend one consistent state: that of the stamp, or a later one."""
        ...


class ScopeCache:
    """The views used last, within a bound of memory."""

    def __init__(self, source: ScopeSource, most_bytes: int) -> None:
        self._source = source
        self._most_bytes = most_bytes
        # One at a time for each view, because arrays grow in place; a few share a lock.
        self._refreshing = [ForkLock() for _ in range(_LOCKS)]
        self._keeping = ForkLock()
        self._held: OrderedDict[Scope, CachedScope] = OrderedDict()
        self._weight = 0
        self._process = os.getpid()

    def get(self, scope: Scope, moment: datetime) -> CachedScope:
        """Return a view in step with the store."""
        now = to_micros(moment)
        if self._process != os.getpid():
            # A thread of the parent may have been in the middle of a change when this process was forked off.
            self._held, self._weight, self._process = OrderedDict(), 0, os.getpid()
        held = self._held.get(scope)
        stamp = self._source.stamp(scope.tenant)
        if held is not None and held.stamp == stamp and held.next_end > now:
            counts.add("scope_cache_hits")
            return held
        counts.add("scope_cache_misses")
        with self._refreshing[hash(scope) % _LOCKS]:
            # Looked up again, because somebody may have been faster.
            held = self._held.get(scope)
            if held is not None and held.stamp.covers(stamp) and held.next_end > now:
                return held
            with self._source.state(stamp) as state:
                held = self._refresh(state, scope, state.stamp(scope.tenant), held, now)
            self._keep(scope, held)
        return held

    def _refresh(
        self, state: ScopeState, scope: Scope, stamp: Stamp, held: CachedScope | None, now: int
    ) -> CachedScope:
        if held is None or (held.stamp.epoch, held.stamp.model) != (stamp.epoch, stamp.model):
            columns, start, grown_from = ScopeColumns(state.dimension(scope)), 0, None
        else:
            # What is appended to lies behind the end of every timeline that was handed out.
            columns, start, grown_from = held.columns, held.stamp.number, held.timeline
            ended = state.ended(scope.tenant, held.stamp.clock)
            gone = np.isin(columns["numbers"], ended) | (columns["expires"] <= now)
            if gone.any():
                columns, grown_from = columns.without(gone), None
        state.read(scope, columns, start, now)
        if grown_from is not None and columns.count == len(grown_from.numbers):
            timeline = grown_from
        else:
            # The one before it is let go with the next: a chain would keep every state there ever was.
            timeline = columns.timeline(None if grown_from is None else replace(grown_from, grown_from=None))
        ends = columns["expires"]
        next_end = int(ends.min()) if len(ends) else _NEVER
        return CachedScope(stamp, columns, timeline, columns.vectors(), next_end, columns.bytes)

    def _keep(self, scope: Scope, held: CachedScope) -> None:
        with self._keeping:
            before = self._held.get(scope)
            self._weight += held.weight - (before.weight if before is not None else 0)
            self._held[scope] = held
            self._held.move_to_end(scope)
            while self._weight > self._most_bytes and len(self._held) > 1:
                self._weight -= self._held.popitem(last=False)[1].weight
