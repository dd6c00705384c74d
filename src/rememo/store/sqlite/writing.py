"""Writes: versions opened and closed, with their words, vectors, jobs and keys, inside the caller's transaction."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.model.job import NewJob
from rememo.model.receipt import Outcome
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.store.cipher.codec import Encoded, FieldCodec
from rememo.store.cipher.payloads import encode_payload
from rememo.store.commits import jobs_with_embedding, key_space, pack_commit, unpack_commit
from rememo.store.drafts import Analyze, Draft
from rememo.store.record_columns import VersionTimes, insert_columns, version_row
from rememo.store.rules import NewestVersion, WriteRules
from rememo.store.sqlite.audit_entries import append_audit_entry
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.filter_sql import selects
from rememo.store.sqlite.words import MOST_STAGED, index_line, move, remove, stage, tables
from rememo.store.writes import Commit, Put, RemoveAll, Write, Written

_INSERT = (
    f"INSERT INTO records ({', '.join(column.name for column in insert_columns())})"
    f" VALUES ({', '.join('?' for _ in insert_columns())})"
)
_TICK = """INSERT INTO tenants (tenant, clock) VALUES (?, ?)
ON CONFLICT (tenant) DO UPDATE SET clock = max(clock, excluded.clock)"""
_STATE = """SELECT newest.number, newest.recorded_at, (SELECT clock FROM tenants WHERE tenant = ?),
  (SELECT model FROM models WHERE current)
