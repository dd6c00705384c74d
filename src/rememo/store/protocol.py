"""What a store must do. Policy (validation, scope, expiry rules, embedding) lives above it; a store only keeps and finds.

A store sees the words of a text through the one analyser it is given, so that every backend finds alike.
Times cross this seam as aware UTC datetimes; every call names its tenant through a filter, a scope or a write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rememo.model.audit import AuditHead, Note
from rememo.model.erasure import Target
from rememo.model.filters import Filter
from rememo.model.job import Job, NewJob, Settlement
from rememo.model.receipt import OnConflict, Outcome
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.chain import Half, Link
from rememo.store.needles import Needles

Analyze = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a store must be able to make of a text by itself, when it moves or loads versions."""

    terms: Analyze
    fingerprint: Callable[[Sequence[str]], int]
    asks: Callable[[str], bool]


@dataclass(slots=True, kw_only=True)  # not frozen: that would triple the price of making one, and it stays inside
class Draft:
    """The content of a version about to be written, validated and analysed."""

    id: str
    kind: str
    text: str
    scope: Scope
    data: str = "{}"
    """JSON text."""
    metadata: str = "{}"
    """JSON text."""
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    importance: float | None = None
    source: str | None = None
    trust: float = 1.0
    quarantine: str | None = None
    """Why it is not to be found; None for what is free."""
    speaker: str | None = None
    """Who said it, for names in questions."""
    terms: Sequence[str] = ()
    """What the analyser made of the text."""
    fingerprint: int = 0
    """Equal for texts that say the same; a signed 64-bit number."""
    asks: bool = False
    """Whether the text asks something."""
    vector: NDArray[np.float32] | None = None
    """Its embedding, if it has one."""
    embedded_by: int | None = None
    """The number of the model that made the vector, or found that there is nothing to embed; None: no model was asked.

    A version that the store's model was not asked about gets an `embed` job with it.
    """
    vector_of: int | None = None
    """The version of the same record whose vector it has."""
    created_at: datetime | None = None
    """When the record was first made; None leaves that to the store."""
    jobs: tuple[NewJob, ...] = ()
    """Later work that this version causes."""
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    """What was taken out of it, for the receipt; it is not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Create a record; what happens when its id is taken is `on_conflict`."""

    draft: Draft
    on_conflict: OnConflict = "error"
    fresh: bool = False
    """The id was made just now, so nobody can have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Close the version `expected` and open the next; another current version raises `VersionConflict`."""

    draft: Draft
    expected: int
    """0 reopens a record that is deleted or expired."""
    outcome: Outcome = "updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Close the current version of a record within `scope`."""

    id: str
    scope: Scope
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAll:
    """Close every current record that a filter means."""

    filter: Filter


