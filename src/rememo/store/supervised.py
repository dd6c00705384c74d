"""A server process that ends with the process that started it, even if that is killed."""

import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path

from rememo.errors import StorageError

_PROGRAM = Path(__file__).parent / "supervisor.py"


class SupervisedServer:
    """A server in a folder of its own, run by a supervisor; its output goes to the file `log` there.

    When the process that made this ends without having stopped the server, the supervisor stops it and removes the
    folder. A fork of the process does not count: it keeps no server alive.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, *, stop_signal: int, owner: tuple[int, int] | None = None
    ) -> None:
        """Start it as `owner` (user and group) where one is given. Raises `StorageError` if it cannot be run."""
        user, group = ("-", "-") if owner is None else map(str, owner)
        arguments = [str(folder), user, group, str(int(stop_signal)), *command]
        self._log = folder / "log"
        with self._log.open("ab") as log:
            self._supervisor = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", str(_PROGRAM), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                # A terminal sends its interrupts to a whole session; who ends the server is the program.
                start_new_session=True,
            )
        _running.add(self)
        output = self._supervisor.stdout
        number = output.readline() if output is not None else b""
        if output is not None:
            output.close()
        if not number:
            self._let_go()
            raise StorageError(f"{command[0]} cannot be run: {self.log()}")
        self.pid = int(number)
        """The server's own process id."""

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._supervisor.poll() is None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.is_running():
            os.kill(self.pid, number)

    def stop(self, number: int, timeout: float) -> None:
        """Send it a signal that ends it and wait until it is gone. Raises `StorageError` if it goes on."""
        self.send_signal(number)
        try:
            self._supervisor.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise StorageError(f"the server {self.pid} did not stop within {timeout:g} s: {self.log()}") from error
        self._let_go()

    def log(self) -> str:
        """Return what it has written."""
        return self._log.read_text(encoding="utf-8", errors="replace").strip() or "it left no log"

    def _let_go(self) -> None:
        self.close_pipe()
        self._supervisor.wait()
        _running.discard(self)

    def close_pipe(self) -> None:
        """Close this process's end of the pipe by which the supervisor knows that the server is wanted."""
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()


_running: weakref.WeakSet[SupervisedServer] = weakref.WeakSet()


def _forget_in_child() -> None:
    for server in list(_running):
        server.close_pipe()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
