"""Typed values: one value of any type under a name, kept in versions like every record."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from types import UnionType
from typing import Any, Generic

from rememo.engine.view import View, ViewHolder
from rememo.errors import AlreadyExists, InvalidInput, NotFound, TypeMismatch, VersionConflict
from rememo.model.check import check_function, check_label, check_offset, dump_json
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import typed_name
from rememo.model.filters import Filter
from rememo.model.receipt import Change, Receipt
from rememo.model.record import STATE, Record
from rememo.runtime.lazy import lazy
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove
from rememo.working.type_schema import TypeSchema, V


@dataclass(frozen=True, slots=True)
class TypedVersion(Generic[V]):
    """A value as it was."""

    record: Record
    """The version of the record that holds it."""
    load: Callable[[Record], V] = field(repr=False, compare=False)

    @property
    def value(self) -> V:
        """A copy of the value; one that does not fit the type any more raises `TypeMismatch`."""
        return self.load(self.record)


@dataclass(frozen=True, slots=True)
class _ValueHook(Generic[V]):
    """A hook of a typed value as the table of hooks knows it; equal to another of the same value and function."""

    id: str
    hook: Callable[[V], object]
    read: Callable[[], V] = field(compare=False)

    def __call__(self, change: Change) -> None:
        if change.id == self.id:
            self.hook(self.read())


class Typed(ViewHolder, Generic[V]):
    """One value of one type, under a name in exactly this view's scope; thread-safe.

    It is a record of the kind `state` with the value as JSON in its `data`: versions, views of the past, undo, export
    and erasure hold for it as for any other. Nothing is stored until it is first set.
    """

    def __init__(
        self,
        view: View,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> None:
        if type is None and default is None:
            raise InvalidInput(
                f"the type of {name!r} cannot be inferred from None; give it, such as type=UserSession | None"
            )
        if migrate is not None:
            check_function(migrate, "migrate")
        self._name = check_label(name, "name")
        self._what = f"typed value {name!r}"
        super().__init__(view)
        self._migrate = migrate
        self._shape: TypeSchema[V] = TypeSchema(
            default.__class__ if type is None else type, self._what, view.engine.settings
        )
        self._default = self._shape.dump(default)[0]
        self._cached_text: tuple[datetime | None, str] = None, ""
        self._checked: tuple[datetime | None, bool] = None, False

    @lazy
    def _id(self) -> DerivedId:
        # Not before it is needed: in an encrypted store it takes the tenant's key.
        return self._view.engine.ids.derive(self._view.scope.tenant, typed_name(self._view.scope, self._name))

    @lazy
    def _record_filter(self) -> Filter:
        return Filter(scope=self._view.scope, ids=(self._id,))

    @property
    def name(self) -> str:
        """What it is called in its scope."""
        return self._name

    @property
    def id(self) -> str:
        """The id of its record, made of the scope's labels and the name: the same in every process."""
        return str(self._id)

    @property
    def version(self) -> int:
        """The version of the stored value; 0 while nothing is stored."""
        record = self._find()
        return 0 if record is None else record.version

    def get(self, *, known_at: datetime | None = None) -> V:
        """Return a copy of the value, now or as it was known then; the default when nothing is stored.

        A stored value that does not fit the type, or has other fields than the type stores, goes through `migrate`.
        Without one, a value that does not fit raises `TypeMismatch`.
        """
        record = self._find(known_at)
        return self._shape.load(self._default) if record is None else self._load(record)

    def set(self, value: V, *, expected_version: int | None = None) -> Receipt:
        """Store a value; one that cannot be stored raises `InvalidInput` and changes nothing.

        With `expected_version` (0: nothing stored) a value with another version raises `VersionConflict`.
        """
        self._view.need_present()
        data = self._data(self._shape.dump(value)[0])
        if expected_version is None:
            return self._view.put([self._item(data, "replace")])
        if check_offset(expected_version, "expected_version"):
            try:
                return self._view.revise(self._id, {"data": data}, expected_version)
            except NotFound:
                version = 0
        else:
            try:
                return self._view.put([self._item(data, "error")])
            except AlreadyExists:
                version = self.version
        raise VersionConflict(
            f"{self._what} is at version {version}, not {expected_version}; read it again and repeat the change"
        )

    def update(self, change: Callable[[V], V]) -> V:
        """Replace the value by what `change` makes of it, and return that; nothing comes in between, in any process.

        `change` gets a copy and returns the new value. It runs again when another thread or process was faster, so it
        must not do anything else. What makes no difference is not written.
        """
        self._view.need_present()
        self._view.need_no_batch("update()")
        check_function(change, "change")

        def prepare() -> tuple[Record | None, str, V]:
            record = self._find()
            changed = change(self._shape.load(self._default) if record is None else self._load(record))
            try:
                text, value = self._shape.dump(changed)
            except InvalidInput as error:
                if changed is None:
                    error.add_note("the function given to update() returned None: it must return the new value")
                raise
            return record, text, value

        def write(prepared: tuple[Record | None, str, V]) -> V:
            record, text, value = prepared
            if record is None:
                self._view.put([self._item(self._data(text), "error")])
            elif self._text(record) != text:
                self._view.revise(self._id, {"data": self._data(text)}, record.version)
            return value

        conflicts = (AlreadyExists, NotFound, VersionConflict)
        return retry_on_conflict(prepare, write, self._what, conflicts=conflicts)

    def clear(self) -> bool:
        """Reset the value to the default; False when nothing was stored. The past stays readable."""
        try:
            self._view.remove(self._id)
        except NotFound:
            return False
        return True

    # ---- time

    def history(self) -> list[TypedVersion[V]]:
        """Return every value it had, oldest first; empty when nothing was ever stored."""
        versions = self._view.engine.store.history(self._view.scope, self._id)
        known_at = self._view.known_at
        return [
            TypedVersion(version, self._load)
            for version in versions
            if known_at is None or version.recorded_at <= known_at
        ]

    def undo(self) -> V:
        """Undo the last change by a new version, and return the value that is current now.

        Repeated, it goes further back, at last to the default; then `NotFound` is raised. A change that comes in
        between raises `VersionConflict`, and nothing is undone.
        """
        self._view.need_present()
        self._view.need_no_batch("undo()")
        versions = {version.version: version for version in self._view.engine.store.history(self._view.scope, self._id)}
        record = self._find()
        if record is None or record.version not in versions:
            raise NotFound(f"{self._what} is at its default: there is nothing to undo")
        # What an undo brought back is undone to what was before that, not to what was undone.
        before = versions.get(_origin(record) - 1)
        if before is None or before.deleted:
            self._view.commit([Remove(id=self._id, scope=self._view.scope, expected=record.version)])
            return self._shape.load(self._default)
        value = self._load(before)  # one that fits no more is not brought back
        data = before.data | {"restores": _origin(before)}
        self._view.revise(self._id, {"data": data}, record.version)
        return value

    # ---- hooks

    def on_change(self, hook: Callable[[V], object]) -> Callable[[V], object]:
        """Call `hook(value)` with the value as it then is after every change of it; usable as a decorator.

        It runs in the writing thread, for changes made by this process. One that raises is logged and counted; the
        write stands. An async one is refused.
        """
        check_function(hook, "a hook")
        self._view.engine.hooks.add(self._view.scope, _ValueHook(self._id, hook, self.get))
        return hook

    def off_change(self, hook: Callable[[V], object]) -> None:
        """Call it no more; one that is not there is no harm."""
        self._view.engine.hooks.remove(self._view.scope, _ValueHook(self._id, hook, self.get))

    # ---- records

    def _find(self, known_at: datetime | None = None) -> Record | None:
        if known_at is None and self._view.known_at is None:
            return self._view.engine.store.get(self._record_filter, self._view.engine.now())
        return self._view.find(self._id, known_at=known_at)

    def _load(self, record: Record) -> V:
        text = self._text(record)
        if self._migrate is None:
            return self._shape.load(text)
        try:
            value = self._shape.load(text)
        except TypeMismatch:
            pass
        else:
            if self._is_of_this_type(record, text, value):
                return value
        try:
            migrated = self._migrate(json.loads(text))
        except Exception as error:
            raise TypeMismatch(
                f"migrate= of {self._what} failed for version {record.version}: {type(error).__name__}: {error}"
            ) from error
        return self._shape.convert(migrated)

    def _is_of_this_type(self, record: Record, text: str, value: V) -> bool:
        """Whether a version was stored by this type or one with the same fields; found out once from read to read."""
        recorded_at, same = self._checked
        if recorded_at != record.recorded_at:
            same = self._shape.has_fields_of(text, value)
            self._checked = record.recorded_at, same
        return same

    def _text(self, record: Record) -> str:
        """Return the stored JSON; kept from one read to the next, since it is the dearest part of one."""
        recorded_at, text = self._cached_text
        # No two versions are recorded at one moment, even if one was erased and its number is given again.
        if recorded_at != record.recorded_at:
            if "value" not in record.data:
                raise TypeMismatch(f"{self._what} was overwritten: its record {self._id} holds no value; clear() it")
            text = dump_json(record.data["value"])
            self._cached_text = record.recorded_at, text
        return text

    def _data(self, text: str) -> dict[str, Any]:
        return {"name": self._name, "value": json.loads(text)}

    def _item(self, data: dict[str, Any], on_conflict: str) -> dict[str, Any]:
        return {"text": "", "kind": STATE, "id": self._id, "data": data, "on_conflict": on_conflict}


def _origin(record: Record) -> int:
    """Return the version whose value this one has: its own, but for what an undo brought back."""
    restored = record.data.get("restores")
    return restored if isinstance(restored, int) and not isinstance(restored, bool) else record.version
