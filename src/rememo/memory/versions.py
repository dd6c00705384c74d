"""The past of a memory, and returning to it: history, snapshots, differences, undo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from rememo.collections.records import Records
from rememo.errors import InvalidInput, NotFound
from rememo.keep.versions import Diff
from rememo.model.change_event import ChangeEvent
from rememo.model.check import check_flag, check_label
from rememo.model.derived_ids import may_be_older
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc

_MICROSECOND: Final = timedelta(microseconds=1)
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MemoryVersions(Records):
    """The versions of what a memory holds."""

    def history(self, id: str, *, quarantined: bool = False) -> list[Record]:
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`.

        Versions that are or were in quarantine come only with `quarantined`.
        """
        self._view.wait_for_extraction()
        versions = self._view.engine.store.history(self.bound, check_label(id, "id"))
        if not versions and may_be_older(id):
            versions = self._view.engine.store.history(self.bound, self._view.engine.ids.derive(self.bound.tenant, id))
        if self._view.known_at is not None:
            versions = [version for version in versions if version.recorded_at <= self._view.known_at]
        if not check_flag(quarantined, "quarantined"):
            versions = [version for version in versions if version.quarantine is None]
        if not versions:
            raise NotFound(f"there is no record {id!r} in this scope, and never was")
        return versions

    def changes(self, *, after: datetime | str | None = None, limit: int = 100) -> list[ChangeEvent]:
        """Return what was added, changed and ended in this scope, in the order it was committed, by whichever process.

        `after` is a moment, or the `cursor` of a change that was given before: asking with the last one goes on without a
        loss. Quarantined records are left out; imported ones are listed at their own times. Expiry is no change.
        """
        from rememo.keep.changes import changes

        return changes(self._view, after, limit)

    def snapshot(self, name: str) -> datetime:
        """Name the present state of the whole tenant, for `as_of`, `diff` and `rollback`; returns its system time."""
        self._view.need_present()
        self._view.need_no_batch("snapshot()")
        audit = self._view.engine.audit
        note = None if audit is None else audit.note("snapshot", Scope(tenant=self.bound.tenant), ids=(name,))
        return self._view.engine.store.put_snapshot(
            self.bound.tenant, check_label(name, "name"), self._view.engine.now(), note
        )

    def snapshots(self) -> dict[str, datetime]:
        """Return the names of snapshots with their system times, oldest first."""
        return self._view.engine.store.snapshots(self.bound.tenant)

    def diff(self, before: str | datetime, after: str | datetime | None = None) -> Diff:
        """Return what was added, removed and changed in this scope from one moment to another, or until now."""
        from rememo.keep.versions import diff

        since, until = self._to_time(before), None if after is None else self._to_time(after)
        if self._view.known_at is not None:
            since, until = min(since, self._view.known_at), min(until or self._view.known_at, self._view.known_at)
        return diff(self._view.engine, self.bound, since, until)

    def rollback(self, to: str | datetime) -> Receipt:
        """Make this scope what it was known to be at a snapshot or a moment, by new versions; nothing is lost."""
        from rememo.keep.undo import roll_back

        self._view.need_present()
        self._view.need_no_batch("rollback()")
        return roll_back(self._view, self._to_time(to))

    def undo(self, receipt: Receipt) -> Receipt:
        """Undo one write, by new versions; a record that was changed since raises `VersionConflict`.

        What was learned since is no conflict: it goes with what it was learned from.
        """
        from rememo.keep.undo import undo

        self._view.need_present()
        self._view.need_no_batch("undo()")
        if not isinstance(receipt, Receipt):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"undo() takes the receipt of a write, not {type(receipt).__name__}")
        if receipt.recorded_at is None:
            raise InvalidInput("this receipt is of a batch that was not committed; there is nothing to undo")
        before = max(to_utc(receipt.recorded_at, "the receipt's recorded_at"), _BEGINNING) - _MICROSECOND
        return undo(self._view, receipt, before)

    def _to_time(self, moment: str | datetime) -> datetime:
        if isinstance(moment, datetime):
            return to_utc(moment, "the moment")
        taken_at = self.snapshots().get(check_label(moment, "snapshot"))
        if taken_at is None:
            raise NotFound(f"there is no snapshot {moment!r}; snapshots() lists them")
        return taken_at
