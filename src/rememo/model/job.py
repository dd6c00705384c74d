"""Jobs: durable background work, written in the same transaction as its cause."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

JobState = Literal["waiting", "running", "done", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be enqueued with a write."""

    id: str
    task: str
    """What is to be done: `embed`, `learn` …"""
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job and its state."""

    id: str
    tenant: str
    task: str
    payload: Mapping[str, Any]
    state: JobState
    attempts: int
    due_at: datetime
    """Not to be tried before."""
    leased_until: datetime | None
    """A worker has it until then."""
    error: str | None
    """What the last attempt said."""
    created_at: datetime


class Settlement(NamedTuple):
    """How a lease ends."""

    job: Job
    state: str
    """`done`, `dead`, or `waiting` for another try."""
    error: str | None = None
    due_at: datetime | None = None
    """When it may be tried again; None leaves it as it was."""
    task: str | None = None
    """What is to be done next under this job, from its first attempt on; None leaves it as it was."""