Write = Put | Revise | Remove | RemoveAll


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one record."""

    id: str
    version: int
    outcome: Outcome
    kind: str
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a committed batch did."""

    written: tuple[Written, ...]
    """In the order of the batch; a `RemoveAll` gives one for each record it closed."""
    recorded_at: datetime
    """The system time of the batch: greater than that of every batch of the tenant before it."""
    jobs: tuple[str, ...] = ()
    model_changed: bool = False
    """Vectors came with the batch that are not of the store's embedding model any more; jobs will make others."""
    repeated: bool = False
    """The idempotency key was known: this is what the first batch under it did, and nothing was written now."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    """Where one term stands within a scope."""

    term: str
    numbers: NDArray[np.int64]
    """Store-private numbers of versions, sorted."""
    counts: NDArray[np.int8]
    """How often it stands in each; 3 means three or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Versions near a vector, best first."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float32]
    """The cosine of each."""
    mean: float = 0.0
    """Over the whole scope, whatever else the filter says."""
    deviation: float = 0.0
    """The standard deviation over the whole scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What ranking must know of every record in a scope, one entry a record, sorted by number.

    The same object comes back as long as nothing in the scope has changed, so what is worked out of it can be kept.
    """

    numbers: NDArray[np.int64]
    rooms: NDArray[np.int32]
    """Which conversation; -1 for none."""
    times: NDArray[np.int64]
    """`Record.at` in milliseconds since 1970."""
    speakers: NDArray[np.int32]
    """Index into `speaker_names`; -1 for none."""
    kinds: NDArray[np.int8]
    """Index into `kind_names`."""
    lengths: NDArray[np.int32]
    """How many terms its text has."""
    importance: NDArray[np.float32]
    """0.5 where it was not told."""
    trust: NDArray[np.float32]
    fingerprints: NDArray[np.int64]
    asks: NDArray[np.bool_]
    """Whether its text asks something."""
    speaker_names: tuple[str, ...]
    kind_names: tuple[str, ...]
    grown_from: "Timeline | None" = None
    """The one before, when this one only has more entries at its end."""
    worked_out: dict[str, Any] = field(default_factory=dict[str, Any])
    """For the reader: what it made of this timeline and wants to find again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A version with what belongs to it, for taking it away and bringing it back."""

    record: Record
    speaker: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a store holds of one tenant, and what the whole store weighs."""

    records: int
    """Current records of the kinds that are listed."""
    versions: int
    """Current and past versions of every kind."""
    vectors: int
    kinds: Mapping[str, int]
    """Current records by kind, of those that are listed."""
    jobs: Mapping[str, int]
    keys: int
    file_bytes: int
    log_bytes: int
    free_bytes: int
    model: str | None = None
    """The embedding model whose vectors the store keeps; None where it keeps none."""
    words_only: str | None = None
    """Why this process searches by words alone though there are vectors; None where it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a whole store is, whoever's: cheap to ask, and without a count of what it holds."""

    jobs: Mapping[str, int]
    """Later work by state."""
    file_bytes: int
    log_bytes: int
    free_bytes: int
    """Within what the store weighs."""
    disk_bytes: int | None
    """What is free where a file lies; None where a server looks after that."""
    engine: str
    """What it is kept by, and in which version."""
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it could do better, and how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What `verify` found: nothing wrong, or each fault named."""

    faults: tuple[str, ...]
    """What is damaged."""
    checked: Mapping[str, int]
    unchecked: tuple[str, ...] = ()
    """What could not be looked into, and why."""
    missing_vectors: tuple[str, ...] = ()
    """Tenant by tenant, how many versions have no vector and no job that will make it."""
    owed_vectors: int = 0
    """How many versions have no vector yet and a job that will make it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong and nothing is missing."""
        return not self.faults and not self.missing_vectors


Mark = tuple[int, int, int]
"""A place among changes: the system time in microseconds, 0 for an end and 1 for a beginning, the version's number."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A version that began, or was ended by a delete."""

    mark: Mark
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinned:
    """What a step of thinning did, or would do."""

    versions: int
    """How many versions are gone."""
    records: int
    """Of how many records."""
    ids: tuple[str, ...]
    following: str | None
    """Where the next step starts; None when this was the last."""


class Reading(Protocol):
    """Finding records."""

    def get(self, filter: Filter, moment: datetime) -> Record | None:
        """Return the one record that `filter.ids` names, or None."""
        ...

    def read(
        self, filter: Filter, moment: datetime, *, limit: int | None = None, offset: int = 0, oldest: bool = False
    ) -> list[Record]:
        """Return the latest `limit` records, oldest first; `offset` passes over the newest.

        Order is by `Record.at`, ties by arrival. With `oldest` the first ones are taken instead of the latest.
        """
        ...

    def count(self, filter: Filter, moment: datetime) -> int:
        """Return how many records a filter means."""
        ...

    def history(self, scope: Scope, id: str) -> list[Record]:
        """Return all versions of a record within a scope, oldest first."""
        ...

    def touched(self, scope: Scope, since: datetime, until: datetime | None, moment: datetime) -> list[str]:
        """Return the ids of records within a scope that changed or expired after `since`, up to `until` or until now."""
        ...

    def changes(self, scope: Scope, after: Mark, limit: int) -> list[Moved]:
        """Return the first versions within a scope that began or were ended by a delete after a mark, in their order.

        The system times of a tenant's writes rise in the order they are committed: what comes later is never before a mark.
        """
        ...

    def clock(self, tenant: str, /) -> int:
        """Return the system time of a tenant's last write in microseconds, or a later one; 0 where there was none."""
        ...

    def labels(self, filter: Filter, name: str, moment: datetime) -> list[str]:
        """Return the agents, users or rooms of the records that a filter means, sorted."""
        ...


