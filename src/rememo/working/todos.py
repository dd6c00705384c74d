"""To-dos: the tasks of a view as a plan, the parts under their wholes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rememo.collections.plan_item import NO_DUE_TIME
from rememo.collections.tasks import Task, Tasks
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.receipt import Receipt
from rememo.model.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class Todo:
    """A task and its depth in the plan."""

    task: Task
    depth: int
    """0 for one that is a part of nothing."""

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def text(self) -> str:
        """What is to be done."""
        return self.task.text

    @property
    def priority(self) -> int:
        """From 0 to 10, the most urgent."""
        return self.task.priority

    @property
    def parent(self) -> str | None:
        """The id of the to-do that it is a part of."""
        return self.task.parent

    @property
    def done(self) -> bool:
        """Whether it is done."""
        return self.task.status == "done"

    @property
    def open(self) -> bool:
        """Whether it is still to be done; one that was dropped is neither open nor done."""
        return self.task.status == "open"


class Todos:
    """The tasks within a view: `memory.tasks` has the same ones, with their due times and recurrence."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._tasks = Tasks(view)

    def add(self, text: str, *, priority: int = 0, parent: str | None = None, id: str | None = None) -> Receipt:
        """Plan something; a `parent` that is not there raises `NotFound`. `priority` is from 0 to 10, the most urgent."""
        return self._tasks.add(text, priority=priority, parent=parent, id=id)

    def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        priority: int | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        done: bool | Unset = UNSET,
    ) -> Receipt:
        """Change some of a to-do; what is not given stays. It cannot become a part of its own parts."""
        if done is not UNSET and not isinstance(done, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"done must be True or False, not {done!r}")
        status: str | Unset = UNSET if done is UNSET else "done" if done else "open"
        return self._tasks.update(id, text=text, priority=priority, parent=parent, status=status)

    def done(self, id: str) -> Receipt:
        """Mark a to-do as done; its parts stay as they are."""
        return self._tasks.done(id)

    def drop(self, id: str) -> Receipt:
        """Mark a to-do as dropped; its parts stay as they are."""
        return self._tasks.drop(id)

    def delete(self, id: str) -> Receipt:
        """End the record of one; its parts stand on their own from then on."""
        self._tasks.get(id)
        return self._view.remove(id)

    def get(self, id: str) -> Todo:
        """Return one; one that is not in this scope raises `NotFound`."""
        self._tasks.get(id)
        return next(todo for todo in self.list() if todo.id == id)

    def list(self, *, open: bool | None = None) -> "list[Todo]":
        """Return the plan: each to-do before its parts, those side by side the most urgent first, then the older.

        With `open` only those that are open, or only those that are not.
        """
        if open is not None and not isinstance(open, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"open must be True or False, not {open!r}")
        plan = _order_plan(self._all())
        return plan if open is None else [todo for todo in plan if todo.open == open]

    def next(self) -> Todo | None:
        """Return what to do next: the first open one of the plan none of whose parts is open; None when all is done."""
        plan = _order_plan(self._all())
        for index, todo in enumerate(plan):
            if todo.open and not any(part.open for part in _subtree(plan, index)):
                return todo
        return None

    def _all(self) -> "list[Task]":
        engine = self._view.engine
        filter = self._view.filter(kind="task")
        return [Task(record) for record in engine.store.read(filter, engine.now())]


def _subtree(plan: Sequence[Todo], index: int) -> "list[Todo]":
    """Return the parts of a to-do in a plan, and their parts."""
    parts: list[Todo] = []
    for todo in plan[index + 1 :]:
        if todo.depth <= plan[index].depth:
            break
        parts.append(todo)
    return parts


def _order_plan(tasks: Sequence[Task]) -> list[Todo]:
    """Return tasks in the order of a plan; one whose whole is not among them stands on its own."""
    ids = {task.id for task in tasks}
    below: dict[str | None, list[Task]] = {}
    for task in sorted(tasks, key=_urgency):
        below.setdefault(task.parent if task.parent in ids else None, []).append(task)
    plan: list[Todo] = []
    placed: set[str] = set()
    _add_subtree(below.get(None, []), below, plan, placed)
    # Two processes can make two tasks a part of each other; the first of such a ring stands on its own.
    for task in sorted(tasks, key=_urgency):
        _add_subtree([task], below, plan, placed)
    return plan


def _add_subtree(
    roots: Sequence[Task], below: dict[str | None, list[Task]], plan: list[Todo], placed: set[str]
) -> None:
    waiting = [(task, 0) for task in reversed(roots)]
    while waiting:
        task, depth = waiting.pop()
        if task.id in placed:
            continue
        placed.add(task.id)
        plan.append(Todo(task, depth))
        waiting += [(part, depth + 1) for part in reversed(below.get(task.id, []))]


def _urgency(task: Task) -> tuple[Any, ...]:
    return -task.priority, task.due or NO_DUE_TIME, task.record.at
