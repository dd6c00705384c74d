"""Calls between processes by the server's own means: NOTIFY from those who write, LISTEN by those who work.

A NOTIFY holds up all others in the database while it is committed. So it is never part of a write: a thread of its own
sends one for all writes of a moment.
"""

import logging
import os
import random
import threading
import time
from collections.abc import Callable

import psycopg
from psycopg import sql

from rememo.errors import Closed, StorageError
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.tenant_guard import ALL_TENANTS, acting_for

_BETWEEN = 0.05
_IDLE = 10.0
_LOOK = 0.25
_LONGEST_PAUSE = 15.0
# Nothing is lost with it, so it need not reach the disk.
_CALL = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, '')"
_log = logging.getLogger("rememo.worker")


def channel(schema: str) -> str:
    """Return the name under which the processes of a store call each other; it belongs to the database."""
    return f"rememo_{schema}"[:63]


class _ProcessState:
    """What belongs to one process: threads and their locks are not carried over a fork."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.changed = threading.Condition()
        self.wanted = False
        self.over = False
        self.thread: threading.Thread | None = None


class Notifier:
    """Sends calls; thread-safe. Its thread begins with the first call and ends when there were none for a while."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._state = _ProcessState()

    @property
    def _current(self) -> _ProcessState:
        if self._state.process != os.getpid():
            self._state = _ProcessState()
        return self._state

    def call(self) -> None:
        """Send one soon."""
        state = self._current
        if state.wanted:
            return
        with state.changed:
            state.wanted = True
            if state.thread is None and not state.over:
                state.thread = threading.Thread(target=self._work, args=(state,), name="rememo-caller", daemon=True)
                state.thread.start()
            state.changed.notify_all()

    def _work(self, state: _ProcessState) -> None:
        while True:
            with state.changed:
                state.changed.wait_for(lambda: state.wanted or state.over, _IDLE)
                if not state.wanted:
                    state.thread = None
                    return
                state.wanted = False
            self._send()
            with state.changed:
                state.changed.wait_for(lambda: state.over, _BETWEEN)

    def _send(self) -> None:
        try:
            with acting_for(ALL_TENANTS):
                self._database.row(_CALL, (channel(self._database.schema),))
        except (StorageError, Closed) as error:
            _log.debug("workers elsewhere could not be called, they will look by themselves: %s", error)

    def close(self) -> None:
        """Send what is still to be sent, and end."""
        state = self._current
        with state.changed:
            state.over = True
            state.changed.notify_all()
            thread = state.thread
        if thread is not None:
            thread.join(_LONGEST_PAUSE)


class Listener:
    """A connection that listens, in a thread of its own. A lost one is opened again, later and later."""

    def __init__(self, database: PostgresDatabase, heard: Callable[[], None]) -> None:
        self._database = database
        self._heard = heard
        self._over = threading.Event()
        self._connected = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rememo-listener", daemon=True)
        self._thread.start()

    @property
    def connected(self) -> bool:
        """Whether the line is open now."""
        return self._connected.is_set()

    def close(self) -> None:
        """Hear no more."""
        self._over.set()
        if self._thread is not threading.current_thread():
            self._thread.join(2.0)

    def _work(self) -> None:
        pause = _BETWEEN
        while not self._over.is_set():
            began = time.monotonic()
            try:
                self._listen()
            except (psycopg.Error, StorageError) as error:
                lost = self._connected.is_set()
                self._connected.clear()
                # From now on it looks by itself.
                self._heard()
                _log.log(logging.WARNING if lost else logging.DEBUG, "calls are not heard now: %s", error)
            except Closed:
                return
            pause = _BETWEEN if time.monotonic() - began > _LONGEST_PAUSE else min(pause * 2, _LONGEST_PAUSE)
            self._over.wait(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
        self._connected.clear()

    def _listen(self) -> None:
        if self._database.pooled:
            # What is listened for on a connection that is lent for a transaction nobody would hear.
            self._over.wait()
            return
        with self._database.line() as connection:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel(self._database.schema))))
            self._connected.set()
            # Whatever was called out before was not heard.
            self._heard()
            while not self._over.is_set():
                for _ in connection.notifies(timeout=_LOOK, stop_after=1):
                    self._heard()