class Finding(Protocol):
    """What recall asks for. Numbers are private to the store and live no longer than the question."""

    def timeline(self, filter: Filter, moment: datetime) -> Timeline:
        """Return every record of a filter's scope, as it is or as it was known; its other conditions do not matter here.

        Facts that hold no more are left out, unless the filter asks what held at a moment. Records of the kind `state`
        and what is in quarantine always are: they are not to be found.
        """
        ...

    def eligible(self, filter: Filter, timeline: Timeline, moment: datetime) -> NDArray[np.bool_] | None:
        """Return which entries of its scope's timeline a filter means; None when all are meant."""
        ...

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope: the timeline drops what lies outside.

        `held` is the length of that timeline, so that the store can choose its way.
        """
        ...

    def nearest(
        self,
        filter: Filter,
        vector: NDArray[np.float32],
        limit: int,
        moment: datetime,
        *,
        model: int,
        exact: bool = False,
    ) -> Nearest:
        """Return the nearest records that a filter means.

        None is passed over; scores may be rounded to three digits unless `exact`, and the order with them. `model` is
        the number of the one that made the vector; when the store has another in use, `ModelChanged` is raised.
        """
        ...

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        ...


class Jobs(Protocol):
    """Durable later work."""

    def lease(self, tasks: Sequence[str], seconds: float, moment: datetime) -> Job | None:
        """Take the oldest job that is due, for that long; nobody else gets it meanwhile."""
        ...

    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due, at most `limit`, of those named if some are; nobody else gets them meanwhile."""
        ...

    def extend(self, jobs: Sequence[Job], seconds: float, moment: datetime) -> int:
        """Let leases last that long from now on; returns how many were still held."""
        ...

    def load_jobs(self, jobs: Sequence[Job]) -> int:
        """Store jobs as they are; those already there are passed over. Returns how many were new."""
        ...

    def settle(self, job: Job, *, state: str, error: str | None, due_at: datetime | None) -> bool:
        """End a lease: done, dead, or waiting for another try; False when the lease was lost meanwhile."""
        ...

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""
        ...

    def requeue(self, tenant: str, id: str, moment: datetime) -> bool:
        """Let a dead job be tried again from now on; False when it is not dead."""
        ...

    def jobs(self, tenant: str, *, ids: Sequence[str] | None = None, state: str | None = None) -> list[Job]:
        """Return jobs, oldest first."""
        ...

    def open_jobs(self, scope: Scope, tasks: Sequence[str]) -> list[str]:
        """Return the ids of jobs of some tasks that wait or are being done, and are about a record within a scope."""
        ...

    def pending_jobs(self, scope: Scope, tasks: Sequence[str], *, most: int) -> list[str] | None:
        """Return what `open_jobs` does, or None where the tenant has more than `most` open jobs of whatever task.

        So it takes no longer where very much waits.
        """
        ...

    def latest_jobs(self, tenant: str, *, limit: int, state: str | None = None, before: str | None = None) -> list[Job]:
        """Return the latest so many jobs by their ids, oldest first: of those before an id, where one is given."""
        ...

    def set_vectors(self, tenant: str, vectors: Sequence[tuple[str, int, NDArray[np.float32]]], *, model: int) -> int:
        """Give versions (ids and versions) their vectors in one transaction; returns how many were still there.

        `model` is the number of the one that made them; when the store has another in use, `ModelChanged` is raised.
        """
        ...


class Keeping(Protocol):
    """Snapshots, taking everything away and bringing it back, and proof that all is well."""

    def put_snapshot(self, tenant: str, name: str, moment: datetime, note: Note | None = None) -> datetime:
        """Name the present state; returns its system time. A name that is taken raises `AlreadyExists`."""
        ...

    def snapshots(self, tenant: str) -> dict[str, datetime]:
        """Return the named states, oldest first."""
        ...

    def load_snapshots(self, tenant: str, snapshots: Mapping[str, datetime]) -> int:
        """Bring named states back; a name that is taken keeps what it has. Returns how many were new."""
        ...

    def dump(
        self, scope: Scope, known_at: datetime | None = None, *, ids: Sequence[str] | None = None
    ) -> Iterator[Stored]:
        """Give every version within a scope, as of the call or as known before, in order of arrival; or of some records.

        Nothing is held up meanwhile.
        """
        ...

    def clashes(self, versions: Sequence[Stored]) -> list[str]:
        """Return the ids of versions that are there already with another content."""
        ...

    def load(self, versions: Sequence[Stored], note: Note | None = None, *, model: int | None = None) -> int:
        """Store versions as they are; those already there are passed over. Returns how many were new.

        `model` is the number of the one that made their vectors; None where they have none. When the store has another
        in use, `ModelChanged` is raised and nothing is stored.
        `note` goes to the audit trail with them, with that number as its detail `versions`.
        """
        ...

    def sweep(self, moment: datetime, *, keys_before: datetime, limit: int) -> int:
        """Close what has expired and forget old keys, at most `limit` of each; returns how many."""
        ...

    def thin(
        self,
        scope: Scope,
        *,
        keep_from: datetime | None,
        forget_before: datetime | None,
        start: str,
        limit: int,
        first: bool,
        dry: bool = False,
    ) -> Thinned:
        """Physically remove old versions (see `store.thinning`) of the next `limit` records by id, after `start`.

        `first` marks the first step of a run; both moments lie before that step, and are the same for all steps.
        """
        ...

    def backup(self, path: str) -> None:
        """Write a consistent copy of the whole store to a new file while others go on writing."""
        ...

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        ...

    def tenants(self) -> list[str]:
        """Return all tenants of which something is stored, sorted."""
        ...

    def condition(self) -> Condition:
        """Return how the whole store is."""
        ...

    def stats(self, tenant: str, moment: datetime, *, vectors: bool = True) -> Stats:
        """Count what is stored; what has expired does not count as a record or a key.

        Vectors take longest to count: without `vectors` there are none.
        """
        ...


