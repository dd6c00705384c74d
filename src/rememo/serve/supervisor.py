"""Workers: one server of several processes that share a listening socket, started, replaced and stopped by a supervisor.

A worker gets its configuration as the first line of its standard input, and says `ready` on its standard output. Its input
stays open as long as the supervisor lives: a worker that reads its end stops, so that none is left behind.
"""

import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Final

_READY: Final = b"ready\n"
_STOP_SECONDS: Final = 45.0
"""Seconds that a worker has to finish its requests and close, before it is killed."""
_START_SECONDS: Final = 60.0
_SHORT_LIFE: Final = 10.0
"""A worker that ended within so many seconds counts as one that cannot run."""
_MOST_FAILURES: Final = 5
"""How often a worker may end soon after its start, one time after the other, before the server gives up."""
_log = logging.getLogger("rememo.serve")


def can_share_sockets() -> bool:
    """Whether processes can share a listening socket here."""
    return os.name == "posix"


class _Worker:
    """A process that answers requests."""

    def __init__(
        self, index: int, command: Sequence[str], config: Mapping[str, Any], descriptors: Sequence[int]
    ) -> None:
        self.index = index
        self.started_at = time.monotonic()
        self.is_stopping = False
        # In a session of its own: Ctrl+C reaches the supervisor alone, which then lets the workers finish.
        self.process = subprocess.Popen(  # noqa: S603 - this program itself
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=tuple(descriptors), start_new_session=True
        )
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        self.process.stdin.write(json.dumps({**config, "index": index}).encode() + b"\n")
        self.process.stdin.flush()

    def wait_until_ready(self) -> bool:
        """Wait until it accepts requests; False when it ended before, or takes too long."""
        assert self.process.stdout is not None  # noqa: S101 - it was asked for
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            return bool(selector.select(_START_SECONDS)) and self.process.stdout.readline() == _READY

    def stop(self) -> None:
        """Let it finish its requests and end."""
        self.is_stopping = True
        if self.process.poll() is None:
            self.process.terminate()

    def join(self) -> None:
        """Wait until it has ended; it is killed when that takes too long."""
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _log.error(
                "worker %d did not finish its requests within %g seconds and is killed", self.index, _STOP_SECONDS
            )
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Supervisor:
    """Keeps a number of workers running until it is told to stop."""

    def __init__(
        self,
        command: Sequence[str],
        config: Mapping[str, Any],
        count: int,
        listening: socket.socket,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Run `command` `count` times with this configuration; `descriptors` are open files that workers inherit too."""
        self._command = command
        self._config = config
        self._count = count
        self._listening = listening
        self._descriptors = (listening.fileno(), *descriptors)
        self._events: SimpleQueue[None] = SimpleQueue()  # whose `put` a signal handler may call at any point
        """One entry for each signal, and for each end of a worker."""
        self._stopping = False
        self._reloading = False
        self._workers: list[_Worker] = []
        self._failures = 0

    def run(self) -> bool:
        """Run until SIGINT or SIGTERM; SIGHUP replaces the workers one by one. False when the workers cannot run."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._reload)
        self._workers = [self._start(index) for index in range(self._count)]
        while not self._stopping and self._failures < _MOST_FAILURES:
            self._events.get()
            if self._reloading and not self._stopping:
                self._reloading = False
                self._replace_all()
            self._restart_ended()
        # Whoever connects from now on is refused at once instead of waiting for nobody.
        self._listening.close()
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.join()
        return self._failures < _MOST_FAILURES

    # ---- inside

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True
        self._events.put(None)

    def _reload(self, _number: int, _frame: object) -> None:
        self._reloading = True
        self._events.put(None)

    def _start(self, index: int) -> _Worker:
        worker = _Worker(index, self._command, self._config, self._descriptors)

        def watch() -> None:
            worker.process.wait()
            self._events.put(None)

        threading.Thread(target=watch, name=f"rememo-worker-{index}", daemon=True).start()
        _log.info("worker %d runs as process %d", index, worker.process.pid)
        return worker

    def _restart_ended(self) -> None:
        """Start workers in the place of those that ended by themselves."""
        for place, worker in enumerate(self._workers):
            if self._stopping or worker.process.poll() is None:
                continue
            lived = time.monotonic() - worker.started_at
            self._failures = self._failures + 1 if lived < _SHORT_LIFE else 0
            _log.error("worker %d ended with status %s and is started again", worker.index, worker.process.returncode)
            worker.join()
            if self._failures >= _MOST_FAILURES:
                _log.error("workers ended %d times in a row soon after their start; the server stops", self._failures)
                return
            self._workers[place] = self._start(worker.index)

    def _replace_all(self) -> None:
        """Replace each worker by a new one; the old one finishes its requests first, and one at least answers always."""
        for place, old in enumerate(self._workers):
            new = self._start(old.index)
            if not new.wait_until_ready():
                _log.error("the new worker %d cannot run; the old ones go on", new.index)
                new.stop()
                new.join()
                return
            self._workers[place] = new
            old.stop()
            old.join()
            if self._stopping:
                return
        _log.info("all %d workers were replaced", self._count)


def read_config() -> dict[str, Any]:
    """Return the configuration that the supervisor gave this worker."""
    with open(0, "rb", buffering=0, closefd=False) as lines:
        return json.loads(lines.readline())


def report_ready() -> None:
    """Tell the supervisor that this worker accepts requests."""
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()


def stop_with_supervisor() -> None:
    """Stop this worker in good order when the supervisor is gone."""

    def watch() -> None:
        while os.read(0, 1):  # not `sys.stdin`, whose lock the end of the interpreter would wait for
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="rememo-supervisor", daemon=True).start()
