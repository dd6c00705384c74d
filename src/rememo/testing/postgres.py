"""Empty databases for tests: on a server that is started for them, or on yours."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from rememo.store.postgres.address import parse_address
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.embedded import EmbeddedPostgres

VARIABLE = "REMEMO_TEST_POSTGRES"
_TABLES = (
    "records",
    "words",
    "vectors",
    "models",
    "progress",
    "snapshots",
    "keys",
    "jobs",
    "kv",
    "floors",
    "audit",
    "trails",
    "vault",
    "erasures",
    "erased",
    "tenants",
)
_EMPTY_TABLES = "; ".join(f"DELETE FROM rememo.{table}" for table in _TABLES)
# Nobody pulls the plug on it; what survives that is the server's own promise.
_SETTINGS = (
    "fsync = off",
    "full_page_writes = off",
    "max_connections = 200",
    "autovacuum = off",
    "shared_buffers = 64MB",
)


class DatabasePool:
    """A pool of databases with an empty store; used ones are emptied and lent again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._prefix = f"rememo_test_{os.getpid()}"
        self._numbers = count()
        self._created: list[str] = []
        self._clean: list[str] = []
        self._template = f"{self._prefix}_template"
        self._run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._template)))
        PostgresDatabase(parse_address(self.url(self._template)), durability="fast", busy_timeout=30).close()

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement)

    def url(self, name: str) -> str:
        """Return the address of a database on the same server."""
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    def lend(self) -> str:
        """Return the name of a database with an empty store."""
        if self._clean:
            return self._clean.pop()
        name = f"{self._prefix}_{next(self._numbers)}"
        self._run(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(self._template))
        )
        self._created.append(name)
        return name

    def take_back(self, name: str) -> None:
        """Empty a store again; nobody may have it open."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(_EMPTY_TABLES)
        self._clean.append(name)

    def close(self) -> None:
        """Remove all of them."""
        for name in (*self._created, self._template):
            self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def lend_databases() -> Generator[DatabasePool]:
    """Give databases on the server that `REMEMO_TEST_POSTGRES` names, or on one that is started for it."""
    address: Any = os.environ.get(VARIABLE)
    if address:
        databases = DatabasePool(address)
        yield databases
        databases.close()
    else:
        with EmbeddedPostgres(settings=_SETTINGS) as server:
            yield DatabasePool(server.url())