@runtime_checkable
class ReadOnlyAware(Protocol):
    """Lying where nothing can be written: what a store may have to live with."""

    def is_read_only(self) -> bool:
        """Return whether nothing can be written: writes raise `ReadOnlyStore`, and reads go on."""
        ...


@runtime_checkable
class Indexing(Protocol):
    """Building indexes for what is too large to be compared whole: what a store may be able to do."""

    def build_index(self) -> Sequence[str]:
        """Build the indexes that are missing, while others go on; returns the names of all that are needed."""
        ...


class Auditing(Protocol):
    """The audit trail of each tenant: lines that only ever follow each other, and the head that is kept beside them."""

    def note(self, note: Note) -> None:
        """Append a line in a transaction of its own."""
        ...

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        ...

    def audit_lines(
        self,
        scope: Scope,
        *,
        start: int = 1,
        end: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        actor: str | None = None,
        operation: str | None = None,
        limit: int,
        newest: bool = False,
    ) -> list[Link]:
        """Return lines within a scope in their order, from number `start` to `end`: the first so many, or the newest."""
        ...

    def audit_names(self, tenant: str, /, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for: keys that a sealed store names by their sealed form, opened if they can be."""
        ...


@runtime_checkable
class Erasing(Protocol):
    """Removing for good, in short steps that are taken up again when somebody was interrupted: what a store may be able to do."""

    def begin_erasure(self, target: Target, moment: datetime) -> int:
        """Note that an erasure has begun and return its number; the same one that was interrupted goes on."""
        ...

    def erasures(self, tenant: str) -> list[tuple[int, Target | None]]:
        """Return what is being erased, or was when somebody was interrupted; None where only bytes are left to clean."""
        ...

    def erasure(self, number: int, tenant: str) -> tuple[datetime | None, dict[str, int]]:
        """Return when an erasure began, and what it has removed so far."""
        ...

    def marks(self, number: int, tenant: str) -> dict[str, Any]:
        """Return the ids of records that an erasure has removed, with what was noted of them."""
        ...

    def mark(self, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        """Note more of what an erasure must come back to."""
        ...

    def add_counts(self, number: int, tenant: str, counts: Mapping[str, int]) -> None:
        """Add to what an erasure has removed."""
        ...

    def end_erasure(self, number: int, tenant: str, *, cleaned: bool) -> None:
        """Forget what was erased: first whom it was about, then, with the bytes `cleaned`, that there was anything."""
        ...

    def weigh(self, target: Target) -> dict[str, int]:
        """Count the records that have a version within a target, and all versions of these."""
        ...

    def doomed(self, target: Target, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        ...

    def obliterate(self, number: int, tenant: str, marks: Mapping[str, Any], jobs: Sequence[str] = ()) -> None:
        """Remove every version of records for good, and note them as removed by an erasure, in one transaction.

        Jobs go with them, by their ids; one that is just being done is left to `forget`.
        """
        ...

    def drop_versions(self, number: int, tenant: str, id: str, below: int) -> None:
        """Remove the versions of a record before one, for good."""
        ...

    def versions(self, tenant: str, kinds: Sequence[str]) -> Iterator[Record]:
        """Give every version of some kinds, past ones too, record by record."""
        ...

    def forget(self, number: int, target: Target, moment: datetime) -> int:
        """Remove the idempotency keys, jobs and snapshots of what an erasure removed.

        Returns how many jobs are just being done on it; they are left, and removed when it is called again.
        """
        ...

    def clean_jobs(self, number: int, tenant: str, *, jobs: Sequence[str], errors: Sequence[str]) -> None:
        """Remove jobs, and take the errors of others out, by their ids; what was removed counts for an erasure."""
        ...

    def redact(self, note: Note, choose: Callable[[Link], Sequence[Half]]) -> int:
        """Take halves out of audit lines, those that `choose` names of each; a line of its own says which. Returns how many."""
        ...

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the bytes of what was removed go; returns what others kept from going all the time that was given."""
        ...

    def remains(self, target: Target, terms: Sequence[str]) -> dict[str, int]:
        """Count what the store still has of a target, and rows of words under some terms that lead nowhere."""
        ...

    def search_bytes(self, tenant: str, needles: Needles) -> dict[str, int]:
        """Look for texts in all that the store holds of a tenant, whatever it is for; returns how much was searched, by place.

        Where bytes of other tenants are searched with them, what these say is no leftover.
        """
        ...

    @property
    def beyond(self) -> tuple[str, ...]:
        """Where copies of what was removed may be that the store itself cannot reach."""
        ...


@runtime_checkable
class Copying(Protocol):
    """Knowing the copies of the whole store that were made: what a store may be able to do."""

    def note_backup(self, path: str, moment: datetime) -> None:
        """Remember that a copy was made."""
        ...

    def backups(self) -> list[str]:
        """Return the copies that were made and are still where they were."""
        ...


class Unembedded(NamedTuple):
    """A version that a model under construction has not embedded."""

    number: int
    """What `put_vectors` knows it by."""
    tenant: str
    id: str
    version: int
    text: str


class ModelInUse(NamedTuple):
    """The embedding model whose vectors are searched."""

    name: str
    dimension: int
    number: int
    """What the store knows it by: another one for each change of the model, so that vectors cannot be mixed up."""

    @property
    def identity(self) -> tuple[str, int]:
        """What tells vectors of different models apart."""
        return self.name, self.dimension


class Unvectored(NamedTuple):
    """A version without a vector by the model in use."""

    id: str
    version: int
    text: str
    owed: bool
    """Whether a job is there that will make it."""


class Models(Protocol):
    """The embedding model in use, and one that is built beside it."""

    def use_model(self, name: str, dimension: int) -> int:
        """Bind the store to an embedding model and return its number; one with vectors of another raises `EmbeddingMismatch`."""
        ...

    def model(self) -> ModelInUse | None:
        """Return the embedding model in use, or None when there is none yet."""
        ...

    def unvectored(self, tenant: str) -> Iterator[Unvectored]:
        """Give the versions of a tenant that have no vector by the model in use, in order of arrival.

        Nothing where the store has no model. A text that nobody can read any more is passed over.
        """
        ...

    def has_vectors(self) -> bool:
        """Say whether there is any vector by the model in use."""
        ...

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""
        ...

    def unembedded(self, model: int, limit: int) -> tuple[int, list[Unembedded]]:
        """Return how many versions still have no vector by a model, and the first of them."""
        ...

    def put_vectors(self, model: int, vectors: Sequence[tuple[int, NDArray[np.float32] | None]]) -> None:
        """Store vectors by a model under construction, in the order they were asked for.

        Raises `ModelChanged` when somebody else has begun to build another one meanwhile; so do the two below.
        """
        ...

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""
        ...

    def drop_models(self, limit: int) -> int:
        """Remove vectors of models that are not in use, at most so many; returns how many were removed."""
        ...


class Store(Reading, Finding, Jobs, Keeping, Auditing, Models, Protocol):
    """Records in versions, their words and vectors, and the jobs they cause."""

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
        """Apply a batch atomically and in order; it is durable and findable when this returns.

        `after` tells which jobs each change causes, and `note` what the audit trail keeps of the batch; they are written with it. `key` names the batch: a second batch under it in the same scope changes nothing and returns the first commit.
        """
        ...

    def repeated(self, scope: Scope, key: str) -> Commit | None:
        """Return what the batch under an idempotency key did, or None when there was none."""
        ...

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        ...


class ErasingStore(Store, Erasing, Protocol):
    """A store that can remove for good."""
