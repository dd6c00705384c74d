"""All suites as one class to inherit."""

from rememo.testing.audit import AuditSuite
from rememo.testing.batches import BatchSuite, KeySuite
from rememo.testing.changes import FollowSuite
from rememo.testing.derived_ids import DerivedIdSuite
from rememo.testing.expiry import ExpirySuite
from rememo.testing.filters import FilterSuite
from rememo.testing.hooks import HookSuite
from rememo.testing.keeping import ClosedSuite, KeepingSuite, RefusalSuite
from rememo.testing.keyvalues import KeyValueSuite
from rememo.testing.lessons import LessonsSuite
from rememo.testing.listing import ListSuite
from rememo.testing.machine import MachineSuite
from rememo.testing.quarantine import QuarantineSuite
from rememo.testing.records import ChangeSuite, ConflictSuite, DurabilitySuite, RecordSuite
from rememo.testing.retention import RetentionSuite
from rememo.testing.scopes import IsolationSuite, ScopeSuite
from rememo.testing.search import SearchSuite, SimilarSuite
from rememo.testing.threads import ThreadSuite
from rememo.testing.transfer import TransferSuite
from rememo.testing.travel import DiffSuite, HistorySuite, RollbackSuite, SnapshotSuite, UndoSuite
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
    FollowSuite,
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
    KeepingSuite,
    QuarantineSuite,
    RefusalSuite,
    RetentionSuite,
    LessonsSuite,
    AuditSuite,
    ClosedSuite,
    ThreadSuite,
    MachineSuite,
):
    """All of it. `BackupSuite` is for stores that make their own copies, `EraseSuite` for those that remove for good."""
