"""Writes: versions opened and closed, with their words, vectors and jobs, inside the caller's transaction.

A batch is worked out in memory and written at the end: a few statements however many records it has.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.job import NewJob
from rememo.model.receipt import Outcome
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.store.commits import jobs_with_embedding
from rememo.store.drafts import Draft
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.encrypted_filters import rows_of
from rememo.store.postgres.filter_sql import select
from rememo.store.postgres.new_jobs import job_rows, store_jobs
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.types import Texts, VectorBytes
from rememo.store.postgres.vectors import VectorTable
from rememo.store.postgres.words import index_terms
from rememo.store.record_columns import PACKED, VersionTimes, insert_columns, version_row
from rememo.store.rules import NewestVersion, WriteRules
from rememo.store.writes import Commit, Put, RemoveAll, Revise, Write, Written

_COLUMNS = ", ".join(column.name for column in insert_columns(PACKED))
_NAMES = [column.name.strip('"') for column in insert_columns(PACKED)]
_TYPES = [column.type for column in insert_columns(PACKED)]
_COPY_RECORDS = f"COPY records ({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
_COPY_WORDS = "COPY words (tenant, number, current, terms) FROM STDIN (FORMAT BINARY)"

# Takes the tenant's row, so that its writes follow one another, and moves its clock and its numbers on.
MOVE_ON = """INSERT INTO tenants AS held (tenant, number, clock) VALUES (%(tenant)s, %(opening)s, %(now)s)
ON CONFLICT (tenant) DO UPDATE SET number = held.number + excluded.number, clock = greatest(held.clock + 1, excluded.clock)
RETURNING number, clock, sealed_by"""
# Asked for by itself once the row is held, in the same way there and back: a cluster runs no INSERT that looks elsewhere.
_MODEL = "SELECT (SELECT model FROM models WHERE current)"

_PLACE = """INSERT INTO tenants AS held (tenant, number, clock) SELECT %(tenant)s, 1, %(now)s::bigint {unless}
ON CONFLICT (tenant) DO UPDATE SET number = held.number + 1, clock = greatest(held.clock + 1, excluded.clock)
RETURNING number, clock"""
_SAME_MODEL = "WHERE EXISTS (SELECT 1 FROM models WHERE models.current AND models.model = %(model)s)"
_NO_MODEL = "WHERE NOT EXISTS (SELECT 1 FROM models WHERE models.current)"
_GIVEN = "SELECT %(number)s::bigint AS number, %(clock)s::bigint AS clock"
# What the tenant's row tells where it is the one that gives the number and the time, and types that are not clear by themselves.
_EXPRESSIONS = {
    "number": "number",
    "at": "coalesce(%(occurred_at)s::bigint, %(created_at)s::bigint, clock)",
    "arrival": "coalesce(%(arrival)s::bigint, number)",
    "created_at": "coalesce(%(created_at)s::bigint, clock)",
    "recorded_at": "clock",
    **{
        name: f"%({name})s::bigint" for name in ("superseded_at", "occurred_at", "valid_from", "valid_to", "expires_at")
    },
    "importance": "%(importance)s::float8",
    "packed": "%(packed)s::bytea",
}
_STORE = f"""stored AS (INSERT INTO records ({_COLUMNS}) SELECT
  {", ".join(_EXPRESSIONS.get(name, f"%({name})s") for name in _NAMES)} FROM place)"""
_INDEX = """indexed AS (INSERT INTO words (tenant, number, current, terms)
  SELECT %(tenant)s, number, %(superseded_at)s::bigint IS NULL, %(terms)s::text[] FROM place)"""
_EMBED = """embedded AS (INSERT INTO vectors (tenant, model, number, {column})
  SELECT %(tenant)s, %(model)s, number, %(vector)s FROM place)"""
_CAUSE = """caused AS (INSERT INTO jobs (tenant, id, task, payload, state, due_at, created_at)
  SELECT %(tenant)s, job.id, job.task, job.payload, 'waiting', clock, clock
  FROM place, unnest(%(job_ids)s::text[], %(job_tasks)s::text[], %(job_payloads)s::text[]) AS job (id, task, payload))"""


def _store_one(*, fresh: bool, vector: str | None, jobs: bool, unless: str = "") -> str:
    """Return the statement that stores one version with all that belongs to it, in one way there and back.

    A fresh one takes its number and its system time by itself. With `unless`, it does nothing and returns no row where
    the store has another embedding model than that says.
    """
    place = _PLACE.format(unless=unless) if fresh else _GIVEN
    embed = [_EMBED.format(column=vector)] if vector else []
    parts = [f"place AS ({place})", _STORE, _INDEX, *embed, *([_CAUSE] if jobs else [])]
    return f"WITH {', '.join(parts)} SELECT clock FROM place"


_STORE_GIVEN = {vector: _store_one(fresh=False, vector=vector, jobs=False) for vector in ("vector", "sealed", None)}
_STORE_FRESH = {
    (vector, jobs, unless): _store_one(fresh=True, vector=vector, jobs=jobs, unless=unless)
    for vector in ("vector", None)
    for jobs in (True, False)
    for unless in (_SAME_MODEL, _NO_MODEL, "")
}
_FEW = 2
_LAST = """SELECT DISTINCT ON (id) id, number, arrival, version, created_at, kind, agent, "user", room, superseded_at, expires_at
FROM records WHERE tenant = %s AND id = ANY(%s::text[]) ORDER BY id, version DESC"""
_CLOSE = """WITH ended AS (UPDATE records SET superseded_at = %(clock)s, deleted = records.number = ANY(%(deleted)s::bigint[])
  WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s::bigint[])),
