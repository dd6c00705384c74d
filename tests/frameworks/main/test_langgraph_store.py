"""LangGraph's store: as its own in-memory store answers, and what a memory adds; LangMem's tools on it, without a model."""

# LangGraph and LangMem are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false, reportPrivateUsage=false

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.func import entrypoint
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from rememo import Memory
from rememo.adapters.langgraph import RememoStore
from rememo.errors import InvalidInput
from rememo.testing.clock import ManualClock


@pytest.fixture
def store() -> Iterator[RememoStore]:
    with RememoStore(":memory:") as made:
        yield made


# ---- as the reference answers

LABELS = st.sampled_from(["a", "b", "ab", "user-1", "ß"])
KEYS = st.sampled_from(["k1", "k2", "ключ", "\x00"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
VALUES = st.dictionaries(
    st.sampled_from(["n", "word", "deep", "x.y", "$odd"]),
    st.one_of(
        st.integers(-3, 3),
        st.sampled_from(["red", "green", "", "\x00", "half \ud800", 2**70]),
        st.booleans(),
        st.lists(st.integers(0, 2), max_size=2),
        st.dictionaries(st.sampled_from(["n", "x.y"]), st.integers(0, 2), min_size=1, max_size=2),
    ),
    max_size=3,
)
FILTERS = st.one_of(
    st.none(),
    st.fixed_dictionaries({"word": st.sampled_from(["red", "green", ""])}),
    st.fixed_dictionaries({"x.y": st.integers(-3, 3)}),
    st.fixed_dictionaries({"deep": st.fixed_dictionaries({"x.y": st.integers(0, 2)})}),
    st.fixed_dictionaries({"word": st.fixed_dictionaries({"$ne": st.sampled_from(["red", "green"])})}),
    st.fixed_dictionaries({"n": st.lists(st.integers(0, 2), max_size=2)}),
)
PATTERNS = st.builds(
    MatchCondition,
    st.sampled_from(["prefix", "suffix"]),
    st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=2).map(tuple),
)
OPERATIONS = st.one_of(
    st.tuples(SPACES, KEYS, st.one_of(VALUES, st.none())).map(lambda parts: PutOp(*parts)),
    st.tuples(SPACES, KEYS).map(lambda parts: GetOp(*parts)),
    st.tuples(st.lists(LABELS, max_size=2).map(tuple), FILTERS).map(lambda parts: SearchOp(*parts, limit=100)),
    st.tuples(
        st.one_of(st.none(), st.lists(PATTERNS, max_size=2).map(tuple)),
        st.one_of(st.none(), st.integers(1, 3)),
        st.integers(1, 100),
        st.integers(0, 2),
    ).map(lambda parts: ListNamespacesOp(*parts)),
)


def comparable(result: Any) -> Any:
    """Return what both stores must agree on: all but the times, and the order where there is no question."""
    if isinstance(result, list):
        results = [comparable(item) for item in result]
        return sorted(results, key=repr)
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


def expected(reference: InMemoryStore, batch: list[Op]) -> list[Any]:
    """Return the reference's answers: to the reads first. It lists namespaces that it only looked into; forget those."""
    answers: list[Any] = []
    for op in batch:
        for space in [space for space, items in reference._data.items() if not items]:
            del reference._data[space]
        answers.append(None if isinstance(op, PutOp) else reference.batch([op])[0])
    reference.batch([op for op in batch if isinstance(op, PutOp)])
    return answers


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None) as made:
        yield made


@settings(max_examples=60, deadline=None, phases=[Phase.generate, Phase.shrink])
@given(batches=st.lists(st.lists(OPERATIONS, min_size=1, max_size=5), min_size=1, max_size=6))
def test_batches_are_answered_as_the_reference_answers_them(memory: Memory, batches: list[list[Op]]):
    reference, store = InMemoryStore(), RememoStore(memory.scope(user=str(uuid4())))
    for batch in batches:
        assert [comparable(item) for item in store.batch(batch)] == [
            comparable(item) for item in expected(reference, batch)
        ]


