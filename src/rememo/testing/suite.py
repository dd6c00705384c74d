"""All suites as one class to inherit."""

from rememo.testing.audit import AuditSuite
from rememo.testing.batches import BatchSuite, KeySuite
from rememo.testing.changes import ChangeFeedSuite
from rememo.testing.concurrency import ConcurrencySuite
from rememo.testing.derived_ids import DerivedIdSuite
from rememo.testing.expiry import ExpirySuite
from rememo.testing.filters import FilterSuite
from rememo.testing.history import DiffSuite, HistorySuite, SnapshotSuite
from rememo.testing.hooks import HookSuite
from rememo.testing.integrity import ClosedSuite, IntegritySuite, RefusalSuite
from rememo.testing.key_values import KeyValueSuite
from rememo.testing.listing import ListSuite
from rememo.testing.pending_extraction import PendingExtractionSuite
from rememo.testing.quarantine import QuarantineSuite
from rememo.testing.records import ChangeSuite, ConflictSuite, DurabilitySuite, RecordSuite
from rememo.testing.retention import RetentionSuite
from rememo.testing.rollback import RollbackSuite, UndoSuite
from rememo.testing.scopes import IsolationSuite, ScopeSuite
from rememo.testing.search import SearchSuite
from rememo.testing.similar import SimilarSuite
from rememo.testing.state_machine import MachineSuite
from rememo.testing.transfer import TransferSuite
from rememo.testing.working import FlowSuite, TypedSuite


class MemoryConformance(
    RecordSuite,
    ConflictSuite,
    ChangeSuite,
    DurabilitySuite,
    ListSuite,
    FilterSuite,
    IsolationSuite,
    ScopeSuite,
    HistorySuite,
    SnapshotSuite,
    DiffSuite,
    RollbackSuite,
    UndoSuite,
    ChangeFeedSuite,
    BatchSuite,
    KeySuite,
    ExpirySuite,
    HookSuite,
    KeyValueSuite,
    FlowSuite,
    TypedSuite,
    SearchSuite,
    SimilarSuite,
    TransferSuite,
    DerivedIdSuite,
    IntegritySuite,
    QuarantineSuite,
    RefusalSuite,
    RetentionSuite,
    PendingExtractionSuite,
    AuditSuite,
    ClosedSuite,
    ConcurrencySuite,
    MachineSuite,
):
    """All of it. `BackupSuite` is for stores that make their own copies, `EraseSuite` for those that remove for good."""
