"""The SQLite store: one file, many threads, many processes."""

from collections.abc import Sequence
from datetime import datetime

from rememo.errors import EmbeddingMismatch
from rememo.model.scope import Scope
from rememo.store.protocol import Check, Commit, Write
from rememo.store.sqlite.checking import verify
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.finding import Finder
from rememo.store.sqlite.jobs import JobTable
from rememo.store.sqlite.keeping import Keeper
from rememo.store.sqlite.reading import Reader
from rememo.store.sqlite.writing import Transaction, keep_key, recall_key


class SqliteStore(Reader, Finder, JobTable, Keeper):
    """The `Store` protocol on one SQLite file."""

    def use_model(self, name: str, dimension: int) -> None:
        """Bind the store to an embedding model; a file with vectors of another one is refused."""

        def use(connection: Connection) -> int:
            row = connection.execute("SELECT model, name, dimension FROM models WHERE current").get
            if row is not None and tuple(row[1:]) != (name, dimension):
                if connection.execute(
                    "SELECT 1 FROM vectors WHERE place >= ? << 40 AND place < (? + 1) << 40 LIMIT 1", (row[0], row[0])
                ).get:
                    raise EmbeddingMismatch(
                        f"{self._database.path} holds vectors of {row[1]} ({row[2]} dimensions), but this memory was opened"
                        f" with {name} ({dimension}); open it with {row[1]}, or run `rememo reembed` to change the model"
                    )
                connection.execute("DELETE FROM models WHERE model = ?", (row[0],))
                row = None
            if row is not None:
                return row[0]
            connection.execute("INSERT INTO models (name, dimension, current) VALUES (?, ?, 1)", (name, dimension))
            return connection.last_insert_rowid()

        row = self._database.value(
            "SELECT model FROM models WHERE current AND name = ? AND dimension = ?", (name, dimension)
        )
        self._model = row if row is not None else self._database.write(use)

    def model(self) -> tuple[str, int] | None:
        """Return the name and dimension of the file's embedding model, or None when it has none yet."""
        row = self._database.value("SELECT name, dimension FROM models WHERE current")
        return None if row is None else (row[0], row[1])

    def write(self, scope: Scope, writes: Sequence[Write], moment: datetime, key: str | None = None) -> Commit:
        """Apply a batch atomically and in order; it is durable and findable when this returns."""

        def run(connection: Connection) -> Commit:
            if key is not None and (first := recall_key(connection, scope, key)) is not None:
                return first
            batch = Transaction(connection, scope, moment, analyze=self._analyze, model=self._model)
            commit = batch.apply(writes)
            if key is not None:
                keep_key(connection, scope, key, commit)
            return commit

        return self._database.write(run)

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        with self._database.snapshot() as connection:
            return recall_key(connection, scope, key)

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        return verify(self._database)

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        self._database.close()
