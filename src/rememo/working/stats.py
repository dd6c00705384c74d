"""Statistics of a workbench: counts, lengths, successes, times and sizes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rememo.model.check import dump_json
from rememo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStats:
    """What was said."""

    count: int
    by_role: Mapping[str, int]
    average_length: Mapping[str, float]
    """Characters, by role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    """How one tool, or all of them, did."""

    count: int
    success_rate: float | None
    """From 0 to 1; None when there was no call."""
    average_duration: float | None
    """Seconds; None when no call was timed."""
    total_duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStats(ToolStats):
    """What was done, in all and by tool."""

    tools: Mapping[str, ToolStats]
    """The most used first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtStats:
    """What was thought."""

    count: int
    by_step: Mapping[str, int]
    average_length: Mapping[str, float]
    """Characters, by step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoStats:
    """What is planned."""

    count: int
    open: int
    done: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSizes:
    """Bytes of text and data as they are stored."""

    messages: int
    actions: int
    thoughts: int
    todos: int
    context: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingStats:
    """A workbench in numbers; `dataclasses.asdict` makes plain values of it."""

    messages: MessageStats
    actions: ActionStats
    thoughts: ThoughtStats
    todos: TodoStats
    context: int
    """How many values."""
    bytes: WorkingSizes


def compute_stats(
    messages: Sequence[Record],
    actions: Sequence[Record],
    thoughts: Sequence[Record],
    todos: Sequence[Record],
    values: Sequence[Record],
) -> WorkingStats:
    """Return the numbers of a workbench."""
    tools: dict[str, list[Record]] = {}
    for action in actions:
        tools.setdefault(str(action.data.get("tool", "")), []).append(action)
    used = sorted(tools.items(), key=lambda item: (-len(item[1]), item[0]))
    states = Counter(str(todo.data.get("status", "open")) for todo in todos)
    sizes = {
        "messages": _size(messages),
        "actions": _size(actions),
        "thoughts": _size(thoughts),
        "todos": _size(todos),
        "context": _size(values),
    }
    totals = _tool(actions)
    return WorkingStats(
        messages=MessageStats(
            count=len(messages),
            by_role=_counts(messages, "role", "user"),
            average_length=_lengths(messages, "role", "user"),
        ),
        actions=ActionStats(
            count=totals.count,
            success_rate=totals.success_rate,
            average_duration=totals.average_duration,
            total_duration=totals.total_duration,
            tools={name: _tool(calls) for name, calls in used},
        ),
        thoughts=ThoughtStats(
            count=len(thoughts),
            by_step=_counts(thoughts, "step", "THINK"),
            average_length=_lengths(thoughts, "step", "THINK"),
        ),
        todos=TodoStats(count=len(todos), open=states["open"], done=states["done"], dropped=states["dropped"]),
        context=len(values),
        bytes=WorkingSizes(**sizes, total=sum(sizes.values())),
    )


def _tool(calls: Sequence[Record]) -> ToolStats:
    times = [float(call.data["duration"]) for call in calls if call.data.get("duration") is not None]
    good = sum(bool(call.data.get("success", True)) for call in calls)
    return ToolStats(
        count=len(calls),
        success_rate=good / len(calls) if calls else None,
        average_duration=sum(times) / len(times) if times else None,
        total_duration=sum(times),
    )


def _counts(records: Sequence[Record], field: str, default: str) -> dict[str, int]:
    return dict(sorted(Counter(str(record.data.get(field, default)) for record in records).items()))


def _lengths(records: Sequence[Record], field: str, default: str) -> dict[str, float]:
    total: Counter[str] = Counter()
    for record in records:
        total[str(record.data.get(field, default))] += len(record.text)
    return {name: total[name] / count for name, count in _counts(records, field, default).items()}


def _size(records: Sequence[Record]) -> int:
    return sum(
        len(part.encode())
        for record in records
        for part in (record.text, dump_json(record.data), dump_json(record.metadata))
    )
