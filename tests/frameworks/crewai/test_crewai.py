import asyncio
import copy
import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory as CrewMemory
from pydantic import Field

from rememo import Memory
from rememo.adapters.crewai import RememoEmbedder, RememoStorage
from rememo.errors import InvalidInput

NOON = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - CrewAI tells the time so


@pytest.fixture(autouse=True)
def nobody_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Fail a test in which anything leaves this machine; a telemetry thread would swallow the error."""
    called: list[object] = []
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and str(address[0]) not in ("127.0.0.1", "::1", "localhost"):
            called.append(address)
            raise OSError(f"a test may not connect to {address}")
        connect(self, address)

    def looked_up(host: object, *more: object, **named: object) -> list[Any]:
        called.append(host)
        raise OSError(f"a test may not look up {host}")

    monkeypatch.setattr(socket.socket, "connect", watched)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    yield called
    assert called == []


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as made:
        yield made


@pytest.fixture
def storage(memory: Memory) -> RememoStorage:
    return RememoStorage(memory)


def record(content: str, vector: list[float] | None = None, **more: Any) -> MemoryRecord:
    return MemoryRecord(content=content, embedding=vector, **more)


def contents(results: list[tuple[MemoryRecord, float]]) -> list[str]:
    return [record.content for record, _ in results]


def whole(record: MemoryRecord | None) -> tuple[dict[str, Any], list[float] | None]:
    assert record is not None
    return record.model_dump(), record.embedding  # equality of theirs leaves the embedding out of what it prints


def test_it_is_a_storage_backend(storage: RememoStorage):
    assert isinstance(storage, StorageBackend)
    assert os.environ["CREWAI_DISABLE_TELEMETRY"] == "true"


@pytest.mark.parametrize(
    "saved",
    [
        record("Ana lives in Lisbon.", [0.1, -0.25, 1e-30]),
        record(
            "all of it",
            [1.0, 0.0, 0.5],
            scope="/crew/research/agent",
            categories=["a", "b"],
            metadata={"n": 1, "deep": {"x": [None, True, 1.5]}},
            importance=0.9,
            created_at=NOON,
            last_accessed=NOON + timedelta(hours=1),
            source="ana",
            private=True,
        ),
        record("no vector"),
        record("odd \0 \ud83c", metadata={"large": 2**70, "nul": "\0"}),
        record("wide", metadata={"text": "y" * 100_000}),
        record("aware", created_at=NOON.replace(tzinfo=UTC)),
    ],
    ids=lambda record: record.content[:6].strip(),
)
def test_a_record_comes_back_as_it_was(storage: RememoStorage, saved: MemoryRecord):
    storage.save([saved])
    assert whole(storage.get_record(saved.id)) == whole(saved)
    assert [whole(record) for record in storage.list_records()] == [whole(saved)]


def test_records_are_ordinary_ones(memory: Memory):
    storage = RememoStorage(memory.scope(agent="researcher"))
    storage.save([record("Ana lives in Lisbon.", [1.0, 0.0], metadata={"topic": "home"}, created_at=NOON)])
    room = memory.scope(agent="researcher", room="crewai")
    assert room.search("where does Ana live?", metadata={"topic": "home"})[0].text == "Ana lives in Lisbon."
    assert room.list()[0].at == NOON.replace(tzinfo=UTC)
    other = room.add("Miso sleeps on the sofa.", importance=0.2)
    found = storage.get_record(other.id)
    assert found is not None
    assert (found.content, found.scope, found.importance) == ("Miso sleeps on the sofa.", "/", 0.2)
    assert storage.count() == 2
    assert RememoStorage(memory.scope(agent="writer")).count() == 0


def test_the_nearest_come_first_after_all_filters(storage: RememoStorage):
    storage.save([record(f"near {n}", [1.0, 0.01 * n], scope="/far", categories=["x"]) for n in range(30)])
    storage.save(
        [
            record("mine", [0.5, 0.5], scope="/crew/a", categories=["y", "z"], metadata={"k": "v"}),
            record("opposite", [-1.0, 0.0], scope="/crew/b", categories=["y"]),
            record("no vector", scope="/crew/a", categories=["y"]),
        ]
    )
    results = storage.search([1.0, 0.0], limit=3)
    assert contents(results) == ["near 0", "near 1", "near 2"]
    assert results[0][1] == pytest.approx(1.0)
    assert contents(storage.search([1.0, 0.0], scope_prefix="/crew", limit=1)) == ["mine"]
    assert contents(storage.search([1.0, 0.0], categories=["z", "unknown"], limit=1)) == ["mine"]
    assert contents(storage.search([1.0, 0.0], metadata_filter={"k": "v"})) == ["mine"]
    assert storage.search([1.0, 0.0], metadata_filter={"k": None}) == []
    assert contents(storage.search([1.0, 0.0], scope_prefix="/crew", min_score=0.5)) == ["mine"]
    assert storage.search([1.0, 0.0], scope_prefix="/crew")[1][1] == 0.0
    assert storage.search([0.0, 0.0]) == []
    assert storage.search([1.0, 0.0], limit=0) == []


def test_vectors_of_another_model_are_told_and_not_passed_over(storage: RememoStorage):
    assert storage.search([1.0, 0.0]) == []
    storage.save([record("two", [1.0, 0.0])])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0, 0.0, 0.0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([record("fine", [0.0, 1.0]), record("three", [1.0, 0.0, 0.0])])
    assert storage.count() == 1
    storage.reset()
    storage.save([record("three", [1.0, 0.0, 0.0])])


def test_a_scope_has_what_is_below_it_and_not_what_begins_alike(storage: RememoStorage):
    for scope in ("/", "/crew", "/crew/a", "/crew/a/x", "/crew/b", "/crews", "other/c"):
        storage.save([record(f"in {scope}", scope=scope, categories=["all", scope], created_at=NOON)])
    assert storage.count() == storage.count("/") == 7
    assert storage.count("/crew") == storage.count("crew/") == 4
    assert storage.count("/crew/a") == 2
    assert storage.list_scopes() == ["/crew", "/crews", "/other"]
    assert storage.list_scopes("/crew") == ["/crew/a", "/crew/b"]
    assert storage.list_scopes("/nowhere") == []
    info = storage.get_scope_info("/crew/a")
    assert (info.path, info.record_count, info.child_scopes) == ("/crew/a", 2, ["/crew/a/x"])
    assert info.categories == ["/crew/a", "/crew/a/x", "all"]
    assert (info.oldest_record, info.newest_record) == (NOON, NOON)
    assert storage.get_scope_info("/nowhere").oldest_record is None
    assert storage.list_categories("/crew/a") == {"all": 2, "/crew/a": 1, "/crew/a/x": 1}
    storage.reset("/crew/a")
    assert [record.scope for record in storage.list_records("/crew")] == ["/crew/b", "/crew"]
    storage.reset()
    assert storage.count() == 0


def test_records_are_listed_newest_first_by_when_they_were_made(storage: RememoStorage):
    for hours in (2, 0, 1):
        storage.save([record(str(hours), created_at=NOON + timedelta(hours=hours))])
    assert [record.content for record in storage.list_records()] == ["2", "1", "0"]
    assert [record.content for record in storage.list_records(limit=1, offset=1)] == ["1"]
    assert storage.list_records(limit=0) == storage.list_records(offset=-1) == storage.list_records(offset=9) == []


def test_what_is_deleted_meets_all_criteria(storage: RememoStorage):
    kept = record("kept", scope="/a", categories=["x"], metadata={"k": 1}, created_at=NOON)
    old = record("old", scope="/a", categories=["x"], metadata={"k": 1}, created_at=NOON - timedelta(days=9))
    storage.save([kept, old, record("elsewhere", scope="/b", categories=["x"], created_at=NOON - timedelta(days=9))])
    assert storage.delete(record_ids=[]) == storage.delete(categories=[]) == 0
    assert storage.delete(scope_prefix="/b", record_ids=[kept.id]) == 0
    assert storage.delete(record_ids=["unknown"]) == 0
    criteria: dict[str, Any] = {"scope_prefix": "/a", "categories": ["x"], "metadata_filter": {"k": 1}}
    assert storage.delete(**criteria, older_than=(NOON - timedelta(days=1)).replace(tzinfo=UTC)) == 1
    assert sorted(record.content for record in storage.list_records()) == ["elsewhere", "kept"]
    assert storage.delete(record_ids=[kept.id]) == 1
    assert storage.get_record(kept.id) is None
    assert storage.delete() == 1
    assert storage.count() == 0


def test_a_record_is_replaced_and_its_past_stays(memory: Memory, storage: RememoStorage):
    first = record("Ana lives in Lisbon.", [1.0, 0.0], scope="/a")
    storage.save([first])
    storage.update(first.model_copy(update={"content": "Ana lives in Porto.", "embedding": [0.0, 1.0], "scope": "/b"}))
    assert storage.count() == 1
    assert storage.count("/a") == 0
    assert storage.search([0.0, 1.0])[0][1] == pytest.approx(1.0)
    assert [version.text for version in memory.history(first.id)] == ["Ana lives in Lisbon.", "Ana lives in Porto."]


def test_saving_is_done_in_whole_or_not_at_all(storage: RememoStorage):
    with pytest.raises(InvalidInput):
        storage.save([record("fine"), record("bad", id="x" * 600)])
    assert storage.count() == 0
    assert storage.get_record("x" * 600) is None
    storage.save([])


def test_the_asynchronous_methods_do_the_same(storage: RememoStorage):
    async def main() -> None:
        await storage.asave([record("a", [1.0, 0.0], scope="/s", categories=["c"])])
        assert contents(await storage.asearch([1.0, 0.0], "/s", ["c"], limit=1)) == ["a"]
        assert await storage.adelete(scope_prefix="/s") == 1

    asyncio.run(main())


def test_what_others_save_is_found(tmp_path: Path):
    with Memory(tmp_path / "crew.db") as first, Memory(tmp_path / "crew.db") as second:
        ours, theirs = RememoStorage(first), RememoStorage(second)
        assert ours.search([1.0, 0.0]) == []
        theirs.save([record("a", [1.0, 0.0])])
        assert contents(ours.search([1.0, 0.0])) == ["a"]
        theirs.reset()
        assert ours.search([1.0, 0.0]) == []


def test_it_closes_what_it_opened_and_a_copy_is_itself(tmp_path: Path, memory: Memory):
    with RememoStorage(tmp_path / "crew.db") as storage:
        storage.save([record("a")])
        assert copy.deepcopy(storage) is storage
    with RememoStorage(tmp_path / "crew.db") as again:
        assert again.count() == 1
    RememoStorage(memory).close()
    assert memory.count() == 0


def test_the_embedder_needs_no_key():
    [cat, kitten, rent, blank] = RememoEmbedder()(
        ["the cat sleeps", "a kitten is sleeping", "rent is due in March", ""]
    )
    assert sum(a * b for a, b in zip(cat, kitten, strict=True)) > sum(a * b for a, b in zip(cat, rent, strict=True))
    assert not any(blank)


# ---- CrewAI itself


class Scripted(BaseLLM):
    """Answers every agent the same, and remembers what it was asked."""

    answer: str = "Thought: I know it.\nFinal Answer: Her cat is called Miso."
    asked: list[Any] = Field(default_factory=list)

    def call(self, messages: Any, *_more: Any, **_named: Any) -> str:
        self.asked.append(copy.deepcopy(messages))
        return self.answer

    async def acall(self, messages: Any, *_more: Any, **_named: Any) -> str:
        return self.call(messages)


def remembering(storage: RememoStorage | str, llm: BaseLLM) -> CrewMemory:
    return CrewMemory(storage=storage, embedder=RememoEmbedder(), llm=llm)


def test_memory_of_crewai_remembers_recalls_updates_and_forgets(storage: RememoStorage):
    crew_memory = remembering(storage, Scripted(model="scripted"))
    known: dict[str, Any] = {"categories": ["pets"], "importance": 0.7, "metadata": {"k": "v"}}
    saved = crew_memory.remember("Ana's cat is called Miso.", scope="/ana", **known)
    assert saved is not None
    crew_memory.remember(
        "The rent is due in March.", scope="/money", categories=["money"], importance=0.4, metadata={"k": "w"}
    )
    results = crew_memory.recall("what is the cat called?", depth="shallow", limit=1)
    assert [match.record.content for match in results] == ["Ana's cat is called Miso."]
    assert [match.record.scope for match in crew_memory.recall("cat", scope="/money", depth="shallow")] == ["/money"]
    assert crew_memory.list_scopes() == ["/ana", "/money"]
    assert "/ana (1 records)" in crew_memory.tree()
    crew_memory.update(saved.id, content="Ana's cat is called Tofu.")
    assert storage.get_record(saved.id).content == "Ana's cat is called Tofu."  # pyright: ignore[reportOptionalMemberAccess]
    assert crew_memory.scope("/ana").recall("cat", depth="shallow")[0].record.content == "Ana's cat is called Tofu."
    assert crew_memory.forget(scope="/ana") == 1
    crew_memory.reset()
    assert storage.count() == 0
    crew_memory.close()


def test_a_crew_is_told_what_it_remembers(tmp_path: Path):
    llm = Scripted(model="scripted")
    with RememoStorage(tmp_path / "crew.db") as storage:
        crew_memory = remembering(storage, llm)
        crew_memory.remember(
            "Ana's cat is called Miso.", scope="/ana", categories=["pets"], importance=0.9, metadata={"k": "v"}
        )
        agent = Agent(role="helper", goal="answer", backstory="knows Ana", llm=llm)
        task = Task(description="What is Ana's cat called?", expected_output="a name", agent=agent)
        crew: Any = Crew(agents=[agent], tasks=[task], memory=crew_memory, verbose=False)
        result = crew.kickoff()
        crew_memory.drain_writes()
        assert "Miso" in result.raw
        assert any("Ana's cat is called Miso." in str(messages) for messages in llm.asked)
    with RememoStorage(tmp_path / "crew.db") as again:
        assert "Ana's cat is called Miso." in [record.content for record in again.list_records("/ana")]


def test_it_can_be_the_storage_of_every_memory(storage: RememoStorage):
    set_memory_storage_factory(lambda spec: storage if spec == "rememo" else None)
    try:
        crew_memory = remembering("rememo", Scripted(model="scripted"))
        crew_memory.remember(
            "Ana's cat is called Miso.", scope="/ana", categories=["pets"], importance=0.9, metadata={"k": "v"}
        )
        assert storage.count("/ana") == 1
    finally:
        set_memory_storage_factory(None)


def test_what_is_saved_is_learned_from(memory: Memory):
    ana = memory.scope(user="ana")
    storage = RememoStorage(ana)
    storage.save([MemoryRecord(content="The user moved to Porto.")])
    assert [(fact.subject, fact.object) for fact in ana.facts.list()] == [("ana", "Porto")]
    assert storage.count() == 1


@pytest.mark.requirement("conflict.policy")
def test_what_was_superseded_stands_behind_what_holds_and_says_so(memory: Memory):
    storage = RememoStorage(memory.scope(user="ana"))
    old, new = record("I live in Lisbon.", [1.0, 0.0]), record("I moved to Porto.", [0.7, 0.7])
    storage.save([old.model_copy(update={"created_at": NOON})])
    storage.save([new.model_copy(update={"created_at": NOON + timedelta(days=20)})])
    first, second = storage.search([1.0, 0.1])
    assert (first[0].content, second[0].content) == (new.content, old.content)
    assert first[1] >= second[1]
    assert "rememo" not in first[0].metadata
    assert second[0].metadata["rememo"]["status"] == "superseded"
    assert contents(storage.search([1.0, 0.1], limit=1)) == [new.content]
    # A mark that comes back with its record is not kept: what holds may change.
    storage.update(second[0])
    storage.delete(record_ids=[new.id])
    assert storage.search([1.0, 0.1])[0][0].metadata == old.metadata
