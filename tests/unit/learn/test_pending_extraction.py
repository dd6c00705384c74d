"""A read waits for the lessons of its scope: not for a model, not for others', not for ever, and not twice in vain."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rememo import AsyncMemory, Memory, Settings
from rememo.engine.view import view_of
from rememo.jobs import worker as working
from rememo.jobs.tasks import Errors
from rememo.model.job import Job
from rememo.model.receipt import Change

PATIENT = Settings(durability="fast", learn_wait=30.0)


def runner_of(memory: Memory) -> working.Worker:
    found = view_of(memory).engine.runner  # it is not on the surface
    assert isinstance(found, working.Worker)
    return found


def homes(memory: Memory) -> list[str]:
    return [fact.object for fact in memory.facts.list(predicate="lives_in")]


@pytest.mark.requirement("fact.extract")
def test_an_async_read_sees_what_the_last_message_taught(tmp_path: Path):
    async def talk() -> None:
        async with AsyncMemory(tmp_path / "m.db", embedder=None, settings=PATIENT) as memory:
            for number in range(5):
                ana = memory.scope(user=f"ana{number}")
                await ana.messages.add("user", "I live in Lisbon.")
                await ana.add("The user moved to Porto.")
                assert [fact.object for fact in await ana.facts.list()] == ["Porto"]
                await ana.messages.add("user", "I moved to Braga.")
                assert f"ana{number} lives in Braga" in (await ana.context("where do I live?")).text

    asyncio.run(talk())


@pytest.mark.requirement("fact.extract", "process.safe")
def test_two_who_share_a_file_see_what_the_other_was_taught(tmp_path: Path):
    with (
        Memory(tmp_path / "m.db", embedder=None, settings=PATIENT) as first,
        Memory(tmp_path / "m.db", embedder=None, settings=PATIENT) as other,
    ):
        for city in ("Lisbon", "Porto", "Braga", "Faro", "Tomar"):
            first.scope(user="ana").messages.add("user", f"I moved to {city}.")
            assert homes(other.scope(user="ana")) == [city]


@pytest.mark.requirement("fact.extract")
def test_what_one_who_only_writes_leaves_is_learned_by_who_reads(tmp_path: Path):
    quiet = Settings(durability="fast", worker=False)
    with (
        Memory(tmp_path / "m.db", embedder=None, settings=quiet) as writer,
        Memory(tmp_path / "m.db", embedder=None, settings=PATIENT) as reader,
    ):
        for number in range(100):
            writer.scope(user="ana").messages.add("user", f"I moved to City{number}.")
        assert homes(writer.scope(user="ana")) == []
        assert homes(reader.scope(user="ana")) == ["City99"]


def test_a_lesson_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch):
    begun, go_on = threading.Event(), threading.Event()
    do_all = working.do_all

    def hang(engine: Any, jobs: Sequence[Job]) -> Errors:
        begun.set()
        assert go_on.wait(60)
        return do_all(engine, jobs)

    monkeypatch.setattr(working, "do_all", hang)
    with Memory(":memory:", embedder=None, settings=Settings(learn_wait=0.05)) as memory:
        ana = memory.scope(user="ana")
        receipt = ana.messages.add("user", "I live in Lisbon.")
        assert begun.wait(60)
        waited: list[Sequence[str]] = []
        worker = runner_of(memory)
        finish = worker.finish_extraction

        def count(tenant: str, jobs: Sequence[str], seconds: float) -> bool:
            waited.append(jobs)
            return finish(tenant, jobs, seconds)

        monkeypatch.setattr(worker, "finish_extraction", count)
        assert homes(ana) == homes(ana) == []
        memory.scope(user="bob").add("green tea")
        assert homes(ana) == []
        assert [tuple(jobs) for jobs in waited] == [receipt.jobs]
        go_on.set()
        receipt.wait()
        assert homes(ana) == ["Lisbon"]


def test_a_hook_that_reads_waits_for_no_lesson_of_its_own():
    with Memory(":memory:", embedder=None, settings=PATIENT) as memory:
        ana = memory.scope(user="ana")
        seen: list[list[str]] = []

        def look(change: Change) -> None:
            if change.kind == "fact":
                seen.append(homes(ana))

        memory.hooks.on_change(look)
        ana.messages.add("user", "I live in Lisbon.")
        assert homes(ana) == ["Lisbon"]
        assert seen == [["Lisbon"]]


def test_where_nothing_was_written_nothing_is_asked(monkeypatch: pytest.MonkeyPatch):
    with Memory(":memory:", embedder=None, settings=PATIENT) as memory:
        ana = memory.scope(user="ana")
        ana.messages.add("user", "I live in Lisbon.")
        assert homes(ana) == homes(ana) == ["Lisbon"]
        asked: list[Any] = []
        store = view_of(memory).engine.store  # what it is asked is not on the surface
        pending = store.pending_jobs

        def count(*arguments: Any, **more: Any) -> Any:
            asked.append(arguments)
            return pending(*arguments, **more)

        monkeypatch.setattr(store, "pending_jobs", count)
        for _ in range(3):
            ana.search("where do I live?")
            ana.context("where do I live?")
            assert homes(ana) == ["Lisbon"]
        assert asked == []
        ana.add("The user moved to Porto.")
        assert homes(ana) == ["Porto"]
        assert asked


def test_a_memory_that_learns_nothing_keeps_to_that():
    with Memory(":memory:", embedder=None, settings=Settings(learn=False)) as memory:
        ana = memory.scope(user="ana")
        note, said = ana.add("I live in Lisbon."), ana.messages.add("user", "I live in Lisbon.")
        for receipt in (note, said):
            assert not receipt.jobs
            ana.update(receipt.id, text="I live in Porto.").wait()
        assert homes(ana) == []