FROM (SELECT 1) LEFT JOIN (SELECT number, recorded_at FROM records ORDER BY number DESC LIMIT 1) AS newest"""
_LAST_COLUMNS = "number, arrival, version, superseded_at, expires_at, created_at, kind, agent, user, room, text"
_LAST = f"SELECT {_LAST_COLUMNS} FROM records WHERE tenant = ? AND id = ? ORDER BY version DESC LIMIT 1"
_CLOSE = "UPDATE records SET superseded_at = ?, deleted = ? WHERE number = ?"
_ADD_VECTOR = "INSERT INTO vectors (place, vector) VALUES (?, ?)"
_ITS_VECTOR = """SELECT place, vector FROM records JOIN vectors ON place = ? | number
WHERE tenant = ? AND id = ? AND version = ?"""
_MANY = 8  # from here on, whole statements over many rows are worth it
_ADD_JOB = (
    "INSERT INTO jobs (tenant, id, task, payload, state, due_at, created_at) VALUES (?, ?, ?, ?, 'waiting', ?, ?)"
)


class SqliteTransaction(WriteRules):
    """One batch of writes at one system time."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        moment: datetime,
        *,
        analyze: Analyze,
        codec: FieldCodec,
        before: "WriterState | None" = None,
    ) -> None:
        super().__init__(scope)
        self._connection = connection
        self._codec = codec
        self._analyze = analyze
        self._head: AuditHead | None = None
        if before is not None and before.holds(connection, scope.tenant):
            self._newest, latest, self._model = before.newest, before.clock, before.model
            self._head = before.head
        else:
            self._newest, latest, self._model = _state(connection, scope.tenant)
        self._model_changed = False
        self._words = tables(scope.tenant)[0]
        self.clock = max(to_micros(moment), latest + 1)
        self._first = self._newest
        self._opened = False
        self._retired = 0
        self._jobs: list[str] = []

    def apply(self, writes: Sequence[Write], after: Callable[[Written], Sequence[NewJob]] | None = None) -> Commit:
        """Do them in order; the first that cannot be done raises and leaves the undoing to the caller."""
        if len(writes) >= _MANY and all(isinstance(write, Put) and write.fresh for write in writes):
            written = self._put_many([write.draft for write in writes if isinstance(write, Put)])
        else:
            written = self.do(writes)
        if after is not None:
            for record in written:
                self._add_jobs(record.id, record.version, after(record))
        if not self._opened:
            tick(self._connection, self._tenant, self.clock)
        # Counting what waits costs a read, so only every so often; a batch of endings may always be large.
        if self._retired or self._newest // MOST_STAGED != self._first // MOST_STAGED:
            self._move_words()
        return Commit(
            written=tuple(written),
            recorded_at=from_micros(self.clock),
            jobs=tuple(self._jobs),
            model_changed=self._model_changed,
        )

    def audit(self, note: NewAuditEntry) -> None:
        """Append to the audit trail what this batch did."""
        self._head = append_audit_entry(self._connection, note, self._head)

    def mark(self) -> "WriterState":
        """Return where this leaves the file, for the next write; it counts only once this is committed."""
        connection = self._connection
        return WriterState(
            connection=connection,
            version=connection.data_version(),
            changes=connection.total_changes(),
            tenant=self._tenant,
            newest=self._newest,
            clock=self.clock,
            model=self._model,
            head=self._head,
        )

    def _move_words(self) -> None:
        if self._connection.execute("SELECT count(*) FROM staged").get >= MOST_STAGED:
            move(self._connection)

    def _put_many(self, drafts: Sequence[Draft]) -> list[Written]:
        """Create records whose ids are new: statement by statement over all of them, as SQLite likes it best."""
        connection, model, codec = self._connection, self._model, self._codec
        times = VersionTimes(self.clock, self.clock)
        first = self._newest + 1
        connection.executemany(
            _INSERT, [version_row(draft, first + place, 1, times, codec) for place, draft in enumerate(drafts)]
        )
        connection.executemany(
            f"INSERT INTO {self._words} (rowid, terms) VALUES (?, ?)",
            [
                (first + place, index_line(draft.scope, draft.terms, codec.blind_index))
                for place, draft in enumerate(drafts)
            ],
        )
        if model is not None:
            connection.executemany(
                _ADD_VECTOR,
                [
                    _vector_row(vector_place(model, first + place), draft.vector.tobytes(), codec)
                    for place, draft in enumerate(drafts)
                    if draft.vector is not None and draft.embedded_by == model
                ],
            )
        self._newest, self._opened = first + len(drafts) - 1, True
        for draft in drafts:
            self._add_jobs(draft.id, 1, self._jobs_of(draft, kept=False))
        return [Written(draft.id, 1, "added", draft.kind, draft.scope) for draft in drafts]

    # ---- versions

    def _last(self, id: str) -> NewestVersion | None:
        row = self._connection.execute(_LAST, (self._tenant, id)).get
        return None if row is None else self._to_newest(id, *row)[1]

    def _meant(self, write: RemoveAll) -> list[tuple[str, NewestVersion]]:
        rows: list[Any] = []
        for sql, values in selects(write.filter, from_micros(self.clock), f"id, {_LAST_COLUMNS}"):
            rows += self._connection.execute(sql, values).fetchall()
        newest = [self._to_newest(*row) for row in rows]
        return sorted(newest, key=lambda item: item[1].number)

    def _to_newest(self, id: str, number: int, *row: Any) -> tuple[str, NewestVersion]:
        arrival, version, superseded_at, expires_at, created_at, kind, agent, user, room, text = row
        scope = Scope(tenant=self._tenant, agent=agent, user=user, room=room)
        is_open = superseded_at is None
        live = is_open and (expires_at is None or expires_at > self.clock)
        return id, _NewestWithText(number, arrival, version, created_at, kind, scope, is_open, live, id, text)

    def _close(self, last: NewestVersion, *, deleted: bool) -> None:
        assert isinstance(last, _NewestWithText)  # noqa: S101 - made here
        text = self._codec.decode(last.text, "text", last.id, last.version)
        row = index_line(last.scope, self._analyze(text), self._codec.blind_index)
        retire(self._connection, last.number, last.scope, row, at=self.clock, deleted=deleted)
        self._retired += 1

    def _open(self, draft: Draft, last: NewestVersion | None, outcome: Outcome, *, anew: bool = False) -> Written:
        """Open the version after the last one; `anew` begins another life of a record that was gone."""
        version = 1 if last is None else last.version + 1
        created_at = self.clock if last is None or anew else last.created_at
        if draft.created_at is not None:
            created_at = to_micros(draft.created_at)
        arrival = None if last is None or anew else last.arrival
        number = self._newest + 1
        kept = insert_version(
            self._connection,
            draft,
            version,
            VersionTimes(created_at=created_at, recorded_at=self.clock, arrival=arrival),
            number=number,
            words=self._words,
            model=self._model,
            codec=self._codec,
        )
        self._newest, self._opened = number, True
        self._add_jobs(draft.id, version, self._jobs_of(draft, kept=kept))
        return Written(draft.id, version, outcome, draft.kind, draft.scope)

    def _jobs_of(self, draft: Draft, *, kept: bool) -> tuple[NewJob, ...]:
        """Return the jobs of a draft, with one for its vector where the model in use was not asked for it.

        `kept` says that it has the vector of an earlier version.
        """
        if draft.embedded_by is not None and draft.embedded_by != self._model:
            self._model_changed = True
        return draft.jobs if kept else jobs_with_embedding(draft, self._model)

    def _add_jobs(self, id: str, version: int, jobs: Sequence[NewJob]) -> None:
        add_jobs(self._connection, self._tenant, (id, version), jobs, at=self.clock, codec=self._codec)
        self._jobs += [job.id for job in jobs]


