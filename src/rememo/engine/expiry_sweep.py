"""Expiry sweeps: what has expired is deleted a little at a time after writes, so that no program needs to ask for it.

Expired is invisible at once; sweeping only gives back what it takes. A step is small and is taken at most once a minute,
unless more is left than one step takes: then every write takes one, and what expires cannot outgrow what is written.
"""

import logging
from datetime import datetime, timedelta
from typing import Final, Unpack

from rememo.engine.forwarding_kv import ForwardingKeyValue
from rememo.errors import StorageError
from rememo.runtime.locks import ForkLock
from rememo.store.kv.protocol import KeyValue, SetOptions
from rememo.store.protocol.store import Store

EVERY: Final = timedelta(minutes=1)
STEP: Final = 100
"""At most so many of each sort in one step."""

_log = logging.getLogger("rememo.engine")


class ExpirySweeper:
    """Sweeps a store after writes; thread-safe, and one thread at a time does it."""

    def __init__(self, store: Store, key_days: float) -> None:
        self._store = store
        self._kept = timedelta(days=key_days)
        self._due: datetime | None = None
        self._lock = ForkLock()

    def after_write(self, moment: datetime) -> None:
        """Take a step if one is due at the time of a write; what fails now is done another time."""
        with self._lock:
            if self._due is None:
                # Not with the first write: a program that makes one and ends is not kept waiting.
                self._due = moment + EVERY
            if moment < self._due:
                return
            self._due = moment + EVERY  # whoever comes now passes by
        try:
            swept = self._store.sweep(moment, keys_before=moment - self._kept, limit=STEP)
        except StorageError as error:
            _log.debug("expired data was not swept: %s", error)
            return
        if swept >= STEP:
            self._due = moment


class SweepingKeyValue(ForwardingKeyValue):
    """A key-value store whose writes sweep what has expired."""

    def __init__(self, kv: KeyValue, sweeper: ExpirySweeper) -> None:
        super().__init__(kv)
        self._sweeper = sweeper

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value, and sweep if that is due."""
        version = super().set(tenant, space, key, value, moment, **options)
        self._sweeper.after_write(moment)
        return version
