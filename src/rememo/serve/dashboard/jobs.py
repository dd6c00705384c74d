"""Jobs: the later work of a tenant by its state, what went wrong with it, and another try for what gave up."""

from typing import Any, Final, get_args

from rememo.errors import InvalidInput
from rememo.model.job import JobState
from rememo.model.receipt import Receipt
from rememo.serve.dashboard.display_text import summarise
from rememo.serve.dashboard.visit import Visit

STATES: Final[tuple[JobState, ...]] = get_args(JobState)
_JOBS: Final = 40
_MOST_RETRIED: Final = 10_000


def jobs_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the jobs of a state, latest first; those that gave up, when the address names none and there are some."""
    # Later work has no past: what is shown is so now, whatever moment is looked at.
    memory = visit.present
    engine = memory._engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
    counts = engine.store.stats(memory.bound.tenant, engine.now(), vectors=False).jobs
    state = _check_state(visit.query.get("state") or ("dead" if counts.get("dead") else "waiting"))
    listed = memory.jobs.list(state, limit=_JOBS + 1, before=visit.query.get("up_to"))
    shown = listed[-_JOBS:]
    return "jobs.html", {
        "counts": [(state, counts.get(state, 0)) for state in STATES],
        "state": state,
        "jobs": [(job, summarise(job.payload)) for job in reversed(shown)],
        "older": shown[0].id if len(listed) > _JOBS else None,
        "changes": visit.may("write", "tenant"),
    }


def retry(visit: Visit) -> tuple[str, Receipt | None]:
    """Let a job that gave up be tried again; without an id, all of them."""
    jobs = visit.memory.jobs
    if "id" in visit.form:
        jobs.retry(visit.form["id"])
        return "It is tried again.", None
    dead = jobs.list("dead", limit=_MOST_RETRIED)
    for job in dead:
        jobs.retry(job.id)
    return f"{len(dead):,} {'is' if len(dead) == 1 else 'are'} tried again.", None


def _check_state(text: str) -> JobState:
    for state in STATES:
        if state == text:
            return state
    raise InvalidInput(f"there is no state {text[:50]!r}; the states are {', '.join(STATES)}")
