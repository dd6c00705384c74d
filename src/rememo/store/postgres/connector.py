"""How connections to a server are opened: straight, or through a pooler such as PgBouncer.

A pooler that lends a connection of the server for one transaction at a time hands on nothing that a connection was told when it
began, and what was prepared on it is not there in the next transaction. So there nothing is prepared, and each transaction says
by itself what it needs. Straight to the server, connections are told once.
"""

import re
from typing import Any, Final

import psycopg

from rememo.store.postgres.address import PostgresAddress

# Statements are made for the indexes they use, which a planner that has not counted the rows yet would pass over.
# Compiling them would cost more than to run them. A client that is cut off in the middle of a write must not hold its
# tenant's row for ever.
SETTINGS: Final = {
    "enable_seqscan": "off",
    "jit": "off",
    "TimeZone": "UTC",
    "idle_in_transaction_session_timeout": "60s",
}
# Statements see what others committed before them, whatever the server's default is: writers rely on it.
_ISOLATION: Final = {"default_transaction_isolation": "read committed"}
# Where it is missing, what a connection is told when it begins does not arrive.
_MARK: Final = "rememo.told"
_ARRIVED: Final = "SELECT current_setting(%s, true)"
_REFUSED: Final = re.compile("unsupported startup parameter")
_OPTION: Final = re.compile(r"(?:-c\s*|--)([A-Za-z_][\w.-]*)=((?:\\.|[^\\\s])*)")
_SPECIAL: Final = re.compile(r"([\\\s])")
_ESCAPED: Final = r"\\\1"
# A server that is gone without a word is noticed after half a minute, not after hours.
_LINE: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_PREPARED: Final = 300


class Connector:
    """Opens the connections of one process. The first tells whether there is a pooler between."""

    def __init__(self, address: PostgresAddress, settings: dict[str, str], *, name: str = "rememo") -> None:
        self._address = address
        self._settings = settings
        self._name = name
        self.adapters: Any = None
        """How values are turned, once the type of vectors is known."""
        self.pooled = False
        """Whether connections are lent for a transaction at a time."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the driver is given beside the address."""
        line = {name: value for name, value in _LINE.items() if name not in self._address.named}
        options = {"prepare_threshold": None} if self.pooled else {"options": self._options()}
        return {
            "autocommit": True,
            "client_encoding": "utf8",
            "application_name": self._name,
            "context": self.adapters,
            **options,
            **line,
        }

    def _options(self) -> str:
        own = {**self._settings, _MARK: "yes"}
        return " ".join((_to_options(own), self._address.options, _to_options(_ISOLATION)))

    @property
    def transaction_settings(self) -> dict[str, str]:
        """What each transaction has to say by itself; nothing where connections were told."""
        return {**self._settings, **_parse(self._address.options)} if self.pooled else {}

    def first(self) -> "psycopg.Connection[Any]":
        """Open a connection, and find out whether it is a pooler's."""
        try:
            connection = self.connect()
        except psycopg.OperationalError as error:
            if self.pooled or not _REFUSED.search(str(error)):
                raise
            self.pooled = True
            return self.connect()
        row = None if self.pooled else connection.execute(_ARRIVED, (_MARK,), prepare=False).fetchone()
        if row is None or row[0] == "yes":
            return connection
        # The pooler was told to pass over what it does not know.
        connection.close()
        self.pooled = True
        return self.connect()

    def connect(self) -> "psycopg.Connection[Any]":
        """Open a connection; each statement on it is a transaction of its own unless one is begun."""
        connection = psycopg.connect(self._address.conninfo, **self.arguments)
        connection.prepared_max = _PREPARED
        return connection


def _to_options(settings: dict[str, str]) -> str:
    return " ".join(f"-c {name}={_SPECIAL.sub(_ESCAPED, value)}" for name, value in settings.items())


def _parse(options: str) -> dict[str, str]:
    """Return the settings in what stood behind `options=` in an address."""
    return {name.replace("-", "_"): re.sub(r"\\(.)", r"\1", value) for name, value in _OPTION.findall(options)}