told AS (UPDATE tenants SET ended = greatest(ended, %(clock)s) WHERE tenant = %(tenant)s)
UPDATE words SET current = false WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s::bigint[])"""


@dataclass(slots=True)
class Version:
    """A version about to be stored."""

    draft: Draft
    number: int
    version: int
    arrival: int
    created_at: int
    recorded_at: int
    superseded_at: int | None = None
    deleted: bool = False

    def values(self, codec: PostgresCodec) -> dict[str, Any]:
        """Return it for `_store_one`."""
        row = dict(zip(_NAMES, self.row(codec), strict=True))
        row["terms"] = index_terms(self.draft.scope, self.draft.terms, codec.blind_index)
        row["clock"] = self.recorded_at
        return row

    def row(self, codec: PostgresCodec) -> tuple[Any, ...]:
        """Return its row of `records`."""
        times = VersionTimes(self.created_at, self.recorded_at, self.superseded_at, self.deleted, self.arrival)
        return version_row(self.draft, self.number, self.version, times, codec)


def opening(writes: Sequence[Write]) -> int:
    """Return how many versions a batch opens at the most: so many numbers it takes."""
    return sum(isinstance(write, Put | Revise) for write in writes)


class PostgresTransaction(WriteRules):
    """One batch of writes at one system time."""

    def __init__(
        self,
        session: PostgresSession,
        scope: Scope,
        writes: Sequence[Write],
        moment: datetime,
        *,
        vector_type: int,
        codecs: PostgresCodecs,
    ) -> None:
        super().__init__(scope)
        self._session = session
        self._writes = writes
        number = opening(writes)
        values = {"tenant": scope.tenant, "opening": number, "now": to_micros(moment)}
        (newest, self.clock, serial), (model,) = session.together((MOVE_ON, values), (_MODEL, ()))
        self._codecs = codecs
        self.codec = codecs.at_serial(scope.tenant, serial)
        self._next = newest - number + 1
        self._how = VectorTable(model, vector_type, self.codec)
        self._model_changed = False
        self._known: dict[str, NewestVersion | None] = {}
        self._new: dict[int, Version] = {}
        self._ended: dict[int, bool] = {}
        self._jobs: list[tuple[Any, ...]] = []

    def apply(self, after: Callable[[Written], Sequence[NewJob]] | None = None) -> Commit:
        """Do the writes in order; the first that cannot be done raises and leaves the undoing to the caller."""
        ids = [
            write.draft.id if isinstance(write, Put | Revise) else write.id
            for write in self._writes
            if not isinstance(write, RemoveAll) and not (isinstance(write, Put) and write.fresh)
        ]
        if ids:
            self._look_up(ids)
        written = self.do(self._writes)
        if after is not None:
            for record in written:
                self._add_jobs(record, after(record))
        self._flush()
        store_jobs(self._session, self._jobs)
        return Commit(
            written=tuple(written),
            recorded_at=from_micros(self.clock),
            jobs=tuple(job[1] for job in self._jobs),
            model_changed=self._model_changed,
        )

    # ---- what the rules ask for

    def _look_up(self, ids: Sequence[str]) -> None:
        for id, *row in self._session.rows(_LAST, (self._tenant, list(dict.fromkeys(ids)))):
            self._known[id] = self._to_newest(row)

    def _to_newest(self, row: Sequence[Any]) -> NewestVersion:
        number, arrival, version, created_at, kind, agent, user, room, superseded_at, expires_at = row
        return NewestVersion(
            number=number,
            arrival=arrival,
            version=version,
            created_at=created_at,
            kind=kind,
            scope=Scope(tenant=self._tenant, agent=agent, user=user, room=room),
            open=superseded_at is None,
            live=superseded_at is None and (expires_at is None or expires_at > self.clock),
        )

    def _last(self, id: str) -> NewestVersion | None:
        return self._known.get(id)

    def _close(self, last: NewestVersion, *, deleted: bool) -> None:
        last.open = last.live = False
        if last.number in self._new:
            made = self._new[last.number]
            made.superseded_at, made.deleted = self.clock, deleted
        else:
            self._ended[last.number] = deleted

    def _open(self, draft: Draft, last: NewestVersion | None, outcome: Outcome, *, anew: bool = False) -> Written:
        number, version = self._next, 1 if last is None else last.version + 1
        self._next += 1
        going_on = last is not None and not anew
        created_at = last.created_at if last is not None and going_on else self.clock
        if draft.created_at is not None:
            created_at = to_micros(draft.created_at)
        made = Version(
            draft,
            number,
            version,
            arrival=last.arrival if last is not None and going_on else number,
            created_at=created_at,
            recorded_at=self.clock,
        )
        self._new[number] = made
        expires_at = _micros(draft.expires_at)
        self._known[draft.id] = NewestVersion(
            number=number,
            arrival=made.arrival,
            version=version,
            created_at=created_at,
            kind=draft.kind,
            scope=draft.scope,
            open=True,
            live=expires_at is None or expires_at > self.clock,
        )
        written = Written(draft.id, version, outcome, draft.kind, draft.scope)
        self._add_jobs(written, draft.jobs)
        return written

    def _meant(self, write: RemoveAll) -> Sequence[tuple[str, NewestVersion]]:
        self._flush()
        columns = 'id, number, arrival, version, created_at, kind, agent, "user", room, superseded_at, expires_at'
        rows = rows_of(
            self._session,
            write.filter,
            from_micros(self.clock),
            lambda filter, numbers: select(filter, from_micros(self.clock), columns, numbers),
            self._codecs,
        )
        newest = sorted(((row[0], self._to_newest(row[1:])) for row in rows), key=lambda item: item[1].number)
        self._known.update(newest)
        return newest

    # ---- jobs

    def _add_embedding(self, version: Version) -> None:
        """Let a job make the vector of a version that the model in use was not asked for."""
        draft = version.draft
        if draft.embedded_by is not None and draft.embedded_by != self._how.model:
            self._model_changed = True
        written = Written(draft.id, version.version, "added", draft.kind, draft.scope)
        self._add_jobs(written, jobs_with_embedding(draft, self._how.model)[len(draft.jobs) :])

    def _add_jobs(self, written: Written, jobs: Sequence[NewJob]) -> None:
        self._jobs += job_rows(written, jobs, self.clock, self.codec)

    # ---- writing

    def _flush(self) -> None:
        """Write what was worked out so far."""
        if self._ended:
            close_versions(self._session, self._tenant, self.clock, self._ended)
        if self._new:
            kept = store_versions(self._session, list(self._new.values()), self._how)
            for version in self._new.values():
                if version.number not in kept:
                    self._add_embedding(version)
        self._ended, self._new = {}, {}


def close_versions(session: PostgresSession, tenant: str, clock: int, ended: dict[int, bool]) -> None:
    """Close current versions: they stay findable in the past only. `ended` tells of each whether it was deleted."""
    deleted = [number for number, was_deleted in ended.items() if was_deleted]
    session.execute(_CLOSE, {"tenant": tenant, "clock": clock, "numbers": list(ended), "deleted": deleted})


def store_versions(session: PostgresSession, versions: Sequence[Version], how: VectorTable) -> set[int]:
    """Store versions of one tenant with their words and their vectors; returns the numbers of those that have one."""
    tenant, codec = versions[0].draft.scope.tenant, how.codec
    vectors, copies = _vectors(versions, how.model) if how.model is not None else ({}, [])
    wires = {number: how.to_wire(vector, number) for number, vector in vectors.items()}
    if len(versions) <= _FEW:
        for version in versions:
            wire = wires.get(version.number)
            values = {**version.values(codec), "model": how.model, "vector": wire}
            session.execute(_STORE_GIVEN[None if wire is None else how.column], values)
    else:
        session.copy(_COPY_RECORDS, _TYPES, (version.row(codec) for version in versions))
        session.copy(_COPY_WORDS, ("text", "int8", "bool", "text[]"), _entries(versions, codec))
        if wires:
            how.load(session, tenant, wires)
    return set(wires) | (how.repeat(session, tenant, copies) if copies else set())


def _entries(versions: Sequence[Version], codec: PostgresCodec) -> Iterator[tuple[str, int, bool, Texts]]:
    for version in versions:
        scope = version.draft.scope
        yield (
            scope.tenant,
            version.number,
            version.superseded_at is None,
            index_terms(scope, version.draft.terms, codec.blind_index),
        )


def add_one(
    database: PostgresDatabase,
    draft: Draft,
    moment: datetime,
    *,
    after: Callable[[Written], Sequence[NewJob]] | None,
    codec: PostgresCodec,
) -> Commit | None:
    """Store one record whose id is new, by one statement; None when it was not done because of another model.

    Not where contents are encrypted: a vector is sealed for its number, which only the statement gives.
    """
    written = Written(draft.id, 1, "added", draft.kind, draft.scope)
    jobs = [*draft.jobs, *(after(written) if after is not None else ())]
    now = to_micros(moment)
    vector, model = draft.vector, draft.embedded_by
    if vector is None and (not draft.text.strip() or any(job.task == "embed" for job in draft.jobs)):
        unless = ""  # whatever model is in use: there is nothing to embed, or a job will do it
    else:
        unless = _NO_MODEL if model is None else _SAME_MODEL
    created_at = 0 if draft.created_at is None else to_micros(draft.created_at)
    values = Version(draft, 0, 1, arrival=0, created_at=created_at, recorded_at=0).values(codec)
    # These are told by the tenant's row.
    values["arrival"] = None
    values["created_at"] = None if draft.created_at is None else created_at
    values |= {"now": now, "model": model, "vector": None if vector is None else VectorBytes(vector)}
    if jobs:
        rows = job_rows(written, jobs, now, codec)
        values["job_ids"], values["job_tasks"], values["job_payloads"] = ([row[at] for row in rows] for at in (1, 2, 3))
    row = database.write_at_once(_STORE_FRESH[None if vector is None else "vector", bool(jobs), unless], values)
    if row is None:
        return None
    return Commit(written=(written,), recorded_at=from_micros(row[0]), jobs=tuple(job.id for job in jobs))


def _vectors(
    versions: Sequence[Version], model: int
) -> tuple[dict[int, NDArray[np.float32]], list[tuple[int, str, int]]]:
    """Return the vectors of versions by a model, and for those that keep an earlier one whose it is."""
    own: dict[int, NDArray[np.float32]] = {}
    copies: list[tuple[int, str, int]] = []
    made = {(target.draft.id, target.version): target for target in versions}
    for target in versions:
        source, version = target, target.version
        # The version it keeps the vector of may be as new as itself.
        while source is not None and source.draft.vector is None and source.draft.vector_of is not None:
            version = source.draft.vector_of
            source = made.get((target.draft.id, version))
        if source is None:
            copies.append((target.number, target.draft.id, version))
        elif source.draft.vector is not None and source.draft.embedded_by == model:
            own[target.number] = source.draft.vector
    return own, copies


def _micros(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)
