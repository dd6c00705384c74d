"""The pool that runs providers: a few threads and one event loop, none of which can keep anybody waiting for ever.

Foreign code may hang, and a thread cannot be ended from outside. So threads here are daemons, which no interpreter
waits for; an abandoned call keeps its thread, and a new thread replaces it in the pool.
"""

import contextvars
import inspect
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from rememo.errors import Closed

if TYPE_CHECKING:
    import asyncio

MOST_THREADS: Final = 8
MOST_HANGING: Final = 4
"""How many given-up calls of one owner may still hang before no more are begun."""
MOST_HANGING_IN_ALL: Final = 64
_IDLE_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 0.05
_LEAVE_SECONDS: Final = 1.0

caller_loop: "contextvars.ContextVar[asyncio.AbstractEventLoop | None]" = contextvars.ContextVar(
    "rememo_caller_loop", default=None
)
"""The event loop of those who wait with `await`: their async functions run there, where their connections live."""


class ProviderCall:
    """One run of a function; `changed` is set when it begins and when it ends."""

    def __init__(
        self,
        owner: Hashable,
        function: Callable[[Any], Any],
        argument: Any,
        *,
        timeout: float,
        changed: "SimpleQueue[ProviderCall]",
    ) -> None:
        self.owner = owner
        """Whose calls are counted together when they hang."""
        self.function = function
        self.argument = argument
        self.timeout = timeout
        self.context = contextvars.copy_context()
        self.deadline: float | None = None
        """By the monotonic clock; None while it waits for a thread."""
        self.begun = False
        self.ended = False
        self.abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.task: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._changed = changed

    @property
    def is_async(self) -> bool:
        """Whether its function is an async one."""
        call = getattr(type(self.function), "__call__", None)  # noqa: B004 - the method is what is asked about
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def notify(self) -> None:
        """Wake whoever waits for it."""
        self._changed.put(self)


class ProviderPool:
    """Runs calls on at most `MOST_THREADS` threads that are not given up. Thread-safe; belongs to one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._turn = threading.Condition()
        self._queue: deque[ProviderCall] = deque()
        self._working = 0
        self._idle = 0
        self._hanging: Counter[Hashable] = Counter()
        self._own_loop: _OwnLoop | None = None
        self._closed = False

    def hanging(self, owner: Hashable) -> bool:
        """Whether too many calls that were given up are still at it to begin another."""
        with self._turn:
            return self._hanging[owner] >= MOST_HANGING or self._hanging.total() >= MOST_HANGING_IN_ALL

    def submit(self, call: ProviderCall) -> None:
        """Run a call as soon as there is a thread, or at once on an event loop if it is async."""
        if call.is_async:
            self._on_loop(call)
            return
        with self._turn:
            self._need_open()
            self._queue.append(call)
            self._start_worker()

    def abandon(self, call: ProviderCall) -> bool:
        """Wait for a call no more; False when it has ended after all. An async one is cancelled."""
        with self._turn:
            if call.ended:
                return False
            call.abandoned = True
            if call.begun:
                self._hanging[call.owner] += 1
                if call.task is None:
                    self._working -= 1
                    self._start_worker()
        if call.loop is not None:
            _cancel(call)
            if self._own_loop is not None and self._own_loop.loop is call.loop:
                self._own_loop.ping()
        return True

    def close(self) -> None:
        """Begin nothing more and let threads go; those that hang are left to themselves."""
        with self._turn:
            self._closed = True
            for call in self._queue:
                call.error, call.ended = Closed("this memory was closed while it composed"), True
                call.notify()
            self._queue.clear()
            self._turn.notify_all()
        if self._own_loop is not None:
            self._own_loop.stop()

    # ---- threads

    def _need_open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed; open it again with Memory(url)")

    def _start_worker(self) -> None:
        """Start or wake a worker for what is queued; called with the lock held."""
        if len(self._queue) > self._idle and self._working + self._idle < MOST_THREADS:
            # Counted as idle before it runs, so that two calls in a row get two threads.
            self._idle += 1
            try:
                threading.Thread(target=self._run_worker, name="rememo-provider", daemon=True).start()
            except RuntimeError:  # the machine has no more threads
                self._idle -= 1
                raise
        elif self._queue:
            self._turn.notify()

    def _run_worker(self) -> None:
        while (call := self._next_call()) is not None:
            call.notify()
            try:
                result = call.context.run(call.function, call.argument)
            except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises is its answer
                if not self._finish(call, None, error):
                    return
                continue
            if inspect.isawaitable(result):
                # It is no async function, but what it returned is to be waited for: that is done elsewhere.
                if not self._hand_to_loop(call, result):
                    return
            elif not self._finish(call, result, None):
                return

    def _next_call(self) -> ProviderCall | None:
        with self._turn:
            call: ProviderCall | None = None
            while call is None or call.abandoned:
                # Looked at again after the wait: something may have come just when it ended.
                while not self._queue:
                    if self._closed or (not self._turn.wait(_IDLE_SECONDS) and not self._queue):
                        self._idle -= 1
                        return None
                call = self._queue.popleft()
            self._idle -= 1
            self._working += 1
            call.begun = True
            call.deadline = time.monotonic() + call.timeout
            return call

    def _finish(self, call: ProviderCall, result: Any, error: BaseException | None) -> bool:
        """Note how a call on a thread ended; False when another took the thread's place meanwhile."""
        with self._turn:
            call.result, call.error, call.ended = result, error, True
            if call.abandoned:
                self._no_longer_hanging(call)
                return False
            self._working -= 1
            self._idle += 1
        call.notify()
        return True

    def _hand_to_loop(self, call: ProviderCall, result: Awaitable[Any]) -> bool:
        """Await what a thread returned on the event loop; False when another thread took this one's place meanwhile."""
        with self._turn:
            abandoned = call.abandoned
            if abandoned:
                self._no_longer_hanging(call)
            else:
                self._working -= 1
                self._idle += 1
                call.begun = False
        if abandoned:
            _discard(result)
            return False
        try:
            self._on_loop(call, result)
        except Closed as error:
            _discard(result)
            with self._turn:
                call.error, call.ended = error, True
            call.notify()
        return True

    def _no_longer_hanging(self, call: ProviderCall) -> None:
        self._hanging[call.owner] -= 1
        if not self._hanging[call.owner]:
            del self._hanging[call.owner]

    # ---- the event loop

    def _on_loop(self, call: ProviderCall, waited: Awaitable[Any] | None = None) -> None:
        """Run an async function, or wait for what a plain one returned, on the event loop."""
        call.loop = call.context.get(caller_loop) or self._loop()
        if call.deadline is None:
            call.deadline = time.monotonic() + call.timeout

        async def run() -> None:
            with self._turn:
                abandoned, call.begun = call.abandoned, not call.abandoned
            if abandoned:
                return
            result, error = None, None
            try:
                result = await (call.function(call.argument) if waited is None else waited)
            except BaseException as raised:  # noqa: BLE001 - foreign code: whatever it raises is its answer
                error = raised
            with self._turn:
                call.result, call.error, call.ended = result, error, True
                if call.abandoned:
                    self._no_longer_hanging(call)
            call.notify()

        def begin() -> None:
            call.task = loop.create_task(run(), context=call.context)
            if waited is not None:
                call.task.add_done_callback(on_done)

        def on_done(_: object) -> None:
            _discard(waited)
            if own is not None:
                own.passed_on.pop(id(waited), None)

        loop, own = call.loop, self._own_loop
        if waited is not None and own is not None and own.loop is loop:
            own.passed_on[id(waited)] = waited
        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError as error:  # what a loop that is closed says
            on_done(None)
            with self._turn:
                call.error, call.ended = error, True
            call.notify()

    def _loop(self) -> "asyncio.AbstractEventLoop":
        own = self._own_loop
        if own is None or not own.is_responsive():
            with self._turn:
                self._need_open()
                if self._own_loop is None or self._own_loop is own:
                    if own is not None:
                        own.stop()  # as soon as it turns again
                    self._own_loop = _OwnLoop()
                own = self._own_loop
        return own.loop


