"""The jobs page: the background jobs of a tenant by state, their errors, and retrying dead ones."""

from typing import Any, Final, get_args

from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.model.job import JobState
from rememo.model.receipt import Receipt
from rememo.serve.dashboard.display_text import summarise
from rememo.serve.dashboard.visit import Visit

STATES: Final[tuple[JobState, ...]] = get_args(JobState)
_JOBS: Final = 40
_MOST_RETRIED: Final = 10_000


def jobs_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the jobs of a state, latest first; without a state in the query, the dead ones if there are any."""
    # Jobs have no history: the present is shown, whatever the time of the query.
    memory = visit.present
    engine = view_of(memory).engine
    counts = engine.store.stats(memory.bound.tenant, engine.now(), vectors=False).jobs
    state = _check_state(visit.query.get("state") or ("dead" if counts.get("dead") else "waiting"))
    listed = memory.jobs.list(state, limit=_JOBS + 1, before=visit.query.get("up_to"))
    page = listed[-_JOBS:]
    return "jobs.html", {
        "counts": [(state, counts.get(state, 0)) for state in STATES],
        "state": state,
        "jobs": [(job, summarise(job.payload)) for job in reversed(page)],
        "older": page[0].id if len(listed) > _JOBS else None,
        "changes": visit.may("write", "tenant"),
    }


def retry(visit: Visit) -> tuple[str, Receipt | None]:
    """Retry a dead job; without an id, all of them."""
    jobs = visit.memory.jobs
    if "id" in visit.form:
        jobs.retry(visit.form["id"])
        return "The job will be retried.", None
    dead = jobs.list("dead", limit=_MOST_RETRIED)
    for job in dead:
        jobs.retry(job.id)
    return f"{len(dead):,} {'job' if len(dead) == 1 else 'jobs'} will be retried.", None


def _check_state(text: str) -> JobState:
    for state in STATES:
        if state == text:
            return state
    raise InvalidInput(f"there is no state {text[:50]!r}; the states are {', '.join(STATES)}")
