"""Real processes for the tests of this folder: started by name, never left behind."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("worker.py")
LONGEST = 100.0


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start `worker.py` with a command; its lines come out of stdout, and whatever hangs is killed."""
    with ExitStack() as stack:

        def run(command: str, *arguments: object) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-W", "error", str(WORKER), command, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                start_new_session=True,
                # The machine's own settings must not decide what these tests show.
                env={name: value for name, value in os.environ.items() if not name.startswith("REMEMO_")},
            )
            # A worker that hangs ends by this, and the reader of its lines sees the end instead of waiting for ever.
            watchdog = threading.Timer(LONGEST, _kill, [process])
            watchdog.start()
            stack.callback(_end, process, watchdog)
            return process

        yield run


def _end(process: "subprocess.Popen[str]", watchdog: threading.Timer) -> None:
    watchdog.cancel()
    _kill(process)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
    watchdog.join()


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a worker with the children it may have forked."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
