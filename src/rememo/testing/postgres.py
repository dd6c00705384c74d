"""Empty stores for tests: databases on a server that is started for them or on yours, or schemas in a database of yours."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from rememo.store.migrations import MigrationOptions
from rememo.store.postgres.address import parse_address
from rememo.store.postgres.citus import has_citus
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.postgres.upgrade import upgrade

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
_EMPTY_TABLES = "; ".join(f"DELETE FROM {{schema}}.{table}" for table in _TABLES)
_IN_SCHEMAS = "REMEMO_TEST_POSTGRES_SCHEMAS"
_WORKERS = "SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards"
# Nobody pulls the plug on it; what survives that is the server's own promise.
SETTINGS = (
    "fsync = off",
    "full_page_writes = off",
    "max_connections = 200",
    "autovacuum = off",
    "shared_buffers = 64MB",
)


class StorePool(ABC):
    """A pool of places with an empty store, each known by a name; used ones are emptied and lent again."""

    def __init__(self) -> None:
        self.prefix = f"rememo_test_{os.getpid()}"
        self._numbers = count()
        self._created: list[str] = []
        self._clean: list[str] = []

    @abstractmethod
    def url(self, name: str) -> str:
        """Return the address of a place."""

    @abstractmethod
    def _create(self, name: str) -> None:
        """Make a place with an empty store."""

    @abstractmethod
    def _empty(self, name: str) -> None:
        """Take everything out of a store."""

    @abstractmethod
    def _drop(self, name: str) -> None:
        """Remove a place."""

    def lend(self) -> str:
        """Return the name of a place with an empty store."""
        if self._clean:
            return self._clean.pop()
        name = f"{self.prefix}_{next(self._numbers)}"
        self._create(name)
        self._created.append(name)
        return name

    def take_back(self, name: str) -> None:
        """Empty a store again; nobody may have it open."""
        self._empty(name)
        self._clean.append(name)

    def close(self) -> None:
        """Remove all of them."""
        for name in self._created:
            self._drop(name)


class DatabasePool(StorePool):
    """Databases of one server, made from a template."""

    def __init__(self, url: str, *, through: Callable[[str], str] | None = None) -> None:
        """Make databases at an address; `through` returns the address by which one of them is used."""
        super().__init__()
        self._url, self._through = url, through
        self._template = f"{self.prefix}_template"
        self._run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._template)))
        PostgresDatabase(parse_address(self._direct(self._template)), durability="fast", busy_timeout=30).close()

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement)

    def _direct(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    def url(self, name: str) -> str:
        """Return the address of a database on the same server."""
        return self._direct(name) if self._through is None else self._through(name)

    def _create(self, name: str) -> None:
        template = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._run(template.format(sql.Identifier(name), sql.Identifier(self._template)))

    def _empty(self, name: str) -> None:
        _empty_tables(self._direct(name), "rememo")

    def _drop(self, name: str) -> None:
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def close(self) -> None:
        """Remove all of them."""
        super().close()
        self._drop(self._template)


class SchemaPool(StorePool):
    """Schemas of one database, which may be that of a cluster or of a pooler; on a cluster their tables are spread over it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        with psycopg.connect(url, autocommit=True) as connection:
            self._spread = has_citus(connection) and connection.execute(_WORKERS).fetchone() != (0,)

    def url(self, name: str) -> str:
        """Return the address of a schema in the database."""
        return f"{self._url}{'&' if urlsplit(self._url).query else '?'}schema={name}"

    def _create(self, name: str) -> None:
        upgrade(parse_address(self.url(name)), MigrationOptions(citus=self._spread))

    def _empty(self, name: str) -> None:
        _empty_tables(self._url, name)

    def _drop(self, name: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


def _empty_tables(url: str, schema: str) -> None:
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        connection.execute(sql.SQL(_EMPTY_TABLES).format(schema=sql.Identifier(schema)))


@contextmanager
def lend_databases() -> Generator[StorePool]:
    """Give databases on the server that `REMEMO_TEST_POSTGRES` names, or on one that is started for it.

    With `REMEMO_TEST_POSTGRES_SCHEMAS` they are schemas in the database that is named: no other is made.
    """
    address: Any = os.environ.get(VARIABLE)
    if address:
        databases = SchemaPool(address) if os.environ.get(_IN_SCHEMAS) else DatabasePool(address)
        yield databases
        databases.close()
    else:
        with EmbeddedPostgres(settings=SETTINGS) as server:
            yield DatabasePool(server.url())
