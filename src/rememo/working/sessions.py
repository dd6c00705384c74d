"""Sessions: workbenches saved by name, taken up again, or gone when they end."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast

from rememo.engine.opening import open_engine
from rememo.engine.services import EngineServices
from rememo.engine.view import View
from rememo.errors import AlreadyExists, Corrupt, NotFound, ReadOnly, RememoError, VersionConflict
from rememo.jobs.worker import Worker
from rememo.model.check import check_flag, dump_json
from rememo.model.receipt import Receipt
from rememo.model.times import to_utc
from rememo.runtime.retry import retry_on_conflict
from rememo.store.kv.protocol import Entry
from rememo.working.export_format import export_workbench, read_export, workbench_records
from rememo.working.file_names import check_file_name, fold_file_name
from rememo.working.restore import restore_export
from rememo.working.working import Working

_MOST_TRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A saved workbench, without what it holds."""

    name: str
    saved_at: datetime
    messages: int
    actions: int
    thoughts: int
    todos: int
    context: int
    """How many values."""
    bytes: int
    """Of JSON."""


class Sessions:
    """The saved sessions of exactly this view's labels.

    They are kept beside the records: clearing or rolling back a scope leaves them as they are, a deleted one leaves no
    version behind.
    """

    def __init__(self, view: View) -> None:
        scope = view.scope
        self._view = view
        self._tenant = scope.tenant
        self._kv = view.engine.kv
        self._space = dump_json([scope.agent, scope.user, scope.room, "sessions"])

    def save(self, name: str) -> Session:
        """Keep the workbench of this view as it is now; a session of that name is replaced.

        The name must be fit for a file on any system, and differ from the others by more than small and large letters,
        or `InvalidInput` or `AlreadyExists` is raised.
        """
        name = self._checked(name)

        def prepare() -> Entry | None:
            entry = self._entry(name)
            self._need_same(entry, name)
            return entry

        def write(entry: Entry | None) -> Session:
            value = export_workbench(self._view, workbench_records(self._view))
            text = dump_json(value)
            counts = {part: len(value[part]) for part in ("messages", "actions", "thoughts", "todos", "context")}
            session = Session(name=name, saved_at=self._view.engine.now(), bytes=len(text.encode()), **counts)
            head = dump_json(asdict(session) | {"saved_at": session.saved_at.isoformat()})
            if not self._set(name, f"[{head},{text}]", entry):
                raise VersionConflict(f"session {name!r} was saved by others meanwhile")
            return session

        return retry_on_conflict(prepare, write, f"session {name!r}", attempts=_MOST_TRIES)

    def load(self, name: str) -> Receipt:
        """Make the workbench of this view what it was when it was saved, in one transaction; what is not in it ends.

        `memory.undo(receipt)` takes that back. A session that is not there raises `NotFound`.
        """
        return restore_export(self._view, read_export(self._view, self.get(name)))

    def get(self, name: str) -> dict[str, Any]:
        """Return a saved session as `working.export()` made it, for a file or for another memory's `working.import_`."""
        name = self._checked(name)
        entry = self._entry(name)
        if entry is None or _read_summary(entry).name != name:
            raise NotFound(f"there is no session {name!r} in this scope; sessions.list() tells which there are")
        return _read_body(entry)

    def list(self) -> "list[Session]":
        """Return the saved sessions, the one saved first at the start."""
        self._need_now()
        now = self._view.engine.now()
        keys = self._kv.keys(self._tenant, self._space, "*", now)
        entries = [self._kv.get(self._tenant, self._space, key, now) for key in keys]
        return sorted(
            (_read_summary(entry) for entry in entries if entry is not None),
            key=lambda session: (session.saved_at, session.name),
        )

    def delete(self, name: str) -> bool:
        """Forget a saved session; False when there is none of that name. The workbench itself stays as it is."""
        name = self._checked(name)
        entry = self._entry(name)
        if entry is None or _read_summary(entry).name != name:
            return False
        return self._kv.delete(self._tenant, self._space, fold_file_name(name), self._view.engine.now())

    @contextmanager
    def run(self, name: str, *, clear: bool = False) -> Generator["Working"]:
        """Work in a session: it is loaded if it was saved before, and saved when the block ends, however it ends.

        With `clear` nothing of it stays: the workbench begins empty and lives in this process alone, with what is learned
        from it; nothing is written to the store, so neither an exception nor a crash leaves anything behind. When the
        block ends it is gone, and using it raises `Closed`. The name must not be that of a saved session.
        """
        name = self._checked(name)
        empty = check_flag(clear, "clear")
        self._need_same(entry := self._entry(name), name)
        if not empty:
            with self._run_saved(name, must_exist=entry is not None) as working:
                yield working
            return
        if entry is not None:
            raise AlreadyExists(
                f"session {name!r} is saved, so clear=True cannot be kept; delete it or choose another name"
            )
        outer = self._view.engine
        # Nothing of it may be on a server either.
        settings = outer.settings.but(kv="")
        services = EngineServices(worker=Worker)
        engine = open_engine(
            ":memory:", embedder=outer.embedder, settings=settings, clock=outer.clock, services=services
        )
        try:
            yield Working(View(engine=engine, scope=self._view.scope))
        finally:
            engine.close()

    # ---- inside

    @contextmanager
    def _run_saved(self, name: str, *, must_exist: bool) -> Generator["Working"]:
        if must_exist:
            self.load(name)
        try:
            yield Working(self._view)
        except BaseException as error:
            try:
                self.save(name)
            except RememoError as second:
                # What went wrong first matters more; both are reported.
                error.add_note(f"the session {name!r} could not be saved: {second}")
            raise
        self.save(name)

    def _checked(self, name: str) -> str:
        self._need_now()
        self._view.need_no_batch("a session")
        return check_file_name(name)

    def _need_now(self) -> None:
        if self._view.known_at is not None:
            raise ReadOnly("sessions have no past and cannot be reached through a view of the past")

    def _entry(self, name: str) -> Entry | None:
        return self._kv.get(self._tenant, self._space, fold_file_name(name), self._view.engine.now())

    def _need_same(self, entry: Entry | None, name: str) -> None:
        if entry is not None and (other := _read_summary(entry).name) != name:
            raise AlreadyExists(
                f"there is a session {other!r} already, which some file systems cannot tell from {name!r}; choose another name"
            )

    def _set(self, name: str, value: str, entry: Entry | None) -> bool:
        expected = 0 if entry is None else entry.version
        now = self._view.engine.now()
        return self._kv.set(self._tenant, self._space, fold_file_name(name), value, now, expected=expected) is not None


def _read_summary(entry: Entry) -> Session:
    """Return what is known of a session without reading all that it holds."""
    try:
        fields: dict[str, Any] = json.JSONDecoder().raw_decode(entry.value, 1)[0]
        fields["saved_at"] = to_utc(fields["saved_at"], "saved_at")
        return Session(**fields)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise Corrupt(f"the saved session {entry.key!r} cannot be read: {error}") from None


def _read_body(entry: Entry) -> dict[str, Any]:
    """Return what a session holds."""
    try:
        return cast("dict[str, Any]", json.loads(entry.value)[1])
    except (ValueError, IndexError) as error:
        raise Corrupt(f"the saved session {entry.key!r} cannot be read: {error}") from None