async def test_the_same_for_event_loops(store: RememoStore):
    await store.aput(("users", "alice"), "cat", {"name": "Miso"})
    item = await store.aget(("users", "alice"), "cat")
    assert item is not None
    assert item.value == {"name": "Miso"}
    assert [item.key for item in await store.asearch(("users",), query="Miso")] == ["cat"]
    assert await store.alist_namespaces() == [("users", "alice")]
    await asyncio.gather(*(store.aput(("users", "alice"), str(number), {"n": number}) for number in range(20)))
    assert len(await store.asearch(("users",), limit=100)) == 21
    await store.adelete(("users", "alice"), "cat")
    assert await store.aget(("users", "alice"), "cat") is None


# ---- filters, order, pages


def test_filters_compare(store: RememoStore):
    for number in range(5):
        store.put(("docs",), f"d{number}", {"n": number, "tags": ["x"] if number % 2 else [], "by": {"name": "Ana"}})

    def matching_keys(**wanted: Any) -> set[str]:
        return {hit.key for hit in store.search(("docs",), filter=wanted)}

    assert matching_keys(n={"$gte": 3}) == {"d3", "d4"}
    assert matching_keys(n={"$gt": 1, "$lt": 4}) == {"d2", "d3"}
    assert matching_keys(n={"$lte": 0}) == {"d0"}
    assert matching_keys(n={"$ne": 2}, by={"name": "Ana"}) == {"d0", "d1", "d3", "d4"}
    assert matching_keys(tags={"$contains": "x"}) == {"d1", "d3"}
    with pytest.raises(InvalidInput, match="operator"):
        matching_keys(n={"$near": 2})


def test_without_a_question_the_latest_written_come_first_page_by_page(store: RememoStore):
    for key in "abcd":
        store.put(("docs",), key, {"k": key})
    store.put(("docs",), "b", {"k": "again"})
    assert [hit.key for hit in store.search(("docs",), limit=3)] == ["b", "d", "c"]
    assert [hit.key for hit in store.search(("docs",), limit=3, offset=3)] == ["a"]
    with pytest.raises(InvalidInput, match="limit"):
        store.search(("docs",), limit=0)


def test_times_tell_when_an_item_was_made_and_changed():
    clock = ManualClock()
    with RememoStore(":memory:", clock=clock) as store:
        store.put(("docs",), "a", {"n": 1})
        made = clock()
        clock.advance(60)
        store.put(("docs",), "a", {"n": 2})
        item = store.get(("docs",), "a")
        assert item is not None
        assert (item.created_at, item.updated_at) == (made, clock())


# ---- finding


def test_items_are_found_by_what_they_say_with_no_index_asked_for(store: RememoStore):
    store.put(("memories", "alice"), "hobby", {"content": {"text": "She goes hiking in the mountains", "n": 1}})
    store.put(("memories", "alice"), "job", {"content": {"text": "She works as a dentist", "n": 2}})
    store.put(("memories", "bob"), "hobby", {"content": {"text": "He goes hiking too"}})
    first, second = store.search(("memories", "alice"), query="outdoor hiking")
    assert (first.key, second.key) == ("hobby", "job")
    assert first.score is not None
    assert first.score > (second.score or 0)
    assert len(store.search(("memories",), query="hiking")) == 3
    assert [hit.key for hit in store.search(("memories",), query="hiking", filter={"content": {"n": 2}})] == ["job"]
    assert [hit.key for hit in store.search(("memories",), query="hiking", limit=1, offset=2)] == ["job"]


def test_only_the_fields_that_are_named_are_searched():
    with RememoStore(":memory:", index={"fields": ["title", "parts[*].text"]}) as store:
        parts = [{"text": "about whales"}, {"text": "about squids"}]
        store.put(("docs",), "sea", {"title": "Oceans", "parts": parts, "secret": "password"})
        store.put(("docs",), "own", {"title": "Oceans", "note": "password"}, index=["note"])
        store.put(("docs",), "off", {"title": "Oceans, whales, password"}, index=False)
        assert [hit.key for hit in store.search(("docs",), query="squids", limit=1)] == ["sea"]
        assert [hit.key for hit in store.search(("docs",), query="password", limit=1)] == ["own"]
        scores = {hit.key: hit.score for hit in store.search(("docs",), query="whales")}
        assert scores.keys() == {"sea", "own", "off"}
        assert scores["off"] is None
        assert (
            store._memory.list(kind="note", metadata={"langgraph": "item"})[0].text
            == "Oceans\nabout whales\nabout squids"
        )


