"""The supervisor of a server's processes, with workers that do nothing."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.serve.test_command import LONGEST
from tests.serve.test_workers import REPLACED, RUNS, LoggedProcess

_IDLE = """
import signal, sys, threading, os
from rememo.serve import supervisor
config = supervisor.read_config()
supervisor.stop_with_supervisor(lambda: os._exit(1))
print("x" * 100_000, flush=True)  # more than a pipe holds that nobody reads
def say(text):
    os.write(2, f"worker {config['index']} {text}\\n".encode())  # in one piece
over = threading.Event()
def end(number, frame):
    say("got " + signal.Signals(number).name)
    if number == signal.SIGINT or not os.path.exists(config["folder"] + "/hang"):
        over.set()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, end)
if not os.path.exists(config["folder"] + "/never"):
    supervisor.report_ready()
say("waits")
while not over.wait(60):
    pass
"""
_SUPERVISE = """
import logging, os, socket, sys
from rememo.serve import supervisor
logging.basicConfig(level=logging.INFO, format="%(message)s")
folder, program, seconds, *terminal = sys.argv[1:]
for path in terminal:
    os.open(path, os.O_RDWR)  # of a new session: from now on it is its terminal
supervisor._STOP_SECONDS = float(seconds)
python = folder + "/python"
os.symlink(sys.executable, python)
listening = socket.create_server(("127.0.0.1", 0))
workers = supervisor.Supervisor([python, "-c", program], 2, listening)
sys.exit(0 if workers.run({"folder": folder}) else 1)
"""
_WAITS = re.compile(r"worker (\d) waits")


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[Callable[..., LoggedProcess]]:
    """Run a supervisor of two workers that do nothing, and wait until both run."""
    with ExitStack() as stack:

        def start(seconds: float = 60.0, *terminal: str) -> LoggedProcess:
            command = [sys.executable, "-c", _SUPERVISE, str(tmp_path), _IDLE, str(seconds), *terminal]
            # Workers start by a link to the interpreter, which does not lead to its packages.
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            supervised = stack.enter_context(closing(LoggedProcess(command, env=environment)))
            for _ in range(2):
                supervised.wait_for(_WAITS)
            while len(supervised.pids) < 2:  # a worker may be quicker than the line that tells of it
                supervised.wait_for(RUNS)
            return supervised

        yield start


def test_a_stop_during_a_reload_waits_for_nobody_who_starts(idle: Callable[..., LoggedProcess], tmp_path: Path):
    supervised = idle()
    (tmp_path / "never").touch()
    supervised.process.send_signal(signal.SIGHUP)
    supervised.wait_for(_WAITS)
    supervised.process.send_signal(signal.SIGTERM)
    for _ in range(3):
        supervised.wait_for(re.compile("got SIGTERM"))
    assert supervised.process.wait(LONGEST) == 0


def test_a_worker_that_ends_during_a_reload_is_started_again(idle: Callable[..., LoggedProcess], tmp_path: Path):
    supervised = idle()
    (tmp_path / "never").touch()
    supervised.process.send_signal(signal.SIGHUP)
    successor = int(supervised.wait_for(RUNS)[1])
    supervised.wait_for(_WAITS)
    (tmp_path / "never").unlink()
    os.kill(supervised.pids[0], signal.SIGKILL)
    supervised.wait_for(re.compile("status -9 and is started again"))
    supervised.wait_for(_WAITS)
    os.kill(successor, signal.SIGKILL)
    supervised.wait_for(re.compile("cannot run; the old ones go on"))
    supervised.process.send_signal(signal.SIGHUP)
    supervised.wait_for(REPLACED)


def test_a_reload_without_a_program_leaves_the_workers_running(idle: Callable[..., LoggedProcess], tmp_path: Path):
    supervised = idle()
    (tmp_path / "python").rename(tmp_path / "moved")
    supervised.process.send_signal(signal.SIGHUP)
    supervised.wait_for(re.compile("worker 0 cannot be started"))
    (tmp_path / "moved").rename(tmp_path / "python")
    supervised.process.send_signal(signal.SIGHUP)
    supervised.wait_for(REPLACED)


def test_a_second_interrupt_is_passed_on_to_workers_that_do_not_end(idle: Callable[..., LoggedProcess], tmp_path: Path):
    supervised = idle()
    (tmp_path / "hang").touch()
    supervised.process.send_signal(signal.SIGINT)
    for _ in range(2):
        supervised.wait_for(re.compile("got SIGTERM"))
    supervised.process.send_signal(signal.SIGINT)
    for _ in range(2):
        supervised.wait_for(re.compile("got SIGINT"))
    assert supervised.process.wait(LONGEST) == 0


def test_workers_that_do_not_end_are_killed_together(idle: Callable[..., LoggedProcess], tmp_path: Path):
    supervised = idle(1.0)
    (tmp_path / "hang").touch()
    supervised.process.send_signal(signal.SIGTERM)
    for _ in range(2):
        supervised.wait_for(re.compile("did not end within 1 seconds and is killed"))
    assert supervised.process.wait(LONGEST) == 0


def test_a_server_ends_with_its_terminal(idle: Callable[..., LoggedProcess]):
    window, terminal = os.openpty()
    supervised = idle(60.0, os.ttyname(terminal))
    supervised.process.send_signal(signal.SIGHUP)
    supervised.wait_for(REPLACED)
    os.close(terminal)
    os.close(window)
    for _ in range(2):
        supervised.wait_for(re.compile("got SIGTERM"))
    assert supervised.process.wait(LONGEST) == 0
