"""The reading tools: recall, context, facts, history and tasks."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from rememo.recall.relevance import FLOOR
from rememo.serve.mcp.serializer import (
    FactItem,
    FencedResult,
    MemoryItem,
    fact_item,
    fact_line,
    fence_lines,
    format_time,
    hit_item,
    memory_item,
    memory_line,
)
from rememo.serve.mcp.tool import ScopedArguments, Tool, ToolCaller, ToolOutput, ToolResult, parse_time

if TYPE_CHECKING:
    from rememo.collections.tasks import Task
    from rememo.memory import Memory

RecallKind = Literal[
    "message", "note", "fact", "document", "chunk", "task", "goal", "relationship", "summary", "action", "post"
]
_TIME_FORMAT: Final = "ISO 8601, such as 2026-05-01 or 2026-05-01T18:30:00Z."
_MESSAGE_KINDS: Final = ("message", "note")


class RecallArguments(ScopedArguments):
    """Arguments of `recall`."""

    query: str = Field(
        description="A question or the words looked for, in full: names, things and times all help.", min_length=1
    )
    limit: int = Field(default=8, ge=1, le=50, description="How many at the most.")
    kinds: list[RecallKind] | None = Field(default=None, description="Only these kinds.")
    after: str | None = Field(default=None, description=f"Only what happened then or later. {_TIME_FORMAT}")
    before: str | None = Field(default=None, description=f"Only what happened before then. {_TIME_FORMAT}")
    at: str | None = Field(
        default=None, description=f"The moment of asking, for 'last week'; now by default. {_TIME_FORMAT}"
    )


class RecallResult(FencedResult):
    """Hits, best first; empty when nothing is relevant."""

    items: list[MemoryItem]


def recall(memory: "Memory", caller: ToolCaller, arguments: RecallArguments) -> ToolOutput:
    """Search, best hits first."""
    hits = memory.search(
        arguments.query,
        limit=arguments.limit,
        kind=arguments.kinds or None,
        after=parse_time(arguments.after, "after"),
        before=parse_time(arguments.before, "before"),
        at=parse_time(arguments.at, "at"),
        threshold=FLOOR,
    )
    items = [hit_item(hit) for hit in hits]
    return RecallResult(items=items), fence_lines(map(memory_line, items), nothing="Nothing was remembered about this.")


class ContextArguments(ScopedArguments):
    """Arguments of `context`."""

    query: str = Field(description="What is to be answered or done next, in a sentence.", min_length=1)
    max_tokens: int = Field(default=1_500, ge=200, le=32_000, description="How many tokens it may cost.")
    at: str | None = Field(
        default=None, description=f"The moment of asking, for 'last week'; now by default. {_TIME_FORMAT}"
    )


class ContextResult(ToolResult):
    """The context for a question."""

    text: str = Field(description="Ready to be read, between its marks; empty when there is nothing.")
    tokens: int
    ids: list[str] = Field(description="The memories it shows, in the order of their numbers.")


def context(memory: "Memory", caller: ToolCaller, arguments: ContextArguments) -> ToolOutput:
    """Return the context for a question within a token budget."""
    built = memory.context(arguments.query, max_tokens=arguments.max_tokens, at=parse_time(arguments.at, "at"))
    ids = [record.id for record in built.records]
    text = built.text or "Nothing was remembered about this."
    return ContextResult(text=built.text, tokens=built.tokens, ids=ids), text


class FactsArguments(ScopedArguments):
    """Arguments of `facts`."""

    subject: str | None = Field(default=None, description='Whom or what they are about; "user" is the user.')
    predicate: str | None = Field(default=None, description="What they say, such as lives_in, works_at, likes.")
    at: str | None = Field(default=None, description=f"Only facts valid at this time; now by default. {_TIME_FORMAT}")
    all: bool = Field(default=False, description="Also what is superseded or retracted.")
    limit: int = Field(default=50, ge=1, le=500, description="How many at the most; the latest are given.")


class FactsResult(FencedResult):
    """Facts, oldest first."""

    facts: list[FactItem]


def facts(memory: "Memory", caller: ToolCaller, arguments: FactsArguments) -> ToolOutput:
    """Return the facts that are valid."""
    facts_read = memory.facts.list(
        subject=arguments.subject or None,
        predicate=arguments.predicate or None,
        valid_at=parse_time(arguments.at, "at"),
        current_only=not arguments.all,
        limit=arguments.limit,
    )
    items = [fact_item(fact) for fact in facts_read]
    return FactsResult(facts=items), fence_lines(map(fact_line, items), nothing="No such fact is known.")


class HistoryArguments(ScopedArguments):
    """Arguments of `history`."""

    id: str | None = Field(
        default=None, description="A memory: all its versions. Without it: what was said and noted lately."
    )
    before: str | None = Field(
        default=None, description=f"Only what was said before then, to go further back. {_TIME_FORMAT}"
    )
    limit: int = Field(default=20, ge=1, le=200, description="How many at the most; the latest are given.")


class HistoryResult(FencedResult):
    """Versions or latest records, oldest first."""

    items: list[MemoryItem]


def history(memory: "Memory", caller: ToolCaller, arguments: HistoryArguments) -> ToolOutput:
    """Return the versions of one memory, or the latest of all."""
    if arguments.id:
        items = [memory_item(version) for version in memory.history(arguments.id)][-arguments.limit :]
        lines = [f"version {item.version}: {memory_line(item)}" for item in items]
    else:
        records = memory.list(kind=_MESSAGE_KINDS, before=parse_time(arguments.before, "before"), limit=arguments.limit)
        items = [memory_item(record) for record in records]
        lines = [memory_line(item) for item in items]
    return HistoryResult(items=items), fence_lines(lines, nothing="Nothing was said or noted here.")


class TasksArguments(ScopedArguments):
    """Arguments of `tasks`."""

    due: bool = Field(default=False, description="Only those that are due now or overdue.")
    limit: int = Field(default=50, ge=1, le=200, description="How many at the most.")


class TaskItem(BaseModel):
    """One open task."""

    id: str
    text: str
    status: str
    due: str | None = None
    repeats: str | None = None
    priority: int = 0


class TasksResult(FencedResult):
    """Open tasks: those due first come first."""

    tasks: list[TaskItem]


def tasks(memory: "Memory", caller: ToolCaller, arguments: TasksArguments) -> ToolOutput:
    """Return the open tasks."""
    open_tasks = memory.tasks.due(limit=arguments.limit) if arguments.due else memory.tasks.open(limit=arguments.limit)
    items = [task_item(task) for task in open_tasks]
    return TasksResult(tasks=items), fence_lines(map(task_line, items), nothing="There is nothing to be done.")


def task_item(task: "Task") -> TaskItem:
    """Return a task as an item."""
    due: datetime | None = task.due
    return TaskItem(
        id=task.id,
        text=task.text,
        status=task.status,
        due=None if due is None else format_time(due),
        repeats=None if task.recurrence is None else str(task.recurrence),
        priority=task.priority,
    )


def task_line(task: TaskItem) -> str:
    """Return a task as a line of text."""
    details = [
        f"due {task.due[:16].replace('T', ' ')}" if task.due else "",
        f"repeats {task.repeats}" if task.repeats else "",
        f"priority {task.priority}" if task.priority else "",
        task.status if task.status != "open" else "",
    ]
    more = ", ".join(filter(None, details))
    return f"[{task.id}] {task.text}{f' ({more})' if more else ''}"


TOOLS: Final = (
    Tool(
        name="recall",
        title="Recall",
        description=(
            "Search long-term memory and get the best matches with their ids; nothing where nothing is relevant. Use it before answering anything that may"
            " depend on earlier conversations, on the user's preferences, people, projects or decisions, and before you"
            " remember something, to see whether it is known. Ask in full sentences; times such as 'last week' are"
            " understood."
        ),
        arguments_model=RecallArguments,
        result_model=RecallResult,
        handler=recall,
    ),
    Tool(
        name="context",
        title="Context",
        description=(
            "Get everything that matters for a question in one piece that fits a token budget: the latest turns, facts"
            " that hold now, passages, open tasks and the user's profile. Use it once at the start of a conversation or"
            " a task; use recall for single look-ups."
        ),
        arguments_model=ContextArguments,
        result_model=ContextResult,
        handler=context,
    ),
    Tool(
        name="facts",
        title="Facts",
        description=(
            "List what is known as facts (subject, predicate, object) with confidence and validity. Newer facts have"
            " ended those they contradict. Use it for 'what do you know about …' and, with at, for what was true then."
        ),
        arguments_model=FactsArguments,
        result_model=FactsResult,
        handler=facts,
    ),
    Tool(
        name="history",
        title="History",
        description=(
            "See the past. With an id: every version of one memory, to learn how it changed. Without: what was said and"
            " noted lately, oldest first; go further back with before."
        ),
        arguments_model=HistoryArguments,
        result_model=HistoryResult,
        handler=history,
    ),
    Tool(
        name="tasks",
        title="Open tasks",
        description="List what is still to be done, what is due first coming first. note_task adds and ends tasks.",
        arguments_model=TasksArguments,
        result_model=TasksResult,
        handler=tasks,
    ),
)