def add_jobs(
    connection: Connection,
    tenant: str,
    cause: tuple[str, int],
    jobs: Sequence[NewJob],
    *,
    at: int,
    codec: FieldCodec,
) -> None:
    """Store the jobs that a version (id and version) causes."""
    id, version = cause
    for job in jobs:
        payload = encode_payload({**job.payload, "record": id, "version": version}, job.id, codec)
        connection.execute(_ADD_JOB, (tenant, job.id, job.task, payload, at, at))


@dataclass(slots=True, kw_only=True)
class WriterState:
    """Where a committed write left the file. Asking SQLite whether it is still so costs a tenth of reading it again."""

    connection: Connection
    version: int
    changes: int
    tenant: str
    newest: int
    clock: int
    model: int | None
    head: AuditHead | None

    def holds(self, connection: Connection, tenant: str) -> bool:
        """Return, inside a transaction, whether no connection has written since."""
        return (
            self.connection is connection
            and self.tenant == tenant
            and connection.total_changes() == self.changes
            # One commit since it was made: the one that made it count.
            and connection.data_version() == self.version + 1
        )


def next_time(connection: Connection, tenant: str, moment: datetime) -> int:
    """Return a system time later than that of every write of the tenant before: now, unless a clock went back."""
    return max(to_micros(moment), latest_version(connection, tenant)[1] + 1)


def latest_version(connection: Connection, tenant: str) -> tuple[int, int]:
    """Return the number of the file's newest version, and a system time no earlier than the tenant's last write."""
    return _state(connection, tenant)[:2]


def _state(connection: Connection, tenant: str) -> tuple[int, int, int | None]:
    """Return what a write must know of the file: newest number, latest system time, embedding model in use."""
    number, newest, clock, model = connection.execute(_STATE, (tenant,)).get
    return number or 0, max(newest or 0, clock or 0), model


def tick(connection: Connection, tenant: str, clock: int) -> None:
    """Keep the system time of a write that leaves no newer row behind."""
    connection.execute(_TICK, (tenant, clock))


def insert_version(
    connection: Connection,
    draft: Draft,
    version: int,
    times: VersionTimes,
    *,
    number: int,
    words: str,
    model: int | None,
    codec: FieldCodec,
) -> bool:
    """Store one version with its words and its vector by the model in use; says whether it took an earlier version's."""
    connection.execute(_INSERT, version_row(draft, number, version, times, codec))
    stage(connection, words, number, index_line(draft.scope, draft.terms, codec.blind_index))
    if model is None:
        return False
    place = vector_place(model, number)
    if draft.vector is not None:
        if draft.embedded_by == model:
            connection.execute(_ADD_VECTOR, _vector_row(place, draft.vector.tobytes(), codec))
    elif draft.vector_of is not None:
        before: Any = connection.execute(_ITS_VECTOR, (model << 40, draft.scope.tenant, draft.id, draft.vector_of)).get
        vector = None if before is None else codec.decode_vector(*before)
        if vector is not None:
            connection.execute(_ADD_VECTOR, _vector_row(place, vector, codec))
            return True
    return False


def _vector_row(place: int, vector: bytes, codec: FieldCodec) -> tuple[int, bytes]:
    return place, codec.encode_vector(vector, place)


def vector_place(model: int, number: int) -> int:
    """Return where a version's vector by a model is kept."""
    return model << 40 | number


def retire(connection: Connection, number: int, scope: Scope, row: str, *, at: int, deleted: bool) -> None:
    """Close a current version: it stays findable in the past only, by its row of words."""
    words, past = tables(scope.tenant)
    connection.execute(_CLOSE, (at, int(deleted), number))
    remove(connection, words, number)
    stage(connection, past, number, row)


@dataclass(slots=True)
class _NewestWithText(NewestVersion):
    """With what its words are made of."""

    id: str
    text: Encoded


def read_commit(connection: Connection, scope: Scope, keys: Iterable[Encoded]) -> Commit | None:
    """Return what the first batch under an idempotency key did, by any form of the key, or None when it is new."""
    sql = 'SELECT "commit" FROM keys WHERE tenant = ? AND scope = ? AND key = ?'
    rows = [connection.execute(sql, (scope.tenant, key_space(scope), key)).get for key in keys]
    row = next((commit for commit in rows if commit is not None), None)
    if row is None:
        return None
    return unpack_commit(row, scope.tenant)


def store_commit(connection: Connection, scope: Scope, key: Encoded, commit: Commit) -> None:
    """Remember what a batch did under its idempotency key."""
    connection.execute(
        'INSERT INTO keys (tenant, scope, key, "commit", at) VALUES (?, ?, ?, ?, ?)',
        (scope.tenant, key_space(scope), key, pack_commit(commit), to_micros(commit.recorded_at)),
    )
