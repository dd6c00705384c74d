"""What the tests of learning share: a memory whose clock stands still, its faces, and messages that cause jobs."""

from datetime import UTC, datetime

from rememo import Memory, Receipt, Settings
from rememo.collections.facts import Facts
from rememo.collections.jobs import Jobs
from rememo.collections.relationships import Relationships
from rememo.engine.job_payloads import LEARN, UNLEARN
from rememo.engine.view import view_of
from rememo.jobs.worker import Worker
from rememo.learn.messages import learn
from rememo.model.ids import new_id
from rememo.model.job import Job, NewJob
from rememo.recall.embed.protocol import Embedder
from rememo.testing import ManualClock
from rememo.testing.base import STANDARD_EMBEDDER

FAST = Settings(durability="fast", worker=False)


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def open_memory(url: str = ":memory:", clock: ManualClock | None = None, embedder: Embedder | None = None) -> Memory:
    return Memory(url, embedder=embedder or STANDARD_EMBEDDER, settings=FAST, clock=clock or ManualClock())


def facts_of(memory: Memory) -> Facts:
    return Facts(view_of(memory))


def forget_source(memory: Memory, record_id: str) -> None:
    """Bring what was learned from a record in line with what it is now."""
    view = view_of(memory)
    assert not learn(view.engine, view.scope.tenant, [record_id])


def relationships_of(memory: Memory) -> Relationships:
    return Relationships(view_of(memory))


def jobs_of(memory: Memory) -> Jobs:
    return Jobs(view_of(memory))


def worker_of(memory: Memory) -> Worker:
    return Worker(view_of(memory).engine)


def say(
    memory: Memory,
    text: str,
    *,
    at: datetime | None = None,
    source: str | None = None,
    trust: float | None = None,
    role: str = "user",
    id: str | None = None,
) -> Receipt:
    """Store a message as a conversation does: with the job of learning from it."""
    job = NewJob(id=new_id(), task=LEARN, payload={})
    fields = {
        "text": text, "kind": "message", "data": {"role": role}, "occurred_at": at, "source": source, "trust": trust,
        "id": id, "jobs": (job,),
    }  # fmt: skip
    return view_of(memory).put([fields])


def unlearn(memory: Memory, record: str) -> None:
    """Write the job that a deletion or an undo causes."""
    engine = view_of(memory).engine
    now = engine.now()
    job = Job(
        id=new_id(), tenant=memory.bound.tenant, task=UNLEARN, payload={"record": record}, state="waiting", attempts=0,
        due_at=now, leased_until=None, error=None, created_at=now,
    )  # fmt: skip
    engine.store.load_jobs([job])


def triples(memory: Memory, **filters: object) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.predicate, fact.object) for fact in facts_of(memory).list(**filters)]  # pyright: ignore[reportArgumentType]