@pytest.mark.parametrize("awaited", [False, True])
def test_another_model_embeds(awaited: bool):
    model = DeterministicFakeEmbedding(size=16)

    async def later(texts: Any) -> list[list[float]]:
        await asyncio.sleep(0)
        return model.embed_documents(list(texts))

    with RememoStore(":memory:", index={"dims": 16, "embed": later if awaited else model}, mode="vector") as store:
        for word in ("red", "green", "blue"):
            store.put(("colours",), word, {"text": word})
        best = store.search(("colours",), query="green", limit=1)[0]
        assert best.key == "green"
    with Memory(":memory:") as memory, pytest.raises(InvalidInput, match="LangChainEmbedder"):
        RememoStore(memory, index={"dims": 16, "embed": model})


# ---- time to live


def test_items_expire_and_reading_lets_them_live_on():
    clock = ManualClock()
    with RememoStore(":memory:", ttl={"default_ttl": 10}, clock=clock) as store:
        store.put(("s",), "read", {"n": 1})
        store.put(("s",), "found", {"n": 2})
        store.put(("s",), "seen", {"n": 3})
        store.put(("s",), "long", {"n": 4}, ttl=60)
        store.put(("s",), "ever", {"n": 5}, ttl=None)
        clock.advance(9 * 60)
        changed = store.get(("s",), "read")
        assert changed is not None
        assert [hit.key for hit in store.search(("s",), filter={"n": 2})] == ["found"]
        assert store.get(("s",), "seen", refresh_ttl=False) is not None
        clock.advance(9 * 60)
        assert {hit.key for hit in store.search(("s",))} == {"read", "found", "long", "ever"}
        again = store.get(("s",), "read")
        assert again is not None
        assert again.updated_at == changed.updated_at
        clock.advance(61 * 60)
        assert [hit.key for hit in store.search(("s",))] == ["ever"]
        store.delete(("s",), "ever")
        assert store.list_namespaces() == []


def test_what_somebody_else_changed_is_prolonged_no_less():
    clock = ManualClock()
    with Memory(":memory:", clock=clock) as memory:
        store = RememoStore(memory, ttl={"default_ttl": 10}, clock=clock)
        for key in ("a", "b", "c"):
            store.put(("s",), key, {"n": key})
        memory.snapshot("then")
        clock.advance(5 * 60)
        items = memory.list(kind="note")
        memory.update(items[0].id, ttl=3_600)
        store._refresh(items, enabled=True)
        clock.advance(9 * 60)
        assert {hit.key for hit in store.search(("s",))} == {"a", "b", "c"}
        assert len(RememoStore(memory.as_of("then"), clock=clock).search(("s",))) == 3


def test_reading_again_at_once_writes_nothing():
    clock = ManualClock()
    with RememoStore(":memory:", ttl={"default_ttl": 100, "refresh_on_read": True}, clock=clock) as store:
        store.put(("s",), "a", {"n": 1})
        record = store._memory.list(kind="note")[0]
        for _ in range(3):
            store.get(("s",), "a")
        assert len(store._memory.history(record.id)) == 1
        clock.advance(6 * 60)
        store.get(("s",), "a")
        assert len(store._memory.history(record.id)) == 2


# ---- what a memory adds


def test_a_batch_is_written_whole_or_not_at_all(store: RememoStore):
    store.put(("s",), "old", {"n": 1})
    with pytest.raises(InvalidInput):
        store.batch([PutOp(("s",), "old", None), PutOp(("s",), "new", {"n": 2}), PutOp(("t",), "bad", {"n": object()})])
    assert [hit.key for hit in store.search(())] == ["old"]


