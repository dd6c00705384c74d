"""The client of Redis: the connections to one Redis server, what it is doing, and scripts run on it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.exceptions import NoScriptError
from redis.retry import Retry

from rememo.errors import Closed, Unavailable
from rememo.model.health import Health
from rememo.runtime.locks import ForkLock
from rememo.store.redis.address import RedisAddress
from rememo.store.redis.errors import translate
from rememo.store.redis.scripts import Script

T = TypeVar("T")
Scalar = str | bytes | int

_SLOW = 0.25
_HOLD_OFF = 1.0
_log = logging.getLogger("rememo.redis")


class RedisClient:
    """One server, or a cluster of them; thread-safe, and a forked child makes connections of its own.

    Whoever cannot reach it gets `Unavailable`; it is tried again with the next call, so it comes back by itself.
    """

    def __init__(self, address: RedisAddress, *, name: str, without: str) -> None:
        """Connect; one that cannot be reached raises at once. `without` says what goes on when it is lost."""
        self._address = address
        self._name = name
        self._without = without
        self._lock = ForkLock()
        self._closed = False
        self._opened = False
        self._lost: str | None = None
        self._since: datetime | None = None
        self._failures = 0
        self._rest_until = 0.0
        # Nothing is sent twice behind our back: a write that was done and not answered would be done again.
        self._arguments: dict[str, Any] = {**address.arguments, "retry": Retry(NoBackoff(), 0)}
        # hiredis or not, RESP2 reads alike on every server.
        self._client: Any = redis.Redis(**self._arguments, protocol=2)
        try:
            if self._asked(lambda client: client.info("cluster"), wrote=False).get("cluster_enabled"):
                self._client.close()
                self._client = self._cluster()
        except BaseException:
            self._client.close()
            raise
        self._opened = True

    def _cluster(self) -> Any:
        arguments = {name: value for name, value in self._arguments.items() if name != "db"}
        try:
            return RedisCluster(**arguments, protocol=2)
        except redis.RedisError as error:
            raise translate(error, self._address.shown, wrote=False) from None

    @property
    def prefix(self) -> str:
        """What all names of keys begin with."""
        return self._address.prefix

    # ---- asking

    def read(self, ask: Callable[[Any], T]) -> T:
        """Return what the server answers; a connection that broke is made anew once."""
        try:
            return self._asked(ask, wrote=False)
        except Unavailable:
            if self._rest_until:
                raise
            return self._asked(ask, wrote=False)

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Scalar], *, wrote: bool) -> Any:
        """Run a script; one that only reads is run again on a new connection when the first broke."""

        def ask(client: Any) -> Any:
            try:
                return client.evalsha(script.sha, len(keys), *keys, *arguments)
            except NoScriptError:
                return client.eval(script.text, len(keys), *keys, *arguments)

        return self._asked(ask, wrote=True) if wrote else self.read(ask)

    def _asked(self, ask: Callable[[Any], T], *, wrote: bool) -> T:
        if self._closed:
            raise Closed("this memory was closed; open it again")
        begun = monotonic()
        if begun < self._rest_until:
            raise Unavailable(f"{self._lost}; it is tried again in a moment")
        try:
            answer = ask(self._client)
        except Exception as error:
            if self._closed:
                raise Closed("this memory was closed; open it again") from None
            translated = translate(error, self._address.shown, wrote=wrote)
            if translated is error:
                raise
            if isinstance(translated, Unavailable):
                self._lose(translated, slow=monotonic() - begun > _SLOW)
            raise translated from None
        if self._lost is not None:
            self._find()
        return answer

    def _lose(self, error: Unavailable, *, slow: bool) -> None:
        with self._lock:
            first = self._lost is None
            self._lost = str(error)
            self._failures += 1
            # One that lets us wait is left alone for a moment, so that not every call waits.
            self._rest_until = monotonic() + _HOLD_OFF if slow else 0.0
            if first:
                self._since = datetime.now(UTC)
        if first and self._opened:  # whoever opens it is told by the error alone
            _log.warning("%s; %s", error, self._without)

    def _find(self) -> None:
        with self._lock:
            if self._lost is None:
                return
            self._lost, self._since, self._rest_until = None, None, 0.0
        _log.warning("%s is back", self._address.shown)

    # ---- its state

    def health(self) -> Health:
        """Return how it is, without asking it."""
        with self._lock:
            lost = self._lost
            return Health(
                name=self._name,
                place=self._address.shown,
                ok=lost is None,
                says="" if lost is None else f"{lost}; {self._without}",
                since=self._since,
                failures=self._failures,
            )

    def close(self) -> None:
        """Let go of the connections; closing twice is harmless."""
        self._closed = True
        self._client.close()

    def scan(self, verb: Literal["hscan", "zscan"], key: str, match: bytes | None = None) -> Iterator[list[bytes]]:
        """Give the names in a hash or sorted set, page by page and each once; others are served in between."""
        cursor: int | None = None
        seen: set[bytes] = set()
        while cursor != 0:
            cursor, items = self.read(_scanning(verb, key, cursor or 0, match))
            page = [name for name in (item if verb == "hscan" else item[0] for item in items) if name not in seen]
            seen.update(page)
            if page:
                yield page


def _scanning(verb: str, key: str, cursor: int, match: bytes | None) -> Callable[[Any], Any]:
    return lambda client: getattr(client, verb)(key, cursor, match=match, count=500)
