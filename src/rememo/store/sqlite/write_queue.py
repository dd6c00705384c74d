"""The write queue: writes of many threads, committed in groups by one of them at a time (group commit).

Whoever comes while nobody leads becomes the leader and does everything that has queued; the others sleep until their
write is done, or until they are made the next leader. A group shares one commit, and so one wait for the disk.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_LARGEST_GROUP = 64
_GATHERING = 0.002  # seconds a leader waits at the most for those who were with it the last time
_GLANCE = 0.00005


class QueuedWrite(Generic[T]):
    """A write that waits to be committed, and its result."""

    __slots__ = ("done", "error", "result", "run", "wake")

    def __init__(self, run: Callable[..., T]) -> None:
        self.run = run
        self.done = False
        self.result: T | None = None
        self.error: Exception | None = None
        self.wake = threading.Lock()


class WriteQueue:
    """The queue of writers; `do_group` does a group for its leader and marks each work done, or raises."""

    def __init__(self, do_group: Callable[[list[QueuedWrite[Any]], QueuedWrite[Any]], None]) -> None:
        self._do_group = do_group
        self._gate = threading.Lock()
        self._queue: deque[QueuedWrite[Any]] = deque()
        self._led = False
        self._company = 1

    def submit(self, run: Callable[..., T]) -> T:
        """Wait for a turn and return what `run` returned; its exception is raised here."""
        write = QueuedWrite(run)
        write.wake.acquire()
        with self._gate:
            self._queue.append(write)
            leading = not self._led
            self._led = True
        try:
            if not leading:
                write.wake.acquire()
            # Woken without being done: the last leader passed the lead on.
            while not write.done:
                leading = True
                self._lead(write)
        except BaseException:
            # Interrupted: what was not begun must not happen later behind the caller's back.
            with self._gate:
                if write in self._queue:
                    self._queue.remove(write)
                    # The lead may have been passed to it just then.
                    leading = leading or write.wake.acquire(blocking=False)
            raise
        finally:
            if leading:
                self._pass_on()
        if write.error is not None:
            raise write.error
        return write.result  # pyright: ignore[reportReturnType] - done without an error: it is T

    def _lead(self, own: QueuedWrite[Any]) -> None:
        if self._company > 1:
            self._gather()
        with self._gate:
            group = [self._queue.popleft() for _ in range(min(len(self._queue), _LARGEST_GROUP))]
        self._company = len(group)
        try:
            self._do_group(group, own)
        finally:
            undone = [write for write in group if not write.done and write is not own]
            with self._gate:
                self._queue.extendleft(reversed(undone))
            for write in group:
                if write.done and write is not own:
                    write.wake.release()

    def _gather(self) -> None:
        """Let those catch up who wrote with us the last time: they are preparing, and would else make groups of one."""
        end = time.monotonic() + _GATHERING
        while len(self._queue) < self._company and time.monotonic() < end:
            before = len(self._queue)
            time.sleep(_GLANCE)
            if len(self._queue) == before:
                return

    def _pass_on(self) -> None:
        with self._gate:
            if self._queue:
                self._queue[0].wake.release()
            else:
                self._led = False

    def start_over(self) -> None:
        """Forget every thread: for the child of a fork, which has only one."""
        self._gate = threading.Lock()
        self._queue.clear()
        self._led = False
        self._company = 1
