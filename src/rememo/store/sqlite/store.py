"""The SQLite store: one file, many threads, many processes."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rememo.model.audit import NewAuditEntry
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.store.reports import Check
from rememo.store.sql.id_renaming import SqlIdRenaming
from rememo.store.sqlite.audit import SqliteAudit
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.erasure import SqliteErasure
from rememo.store.sqlite.jobs import SqliteJobs
from rememo.store.sqlite.keeping import SqliteKeeping
from rememo.store.sqlite.models import SqliteModels
from rememo.store.sqlite.reading import SqliteReading
from rememo.store.sqlite.search import SqliteSearch
from rememo.store.sqlite.thinning import SqliteThinning
from rememo.store.sqlite.verify import SqliteVerifier
from rememo.store.sqlite.writing import SqliteTransaction, WriterState, read_commit, store_commit
from rememo.store.writes import Commit, Write, Written


class SqliteStore(
    SqliteReading,
    SqliteSearch,
    SqliteJobs,
    SqliteKeeping,
    SqliteThinning,
    SqliteAudit,
    SqliteErasure,
    SqliteModels,
    SqlIdRenaming[SqliteDatabase, SqliteCodecs],
):
    """The `Store` protocol on one SQLite file."""

    _left: WriterState | None = None

    def write(
        self,
        scope: Scope,
        writes: Sequence[Write],
        moment: datetime,
        key: str | None = None,
        after: Callable[[Written], Sequence[NewJob]] | None = None,
        *,
        note: Callable[[Commit], NewAuditEntry | None] | None = None,
    ) -> Commit:
        """Apply a batch atomically and in order; it is durable and findable when this returns."""

        def run(connection: Connection) -> tuple[Commit, WriterState | None]:
            # Asked for inside: nobody changes the keys meanwhile.
            codec = self._codecs.get(scope.tenant)
            names = () if key is None else codec.name_forms(key)
            if names and (first := read_commit(connection, scope, names)) is not None:
                return first, None
            batch = SqliteTransaction(
                connection, scope, moment,
                analyze=self._analyze, codec=codec, before=self._left,
            )  # fmt: skip
            commit = batch.apply(writes, after)
            if names:
                store_commit(connection, scope, names[0], commit)
            if note is not None and (noted := note(commit)) is not None:
                batch.audit(noted)
            return commit, batch.mark()

        self._codecs.ensure_keys(scope.tenant)
        commit, self._left = self._database.write(run)
        return commit

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        with self._database.snapshot() as connection:
            # Keys and names of one state: what is re-encrypted gets another name.
            return read_commit(connection, scope, self._codecs.get(scope.tenant).name_forms(key))

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        return SqliteVerifier(self._database, self._codecs).run()

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        self._database.close()
