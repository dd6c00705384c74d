"""Waiting for jobs costs next to nothing, and ends as soon as they do."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import JobFailed
from rememo.jobs.waiting import JobEndings
from rememo.jobs.worker import Worker
from rememo.llm.openai import OpenAICompatible
from rememo.testing.endpoint import ChatReply, HeldReply, ScriptedEndpoint

pytestmark = pytest.mark.requirement("write.receipt")
NOTHING = ChatReply({"facts": []})


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(default=NOTHING) as endpoint:
        yield endpoint


@pytest.fixture
def memory(tmp_path: Path, endpoint: ScriptedEndpoint) -> Iterator[Memory]:
    with OpenAICompatible(endpoint.url, "scripted") as llm, Memory(tmp_path / "a.db", llm=llm) as memory:
        yield memory


def runner_of(memory: Memory) -> Worker:
    runner = view_of(memory).engine.runner  # what is behind the surface
    assert isinstance(runner, Worker)
    return runner


def test_waiting_for_a_model_takes_no_processor_time(memory: Memory, endpoint: ScriptedEndpoint):
    chat = memory.scope(user="ana", room="r")
    chat.messages.add("user", "This one loads whatever is loaded late.").wait()
    endpoint.script(HeldReply(NOTHING))
    receipt = chat.messages.add("user", "I live in Lisbon.")
    with pytest.raises(JobFailed, match="not done"):
        receipt.wait(timeout=0.5)  # until the model is asked
    began, spent = time.monotonic(), time.process_time()
    with pytest.raises(JobFailed, match="not done"):
        receipt.wait(timeout=2)
    assert time.monotonic() - began >= 2
    assert time.process_time() - spent < 0.2 * (time.monotonic() - began)
    endpoint.release()
    assert receipt.wait().status == "done"


@pytest.mark.requirement("fact.extract")
def test_a_read_waits_for_rules_and_for_no_model(memory: Memory, endpoint: ScriptedEndpoint):
    ana = memory.scope(user="ana", room="r")
    for city in ("Lisbon", "Porto"):
        endpoint.script(HeldReply(NOTHING))
        receipt = ana.messages.add("user", f"I moved to {city}.")
        assert [fact.object for fact in ana.facts.list()] == [city]
        assert f"ana lives in {city}" in ana.context("where do I live?").text
        assert {job.state for job in memory.jobs.list() if job.id in receipt.jobs} != {"done"}
        endpoint.release()
        receipt.wait()
        endpoint.hold()


def test_who_waits_does_the_work_where_no_thread_does(tmp_path: Path):
    with Memory(tmp_path / "a.db", settings=Settings(worker=False)) as memory:
        chat = memory.scope(user="ana", room="r")
        assert chat.messages.add("user", "I live in Lisbon.").wait(timeout=30).status == "done"
        assert [fact.object for fact in chat.facts.list()] == ["Lisbon"]


def test_those_who_wait_are_told_at_once():
    endings = JobEndings()
    seen = endings.count
    assert not endings.wait(seen, 0)
    threading.Timer(0.01, endings.tell).start()
    began = time.monotonic()
    assert endings.wait(seen, 60)
    assert time.monotonic() - began < 30
    assert endings.wait(seen, 60), "what ended before it began to wait is not waited for"
