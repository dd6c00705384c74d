"""Overrides: functions that serve what a method's own signature cannot, by ids and numbers instead of objects."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rememo.engine.audit import current_actor
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound
from rememo.memory import Memory
from rememo.model.receipt import Receipt
from rememo.serve.rest.flows_and_typed import FLOWS_AND_TYPED

LONGEST_WAIT: Final = 30.0

_log = logging.getLogger("rememo.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetReport:
    """Counts of what a reset removed."""

    records: int
    keys: int
    profiles: int
    sessions: int


def resolve(memory: Memory, *, facts: Sequence[str], keep: str) -> Receipt:
    """Resolve a conflict, named by the ids of its facts, in favour of the fact to keep (its id or its object)."""
    for conflict in memory.facts.conflicts():
        if {fact.id for fact in conflict.facts} == set(facts):
            return memory.facts.resolve(conflict, keep=keep)
    raise NotFound("no such conflict in this scope; GET /v1/facts:conflicts lists the open ones")


def wait(memory: Memory, *, jobs: Sequence[str], timeout: float = 10.0) -> str:
    """Wait until the jobs of a receipt are done, at most 30 seconds; raises `JobFailed` when one is dead."""
    if not 0 < timeout <= LONGEST_WAIT:
        raise InvalidInput(f"timeout must be above 0 and at most {LONGEST_WAIT:g} seconds, not {timeout!r}")
    if not jobs:
        return "done"
    runner = view_of(memory).engine.runner
    if runner is None:
        raise InvalidInput("no worker runs in this process, so jobs cannot be waited for here; run `rememo worker`")
    return runner.follow(Receipt(ids=(), jobs=tuple(jobs)), timeout, tenant=memory.bound.tenant).status


def reset(memory: Memory) -> ResetReport:
    """Remove everything in this scope: records, and the keys, profiles and sessions of exactly these labels; logged.

    The memory stays usable, and the history of its records readable.
    """
    sessions = [session.name for session in memory.sessions.list()]
    report = ResetReport(
        records=memory.clear(),
        keys=memory.kv.invalidate("*"),
        profiles=memory.profiles.forget_all(),
        sessions=sum(memory.sessions.delete(name) for name in sessions),
    )
    who = current_actor()
    _log.warning(
        "reset of %s by %s from %s, request %s: %s",
        asdict(memory.bound), who.actor, who.address, who.session, asdict(report),
    )  # fmt: skip
    return report


OVERRIDES: Final[dict[str, Callable[..., Any]]] = {
    "facts.resolve": resolve,
    "wait": wait,
    "reset": reset,
    **FLOWS_AND_TYPED,
}
