"""What keeps a memory: export, backup, erasure, verification, retention, keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rememo.collections.records import Records
from rememo.errors import Unavailable
from rememo.model.check import check_flag, check_function, check_label
from rememo.model.erasure import ErasureReceipt
from rememo.model.receipt import Receipt
from rememo.model.spelling import usual_spellings
from rememo.recall.embed.protocol import Embedder
from rememo.store.kv.protocol import KeyValueServer
from rememo.store.reports import Check, Stats

if TYPE_CHECKING:
    from rememo.keep.export import Transferred
    from rememo.llm.spending import Spending
    from rememo.model.retention import Maintenance


@usual_spellings
class MemoryUpkeep(Records):
    """The whole of a memory: moved, erased, checked and maintained."""

    def export(self, path: str | Path, *, plain: bool = False) -> Transferred:
        """Write everything in this scope to a new JSON Lines file: all versions, and for a whole tenant its other state.

        The export of an encrypted memory is encrypted with the same master key; `plain` asks for one that anybody can read.
        """
        from rememo.keep.export import export

        readable = check_flag(plain, "plain")
        return export(self._view.engine, self.bound, path, known_at=self._view.known_at, plain=readable)

    def import_(self, path: str | Path) -> Transferred:
        """Import an export into this scope's tenant without a loss; repeating it is harmless."""
        from rememo.keep.import_file import import_file
        from rememo.working.import_checks import check_entry

        self._view.need_present()
        return import_file(self._view.engine, self.bound, path, check_entry)

    def backup(self, path: str | Path) -> None:
        """Copy the whole store, all tenants, to a new file while others go on writing."""
        from rememo.keep.erase import note_backup

        self._record("backup")
        self._view.engine.store.backup(str(path))
        note_backup(self._view.engine, str(Path(path).absolute()))

    def erase(
        self,
        *,
        user: str | None = None,
        room: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        ids: Iterable[str] | None = None,
        dry_run: bool = False,
    ) -> ErasureReceipt:
        """Remove for good all that belongs to a user, room or agent, some records, or the whole tenant.

        To erase everything, name the tenant that this memory is bound to: `erase(tenant="acme")`. Any other name is
        refused.

        With it go all versions, vectors, words, jobs and keys, its key-value state, and what was learned from it and
        from nothing else; summaries are written anew without it, saved sessions lose it, caches are emptied, and lines of
        the audit trail are redacted. No view of the past, undo or roll-back brings it back. The receipt says what was
        removed, and what a search of the index, of everything that is left and of the file's bytes found afterwards. An
        unknown user gets an empty receipt; without a target it is an error. An interrupted erasure goes on when it is
        asked for again, or by `maintain()`. With `dry_run` nothing is removed; the receipt counts the records, versions
        and keys that would go, and the sessions that would change.
        """
        from rememo.keep.erase import erase, preview
        from rememo.keep.erasure_targets import make_target
        from rememo.working.session_erasure import clean_session

        self._view.need_present()
        self._view.need_no_batch("erase()")
        target = make_target(self.bound, user=user, room=room, agent=agent, tenant=tenant, ids=ids)
        dry = check_flag(dry_run, "dry_run")
        if dry:
            return preview(self._view.engine, target, clean_session)
        receipt = erase(self._view.engine, target, clean_session)
        if (composer := self._view.engine.composer) is not None:
            composer.forget()
        return receipt

    def verify(self) -> Check:
        """Check that the file is sound, that records, words, vectors and jobs agree, and that no vector is missing."""
        from rememo.keep.missing_vectors import verify

        return verify(self._view.engine)

    def stats(self) -> Stats:
        """Count what this tenant holds, and measure the store; keys on a server that cannot be reached are not counted."""
        engine, tenant = self._view.engine, self.bound.tenant
        model, active = engine.store.model(), engine.model.follow()
        stats = engine.store.stats(tenant, engine.now())
        stats = replace(stats, model=None if model is None else model.name, words_only=active.words_only)
        if not isinstance(engine.plain_kv, KeyValueServer):
            return stats
        try:
            return replace(stats, keys=stats.keys + engine.plain_kv.count(tenant, engine.now()))
        except Unavailable:
            return stats

    def spending(self, *, days: int = 30, backlog: bool = False) -> Spending:
        """Return what this tenant spent on models on the latest days (UTC), by day and purpose.

        `left` says what may still be spent today under the settings' `spend_daily_tokens`. With `backlog`, also what the
        messages that wait to be learned from would take at the most; nobody is asked for that.
        """
        from rememo.engine.job_payloads import EXTRACT, LEARN, UNLEARN
        from rememo.llm.spending import Ledger

        spending = Ledger(self._view.engine).read(self.bound.tenant, days)
        if not backlog:
            return spending
        from rememo.learn.model_learning import backlog as waiting

        return replace(spending, backlog=waiting(self._view.engine, self.bound.tenant, (LEARN, UNLEARN, EXTRACT)))

    def maintain(self, *, dry_run: bool = False) -> Maintenance:
        """Reclaim what has expired and run the policies of this scope and of narrower ones, in short steps.

        Without a policy nothing that can be read is removed. Returns what was done, policy by policy, for
        `retention.undo`; `dry_run=True` tells what would be done. A run or an
        erasure that was interrupted is ended by the next one.
        """
        from rememo.keep.erase import resume
        from rememo.keep.maintenance import maintain
        from rememo.working.session_erasure import clean_session

        self._view.need_present()
        self._view.need_no_batch("maintain()")
        if not check_flag(dry_run, "dry_run"):
            resume(self._view.engine, self.bound.tenant, clean_session)
        report = maintain(self._view, dry=dry_run)
        if (composer := self._view.engine.composer) is not None:
            composer.sweep()
        return report

    def reembed(self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Change the embedding model of the whole store; returns how many versions were embedded anew.

        The new vectors are built beside the old ones and take over when complete; searches go on meanwhile, and an
        interrupted run goes on where it stopped. `progress(done, total)` is called after each step.
        """
        from rememo.keep.reembed import reembed

        self._view.need_present()
        if progress is not None:
            check_function(progress, "progress")
        count = reembed(self._view.engine, embedder, progress)
        self._record("reembed", versions=count)
        return count

    def _record(self, operation: str, **detail: int) -> None:
        if self._view.engine.audit is not None:
            self._view.engine.audit.record(operation, self.bound, detail)

    def rotate_keys(self, *, reencrypt: bool = True) -> Receipt:
        """Wrap the keys of the whole store by the keyring's first master key, at once; others are not needed any more.

        With `reencrypt`, every tenant gets a new data key too, and jobs encrypt its contents with it while others read and write;
        `wait()` on the receipt waits for them.
        """
        from rememo.keep.rotation import rotate_keys

        self._view.need_present()
        self._view.need_no_batch("rotate_keys()")
        return rotate_keys(self._view.engine, self.bound, reencrypt=check_flag(reencrypt, "reencrypt"))

    def drop_key(self, *, tenant: str) -> bool:
        """Make everything of this memory's tenant unreadable for ever, at once; False when it had no key.

        Name the tenant, as a confirmation. Copies of the file that were made before still have the key.
        """
        from rememo.keep.rotation import drop_key

        self._view.need_present()
        self._view.need_no_batch("drop_key()")
        return drop_key(self._view.engine, self.bound, check_label(tenant, "tenant"))
