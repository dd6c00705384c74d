"""The protocol of a store, made of the small ones beside this module.

Policy (validation, scope, expiry rules, embedding) lives above it; a store only keeps and finds. A store sees the words of a
text through the one analyser it is given, so that every backend finds alike. Times cross this interface as aware UTC
datetimes; every call names its tenant through a filter, a scope or a write.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from rememo.model.audit import NewAuditEntry
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.store.protocol.audit import AuditLog
from rememo.store.protocol.embedding_models import EmbeddingModels
from rememo.store.protocol.erasure import RecordErasure
from rememo.store.protocol.jobs import JobQueue
from rememo.store.protocol.maintenance import StoreMaintenance
from rememo.store.protocol.records import RecordReading
from rememo.store.protocol.retention import RecordRetention
from rememo.store.protocol.search import RecordSearch
from rememo.store.protocol.snapshots import SnapshotStore
from rememo.store.protocol.transfer import VersionTransfer
from rememo.store.writes import Commit, Write, Written


class Store(
    RecordReading,
    RecordSearch,
    JobQueue,
    SnapshotStore,
    VersionTransfer,
    RecordRetention,
    StoreMaintenance,
    AuditLog,
    EmbeddingModels,
    Protocol,
):
    """Records in versions, their words and vectors, and the jobs they cause."""

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


class ErasingStore(Store, RecordErasure, Protocol):
    """A store that can remove for good."""
