"""Warm-up: load what the first search needs when the server starts, on a thread of its own."""

import logging
import threading
from collections.abc import Callable

from rememo.errors import RememoError
from rememo.memory import Memory

_log = logging.getLogger("rememo.serve")


class Warmup:
    """A thread that runs one search; it ends by itself."""

    def __init__(self, memory: Memory, *more: Callable[[], None]) -> None:
        self._memory = memory
        self._more = more
        self._thread = threading.Thread(target=self._warm, name="rememo-warming", daemon=True)

    def start(self) -> None:
        """Start the thread; requests are answered meanwhile."""
        self._thread.start()

    def join(self) -> None:
        """Wait until it is done: it must not read a closed memory."""
        if self._thread.ident is not None:
            self._thread.join()

    def _warm(self) -> None:
        for task in self._more:
            task()
        try:
            # A word nobody uses: the view, the vectors and the model are read all the same.
            self._memory.search("rememo", limit=1)
        except RememoError as error:
            _log.warning("the memory could not be warmed up: %s", error)
