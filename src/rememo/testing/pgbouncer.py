"""PgBouncer before a PostgreSQL server: connections lent for one transaction at a time, each from another session in turn."""

import os
import shutil
import signal
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Final
from urllib.parse import quote

from psycopg import pq

from rememo.errors import StorageError
from rememo.runtime.closing import Closing
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.supervised import SupervisedServer

PROGRAM: Final = "REMEMO_TEST_PGBOUNCER"
_PORT: Final = 6432
_LONGEST: Final = 30.0
# One session after the other is used: whatever a transaction left behind on one would be found by another client.
_SETTINGS: Final = """[databases]
* = host={server} port=5432 user={user}

[pgbouncer]
pool_mode = transaction
auth_type = any
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
max_client_conn = 500
default_pool_size = 20
server_round_robin = 1
{more}
"""


class PgBouncer(Closing):
    """A pooler in transaction mode before a server of one's own, on a socket in its folder; it is gone when this is closed."""

    def __init__(
        self,
        server: EmbeddedPostgres,
        *,
        program: str | None = None,
        user: str = "postgres",
        settings: tuple[str, ...] = (),
    ) -> None:
        """Start one whose connections to the server are those of a user."""
        program, self._folder = program or find_pgbouncer(), Path(mkdtemp(prefix="pgbouncer-", dir=server.folder))
        file = self._folder / "pgbouncer.ini"
        more = "\n".join(settings)
        text = _SETTINGS.format(server=server.folder, folder=self._folder, port=_PORT, user=user, more=more)
        file.write_text(text, encoding="utf-8")
        if server.owner is not None:
            os.chown(self._folder, *server.owner)
        self._server = SupervisedServer(
            (program, str(file)), self._folder, stop_signal=signal.SIGQUIT, owner=server.owner
        )
        until = monotonic() + _LONGEST
        while pq.PGconn.ping(f"host={self._folder} port={_PORT} user=postgres dbname=postgres".encode()) != pq.Ping.OK:
            if monotonic() > until or not self._server.is_running():
                raise StorageError(f"PgBouncer does not start: {self._server.log()}")
            sleep(0.01)

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database of the server, through the pooler."""
        return f"postgresql://postgres@/{quote(database)}?host={quote(str(self._folder), safe='')}&port={_PORT}"

    def close(self) -> None:
        """Stop it; closing twice is harmless."""
        self._server.stop(signal.SIGQUIT, _LONGEST)
        shutil.rmtree(self._folder, ignore_errors=True)


def find_pgbouncer() -> str:
    """Return the program: what `REMEMO_TEST_PGBOUNCER` names, or the one that is installed."""
    folders = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"))
    program = os.environ.get(PROGRAM) or shutil.which("pgbouncer", path=folders)
    if program is None or not Path(program).exists():
        raise StorageError("there is no pgbouncer: install it (`apt-get install pgbouncer` on Debian)")
    return program