class _OwnLoop:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415 - those who wait for nothing do not pay for it

        self.loop = asyncio.new_event_loop()
        self.passed_on: dict[int, object] = {}
        """What plain functions returned to be waited for here, until it is over."""
        self._pinged: threading.Event | None = None
        threading.Thread(target=self._run, name="rememo-provider-loop", daemon=True).start()

    def ping(self) -> None:
        """Ask whether it still turns: somebody on it was too slow, and may be blocking it."""
        self._pinged = answered = threading.Event()
        _soon(self.loop, answered.set)

    def is_responsive(self) -> bool:
        """Whether it turns, as far as is known."""
        return self._pinged is None or self._pinged.wait(_ANSWER_SECONDS)

    def stop(self) -> None:
        """Cancel what runs on it and end it."""
        _soon(self.loop, self.loop.stop)

    def _run(self) -> None:
        import asyncio  # noqa: PLC0415 - as above

        self.loop.run_forever()
        # Twice, for some may just have begun. A task that ignores it for that long is left running; nobody waits for it.
        for _ in range(2):
            pending = asyncio.all_tasks(self.loop)
            for task in pending:
                task.cancel()
            if pending:
                self.loop.run_until_complete(asyncio.wait(pending, timeout=_LEAVE_SECONDS))
        self.loop.close()
        # What never came to its turn; whoever comes later finds the loop closed.
        for waited in list(self.passed_on.values()):
            _discard(waited)


def _cancel(call: ProviderCall) -> None:
    def cancel() -> None:
        # One that has not begun sees for itself that nobody waits for it.
        if call.task is not None and call.begun:
            call.task.cancel()

    if call.loop is not None:
        _soon(call.loop, cancel)


def _discard(waited: object) -> None:
    """Close a coroutine that nobody will await, or Python would warn that it was never awaited."""
    if inspect.iscoroutine(waited):
        with suppress(Exception):  # foreign code, and nobody is left to report to
            waited.close()


def _soon(loop: "asyncio.AbstractEventLoop", run: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # what a loop that is closed by now says
        loop.call_soon_threadsafe(run)
