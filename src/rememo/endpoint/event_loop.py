"""Event loop: a thread of its own for the asynchronous calls of one endpoint."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class EventLoopThread:
    """The event loop of one endpoint in a thread of its own, with its HTTP connections."""

    def __init__(self, make: "Callable[[], httpx.AsyncClient]", concurrency: int) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.slots = asyncio.Semaphore(concurrency)
        self.client = make()
        self._lock = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="rememo-endpoint", daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T] | None":
        """Run a coroutine on the loop; None when the loop has ended."""
        with self._lock:
            # What is begun before the end is cancelled by it; what came between the two would never be told.
            if not self._ended:
                return asyncio.run_coroutine_threadsafe(work, self.loop)
        work.close()
        return None

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self._close())
            self.loop.close()

    async def _close(self) -> None:
        own, loop = asyncio.current_task(), asyncio.get_running_loop()
        tasks = asyncio.all_tasks() - {own}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.client.aclose()
        # A stream that was let go of closes itself part by part, each in a task that the one before brings about.
        await loop.shutdown_asyncgens()
        await asyncio.sleep(0)
        while others := asyncio.all_tasks() - {own}:
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0)

    def end(self) -> None:
        """Ask the loop to stop, with whatever runs on it, without waiting.

        The collector may call this in any thread and at any moment, with any lock held: what the loop needs for closing,
        such as the lock of an import, may be among them.
        """
        if self.process != os.getpid():
            return
        with self._lock:
            if not self._ended:
                self._ended = True
                self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self) -> None:
        """Wait until the loop has closed its connections."""
        if threading.current_thread() is not self._thread:
            self._thread.join()
