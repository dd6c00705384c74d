"""The PostgreSQL store: one server, many processes on many machines."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rememo.errors import CommitUnknown
from rememo.model.audit import NewAuditEntry
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.runtime.lazy import lazy
from rememo.store.commits import key_space, pack_commit, unpack_commit
from rememo.store.drafts import Draft
from rememo.store.postgres.audit import PostgresAudit
from rememo.store.postgres.audit_entries import append_audit_entry
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.erasure import PostgresErasure
from rememo.store.postgres.jobs import PostgresJobs
from rememo.store.postgres.keeping import PostgresKeeping
from rememo.store.postgres.models import PostgresModels
from rememo.store.postgres.notifications import Listener, Notifier
from rememo.store.postgres.reading import PostgresReading
from rememo.store.postgres.search import PostgresSearch
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.tenant_guard import guard_tenants
from rememo.store.postgres.thinning import PostgresThinning
from rememo.store.postgres.verify import PostgresVerifier
from rememo.store.postgres.writing import PostgresTransaction, add_one
from rememo.store.reports import Check
from rememo.store.sql.id_renaming import SqlIdRenaming
from rememo.store.writes import Commit, Put, Write, Written

_KEPT = "SELECT commit FROM keys WHERE tenant = %s AND scope = %s AND key = ANY(%s::text[])"
_HOLD = "SELECT 1 FROM tenants WHERE tenant = %s FOR UPDATE"
_RECORDED = "SELECT recorded_at FROM records WHERE tenant = %s AND id = %s AND version = 1"
_KEEP = "INSERT INTO keys (tenant, scope, key, commit, at) VALUES (%s, %s, %s, %s, %s)"


# What belongs to the store and not to one tenant: jobs are taken, old things swept and models changed for all of them.
_STORE_WIDE = frozenset(
    (
        "lease", "lease_many", "sweep", "is_read_only", "backup", "verify", "health", "use_model", "model", "has_vectors", "begin_model", "unembedded",
        "put_vectors", "swap_model", "drop_models", "tenants", "older_tenants", "build_index", "call", "listen", "close",
    )
)  # fmt: skip


@guard_tenants(store_wide=_STORE_WIDE)
class PostgresStore(
    PostgresReading,
    PostgresSearch,
    PostgresJobs,
    PostgresKeeping,
    PostgresThinning,
    PostgresAudit,
    PostgresErasure,
    PostgresModels,
    SqlIdRenaming[PostgresDatabase, PostgresCodecs],
):
    """The `Store` protocol on a schema of a PostgreSQL database."""

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
        attempt, lost, sealed = _Attempt(scope.tenant, writes), False, self._codecs.cipher is not None
        if len(writes) == 1 and not (sealed or key or note) and isinstance(write := writes[0], Put) and write.fresh:
            codec = self._codecs.cached(scope.tenant)
            try:
                added = add_one(self._database, write.draft, moment, after=after, codec=codec)
            except CommitUnknown:
                added, lost = None, True
            if added is not None:
                return added

        def run(session: PostgresSession) -> Commit:
            # It takes the tenant's row first: whoever wrote under the same key is done, and seen.
            batch = PostgresTransaction(
                session,
                scope,
                writes,
                moment,
                vector_type=self._database.vector_type,
                codecs=self._codecs,
            )
            space, names = key_space(scope), () if key is None else batch.codec.name_forms(key)
            if names and (kept := session.value(_KEPT, (scope.tenant, space, list(names)))) is not None:
                return unpack_commit(kept, scope.tenant)
            commit = batch.apply(after)
            if names:
                values = (scope.tenant, space, names[0], pack_commit(commit), to_micros(commit.recorded_at))
                session.execute(_KEEP, values)
            if note is not None and (noted := note(commit)) is not None:
                append_audit_entry(session, noted)
            attempt.commit = commit
            return commit

        done = attempt.done if attempt.mark is not None else None
        return self._codecs.write(self._database, run, scope.tenant, repeatable=key is not None, done=done, lost=lost)

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        names = self._codecs.get(scope.tenant).name_forms(key)
        kept = self._database.value(_KEPT, (scope.tenant, key_space(scope), list(names)))
        return None if kept is None else unpack_commit(kept, scope.tenant)

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        return PostgresVerifier(self._database, self._codecs).run()

    @lazy
    def _caller(self) -> Notifier:
        return Notifier(self._database)

    def call(self) -> None:
        """Tell workers elsewhere that there are jobs."""
        self._caller.call()

    def listen(self, heard: Callable[[], None]) -> Listener:
        """Call a function whenever there may be jobs."""
        return Listener(self._database, heard)

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        if "_caller" in self.__dict__:
            self._caller.close()
        self._database.close()


class _Attempt:
    """A batch whose connection may be lost in its commit. An id that was made for it alone tells whether it is there."""

    def __init__(self, tenant: str, writes: Sequence[Write]) -> None:
        self._tenant = tenant
        self.mark: Draft | None = next(
            (write.draft for write in writes if isinstance(write, Put) and write.fresh), None
        )
        self.commit: Commit | None = None
        """What was about to be committed last; None when the batch was one statement by itself."""

    def done(self, session: PostgresSession) -> Commit | None:
        """Return the commit if it was done."""
        if self.mark is None:
            return None
        # Whoever still has the lost transaction in its hands holds this row: after it there is nothing open any more.
        session.execute(_HOLD, (self._tenant,))
        recorded_at: int | None = session.value(_RECORDED, (self._tenant, self.mark.id))
        if recorded_at is None:
            return None
        if self.commit is not None:
            return self.commit
        written = Written(self.mark.id, 1, "added", self.mark.kind, self.mark.scope)
        jobs = tuple(job.id for job in self.mark.jobs)
        return Commit(written=(written,), recorded_at=from_micros(recorded_at), jobs=jobs)
