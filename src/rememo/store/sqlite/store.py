"""The SQLite store: one file, many threads, many processes."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rememo.model.audit import Note
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.store.protocol import Check, Commit, Write, Written
from rememo.store.sqlite.auditing import AuditTable
from rememo.store.sqlite.checking import verify
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.erasing import Eraser
from rememo.store.sqlite.finding import Finder
from rememo.store.sqlite.jobs import JobTable
from rememo.store.sqlite.keeping import Keeper
from rememo.store.sqlite.models import ModelTable
from rememo.store.sqlite.reading import Reader
from rememo.store.sqlite.renaming import Renamer
from rememo.store.sqlite.thinning import Thinner
from rememo.store.sqlite.writing import Mark, Transaction, keep_key, recall_key


class SqliteStore(Reader, Finder, JobTable, Keeper, Thinner, AuditTable, Eraser, ModelTable, Renamer):
    """The `Store` protocol on one SQLite file."""

    _left: Mark | None = None

    def write(
        self,
        scope: Scope,
        writes: Sequence[Write],
        moment: datetime,
        key: str | None = None,
        after: Callable[[Written], Sequence[NewJob]] | None = None,
        *,
        note: Callable[[Commit], Note | None] | None = None,
    ) -> Commit:
        """Apply a batch atomically and in order; it is durable and findable when this returns."""

        def run(connection: Connection) -> tuple[Commit, Mark | None]:
            # Asked for inside: nobody changes the keys meanwhile.
            contents = self._safe.contents(scope.tenant)
            names = () if key is None else contents.names(key)
            if names and (first := recall_key(connection, scope, names)) is not None:
                return first, None
            batch = Transaction(
                connection, scope, moment,
                analyze=self._analyze, contents=contents, before=self._left,
            )  # fmt: skip
            commit = batch.apply(writes, after)
            if names:
                keep_key(connection, scope, names[0], commit)
            if note is not None and (noted := note(commit)) is not None:
                batch.audit(noted)
            return commit, batch.mark()

        self._safe.provide(scope.tenant)
        commit, self._left = self._database.write(run)
        return commit

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        with self._database.snapshot() as connection:
            # Keys and names of one state: what is sealed anew gets another name.
            return recall_key(connection, scope, self._safe.contents(scope.tenant).names(key))

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        return verify(self._database, self._safe)

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        self._database.close()
