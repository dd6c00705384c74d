"""The PostgreSQL store: one server, many processes on many machines."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rememo.model.audit import Note
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.commits import key_space, pack_commit, unpack_commit
from rememo.store.postgres.auditing import AuditTable, append
from rememo.store.postgres.checking import verify
from rememo.store.postgres.finding import Finder
from rememo.store.postgres.jobs import JobTable
from rememo.store.postgres.keeping import Keeper
from rememo.store.postgres.models import ModelTable
from rememo.store.postgres.reading import Reader
from rememo.store.postgres.session import Session
from rememo.store.postgres.thinning import Thinner
from rememo.store.postgres.writing import Transaction, add_one
from rememo.store.protocol import Check, Commit, Put, Write, Written

_KEPT = "SELECT commit FROM keys WHERE tenant = %s AND scope = %s AND key = %s"
_KEEP = "INSERT INTO keys (tenant, scope, key, commit, at) VALUES (%s, %s, %s, %s, %s)"


class PostgresStore(Reader, Finder, JobTable, Keeper, Thinner, AuditTable, ModelTable):
    """The `Store` protocol on a schema of a PostgreSQL database."""

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
        if len(writes) == 1 and key is None and note is None and isinstance(one := writes[0], Put) and one.fresh:
            added = add_one(self._database, one.draft, moment, model=self._model, after=after)
            if added is not None:
                return added

        def run(session: Session) -> Commit:
            # It takes the tenant's row first: whoever wrote under the same key is done, and seen.
            batch = Transaction(
                session, scope, writes, moment, model=self._model, vector_type=self._database.vector_type
            )
            space = key_space(scope)
            if key is not None and (kept := session.value(_KEPT, (scope.tenant, space, key))) is not None:
                return unpack_commit(kept, scope.tenant)
            commit = batch.apply(after)
            if key is not None:
                session.execute(_KEEP, (scope.tenant, space, key, pack_commit(commit), to_micros(commit.recorded_at)))
            if note is not None and (noted := note(commit)) is not None:
                append(session, noted)
            return commit

        return self._database.write(run, repeatable=key is not None)

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        kept = self._database.value(_KEPT, (scope.tenant, key_space(scope), key))
        return None if kept is None else unpack_commit(kept, scope.tenant)

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        return verify(self._database)

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        self._database.close()
