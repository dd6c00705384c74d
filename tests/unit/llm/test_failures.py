"""Whatever an endpoint does: the write is safe and found, rules stand in, the job says what happened, nothing waits."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory, Settings, SummaryPolicy
from rememo.engine.job_payloads import ABSTRACT, EXTRACT
from rememo.engine.view import view_of
from rememo.errors import JobFailed
from rememo.jobs.outcomes import MOST_ATTEMPTS, MOST_ATTEMPTS_OF_AN_OUTAGE
from rememo.jobs.tasks import TASKS
from rememo.jobs.worker import Worker
from rememo.llm.openai import OpenAICompatible
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import ChatReply, ErrorReply, HeldReply, RawReply, Reply, ScriptedEndpoint

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXT = "I live in Lisbon. Kimi snores at night."
LONG = 4_000.0
"""Seconds; after that many every job that waits is due."""


def fact(subject: str, predicate: str, object: str, quote: str) -> dict[str, Any]:
    return {"n": 1, "subject": subject, "predicate": predicate, "object": object, "quote": quote}


GOOD = ChatReply({"facts": [fact("Kimi", "habit", "snores", "Kimi snores")]})
FAILURES: dict[str, tuple[Reply, str]] = {
    "slow": (HeldReply(ChatReply("late")), "did not answer within"),
    "busy": (ErrorReply(429, "slow down", retry_after=600), "429 and asks to come back in 600 seconds"),
    "broken server": (ErrorReply(503, "overloaded"), "503"),
    "broken off": (RawReply(b'{"choices": [', promised=900), "broke off"),
    "truncated": (RawReply(b'{"choices": [{"mess'), "did not answer with a JSON object"),
    "wrong schema": (ChatReply({"facts": [{"n": "one"}]}), "does not fit its schema"),
    "prose": (ChatReply("I am sorry, but I cannot help with that."), "holds no JSON"),
    "empty": (ChatReply(""), "answered nothing"),
    "wrong key": (ErrorReply(401, "no such key"), "401"),
}


@pytest.fixture
def model(endpoint: ScriptedEndpoint) -> Iterator[OpenAICompatible]:
    async def sleep(_: float) -> None:
        return

    with OpenAICompatible(endpoint.url, "scripted", timeout=0.5, sleep=sleep) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(AT)


@pytest.fixture
def memory(model: OpenAICompatible, clock: ManualClock) -> Iterator[Memory]:
    settings = Settings(worker=False, durability="fast")
    with Memory(":memory:", llm=model, settings=settings, clock=clock) as opened:
        yield opened


def worker_of(memory: Memory) -> Worker:
    return Worker(view_of(memory).engine)


def homes(memory: Memory) -> list[str]:
    return [fact.object for fact in memory.facts.list(predicate="lives_in")]


def habits(memory: Memory) -> list[str]:
    return [fact.object for fact in memory.facts.list(predicate="habit")]


def is_safe(memory: Memory, id: str) -> None:
    """Check that a message is as it was said, is found, and that rules learned from it."""
    assert memory.get(id).text == TEXT
    assert [hit.record.id for hit in memory.search("Lisbon", kind="message")] == [id]
    assert homes(memory) == ["Lisbon"]


def break_it(endpoint: ScriptedEndpoint, name: str) -> str:
    """Let the endpoint fail from now on, and return what is said of it."""
    if name == "down":
        endpoint.down()
        return "cannot be reached"
    endpoint.default, told = FAILURES[name]
    return told


def mend(endpoint: ScriptedEndpoint) -> None:
    endpoint.release()
    endpoint.up()
    endpoint.default = GOOD


@pytest.mark.parametrize("name", ["down", *FAILURES])
def test_a_failure_costs_time_and_nothing_else(
    endpoint: ScriptedEndpoint, memory: Memory, clock: ManualClock, name: str
):
    said = break_it(endpoint, name)
    chat = memory.scope(user="ana")
    receipt = chat.messages.add("user", TEXT)
    assert not endpoint.requests_to(), "no model is asked within add"
    worker = worker_of(memory)
    assert worker.run_until_idle() == 2
    is_safe(chat, receipt.id)
    assert habits(chat) == []
    [job] = memory.jobs.list()
    assert (job.state, job.task, job.attempts) == ("waiting", EXTRACT, 1)
    assert said in str(job.error)
    mend(endpoint)
    clock.advance(LONG)
    assert worker.run_until_idle() == 1
    assert habits(chat) == ["snores"]
    assert [job.state for job in memory.jobs.list()] == ["done"]
    assert receipt.wait(1).status == "done"


@pytest.mark.parametrize("name", ["down", "wrong schema"])
def test_a_job_that_fails_for_good_is_dead_with_its_reason_and_can_be_tried_again(
    endpoint: ScriptedEndpoint, memory: Memory, clock: ManualClock, name: str
):
    said, most = break_it(endpoint, name), MOST_ATTEMPTS_OF_AN_OUTAGE if name == "down" else MOST_ATTEMPTS
    chat, worker = memory.scope(user="ana"), worker_of(memory)
    receipt = chat.messages.add("user", TEXT)
    for _ in range(most):
        worker.run_until_idle()
        clock.advance(LONG)
    [job] = memory.jobs.list("dead")
    assert job.attempts == most
    assert said in str(job.error)
    with pytest.raises(JobFailed, match=said):
        receipt.wait(1)
    is_safe(chat, receipt.id)
    mend(endpoint)
    memory.jobs.retry(job.id)
    worker.run_until_idle()
    assert habits(chat) == ["snores"]


def test_a_refusal_is_final(endpoint: ScriptedEndpoint, memory: Memory):
    endpoint.script(ChatReply(None, refusal="I will not read this"))
    chat = memory.scope(user="ana")
    receipt = chat.messages.add("user", TEXT)
    worker_of(memory).run_until_idle()
    [job] = memory.jobs.list("dead")
    assert "I will not read this" in str(job.error)
    is_safe(chat, receipt.id)
    assert len(endpoint.requests_to()) == 1


def test_one_batch_that_fails_does_not_hold_up_the_others(endpoint: ScriptedEndpoint, memory: Memory):
    ana, eva = memory.scope(user="ana", room="1"), memory.scope(user="eva", room="2")
    ana.messages.add("user", TEXT)
    eva.messages.add("user", TEXT)
    endpoint.script(ChatReply(None, refusal="no"), GOOD)
    worker_of(memory).run_until_idle()
    assert sorted(job.state for job in memory.jobs.list()) == ["dead", "done"]
    assert len(habits(ana) + habits(eva)) == 1


def test_an_endpoint_that_is_down_is_asked_once_for_all_that_waits(
    endpoint: ScriptedEndpoint, memory: Memory, clock: ManualClock
):
    for user in ("ana", "eva", "ida"):
        memory.scope(user=user).messages.add("user", TEXT)
    endpoint.default = ErrorReply(500)
    worker_of(memory).run_until_idle()
    assert len(endpoint.requests_to()) <= 3, "one call with its further tries"
    assert all("500" in str(job.error) for job in memory.jobs.list("waiting"))


@pytest.mark.parametrize(("told", "waited"), [(600, 600), (10**9, 3_600)])
def test_the_endpoints_own_wait_is_obeyed_between_attempts(
    endpoint: ScriptedEndpoint, memory: Memory, clock: ManualClock, told: int, waited: int
):
    endpoint.script(ErrorReply(429, retry_after=told))
    memory.scope(user="ana").messages.add("user", TEXT)
    worker_of(memory).run_until_idle()
    [job] = memory.jobs.list("waiting")
    assert job.due_at == clock() + timedelta(seconds=waited)


@pytest.mark.requirement("spend.limit")
def test_beyond_the_ceiling_rules_serve_and_the_receipt_says_so(endpoint: ScriptedEndpoint, model: OpenAICompatible):
    settings = Settings(worker=False, durability="fast", spend_daily_tokens=10)
    with Memory(":memory:", llm=model, settings=settings) as memory:
        chat = memory.scope(user="ana")
        receipt = chat.messages.add("user", TEXT)
        done = receipt.wait()
        assert done.status == "done"
        assert "rules alone" in done.notes[0]
        assert "spend_daily_tokens" in done.notes[0]
        [job] = memory.jobs.list()
        assert (job.state, job.error) == ("done", done.notes[0])
        is_safe(chat, receipt.id)
        assert not endpoint.requests_to()
        assert memory.spending().entries[0].refused == 1


def test_a_model_that_thinks_holds_up_nothing_else(endpoint: ScriptedEndpoint):
    endpoint.default = HeldReply(GOOD)
    with (
        OpenAICompatible(endpoint.url, "scripted") as model,
        Memory(":memory:", llm=model, settings=Settings(durability="fast")) as memory,
    ):
        ana, eva = memory.scope(user="ana"), memory.scope(user="eva")
        first = ana.messages.add("user", TEXT)
        endpoint.wait_for(1)
        second = eva.messages.add("user", TEXT)
        with pytest.raises(JobFailed, match="not done"):
            first.wait(0.05)
        wait_until(lambda: homes(eva) == ["Lisbon"])
        endpoint.release()
        assert first.wait().status == second.wait().status == "done"
        assert habits(ana) == habits(eva) == ["snores"]


def test_summaries_are_left_to_the_thread_that_waits_for_the_model(endpoint: ScriptedEndpoint, memory: Memory):
    chat = memory.scope(user="ana", room="one")
    chat.summaries.policy(SummaryPolicy(threshold=4, keep=1))
    for number in range(6):
        chat.messages.add("user", f"I bought {number} lemons at the market in Lisbon.", learn=False)
    worker = worker_of(memory)
    worker.run_once(tasks=TASKS)
    assert {(job.task, job.state) for job in memory.jobs.list()} == {(ABSTRACT, "waiting")}
    assert not endpoint.requests_to()
    worker.run_until_idle()
    assert {job.state for job in memory.jobs.list()} == {"done"}
    assert chat.summaries.list()


def test_what_was_left_to_a_model_that_is_gone_is_summarised_without_one(
    endpoint: ScriptedEndpoint, model: OpenAICompatible, tmp_path: Path
):
    quiet = Settings(worker=False, durability="fast")
    with Memory(tmp_path / "a.db", llm=model, settings=quiet) as memory:
        chat = memory.scope(user="ana", room="one")
        chat.summaries.policy(SummaryPolicy(threshold=4, keep=1))
        for number in range(6):
            chat.messages.add("user", f"I bought {number} lemons at the market in Lisbon.", learn=False)
        worker_of(memory).run_once(tasks=TASKS)
    with Memory(tmp_path / "a.db", settings=quiet) as memory:
        worker_of(memory).run_until_idle()
        assert memory.scope(room="one").summaries.list()
    assert not endpoint.requests_to()


def test_closing_ends_a_call_and_the_job_is_as_it_was(endpoint: ScriptedEndpoint, tmp_path: Path):
    endpoint.script(HeldReply(GOOD))
    endpoint.default = GOOD
    with OpenAICompatible(endpoint.url, "scripted", timeout=600) as model:
        memory = Memory(tmp_path / "a.db", llm=model)
        memory.scope(user="ana").messages.add("user", TEXT)
        endpoint.wait_for(1)
        memory.close()
        with Memory(tmp_path / "a.db", embedder=None, settings=Settings(worker=False)) as memory:
            [job] = memory.jobs.list()
            assert (job.state, job.task, job.attempts) == ("waiting", EXTRACT, 0)
            assert homes(memory) == ["Lisbon"]
            worker_of(memory).run_until_idle()
            assert memory.jobs.get(job.id).state == "waiting", "it is left to those who have a model"
        with Memory(tmp_path / "a.db", llm=model, settings=Settings(worker=False)) as memory:
            worker_of(memory).run_until_idle()
            assert habits(memory) == ["snores"]


def test_a_worker_that_lost_its_lease_stops_asking(endpoint: ScriptedEndpoint, memory: Memory, clock: ManualClock):
    engine = view_of(memory).engine
    with OpenAICompatible(endpoint.url, "scripted", timeout=600) as patient:
        engine.models.llm = patient  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        endpoint.script(HeldReply(GOOD))
        memory.scope(user="ana").messages.add("user", TEXT)
        worker = Worker(engine, lease=0.3)
        worker.run_once()
        thread = threading.Thread(target=lambda: worker.run_once(tasks=[EXTRACT]))
        thread.start()
        endpoint.wait_for(1)
        taken: list[Any] = []
        while not taken:  # the first worker prolongs its lease meanwhile, by a clock that stands
            clock.advance(LONG)
            taken = engine.store.lease_many([EXTRACT], 60.0, engine.now(), limit=1)
        thread.join(30)
        assert not thread.is_alive()
        [job] = memory.jobs.list()
        assert (job.state, job.attempts) == ("running", 2), "the other has it"


def wait_until(true: Callable[[], bool]) -> None:
    ends = threading.Event()
    for _ in range(3_000):
        if true():
            return
        ends.wait(0.01)
    raise AssertionError("it did not come to be so within 30 seconds")