def test_items_are_records_of_the_view(tmp_path: Path):
    with Memory(tmp_path / "agent.db") as memory:
        alice, bob = RememoStore(memory.scope(user="alice")), RememoStore(memory.scope(user="bob"))
        alice.put(("notes",), "k", {"text": "Alice collects stamps"})
        bob.put(("notes",), "k", {"text": "Bob collects coins"})
        assert [hit.text for hit in memory.scope(user="alice").search("collects", kind="note")] == [
            "Alice collects stamps"
        ]
        alice.put(("notes",), "k", {"text": "Alice collects records"})
        item = memory.scope(user="alice").list(kind="note")[0]
        assert [version.text for version in memory.history(item.id)] == [
            "Alice collects stamps",
            "Alice collects records",
        ]
        memory.erase(user="alice")
        assert alice.search(()) == []
        assert [hit.value["text"] for hit in bob.search(())] == ["Bob collects coins"]
        alice.close()
        with pytest.raises(InvalidInput, match="room"):
            RememoStore(memory.scope(room="r"))


def test_large_values_come_back_whole(store: RememoStore):
    value = {
        "text": "word " * 100_000,
        "title": "long",
        "rows": [{"n": number, "t": "x" * 50} for number in range(2_000)],
    }
    store.put(("docs",), "large", value)
    item = store.get(("docs",), "large")
    assert item is not None
    assert item.value == value
    assert [hit.key for hit in store.search(("docs",), filter={"title": "long"})] == ["large"]


def test_bad_names_are_refused(store: RememoStore):
    for bad in ((), ("a.b",), ("",), ("langgraph",)):
        with pytest.raises(ValueError, match="amespace"):
            store.put(bad, "k", {"n": 1})
    with pytest.raises(ValueError, match="amespace"):
        store.batch([PutOp((), "k", {"n": 1})])
    with pytest.raises(InvalidInput, match="room"):
        store.put(("x" * 600,), "k", {"n": 1})


OTHER = """
import sys
from rememo.adapters.langgraph import RememoStore

with RememoStore(sys.argv[1]) as store:
    for number in range(20):
        store.put(("shared",), f"other {number}", {"n": number})
        store.delete(("shared",), f"gone {number}")
"""


def test_two_processes_share_a_store(tmp_path: Path):
    path = tmp_path / "agent.db"
    with RememoStore(path) as store:
        for number in range(20):
            store.put(("shared",), f"gone {number}", {"n": number})
        with subprocess.Popen([sys.executable, "-c", OTHER, str(path)]) as other:
            for number in range(20):
                store.put(("shared",), f"own {number}", {"n": number})
                store.delete(("shared",), f"gone {19 - number}")
        assert other.returncode == 0
        keys = {hit.key for hit in store.search(("shared",), limit=100)}
        assert keys == {f"{who} {number}" for who in ("own", "other") for number in range(20)}


# ---- LangMem


async def test_langmem_keeps_and_finds_memories_without_a_model(store: RememoStore):
    space = ("memories", "{langgraph_user_id}")
    manage, find = create_manage_memory_tool(space), create_search_memory_tool(space)

    @entrypoint(store=store)
    async def turn(arguments: dict[str, Any]) -> Any:
        return await (find if "query" in arguments else manage).ainvoke(arguments)

    async def call(**arguments: Any) -> Any:
        return await turn.ainvoke(arguments, {"configurable": {"langgraph_user_id": "alice"}})

    created = await call(content="Prefers Python for backend work")
    await call(content="Lives in Lisbon")
    id = created.removeprefix("created memory ")
    results = json.loads(await call(query="which programming language?"))
    assert results[0]["value"] == {"content": "Prefers Python for backend work"}
    await call(content="Prefers Go for backend work", action="update", id=id)
    results = json.loads(await call(query="backend work", limit=1))
    assert (results[0]["key"], results[0]["value"]["content"]) == (id, "Prefers Go for backend work")
    await call(action="delete", id=id)
    assert [hit.value["content"] for hit in store.search(("memories", "alice"))] == ["Lives in Lisbon"]


def test_langmem_outside_a_graph(store: RememoStore):
    manage = create_manage_memory_tool(("memories",), store=store)
    find = create_search_memory_tool(("memories",), store=store, response_format="content_and_artifact")
    manage.invoke({"content": "The cat is called Miso"})
    message = find.invoke(
        {"type": "tool_call", "id": "1", "name": "search_memory", "args": {"query": "name of the cat"}}
    )
    assert message.artifact[0].value == {"content": "The cat is called Miso"}


