"""Engine: what all views of one memory share, and the path of every write."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from rememo.engine.audit import Auditor
from rememo.engine.audited_kv import AuditedKeyValue
from rememo.engine.derived_ids import DerivedIds
from rememo.engine.drafting import DraftBuilder
from rememo.engine.embedding_model import EmbeddingModelTracker
from rememo.engine.expiry_sweep import ExpirySweeper, SweepingKeyValue
from rememo.engine.hooks import HookTable
from rememo.engine.pending_extraction import PendingExtraction
from rememo.engine.receipts import changes_of, receipt_of
from rememo.engine.services import NO_SERVICES, Closeable, Composing, EngineServices, Modelling, Runner
from rememo.model.check import check_label
from rememo.model.filters import Filter
from rememo.model.health import Health
from rememo.model.job import NewJob
from rememo.model.receipt import Receipt
from rememo.model.scope import Scope
from rememo.model.times import Clock, to_utc
from rememo.recall.analyze import Analyzer
from rememo.recall.answers.selector import AnswerSelector
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.runtime.lazy import lazy
from rememo.safety.guard import Guard, report_guard_effects
from rememo.settings import Settings
from rememo.store.cipher.protocol import MasterKeys, Reencryption
from rememo.store.kv.protocol import KeyValue, KeyValueServer
from rememo.store.notifications import WorkerNotifier
from rememo.store.protocol.maintenance import ReadOnlyAware
from rememo.store.protocol.store import Store
from rememo.store.writes import Write, Written

T = TypeVar("T")


class Engine:
    """The store, the analyser, the embedder, the clock and the hooks behind every view; thread-safe."""

    def __init__(
        self,
        *,
        store: Store,
        kv: KeyValue,
        analyzer: Analyzer,
        embedder: Embedder | None,
        settings: Settings,
        clock: Clock,
        encryption: MasterKeys | None = None,
        reencryption: Reencryption | None = None,
        services: EngineServices = NO_SERVICES,
    ) -> None:
        self.store = store
        self.encryption = encryption
        self.reencryption = reencryption
        self.ids = DerivedIds(reencryption)
        self.audit = Auditor(store, clock) if settings.audit else None
        self.plain_kv = kv
        """Key-value state whose changes leave no line of their own in the audit trail."""
        self._sweeper = ExpirySweeper(store, settings.key_days)
        self.kv: KeyValue = SweepingKeyValue(
            kv if self.audit is None else AuditedKeyValue(kv, self.audit), self._sweeper
        )
        self.analyzer = analyzer
        self.settings = settings
        self.clock = clock
        self.hooks = HookTable()
        self.guard = Guard(settings)
        self._services = services
        waiting = settings.learn_wait if settings.worker else 0.0
        self.pending_extraction = PendingExtraction(
            store, waiting, lambda: None if self.is_read_only() else self.runner
        )
        """Extraction jobs that reads wait for."""
        self._calling = store if isinstance(store, WorkerNotifier) else None
        self.reranker = services.reranker
        self._owned: list[Closeable] = list(services.owned)
        self.model = EmbeddingModelTracker(store, settings, self._owned.append)
        """Which embedding model is in use."""
        self.model.use(embedder)
        self.drafts = DraftBuilder(settings, analyzer, self.model, self.guard, self.now)
        self.models: Modelling | None = None if services.models is None else services.models(self)
        """The gateway to the language model."""

    @property
    def runner(self) -> Runner | None:
        """The worker; None where this memory runs no jobs."""
        return self._made("_runner", self._services.worker)

    @property
    def composer(self) -> Composing | None:
        """What composes states from their sources."""
        return self._made("_composer", self._services.composer)

    @lazy
    def answer_selector(self) -> AnswerSelector:
        """Return the network that chooses which of several statements answers a question."""
        return AnswerSelector(self.analyzer.terms)

    def _made(self, name: str, make: "Callable[[Engine], T] | None") -> T | None:
        """Return a service that is made when first asked for; of two threads that ask at once, both get the same."""
        service = self.__dict__.get(name)
        return self.__dict__.setdefault(name, make(self)) if service is None and make is not None else service

    @property
    def embedder(self) -> Embedder | None:
        """What texts are embedded by now; None where nothing is, or where this process has not got the store's model."""
        return self.model.active.embedder

    def is_read_only(self) -> bool:
        """Return whether nothing can be written to the store."""
        return isinstance(self.store, ReadOnlyAware) and self.store.is_read_only()

    def now(self) -> datetime:
        """Return the present moment by this memory's clock."""
        return to_utc(self.clock(), "the clock's time")

    def commit(
        self,
        scope: Scope,
        writes: Sequence[Write],
        key: str | None = None,
        *,
        unlearn: bool = False,
        reach: Scope | None = None,
        operation: str = "write",
        still_learned: frozenset[str] = frozenset(),
    ) -> Receipt:
        """Write a batch, tell the hooks, and return the receipt.

        With `unlearn`, what was learned from records that end or change is brought in line by jobs of the same write,
        within `reach` where the writer was bound, but for records that end and are `still_learned`.
        `operation` is its name in the audit trail.
        """
        if key is not None:
            check_label(key, "key")
        runner = self.runner
        after = self._unlearning(still_learned, reach) if unlearn else None
        note = None if self.audit is None else self.audit.writing(operation, scope, writes)
        now = self.now()
        commit = self.store.write(scope, writes, now, key, after, note=note)
        self._sweeper.after_write(now)
        receipt = receipt_of(commit)
        if commit.model_changed:
            self.model.notice()
        if commit.repeated:
            receipt = self._held_back(scope, receipt)
        else:
            receipt = report_guard_effects(receipt, writes)
            if self.hooks.any:
                self.hooks.tell([change for change in changes_of(commit) if change.id not in receipt.quarantined])
        if runner is None or not commit.jobs:
            return receipt
        self.tell_workers()

        def follow(pending: Receipt, timeout: float) -> Receipt:
            return runner.follow(pending, timeout, tenant=scope.tenant)

        return replace(receipt, follow=follow)

    def _unlearning(
        self, still_learned: frozenset[str], reach: Scope | None
    ) -> Callable[[Written], Sequence[NewJob]] | None:
        runner = self.runner
        if runner is None:
            return None

        def after(written: Written) -> Sequence[NewJob]:
            stays_learned = written.outcome == "deleted" and written.id in still_learned
            return () if stays_learned else runner.after(written, reach=reach)

        return after

    def tell_workers(self) -> None:
        """Wake whoever runs the jobs that were just written: the worker here, or one elsewhere."""
        if self.settings.worker and self.runner is not None:
            self.runner.wake()
        elif self._calling is not None:
            self._calling.call()

    def first_receipt(self, scope: Scope, key: str) -> Receipt | None:
        """Return the receipt of the write under an idempotency key, or None when there was none."""
        commit = self.store.repeated(scope, check_label(key, "key"))
        return None if commit is None else self._held_back(scope, receipt_of(commit))

    def _held_back(self, scope: Scope, receipt: Receipt) -> Receipt:
        """Return the receipt of an earlier write with what is still in quarantine of it."""
        filter = Filter(scope=Scope(tenant=scope.tenant), ids=receipt.ids, quarantined=True)
        quarantined = (
            {record.id: record.quarantine or "" for record in self.store.read(filter, self.now())}
            if receipt.ids
            else {}
        )
        return replace(receipt, quarantined=quarantined) if quarantined else receipt

    def health(self) -> tuple[Health, ...]:
        """Return the health of the servers beside the store, without asking them, and of an embedding model that is missing."""
        servers = (self.plain_kv, self.embedder)
        health = [server.health() for server in servers if isinstance(server, (KeyValueServer, RemoteEmbedder))]
        missing = self.model.active.health()
        return (*health, *(() if missing is None else (missing,)))

    def close(self) -> None:
        """Stop the worker and close the store; closing twice is harmless."""
        for name in ("_composer", "models", "_runner"):  # what was never needed is not made now
            if (service := self.__dict__.get(name)) is not None:
                service.stop()
        if isinstance(self.plain_kv, KeyValueServer):
            self.plain_kv.close()
        for resource in self._owned:
            resource.close()
        self.store.close()
