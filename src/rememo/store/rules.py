"""What a write means: which versions it opens and closes, and when it is refused. The same for every store."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.model.receipt import Outcome
from rememo.model.scope import Scope
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Remove, RemoveAll, Revise, Write, Written


@dataclass(slots=True)
class NewestVersion:
    """The newest version of a record, as a write finds it."""

    number: int
    arrival: int
    version: int
    created_at: int
    kind: str
    scope: Scope
    open: bool
    """It is the current version, expired or not."""
    live: bool
    """It is the current version and has not expired."""


class WriteRules(ABC):
    """One batch of writes at one system time; a store gives it the versions and takes what it opens and closes."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._tenant = scope.tenant

    @abstractmethod
    def _last(self, id: str) -> NewestVersion | None:
        """Return the newest version of a record."""

    @abstractmethod
    def _close(self, last: NewestVersion, *, deleted: bool) -> None:
        """End a current version."""

    @abstractmethod
    def _open(self, draft: Draft, last: NewestVersion | None, outcome: Outcome, *, anew: bool = False) -> Written:
        """Open the version after the last one; `anew` begins another life of a record that was gone."""

    @abstractmethod
    def _meant(self, write: RemoveAll) -> Sequence[tuple[str, NewestVersion]]:
        """Return the current records that are meant, with their ids, in order of arrival."""

    def do(self, writes: Sequence[Write]) -> list[Written]:
        """Do them in order; the first that cannot be done raises and leaves the undoing to the caller."""
        written: list[Written] = []
        for write in writes:
            if isinstance(write, Put):
                written.append(self._put(write))
            elif isinstance(write, Revise):
                written.append(self._revise(write))
            elif isinstance(write, Remove):
                written.append(self._remove(write))
            else:
                written += self._remove_all(write)
        return written

    def _put(self, write: Put) -> Written:
        draft = write.draft
        last = None if write.fresh else self._last(draft.id)
        if last is None:
            return self._open(draft, None, "added")
        if not last.live:
            if last.open:
                self._close(last, deleted=False)
            return self._open(draft, last, "added", anew=True)
        # The scope of a new record is that of the view that asked for it.
        if write.on_conflict == "ignore" and draft.scope.contains(last.scope):
            return Written(draft.id, last.version, "ignored", last.kind, last.scope)
        if write.on_conflict == "replace" and draft.scope.contains(last.scope):
            self._close(last, deleted=False)
            return self._open(draft, last, "replaced")
        raise AlreadyExists(
            f"there is a record {draft.id!r} already; use update(), another id, or on_conflict='ignore' or 'replace'"
        )

    def _revise(self, write: Revise) -> Written:
        draft = write.draft
        last = self._last(draft.id)
        if last is None or (last.live and not self._scope.contains(last.scope)):
            raise NotFound(f"there is no record {draft.id!r} in this scope")
        if write.expected == 0:
            if last.live:
                raise VersionConflict(f"record {draft.id!r} is there again, as version {last.version}")
            if last.open:
                self._close(last, deleted=False)
        elif not last.live:
            raise NotFound(f"there is no record {draft.id!r} in this scope: it was deleted or has expired")
        elif last.version != write.expected:
            raise _version_conflict(draft.id, last.version, write.expected)
        else:
            self._close(last, deleted=False)
        return self._open(draft, last, write.outcome)

    def _remove(self, write: Remove) -> Written:
        last = self._last(write.id)
        if last is None or not last.live or not write.scope.contains(last.scope):
            raise NotFound(f"there is no record {write.id!r} in this scope")
        if write.expected is not None and last.version != write.expected:
            raise _version_conflict(write.id, last.version, write.expected)
        self._close(last, deleted=True)
        return Written(write.id, last.version, "deleted", last.kind, last.scope)

    def _remove_all(self, write: RemoveAll) -> list[Written]:
        if write.filter.known_at is not None:
            raise InvalidInput("what was known in the past cannot be deleted; leave known_at out")
        written: list[Written] = []
        for id, last in self._meant(write):
            self._close(last, deleted=True)
            written.append(Written(id, last.version, "deleted", last.kind, last.scope))
        return written


def _version_conflict(id: str, version: int, expected: int) -> VersionConflict:
    return VersionConflict(
        f"record {id!r} is at version {version}, not {expected}; read it again and repeat the change"
    )
