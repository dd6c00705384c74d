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
from rememo.store.postgres.database import Database
from rememo.store.postgres.reach import ALL, reaching

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


class _Here:
    """What belongs to one process: threads and their locks are not carried over a fork."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.changed = threading.Condition()
        self.wanted = False
        self.over = False
        self.thread: threading.Thread | None = None


class Caller:
    """Sends calls; thread-safe. Its thread begins with the first call and ends when there were none for a while."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._state = _Here()

    @property
    def _here(self) -> _Here:
        if self._state.process != os.getpid():
            self._state = _Here()
        return self._state

    def call(self) -> None:
        """Send one soon."""
        here = self._here
        if here.wanted:
            return
        with here.changed:
            here.wanted = True
            if here.thread is None and not here.over:
                here.thread = threading.Thread(target=self._work, args=(here,), name="rememo-caller", daemon=True)
                here.thread.start()
            here.changed.notify_all()

    def _work(self, here: _Here) -> None:
        while True:
            with here.changed:
                here.changed.wait_for(lambda: here.wanted or here.over, _IDLE)
                if not here.wanted:
                    here.thread = None
                    return
                here.wanted = False
            self._send()
            with here.changed:
                here.changed.wait_for(lambda: here.over, _BETWEEN)

    def _send(self) -> None:
        try:
            with reaching(ALL):
                self._database.row(_CALL, (channel(self._database.schema),))
        except (StorageError, Closed) as error:
            _log.debug("workers elsewhere could not be called, they will look by themselves: %s", error)

    def close(self) -> None:
        """Send what is still to be sent, and end."""
        here = self._here
        with here.changed:
            here.over = True
            here.changed.notify_all()
            thread = here.thread
        if thread is not None:
            thread.join(_LONGEST_PAUSE)


class Listener:
    """A connection that listens, in a thread of its own. A lost one is opened again, later and later."""

    def __init__(self, database: Database, heard: Callable[[], None]) -> None:
        self._database = database
        self._heard = heard
        self._over = threading.Event()
        self._hearing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rememo-listener", daemon=True)
        self._thread.start()

    @property
    def hearing(self) -> bool:
        """Whether the line is open now."""
        return self._hearing.is_set()

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
                lost = self._hearing.is_set()
                self._hearing.clear()
                # From now on it looks by itself.
                self._heard()
                _log.log(logging.WARNING if lost else logging.DEBUG, "calls are not heard now: %s", error)
            except Closed:
                return
            pause = _BETWEEN if time.monotonic() - began > _LONGEST_PAUSE else min(pause * 2, _LONGEST_PAUSE)
            self._over.wait(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
        self._hearing.clear()

    def _listen(self) -> None:
        with self._database.line() as connection:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel(self._database.schema))))
            self._hearing.set()
            # Whatever was called out before was not heard.
            self._heard()
            while not self._over.is_set():
                for _ in connection.notifies(timeout=_LOOK, stop_after=1):
                    self._heard()
