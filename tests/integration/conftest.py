"""Real processes for the tests of this folder: started by name, never left behind."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
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
                # The machine's own settings must not decide what these tests show.
                env={name: value for name, value in os.environ.items() if not name.startswith("REMEMO_")},
            )
            # A worker that hangs ends by this, and the reader of its lines sees the end instead of waiting for ever.
            watchdog = threading.Timer(LONGEST, process.kill)
            watchdog.start()
            stack.callback(_end, process, watchdog)
            return process

        yield run


def _end(process: "subprocess.Popen[str]", watchdog: threading.Timer) -> None:
    watchdog.cancel()
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
    watchdog.join()
