"""Workers: one server of several processes that share a listening socket, started, replaced and stopped by a supervisor.

A worker gets its configuration as the first line of its standard input, and says `ready` on its standard output. Its input
stays open as long as the supervisor lives: a worker that reads its end stops, so that none is left behind.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

_READY: Final = b"ready\n"
_STOP_SECONDS: Final = 45.0
"""Seconds that workers have to finish their requests and close, before they are killed."""
_START_SECONDS: Final = 60.0
_SHORT_LIFE: Final = 10.0
"""A worker that ended within so many seconds counts as one that cannot run."""
_MOST_FAILURES: Final = 5
"""How often workers may end soon after their start, one time after the other, before the server gives up."""
_LOOK_SECONDS: Final = 1.0
"""How often it is looked who takes too long."""
_log = logging.getLogger("rememo.serve")


def can_share_sockets() -> bool:
    """Whether processes can share a listening socket here."""
    return os.name == "posix"


class _Worker:
    """A process that answers requests."""

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        index: int,
        command: Sequence[str],
        config: Mapping[str, Any],
        descriptors: Sequence[int],
        environment: Mapping[str, str],
        tell: Callable[[], None],
    ) -> None:
        """Start it; `tell` is called from another thread when it is ready, and when it has ended."""
        self.index = index
        self.started_at = time.monotonic()
        self.is_ready = False
        self._stopped_at: float | None = None
        # In a session of its own: Ctrl+C reaches the supervisor alone, which then lets the workers finish.
        self.process = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=tuple(descriptors),
            env=environment,
            start_new_session=True,
        )
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        with suppress(BrokenPipeError):  # it has ended already, which is seen like any other end
            self.process.stdin.write(json.dumps({**config, "index": index}).encode() + b"\n")
            self.process.stdin.flush()
        threading.Thread(target=self._watch, args=(tell,), name=f"rememo-worker-{index}", daemon=True).start()

    def _watch(self, tell: Callable[[], None]) -> None:
        assert self.process.stdout is not None  # noqa: S101 - it was asked for
        self.is_ready = self.process.stdout.readline() == _READY
        tell()
        self.process.wait()
        tell()

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """Let it finish its requests and end."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self.send_signal(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        self.process.send_signal(number)

    def kill_if_late(self) -> None:
        """Kill it when it takes too long to start or to end."""
        now = time.monotonic()
        if self._stopped_at is not None and now - self._stopped_at > _STOP_SECONDS:
            _log.error("worker %d did not end within %g seconds and is killed", self.index, _STOP_SECONDS)
            self.process.kill()

    @property
    def is_late(self) -> bool:
        """Whether it takes too long to start."""
        return not self.is_ready and time.monotonic() - self.started_at > _START_SECONDS

    def close(self) -> None:
        """Let go of an ended process."""
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