def test_what_an_item_says_is_learned_from():
    with Memory(":memory:") as memory:
        ana = memory.scope(user="ana")
        store = RememoStore(ana)
        store.put(("memories",), "home", {"kind": "memory", "content": "User moved to Porto"})
        assert [(fact.subject, fact.object) for fact in ana.facts.list(predicate="lives_in")] == [("ana", "Porto")]
        store.put(("memories",), "home", {"kind": "memory", "content": "User moved to Braga"})
        assert [fact.object for fact in ana.facts.list()] == ["Braga"]
        store.delete(("memories",), "home")
        assert ana.facts.list() == []
        assert store.list_namespaces() == []


# ---- what holds now

LIVES = (("chat-1", "I live in Lisbon."), ("chat-2", "I moved to Porto."))


def tell(store: RememoStore, clock: ManualClock, *spaces: tuple[str, ...]) -> None:
    """Put what ana says weeks apart into namespaces, and what bob says into one of his own."""
    for place, (space, (key, text)) in enumerate(zip(spaces, LIVES, strict=True)):
        clock.advance(20 * 86_400 * place)
        store.put(space, key, {"text": text})
    bob = tuple("bob" if label == "ana" else label for label in spaces[0])
    store.put(bob, "home", {"text": "I live in Paris."})


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize(
    "spaces",
    [
        [("ana",), ("ana",)], [("memories", "ana"), ("memories", "ana")], [("ana", "memories"), ("ana", "preferences")],
        [("ana", "chat-1"), ("ana", "chat-2")],
    ],
)  # fmt: skip
def test_what_holds_now_comes_first_and_what_does_not_says_so(spaces: list[tuple[str, ...]]):
    clock = ManualClock()
    with Memory(":memory:", clock=clock) as memory:
        store = RememoStore(memory, clock=clock)
        tell(store, clock, *spaces)
        everybody = store.search((), query="where does ana live?")
        assert [item.value["text"] for item in everybody] == [
            "I moved to Porto.", "I live in Lisbon.", "I live in Paris.",
        ]  # fmt: skip
        prefix = next(space[: space.index("ana") + 1] for space in spaces)
        results: list[Any] = list(store.search(prefix, query="where do I live?"))
        assert [(item.key, item.status) for item in results] == [("chat-2", "current"), ("chat-1", "superseded")]
        assert results[1].superseded_by == (spaces[1], "chat-2")
        assert results[1].dict()["superseded_by"] == {"namespace": list(spaces[1]), "key": "chat-2"}
        assert "status" not in results[0].dict()
        assert memory.scope(user="ana").facts.list(predicate="lives_in")[0].object == "Porto"


@pytest.mark.parametrize("space", [("acme", "ana"), ("docs",), ("memories",), ("a", "b", "c", "d")])
def test_a_namespace_that_names_no_user_has_none(space: tuple[str, ...]):
    with Memory(":memory:") as memory:
        RememoStore(memory).put(space, "k", {"text": "I live in Lisbon."})
        assert memory.users() == []
        RememoStore(memory, user_of=lambda namespace: namespace[-1]).put((*space, "x"), "k", {"text": "Rome"})
        assert memory.users() == ["x"]


def test_items_from_before_their_users_were_known_stay_where_they_are():
    with Memory(":memory:") as memory:
        RememoStore(memory, user_of=lambda _: None).put(("ana",), "old", {"text": "I live in Lisbon."})
        store = RememoStore(memory)
        store.put(("ana",), "old", {"text": "I live in Faro."})
        store.put(("ana",), "new", {"text": "I have a cat."})
        assert {item.key for item in store.search(("ana",), query="what about me?")} == {"old", "new"}
        store.delete(("ana",), "old")
        store.delete(("ana",), "new")
        store.put(("ana",), "old", {"text": "I live in Rome."})
        assert [item.value["text"] for item in store.search(("ana",))] == ["I live in Rome."]
