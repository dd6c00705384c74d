"""Context values: JSON values by name, free or declared, in versions like every record."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Protocol

from rememo.collections.base import Collection, value_id
from rememo.collections.working_limits import LIMITS
from rememo.engine.view import View
from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.model.check import check_function, check_json, check_label
from rememo.model.receipt import Receipt
from rememo.model.record import STATE, Record
from rememo.model.scope import Scope
from rememo.runtime.retry import retry_on_conflict

CONTEXT = "context"


class ValueCodec(Protocol):
    """What a declared value must be."""

    def stored(self, value: Any) -> Any:
        """Return the JSON of a value; one that does not fit raises `InvalidInput`."""
        ...


class ContextValues(Collection):
    """The values of exactly this scope, by name: any JSON, and what a workbench declares by its type.

    They are records of the kind `state`: versions, `as_of`, `undo`, batches and export hold for them, search does not
    find them.
    """

    kind = STATE

    def __init__(self, view: View, rules: Mapping[str, ValueCodec] | None = None) -> None:
        super().__init__(view)
        self._rules = rules or {}

    def set(self, name: str, value: Any) -> Receipt:
        """Keep a value under a name, whatever was there."""
        return self._view.put([self._fields(name, value, on_conflict="replace")])

    def get(self, name: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none."""
        record = self._view.find(value_id(self._view.engine, self._view.scope, CONTEXT, check_label(name, "name")))
        return default if record is None else record.data.get("value", default)

    def update(self, name: str, change: Callable[[Any], Any], *, default: Any = None) -> Any:
        """Replace a value by what `change` makes of it, and return that; nothing comes in between.

        `change` runs again when another thread or process was faster, so it must not do anything else.
        """
        view = self._view
        view.need_present()
        view.need_no_batch("context.update()")
        check_function(change, "change")
        id = value_id(view.engine, view.scope, CONTEXT, check_label(name, "name"))

        def prepare() -> tuple[Record | None, dict[str, Any]]:
            record = view.find(id)
            return record, self._fields(name, change(_value(record, default)))

        def write(prepared: tuple[Record | None, dict[str, Any]]) -> Any:
            record, fields = prepared
            if record is None:
                view.put([fields])
            else:
                view.revise(id, {"data": fields["data"]}, record.version)
            return fields["data"]["value"]

        conflicts = (AlreadyExists, NotFound, VersionConflict)
        return retry_on_conflict(prepare, write, repr(name), conflicts=conflicts)

    def delete(self, name: str) -> bool:
        """Forget a value; False when there was none."""
        self._view.need_present()
        id = value_id(self._view.engine, self._view.scope, CONTEXT, check_label(name, "name"))
        try:
            self._view.get(id)
            self._view.remove(id)
        except NotFound:
            return False
        return True

    def all(self) -> dict[str, Any]:
        """Return every value by its name, sorted by name."""
        records = self._read(self._filter(data={"use": CONTEXT}), None)
        values = {
            record.data["name"]: record.data["value"]
            for record in records
            if record.scope == self._view.scope and is_value(record, record.scope)
        }
        return dict(sorted(values.items()))

    def _fields(self, name: str, value: Any, *, on_conflict: str = "error") -> dict[str, Any]:
        rule = self._rules.get(check_label(name, "name"))
        return value_fields(self._view, CONTEXT, name, value if rule is None else rule.stored(value), on_conflict)


def _value(record: Record | None, default: Any) -> Any:
    """Return a copy of a stored value, or of the default: another may have put a record without one in its place."""
    return deepcopy(default) if record is None or "value" not in record.data else record.data["value"]


def value_fields(view: View, use: str, name: str, value: Any, on_conflict: str = "error") -> dict[str, Any]:
    """Return the record of a value, as `View.put` takes it."""
    settings = view.engine.settings
    checked = check_json(value, name, max_bytes=settings.max_data_bytes, depth=settings.max_depth - 1)
    return {
        "text": "",
        "kind": STATE,
        "data": {"use": use, "name": name, "value": checked},
        "id": value_id(view.engine, view.scope, use, name),
        "on_conflict": on_conflict,
    }


def is_value(record: Record, scope: Scope) -> bool:
    """Whether a record belongs to the workbench of a scope: a value within it, or its own limits."""
    use, name = record.data.get("use"), record.data.get("name")
    if not isinstance(name, str) or "value" not in record.data:
        return False  # of another's making
    return record.kind == STATE and (use == CONTEXT or (use == LIMITS and record.scope == scope))