class Supervisor:
    """Keeps a number of workers running until it is told to stop."""

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        command: Sequence[str],
        count: int,
        listening: socket.socket,
        descriptors: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        forget: Callable[[int], None] = lambda _: None,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `command` `count` times with this environment; signals are taken from now on.

        `descriptors` are open files that workers inherit too. `forget` is called with the id of each process that has ended,
        and `ready` when the first worker accepts requests.
        """
        self._command = command
        self._config: Mapping[str, Any] = {}
        self._listening = listening
        self._descriptors = (listening.fileno(), *descriptors)
        self._environment = os.environ if environment is None else environment
        self._forget = forget
        self._ready: Callable[[], None] | None = ready
        self._events: SimpleQueue[None] = SimpleQueue()  # whose `put` a signal handler may call at any point
        """One entry for each signal, and for each worker that is ready or has ended."""
        self._interrupts = 0
        self._stopping = False
        self._reloading = False
        self._had_terminal = has_terminal()
        self._workers: list[_Worker | None] = [None] * count
        """None in a place whose worker could not be started."""
        self._is_replacing = False
        self._pending: deque[int] = deque()
        """The places whose workers are still to be replaced."""
        self._successor: _Worker | None = None
        """Takes the first of these places when it is ready."""
        self._leaving: _Worker | None = None
        """Was replaced, and finishes its requests."""
        self._failures = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._reload)

    def run(self, config: Mapping[str, Any]) -> bool:
        """Run workers until SIGINT or SIGTERM; SIGHUP replaces them one by one. False when they cannot run."""
        self._config = config
        while not self._stopping and self._failures < _MOST_FAILURES:
            self._start_missing()
            self._go_on_replacing()
            self._wait()
            self._collect_ended()
            if self._ready is not None and any(worker is not None and worker.is_ready for worker in self._workers):
                self._ready()
                self._ready = None
        # Whoever connects when the workers have closed theirs is refused at once instead of waiting for nobody.
        self._listening.close()
        self._stop_all()
        return self._failures < _MOST_FAILURES

    # ---- signals

    def _stop(self, number: int, _frame: object) -> None:
        self._stopping = True
        self._interrupts += number == signal.SIGINT
        self._events.put(None)

    def _reload(self, _number: int, _frame: object) -> None:
        if self._had_terminal and not has_terminal():
            self._stopping = True  # its window was closed
        self._reloading = True
        self._events.put(None)

    # ---- the loop

    def _wait(self) -> None:
        """Wait until something has happened, or it is time to look again."""
        with suppress(Empty):
            self._events.get(timeout=_LOOK_SECONDS)

    def _start_missing(self) -> None:
        for place, worker in enumerate(self._workers):
            if worker is None and self._failures < _MOST_FAILURES and not self._stopping:
                self._workers[place] = self._start(place)

    def _start(self, index: int) -> _Worker | None:
        """Start a worker; None when the process cannot be made."""
        try:
            worker = _Worker(
                index, self._command, self._config, self._descriptors, self._environment, lambda: self._events.put(None)
            )
        except OSError as error:
            _log.error("worker %d cannot be started: %s", index, error)
            self._failures += 1
            return None
        _log.info("worker %d runs as process %d", index, worker.process.pid)
        return worker

    def _collect_ended(self) -> None:
        """Let go of workers that have ended; their places are empty then."""
        if self._leaving is not None:
            self._leaving.kill_if_late()
            if self._leaving.has_ended:
                self._let_go(self._leaving)
                self._leaving = None
        for place, worker in enumerate(self._workers):
            if worker is None or not worker.has_ended or self._stopping:
                continue
            self._let_go(worker)
            self._workers[place] = None
            lived = time.monotonic() - worker.started_at
            self._failures = self._failures + 1 if lived < _SHORT_LIFE else 0
            status = worker.process.returncode
            if self._failures < _MOST_FAILURES:
                _log.error("worker %d ended with status %s and is started again", worker.index, status)
            else:
                _log.error("workers ended %d times in a row soon after their start; the server stops", self._failures)
                return

    def _let_go(self, worker: _Worker) -> None:
        worker.close()
        self._forget(worker.process.pid)

    def _go_on_replacing(self) -> None:
        """Replace each worker by a new one; the old one finishes its requests, and one at least accepts them always."""
        if self._leaving is not None:
            return
        if not self._pending and self._is_replacing:
            self._is_replacing = False
            _log.info("all %d workers were replaced", len(self._workers))
        if not self._pending and self._reloading:
            self._reloading, self._is_replacing = False, True
            self._pending.extend(range(len(self._workers)))
        if not self._pending:
            return
        place = self._pending[0]
        if self._successor is None:
            failures = self._failures
            self._successor = self._start(place)
            self._failures = failures  # the old ones run
            if self._successor is None:
                self._give_up_replacing()
        elif self._successor.is_ready:
            old, self._workers[place], self._successor = self._workers[place], self._successor, None
            self._pending.popleft()
            if old is not None:
                old.stop()
                self._leaving = old
        elif self._successor.has_ended or self._successor.is_late:
            _log.error("the new worker %d cannot run; the old ones go on", place)
            self._successor.process.kill()
            self._let_go(self._successor)
            self._give_up_replacing()

    def _give_up_replacing(self) -> None:
        self._is_replacing = False
        self._pending.clear()
        self._successor = None

    def _stop_all(self) -> None:
        """Let all workers finish, and wait for them; further interrupts cut requests off."""
        running = [worker for worker in (*self._workers, self._successor, self._leaving) if worker is not None]
        for worker in running:
            worker.stop()
        passed_on = 1
        while running := [worker for worker in running if not worker.has_ended]:
            if self._interrupts > passed_on:
                passed_on = self._interrupts
                for worker in running:
                    worker.send_signal(signal.SIGINT)
            for worker in running:
                worker.kill_if_late()
            self._wait()
        for worker in (*self._workers, self._successor, self._leaving):
            if worker is not None:
                self._let_go(worker)


def has_terminal() -> bool:
    """Whether this process has a terminal by which it can be interrupted."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


# ---- in a worker

_report: int = -1


def read_config() -> dict[str, Any]:
    """Return the configuration that the supervisor gave this worker; what it prints goes to the log from now on."""
    global _report  # noqa: PLW0603 - the standard output of the process
    with open(0, "rb", buffering=0, closefd=False) as lines:
        config = json.loads(lines.readline())
    # Nobody reads that pipe but for one line: whatever a hook or a package prints there would fill it.
    _report = os.dup(1)
    os.dup2(2, 1)
    return config


def report_ready() -> None:
    """Tell the supervisor that this worker accepts requests."""
    os.write(_report, _READY)
    os.close(_report)


def stop_with_supervisor(forget: Callable[[], None]) -> None:
    """Stop this worker in good order when the supervisor is gone; `forget` is called first."""

    def watch() -> None:
        while os.read(0, 1):  # not `sys.stdin`, whose lock the end of the interpreter would wait for
            pass
        forget()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="rememo-supervisor", daemon=True).start()
