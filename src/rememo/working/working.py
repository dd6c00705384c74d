"""Working: an agent's workbench, a face of the memory it works in."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from rememo.collections.actions import Actions
from rememo.collections.base import value_id
from rememo.collections.limits import RoomLimits
from rememo.collections.messages import Messages
from rememo.collections.pruning import Pruned, enforce_limits, prune
from rememo.collections.records import Records
from rememo.collections.thoughts import Thoughts
from rememo.collections.working_limits import LIMITED, LIMITS, WorkingLimits, stored_limits
from rememo.engine.view import View, ViewHolder, view_of
from rememo.errors import InvalidInput, NotFound
from rememo.model.check import check_function
from rememo.model.receipt import Receipt
from rememo.model.record import STATE
from rememo.model.scope import Scope
from rememo.model.unset import UNSET
from rememo.working.context_values import ContextValues, value_fields
from rememo.working.declared_fields import DeclaredField, assignable, declare_fields
from rememo.working.export_format import export_workbench, read_export, workbench_records
from rememo.working.restore import restore, restore_export
from rememo.working.stats import WorkingStats, compute_stats
from rememo.working.todos import Todos
from rememo.working.tool_call import ToolCall, record_tool_call


class Working(ViewHolder):
    """What an agent has at hand within a scope: messages, actions, thoughts, to-dos and free values.

    It is no store of its own: everything on it is a record of the memory, durable and searched like the others. A
    subclass may declare fields by annotations; they are checked by their types and kept when they are assigned.
    """

    _declared: ClassVar[Mapping[str, DeclaredField]] = {}

    def __init__(self, memory: "Records | View | Working") -> None:
        """Work in the scope of a memory: `SupportCase(memory.scope(room="case-7"))`."""
        if not isinstance(memory, Records | View | Working):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"Working() takes a memory or a view of one, not {type(memory).__name__}")
        super().__init__(memory if isinstance(memory, View) else view_of(memory))

    def __init_subclass__(cls) -> None:
        """Make fields of what a subclass annotates."""
        super().__init_subclass__()
        cls._declared = {**cls._declared, **declare_fields(cls, Working, cls._declared)}

    if not TYPE_CHECKING:  # checkers know the fields, and would take this for leave to assign anything

        def __setattr__(self, name: str, value: Any) -> None:
            if not assignable(type(self), name):
                raise InvalidInput(
                    f"{type(self).__name__} has no field {name!r}, so it would not be kept; annotate it in the class,"
                    " or use context.set()"
                )
            super().__setattr__(name, value)

    @property
    def bound(self) -> Scope:
        """The scope this workbench is in."""
        return self._view.scope

    @property
    def messages(self) -> Messages:
        """What was said; `history(roles="user")` asks by role."""
        return Messages(self._view)

    @property
    def actions(self) -> Actions:
        """What was done with tools; `success_rate()` says how well."""
        return Actions(self._view)

    @property
    def thoughts(self) -> Thoughts:
        """Steps of reasoning."""
        return Thoughts(self._view)

    @property
    def todos(self) -> Todos:
        """What is planned."""
        return Todos(self._view)

    @property
    def context(self) -> ContextValues:
        """Free values by name, and the declared ones."""
        return ContextValues(self._view, self._declared)

    # ---- recording

    @contextmanager
    def tool(
        self, name: str, params: Mapping[str, Any] | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> Generator[ToolCall]:
        """Use a tool: set `call.result` inside, and when the block ends it is remembered as an action with its time.

        An exception is remembered as the action's error and goes on. Without one, `call.fail(reason)` says that it went
        wrong. A result that is no JSON value raises `InvalidInput` where it is set.
        """
        with record_tool_call(self._view, name, params, metadata) as call:
            yield call

    def think(self, text: str, *, step: str = "THINK", metadata: Mapping[str, Any] | None = None) -> Receipt:
        """Remember a step of reasoning: THINK, ACT, OBSERVE or ANSWER (which is kept as FINAL)."""
        return self.thoughts.add(step, text, metadata=metadata)

    def change(self, field: str, change: Callable[[Any], Any]) -> Any:
        """Replace a declared field by what `change` makes of it, and return that; nothing comes in between.

        `change` runs again when another thread or process was faster, so it must not do anything else.
        """
        check_function(change, "change")
        rule = self._declared.get(field)
        if rule is None:
            raise InvalidInput(f"{type(self).__name__} has no field {field!r}; context.update() changes free values")

        def changed(stored: Any) -> Any:
            return change(rule.default() if stored is UNSET else rule.loaded(stored))

        return rule.loaded(self.context.update(field, changed, default=UNSET))

    # ---- keeping it small

    def limits(self) -> WorkingLimits:
        """Return how much pruning leaves: what `limit` set, else 100 messages, 50 actions and 200 thoughts.

        `enforced` names those that `limit` set, which hold after every write.
        """
        return stored_limits(self._view) or WorkingLimits()

    def limit(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> WorkingLimits:
        """Limit this workbench from now on, in every process and over restarts; what is not given stays as it is.

        What is too much leaves at once, and after each message, action or thought that is added in exactly this scope,
        by the workbench or otherwise (after a batch: with the next one). What leaves, and what stays, is as with `prune`.
        """
        if max_messages is max_actions is max_thoughts is None:
            raise InvalidInput("limit() was given nothing to change; limits() tells what holds")
        limits = self.limits().enforcing(max_messages=max_messages, max_actions=max_actions, max_thoughts=max_thoughts)
        self._view.put([value_fields(self._view, LIMITS, LIMITS, limits.to_json(), "replace")])
        if self._view.batching is None:
            enforce_limits(self._view, LIMITED)
        return limits

    def unlimit(self) -> bool:
        """Remove the limits of this workbench; False when it had none."""
        self._view.need_present()
        self._view.need_no_batch("working.unlimit()")
        try:
            self._view.remove(value_id(self._view.engine, self._view.scope, LIMITS, LIMITS))
        except NotFound:
            return False
        return True

    def prune(
        self, *, max_messages: int | None = None, max_actions: int | None = None, max_thoughts: int | None = None
    ) -> Pruned:
        """Remove the oldest in one transaction until no more than this is left; by `limits()` where nothing is given.

        Pinned records, system messages and the newest turn stay, and count; a tool call and its results leave together.
        What was learned from messages stays known. The result says what left, and `memory.undo(pruned.receipt)` brings it
        back.
        """
        limits = self.limits().but(max_messages=max_messages, max_actions=max_actions, max_thoughts=max_thoughts)
        return prune(self._view, limits)

    def clear(self) -> int:
        """End everything on the workbench, its values and limits too; returns how many.

        Other kinds stay, and so does what was learned from the messages: `memory.clear()` ends everything.
        """
        self._view.need_present()
        self._view.need_no_batch("working.clear()")
        return len(restore(self._view, []).ids)

    def stats(self) -> WorkingStats:
        """Return the workbench in numbers."""
        records = workbench_records(self._view)
        kinds = {
            kind: [record for record in records if record.kind == kind]
            for kind in ("message", "action", "thought", "task")
        }
        values = [record for record in records if record.kind == STATE and record.data["use"] != LIMITS]
        return compute_stats(kinds["message"], kinds["action"], kinds["thought"], kinds["task"], values)

    # ---- taking it away

    def export(self) -> dict[str, Any]:
        """Return everything on the workbench as one JSON value with a format version, limits included.

        It is what is now, without older versions; `memory.export` takes those too.
        """
        value = export_workbench(self._view, workbench_records(self._view))
        if self._view.scope.room is not None and self._view.known_at is None:
            limits = RoomLimits(self._view).get()
            value["room_limits"] = None if limits is None else asdict(limits) | {"keep_roles": [*limits.keep_roles]}
        return value

    def import_(self, exported: Mapping[str, Any]) -> Receipt:
        """Make the workbench what an export says, in one transaction; what is not in it ends.

        Ids and times are kept; a record whose id belongs to another scope of this memory becomes a copy. Nothing is
        learned from what comes in. In a room, the room's limits become those of the export. `memory.undo(receipt)` takes
        the records back. What is no export, damaged, or of a newer format raises `InvalidInput` and changes nothing.
        """
        document = read_export(self._view, exported)
        receipt = restore_export(self._view, document)
        if document.has_room_limits and self._view.scope.room is not None:
            RoomLimits(self._view).load(document.room_limits)
        return receipt
