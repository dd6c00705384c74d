"""The program that runs a server on behalf of another process, and ends it when that process is gone.

`python supervisor.py FOLDER USER GROUP SIGNAL COMMAND…` runs the command in the folder and writes its process id to
standard output. Standard input is a pipe whose other end only the process that wants the server holds: when the pipe
ends, that process ended, by whatever means, and the server is stopped with the signal and the folder removed.
`USER` and `GROUP` are numbers, or `-` for those that it runs as. It needs the standard library only.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_PATIENCE = 10.0
"""Seconds that a server has to stop by itself."""


def main() -> int:
    """Run the command until it ends or standard input does; returns its exit code."""
    folder, user, group, stop_signal, *command = sys.argv[1:]
    # Reported by a byte in a pipe, so that the end of the server and the end of the program are awaited together.
    ended, report = os.pipe()
    os.set_blocking(report, False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    signal.set_wakeup_fd(report)
    server = subprocess.Popen(  # noqa: S603 - what the embedded servers ask for
        command,
        cwd=folder,
        user=None if user == "-" else int(user),
        group=None if group == "-" else int(group),
        extra_groups=None if user == "-" else (),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=lambda: _end_with_parent(int(stop_signal)),  # noqa: PLW1509 - there are no other threads
    )
    os.write(sys.stdout.fileno(), f"{server.pid}\n".encode())
    while server.poll() is None:
        ready, _, _ = select.select([sys.stdin, ended], [], [])
        if sys.stdin in ready:
            _stop(server, int(stop_signal))
            shutil.rmtree(folder, ignore_errors=True)
            break
        os.read(ended, 64)
    return server.returncode if server.returncode >= 0 else 128 - server.returncode


def _stop(server: subprocess.Popen[bytes], stop_signal: int) -> None:
    server.send_signal(stop_signal)
    server.send_signal(signal.SIGCONT)  # one that was halted would not hear it
    try:
        server.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _end_with_parent(stop_signal: int) -> None:
    """Let Linux stop the server should this program be killed too; elsewhere only the pipe does it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, stop_signal)


if __name__ == "__main__":
    sys.exit(main())
