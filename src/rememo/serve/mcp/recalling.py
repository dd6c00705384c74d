"""The tools that look: recall, context, facts, history and tasks."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from rememo.recall.relevance import FLOOR
from rememo.serve.mcp.shown import (
    FactShown,
    Memo,
    Recalled,
    fact_line,
    fact_shown,
    found_memo,
    memo,
    memo_line,
    recalled,
    stamp,
)
from rememo.serve.mcp.tool import Answer, Caller, Done, Scoped, Tool, moment

if TYPE_CHECKING:
    from rememo.collections.tasks import Task
    from rememo.memory import Memory

Kind = Literal[
    "message", "note", "fact", "document", "chunk", "task", "goal", "relationship", "summary", "action", "post"
]
_WHEN: Final = "ISO 8601, such as 2026-05-01 or 2026-05-01T18:30:00Z."
_SAID: Final = ("message", "note")


class Recall(Scoped):
    """What is looked for."""

    query: str = Field(
        description="A question or the words looked for, in full: names, things and times all help.", min_length=1
    )
    limit: int = Field(default=8, ge=1, le=50, description="How many at the most.")
    kinds: list[Kind] | None = Field(default=None, description="Only these kinds.")
    after: str | None = Field(default=None, description=f"Only what happened then or later. {_WHEN}")
    before: str | None = Field(default=None, description=f"Only what happened before then. {_WHEN}")
    at: str | None = Field(default=None, description=f"The moment of asking, for 'last week'; now by default. {_WHEN}")


class Found(Recalled):
    """What was found, best first; nothing where nothing is relevant."""

    items: list[Memo]


def recall(memory: "Memory", caller: Caller, asked: Recall) -> Done:
    """Find, best first."""
    hits = memory.search(
        asked.query,
        limit=asked.limit,
        kind=asked.kinds or None,
        after=moment(asked.after, "after"),
        before=moment(asked.before, "before"),
        at=moment(asked.at, "at"),
        threshold=FLOOR,
    )
    items = [found_memo(hit) for hit in hits]
    return Found(items=items), recalled(map(memo_line, items), nothing="Nothing was remembered about this.")


class ContextAsked(Scoped):
    """What a context is wanted for."""

    query: str = Field(description="What is to be answered or done next, in a sentence.", min_length=1)
    max_tokens: int = Field(default=1_500, ge=200, le=32_000, description="How many tokens it may cost.")
    at: str | None = Field(default=None, description=f"The moment of asking, for 'last week'; now by default. {_WHEN}")


class Contexts(Answer):
    """All that matters for a question."""

    text: str = Field(description="Ready to be read, between its marks; empty when there is nothing.")
    tokens: int
    ids: list[str] = Field(description="The memories it shows, in the order of their numbers.")


def context(memory: "Memory", caller: Caller, asked: ContextAsked) -> Done:
    """Return the best use of a budget."""
    found = memory.context(asked.query, max_tokens=asked.max_tokens, at=moment(asked.at, "at"))
    ids = [record.id for record in found.records]
    said = found.text or "Nothing was remembered about this."
    return Contexts(text=found.text, tokens=found.tokens, ids=ids), said


class FactsAsked(Scoped):
    """Which facts are wanted."""

    subject: str | None = Field(default=None, description='Whom or what they are about; "user" is the user.')
    predicate: str | None = Field(default=None, description="What they say, such as lives_in, works_at, likes.")
    at: str | None = Field(default=None, description=f"What held at that time instead of now. {_WHEN}")
    all: bool = Field(default=False, description="Also what is superseded or retracted.")
    limit: int = Field(default=50, ge=1, le=500, description="How many at the most; the latest are given.")


class FactsFound(Recalled):
    """Facts, oldest first."""

    facts: list[FactShown]


def facts(memory: "Memory", caller: Caller, asked: FactsAsked) -> Done:
    """Return what holds."""
    found = memory.facts.list(
        subject=asked.subject or None,
        predicate=asked.predicate or None,
        valid_at=moment(asked.at, "at"),
        current_only=not asked.all,
        limit=asked.limit,
    )
    shown = [fact_shown(one) for one in found]
    return FactsFound(facts=shown), recalled(map(fact_line, shown), nothing="No such fact is known.")


class HistoryAsked(Scoped):
    """Whose history is wanted."""

    id: str | None = Field(
        default=None, description="A memory: all its versions. Without it: what was said and noted lately."
    )
    before: str | None = Field(default=None, description=f"Only what was said before then, to go further back. {_WHEN}")
    limit: int = Field(default=20, ge=1, le=200, description="How many at the most; the latest are given.")


class Past(Recalled):
    """What was, oldest first."""

    items: list[Memo]


def history(memory: "Memory", caller: Caller, asked: HistoryAsked) -> Done:
    """Return the versions of one memory, or the latest of all."""
    if asked.id:
        items = [memo(one) for one in memory.history(asked.id)][-asked.limit :]
        lines = [f"version {one.version}: {memo_line(one)}" for one in items]
    else:
        found = memory.list(kind=_SAID, before=moment(asked.before, "before"), limit=asked.limit)
        items = [memo(one) for one in found]
        lines = [memo_line(one) for one in items]
    return Past(items=items), recalled(lines, nothing="Nothing was said or noted here.")


class TasksAsked(Scoped):
    """Which tasks are wanted."""

    due: bool = Field(default=False, description="Only those that are due now or overdue.")
    limit: int = Field(default=50, ge=1, le=200, description="How many at the most.")


class TaskShown(BaseModel):
    """One open task."""

    id: str
    text: str
    status: str
    due: str | None = None
    repeats: str | None = None
    priority: int = 0


class TasksFound(Recalled):
    """Open tasks: those due first come first."""

    tasks: list[TaskShown]


def tasks(memory: "Memory", caller: Caller, asked: TasksAsked) -> Done:
    """Return what is to be done."""
    found = memory.tasks.due(limit=asked.limit) if asked.due else memory.tasks.open(limit=asked.limit)
    shown = [task_shown(one) for one in found]
    return TasksFound(tasks=shown), recalled(map(task_line, shown), nothing="There is nothing to be done.")


def task_shown(task: "Task") -> TaskShown:
    """Return a task for programs."""
    due: datetime | None = task.due
    return TaskShown(
        id=task.id,
        text=task.text,
        status=task.status,
        due=None if due is None else stamp(due),
        repeats=None if task.recurrence is None else str(task.recurrence),
        priority=task.priority,
    )


def task_line(one: TaskShown) -> str:
    """Return a task as a line."""
    held = [
        f"due {one.due[:16].replace('T', ' ')}" if one.due else "",
        f"repeats {one.repeats}" if one.repeats else "",
        f"priority {one.priority}" if one.priority else "",
        one.status if one.status != "open" else "",
    ]
    more = ", ".join(filter(None, held))
    return f"[{one.id}] {one.text}{f' ({more})' if more else ''}"


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
        takes=Recall,
        gives=Found,
        does=recall,
    ),
    Tool(
        name="context",
        title="Context",
        description=(
            "Get everything that matters for a question in one piece that fits a token budget: the latest turns, facts"
            " that hold now, passages, open tasks and the user's profile. Use it once at the start of a conversation or"
            " a task; use recall for single look-ups."
        ),
        takes=ContextAsked,
        gives=Contexts,
        does=context,
    ),
    Tool(
        name="facts",
        title="Facts",
        description=(
            "List what is known as facts (subject, predicate, object) with confidence and validity. Newer facts have"
            " ended those they contradict. Use it for 'what do you know about …' and, with at, for what was true then."
        ),
        takes=FactsAsked,
        gives=FactsFound,
        does=facts,
    ),
    Tool(
        name="history",
        title="History",
        description=(
            "See the past. With an id: every version of one memory, to learn how it changed. Without: what was said and"
            " noted lately, oldest first; go further back with before."
        ),
        takes=HistoryAsked,
        gives=Past,
        does=history,
    ),
    Tool(
        name="tasks",
        title="Open tasks",
        description="List what is still to be done, what is due first coming first. note_task adds and ends tasks.",
        takes=TasksAsked,
        gives=TasksFound,
        does=tasks,
    ),
)
