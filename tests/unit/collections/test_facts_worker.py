"""The worker: leases, tries again, gives up, and never does anything twice that can be seen."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory, Receipt
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, JobFailed, NotFound
from rememo.jobs.heartbeat import LEASE_SECONDS, Heartbeat
from rememo.jobs.outcomes import MOST_ATTEMPTS, backoff
from rememo.jobs.tasks import TASKS
from rememo.jobs.worker import Worker
from rememo.learn.messages import learn as learn_messages
from rememo.model.job import Settlement
from rememo.recall.embed.protocol import Vector
from rememo.testing import ManualClock
from rememo.testing.base import STANDARD_EMBEDDER
from rememo.testing.embedders import WordEmbedder

from .learning import FAST, day, facts_of, forget_source, jobs_of, open_memory, say, triples, unlearn, worker_of


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with open_memory(clock=clock) as memory:
        yield memory.scope(user="alice", room="chat-1", agent="helper")


class Flaky(WordEmbedder):
    """A model whose server is down until it is mended."""

    down = False

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        if self.down:
            raise ConnectionError("no answer")
        return super().embed(texts)


def learn(memory: Memory) -> int:
    return worker_of(memory).run_until_idle()


# ---- what is learned


@pytest.mark.requirement("fact.extract")
def test_facts_are_learned_with_their_source(memory: Memory):
    message = say(memory, "I moved to Lisbon in May. My cat is called Miso.")
    assert learn(memory) == 1
    assert ("alice", "lives_in", "Lisbon") in triples(memory, subject="alice")
    (home,) = facts_of(memory).list(predicate="lives_in")
    assert [source.id for source in home.sources] == [message.id]
    assert "Lisbon" in (home.wording or "")
    assert home.confidence == 0.9
    assert [hit.record.kind for hit in memory.search("where does alice live?", kind="fact")][:1] == ["fact"]


@pytest.mark.requirement("fact.extract", "conflict.policy")
def test_a_move_closes_the_old_home_and_an_old_letter_opens_none(memory: Memory):
    say(memory, "I live in Lisbon.", at=day(2024, 1))
    say(memory, "I moved to Porto.", at=day(2025, 6))
    say(memory, "I live in Rome.", at=day(2011, 3))
    learn(memory)
    assert triples(memory, predicate="lives_in") == [("alice", "lives_in", "Porto")]
    assert triples(memory, predicate="lives_in", valid_at=day(2024, 9)) == [("alice", "lives_in", "Lisbon")]
    assert triples(memory, predicate="lives_in", valid_at=day(2012)) == [("alice", "lives_in", "Rome")]


@pytest.mark.requirement("fact.extract")
def test_denials_end_and_corrections_replace(memory: Memory):
    say(memory, "I work at Acme.", at=day(2024, 1))
    say(memory, "I live in Lisbon.", at=day(2024, 2))
    say(memory, "I no longer work at Acme.", at=day(2024, 3))
    say(memory, "Actually it's Porto, not Lisbon.", at=day(2024, 4))
    learn(memory)
    assert triples(memory, predicate="lives_in") == [("alice", "lives_in", "Porto")]
    assert triples(memory, predicate="works_at") == []
    (job,) = facts_of(memory).list(predicate="works_at", current_only=False)
    assert (job.status, job.valid_to) == ("superseded", day(2024, 3))
    (lisbon,) = facts_of(memory).list(object="Lisbon", current_only=False)
    assert lisbon.status == "retracted"


def test_recalled_text_and_distrusted_sources_are_not_learned(memory: Memory):
    say(memory, "I live in Rome.", source="recall")
    say(memory, "I live in Oslo.", trust=0.2)
    say(memory, "I live in Paris.", role="assistant")
    assert learn(memory) == 3
    assert triples(memory) == []


# ---- what is unlearned


@pytest.mark.requirement("fact.extract", "version.undo")
def test_undoing_a_message_undoes_what_was_learned_from_it(memory: Memory):
    say(memory, "I live in Lisbon.", at=day(2024))
    moved = say(memory, "I moved to Porto.", at=day(2025))
    learn(memory)
    assert triples(memory) == [("alice", "lives_in", "Porto")]
    memory.undo(moved)
    unlearn(memory, moved.id)
    learn(memory)
    (home,) = facts_of(memory).list(current_only=False)
    assert (home.object, home.status, home.valid_to) == ("Lisbon", "current", None)
    forget_source(memory, moved.id)
    assert facts_of(memory).list(current_only=False) == [home]


@pytest.mark.requirement("fact.extract")
def test_a_fact_lives_as_long_as_one_of_its_sources(memory: Memory):
    first, two = say(memory, "I love tea.", at=day(2024)), say(memory, "I love tea!", at=day(2025))
    learn(memory)
    memory.delete(first.id)
    forget_source(memory, first.id)
    (tea,) = facts_of(memory).list()
    assert ([source.id for source in tea.sources], tea.confidence) == ([two.id], 0.9)
    memory.delete(two.id)
    forget_source(memory, two.id)
    assert facts_of(memory).list(current_only=False) == []


@pytest.mark.requirement("fact.extract")
def test_changed_words_are_learned_anew(memory: Memory):
    message = say(memory, "I live in Lisbon. I love tea.")
    by_hand = facts_of(memory).add("alice", "likes", "chess", sources=[message.id]).id
    learn(memory)
    memory.update(message.id, pinned=True)
    forget_source(memory, message.id)
    assert facts_of(memory).get(by_hand).status == "current", "the words are the same"
    memory.update(message.id, text="I live in Porto. I love tea.")
    forget_source(memory, message.id)
    assert sorted(triples(memory)) == [("alice", "likes", "tea"), ("alice", "lives_in", "Porto")]
    (home,) = facts_of(memory).list(predicate="lives_in")
    assert home.sources[0].version == 3


def test_a_deleted_fact_gives_its_place_back(memory: Memory):
    facts_of(memory).add("alice", "lives in", "Lisbon", valid_from=day(2024))
    porto = facts_of(memory).add("alice", "lives in", "Porto", valid_from=day(2025))
    memory.delete(porto.id)
    forget_source(memory, porto.id)
    assert triples(memory) == [("alice", "lives_in", "Lisbon")]


def test_the_worker_takes_notice_of_what_is_gone_or_changed(memory: Memory):
    worker = worker_of(memory)
    kept, gone = say(memory, "I live in Lisbon. I love tea."), say(memory, "I love jazz.")
    memory.add("a note")
    worker.run_until_idle()
    memory.update(kept.id, text="I live in Porto.")
    memory.delete(gone.id)
    worker.run_until_idle()
    assert triples(memory) == [("alice", "lives_in", "Porto")]
    memory.clear()
    worker.run_until_idle()
    assert facts_of(memory).list(current_only=False) == []
    assert {job.state for job in jobs_of(memory).list()} == {"done"}


# ---- however often, in whatever order

LINES = (
    "I live in Lisbon.", "I moved to Porto.", "I love tea.", "I don't like tea any more.", "My sister Bea works at CERN.",
    "I live in Lisbon.", "Actually it's Rome, not Porto.", "What time is it?",
)  # fmt: skip
steps = st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.booleans()), min_size=1, max_size=12)


def state(memory: Memory) -> list[str]:
    """Return everything that was learned, without the versions it took."""
    return sorted(
        (repr((record.kind, record.id, record.text, record.data, record.valid_from, record.valid_to)))
        for record in memory.list(kind=["fact", "relationship"], limit=1000)
    )


@settings(max_examples=25)
@given(
    spoken=st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=6, unique=True), repeats=steps, data=st.data()
)
def test_running_any_job_any_number_of_times_gives_the_same_facts(
    spoken: list[int], repeats: list[tuple[int, bool]], data: st.DataObject
):
    def remember(memory: Memory) -> list[Receipt]:
        return [say(memory, LINES[line], at=day(2024, 1, 1 + line), id=f"m{line}") for line in spoken]

    with open_memory() as plain, open_memory() as repeated:
        for memory in (plain, repeated):
            remember(memory)
        learn(plain)
        for line in data.draw(st.permutations(spoken)):
            forget_source(repeated, f"m{line}")
        for step, by_worker in repeats:
            forget_source(repeated, f"m{step}")
            if by_worker:
                learn(repeated)
        learn(repeated)
        assert state(repeated) == state(plain)
        for line in spoken:
            repeated.delete(f"m{line}")
            forget_source(repeated, f"m{line}")
        assert state(repeated) == []


# ---- leases, failures, retries


@pytest.mark.requirement("write.receipt")
def test_two_workers_never_have_one_job(memory: Memory, clock: ManualClock):
    say(memory, "I live in Lisbon.")
    store = view_of(memory).engine.store
    (job,) = store.lease_many(TASKS, LEASE_SECONDS, clock(), limit=10)
    assert worker_of(memory).run_once() == 0
    clock.advance(LEASE_SECONDS)
    assert worker_of(memory).run_once() == 1, "a worker that died gives it back when its lease is over"
    assert store.settle_many([Settlement(job, "dead", "too late")]) == 0
    assert jobs_of(memory).get(job.id).state == "done"
    assert triples(memory) == [("alice", "lives_in", "Lisbon")]


def test_a_heartbeat_keeps_the_lease(memory: Memory, clock: ManualClock):
    say(memory, "I live in Lisbon.")
    jobs = view_of(memory).engine.store.lease_many(TASKS, LEASE_SECONDS, clock(), limit=10)
    heart = Heartbeat(view_of(memory).engine, jobs)
    clock.advance(LEASE_SECONDS - 1)
    heart.beat()
    clock.advance(LEASE_SECONDS - 1)
    assert worker_of(memory).run_once() == 0
    heart.stop()


@pytest.mark.requirement("write.receipt")
def test_a_failing_job_is_tried_again_later_and_then_kept_dead(clock: ManualClock):
    embedder = Flaky()
    with open_memory(clock=clock, embedder=embedder) as memory:
        embedder.down = True
        receipt = memory.add("green tea", learn=False)
        worker = worker_of(memory)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            assert worker.run_until_idle() == 1
            job = jobs_of(memory).get(receipt.jobs[0])
            assert (job.attempts, job.error) == (attempt, "ConnectionError: no answer")
            clock.advance(301)
        (job,) = jobs_of(memory).list("dead")
        assert worker.run_until_idle() == 0
        with pytest.raises(JobFailed, match="is dead after 5 attempts: ConnectionError: no answer"):
            worker.follow(receipt, 1, tenant="default")
        embedder.down = False
        assert memory.search("tea", mode="vector") == []
        assert jobs_of(memory).retry(job.id).state == "waiting"
        assert worker.follow(receipt, 10, tenant="default").status == "done"
        assert [hit.text for hit in memory.search("tea", mode="vector")] == ["green tea"]


def test_waiting_grows_and_is_bounded():
    for attempts in range(1, 30):
        longest = min(2.0 ** (attempts - 1), 300)
        assert all(0.5 * longest <= backoff(attempts) <= 1.5 * longest for _ in range(20))


def test_a_job_that_kills_its_worker_does_not_kill_for_ever(memory: Memory, clock: ManualClock):
    receipt = say(memory, "I live in Lisbon.")
    for _ in range(MOST_ATTEMPTS):
        view_of(memory).engine.store.lease_many(TASKS, LEASE_SECONDS, clock(), limit=10)
        clock.advance(LEASE_SECONDS)
    learn(memory)
    (job,) = jobs_of(memory).list("dead")
    assert (job.id, job.error) == (receipt.jobs[0], "it was begun 5 times and never ended")


def test_one_odd_message_does_not_keep_the_others_from_being_learned(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    real = learn_messages.__globals__["extract"]

    def extract(text: str, **named: object) -> object:
        if "odd" in text:
            raise RecursionError("too odd")
        return real(text, **named)

    monkeypatch.setitem(learn_messages.__globals__, "extract", extract)
    good, odd = say(memory, "I love tea."), say(memory, "something odd")
    learn(memory)
    assert triples(memory) == [("alice", "likes", "tea")]
    assert jobs_of(memory).get(good.jobs[0]).state == "done"
    assert jobs_of(memory).get(odd.jobs[0]).error == "RecursionError: too odd"


def test_jobs_are_listed_and_only_dead_ones_are_tried_again(memory: Memory):
    receipt = say(memory, "I love tea.")
    assert [job.id for job in jobs_of(memory).list("waiting")] == list(receipt.jobs)
    learn(memory)
    assert [job.state for job in jobs_of(memory).list()] == ["done"]
    with pytest.raises(InvalidInput, match="is done, not dead"):
        jobs_of(memory).retry(receipt.jobs[0])
    with pytest.raises(NotFound):
        jobs_of(memory).retry("no-such")
    with pytest.raises(InvalidInput, match="the states are"):
        jobs_of(memory).list("lost")  # pyright: ignore[reportArgumentType] - that is the test


# ---- waiting, threads, forks


@pytest.mark.requirement("write.receipt")
def test_who_waits_does_the_work_where_nobody_else_does(memory: Memory):
    receipt = say(memory, "I love tea.")
    done = worker_of(memory).follow(receipt, 10, tenant="default")
    assert (done.status, done.ids) == ("done", receipt.ids)
    assert triples(memory) == [("alice", "likes", "tea")]


@pytest.mark.requirement("write.receipt")
def test_waiting_ends_with_the_time_given(memory: Memory, clock: ManualClock):
    receipt = say(memory, "I love tea.")
    view_of(memory).engine.store.lease_many(TASKS, LEASE_SECONDS, clock(), limit=10)
    with pytest.raises(JobFailed, match=r"\(learn\) is not done after 0.05 seconds"):
        worker_of(memory).follow(receipt, 0.05, tenant="default")


@pytest.mark.requirement("write.receipt")
def test_a_store_that_cannot_be_written_is_not_asked_again_and_again(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
):
    impatient = FAST.but(busy_timeout=0.0)
    with Memory(tmp_path / "a.db", embedder=STANDARD_EMBEDDER, settings=impatient, clock=clock) as memory:
        receipt = say(memory.scope(user="alice", room="r"), "I moved to Lisbon.")
        other = apsw.Connection(str(tmp_path / "a.db"))
        other.execute("BEGIN IMMEDIATE")  # pyright: ignore[reportUnknownMemberType] - apsw's own hints
        worker = worker_of(memory)
        worker.start()
        with pytest.raises(JobFailed, match=r"not done after 0\.5 seconds"):
            worker.follow(receipt, 0.5, tenant="default")
        other.close()
        assert [record.name for record in caplog.records] == ["rememo.worker"], "it told of it, and rested"
        assert worker.follow(receipt, 10, tenant="default").status == "done"
        assert worker.stop()


def test_the_thread_starts_when_it_is_needed_and_ends_when_it_is_told(memory: Memory):
    worker = worker_of(memory)
    assert not worker.running
    receipts: list[Receipt] = []
    for liked in ("tea", "jazz", "chess"):
        receipts.append(say(memory, f"I love {liked}."))
        worker.wake()
    assert worker.running
    for receipt in receipts:
        assert worker.follow(receipt, 20, tenant="default").status == "done"
    assert len(triples(memory)) == 3
    assert worker.stop(20)
    assert not worker.running
    assert worker.stop()
    worker.wake()
    assert worker.running
    assert worker.stop(20)


def test_a_forgotten_worker_ends_by_itself(memory: Memory):
    worker = Worker(view_of(memory).engine)
    worker.start()
    assert worker.running
    threads = [thread for thread in threading.enumerate() if thread.name == "rememo-worker"]
    del worker
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_starts_a_thread_of_its_own(tmp_path: Path):
    with open_memory(str(tmp_path / "memory.db")) as memory:
        worker = worker_of(memory)
        worker.follow(say(memory, "I love tea."), 20, tenant="default")
        worker.start()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                fresh = not worker.running
                receipt = say(memory, "I love jazz.")
                worker.wake()
                worker.follow(receipt, 20, tenant="default")
                code = 0 if fresh and worker.running and worker.stop(20) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert worker.running
        assert len(triples(memory)) == 2
        assert worker.stop(20)
