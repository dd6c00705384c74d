"""Haystack's own suites for document stores, whole, and what they do not ask."""

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)
from haystack.utils import Secret
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory
from rememo.adapters.haystack import RememoDocumentStore, RememoEmbeddingRetriever, RememoTextRetriever
from rememo.errors import InvalidInput

OURS = ["rememo.adapters.haystack.*"]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as made:
        yield made


class TestSuite(
    DocumentStoreBaseExtendedTests,
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldUniqueValuesTest,
):
    @pytest.fixture
    def document_store(self, memory: Memory) -> RememoDocumentStore:
        return RememoDocumentStore(memory)

    def test_write_documents(self, document_store: Any):
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])


class TestAsyncSuite(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self, memory: Memory) -> RememoDocumentStore:
        return RememoDocumentStore(memory)

    @pytest.mark.asyncio
    async def test_write_documents_async(self, document_store: Any):
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


# ---- documents


WHOLE = Document(
    id="whole",
    content="Ana lives in Lisbon.",
    blob=ByteStream(data=b"\x00\xff", meta={"page": 1}, mime_type="application/pdf"),
    meta={"page": 1, "tags": ["a", None], "deep": {"er": {"x": 1.0}}, "flag": True, "empty": {}},
    score=0.5,
    embedding=[0.1, -2.5, 1e-30, 3.0],
    sparse_embedding=SparseEmbedding(indices=[1, 5], values=[0.5, 0.25]),
)


@pytest.mark.parametrize(
    "document",
    [
        WHOLE,
        Document(id="none", content=None),
        Document(id="empty", content=""),
        Document(id="odd", content="a\0b \ud83c", meta={"nul": "x\0", "large": 2**70}),
        Document(id="narrow", content="x", embedding=[0.5, 0.25]),
        Document(id="x" * 2000, content="long id"),
        Document(id="\0 \ud83c", content="odd id"),
        Document(id="wide", content="x", meta={"text": "y" * 100_000}),
    ],
    ids=lambda item: item.id[:6].strip("\0 \ud83c") or "odd id",
)
def test_a_document_comes_back_as_it_was(memory: Memory, document: Document):
    store = RememoDocumentStore(memory)
    store.write_documents([document])
    assert store.filter_documents() == [document]
    assert store.write_documents([document], DuplicatePolicy.SKIP) == 0
    store.delete_documents([document.id])
    assert store.count_documents() == 0


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(memory: Memory):
    store = RememoDocumentStore(memory)
    with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
        store.write_documents([Document(content="fine"), Document(id="x", content="x", meta={"o": timedelta()})])
    with pytest.raises(InvalidInput, match="embedding"):
        store.write_documents([Document(content="fine"), Document(id="x", content="x", embedding=["no"])])  # pyright: ignore[reportArgumentType]
    assert store.count_documents() == 0


def test_documents_are_ordinary_records(memory: Memory):
    RememoDocumentStore(memory.scope(user="ana"), index="notes").write_documents([WHOLE])
    room = memory.scope(user="ana", room="notes")
    assert room.search("where does Ana live?", kind="note")[0].text == "Ana lives in Lisbon."
    assert room.list(metadata={"deep.er.x": 1.0})[0].kind == "note"
    other = room.add("Miso sleeps on the sofa.", metadata={"page": 7})
    store = RememoDocumentStore(room)
    assert [message.content for message in store.filter_documents()] == [
        "Ana lives in Lisbon.",
        "Miso sleeps on the sofa.",
    ]
    changed = Document(id=other.id, content="Miso sleeps on the chair.", meta={"page": 7})
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([changed])
    store.write_documents([changed], DuplicatePolicy.OVERWRITE)
    assert store.filter_documents()[1] == changed
    assert store.update_by_filter({"field": "meta.page", "operator": "==", "value": 7}, {"page": 8}) == 1
    assert room.get(other.id).metadata == {"page": 8}
    store.delete_documents([other.id])
    assert store.filter_documents() == [WHOLE]


def test_the_same_document_stands_in_many_indexes(memory: Memory):
    stores = [RememoDocumentStore(memory, index=name) for name in ("one", "two")]
    stores += [RememoDocumentStore(memory.scope(user=name)) for name in ("ana", "bo")]
    for store in stores:
        assert store.write_documents([WHOLE]) == 1
    stores[0].delete_all_documents()
    assert [store.count_documents() for store in stores] == [0, 1, 1, 1]
    with pytest.raises(InvalidInput):
        RememoDocumentStore(memory.scope(room="a"), index="b").count_documents()


def test_a_write_is_made_in_whole_or_not_at_all(memory: Memory):
    store = RememoDocumentStore(memory)
    store.write_documents([WHOLE])
    with pytest.raises(DuplicateDocumentError, match="'whole'"):
        store.write_documents([Document(id="new", content="new"), WHOLE])
    with pytest.raises(DuplicateDocumentError, match="twice"):
        store.write_documents([Document(id="new", content="new"), Document(id="new", content="again")])
    assert store.count_documents() == 1
    twice = [Document(id="new", content="first"), Document(id="new", content="second")]
    assert store.write_documents(twice, DuplicatePolicy.SKIP) == 1
    assert store.filter_documents()[1].content == "first"
    assert store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 2
    assert store.filter_documents()[1].content == "second"
    assert store.write_documents([]) == 0
    store.delete_documents([])


def test_one_document_with_odd_meta_hides_no_other(memory: Memory):
    store = RememoDocumentStore(memory)
    store.write_documents([Document(id="a", content="a", meta={"k": "v"})])
    store.write_documents([Document(id="b", content="b", meta={"k": "v", "large": 2**70})])
    results = store.filter_documents({"field": "meta.k", "operator": "==", "value": "v"})
    assert [document.id for document in results] == ["a", "b"]
    assert store.delete_by_filter({"field": "meta.large", "operator": "==", "value": 2**70}) == 1


def test_filters_that_cannot_be_meant_are_refused_in_an_empty_store_too(memory: Memory):
    store = RememoDocumentStore(memory)
    with pytest.raises(FilterError):
        store.filter_documents({"field": "meta.x", "operator": "~", "value": 1})
    with pytest.raises(FilterError):
        store.filter_documents([1])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="operator"):
        store.filter_documents({"meta.x": 1})
    with pytest.raises(InvalidInput):
        RememoDocumentStore(memory, embedding_similarity_function="l2")  # pyright: ignore[reportArgumentType]


leaves = st.sampled_from(
    ["x", "", "1", "2026-01-01", "2026-01-01T00:00:00", 0, 1, 2, -3, 2.0, 1.5, True, False, None, ["x"], {"b": "x"}]
)
metas = st.fixed_dictionaries({}, optional={"a": leaves, "b": leaves, "c.d": leaves})


def compared(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value if operator in ("==", "!=") else [value, "x"]}


def joined(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"operator": operator, "conditions": parts}


def groups(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(joined, st.sampled_from(["AND", "OR", "NOT"]), st.lists(inner, min_size=1, max_size=3))


filters_of = st.recursive(
    st.builds(
        compared,
        st.sampled_from(["meta.a", "meta.b", "meta.a.b", "meta.c.d", "content"]),
        st.sampled_from(["==", "!=", "in", "not in"]),
        leaves,
    ),
    groups,
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(metas, max_size=6), filters_of)
def test_every_filter_means_what_haystack_says(written: list[dict[str, Any]], filters: dict[str, Any]):
    with Memory(":memory:", embedder=None) as memory:
        store = RememoDocumentStore(memory)
        documents = [Document(id=str(number), content="x", meta=meta) for number, meta in enumerate(written)]
        store.write_documents(documents)
        expected = [document for document in documents if document_matches_filter(filters, document)]
        assert store.filter_documents(filters) == expected


# ---- retrieval


def near(store: RememoDocumentStore, vector: list[float], **options: Any) -> list[str]:
    return [document.id for document in store.embedding_retrieval(vector, **options)]


def test_the_nearest_are_found_exactly_whatever_their_model(memory: Memory):
    dice = np.random.default_rng(7)
    store = RememoDocumentStore(memory)
    vectors = dice.normal(size=(300, 768))
    documents = [
        Document(id=str(n), content=f"text {n}", meta={"even": n % 2 == 0}, embedding=row.tolist())
        for n, row in enumerate(vectors)
    ]
    documents += [Document(id=f"small {n}", content="x", embedding=[1.0, float(n)]) for n in range(3)]
    documents += [Document(id="zero", content="x", embedding=[0.0, 0.0]), Document(id="without", content="x")]
    store.write_documents(documents)
    query_vector = dice.normal(size=768)
    cosines = vectors @ query_vector / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query_vector)
    best = np.argsort(-cosines)
    results = store.embedding_retrieval(query_vector.tolist(), top_k=5, return_embedding=False)
    assert [document.id for document in results] == [str(n) for n in best[:5]]
    assert [hit.score for hit in results] == pytest.approx(cosines[best[:5]], abs=1e-5)
    assert all(document.embedding is None for document in results)
    even = {"field": "meta.even", "operator": "==", "value": True}
    assert near(store, query_vector.tolist(), filters=even, top_k=5) == [str(n) for n in best if n % 2 == 0][:5]
    assert near(store, [1.0, 0.0]) == ["small 0", "small 1", "small 2"]
    by_product = RememoDocumentStore(memory, embedding_similarity_function="dot_product")
    assert near(by_product, [0.0, 1.0]) == ["small 2", "small 1", "small 0"]
    assert near(store, query_vector.tolist(), top_k=0) == []
    with pytest.raises(InvalidInput):
        store.embedding_retrieval([])


def test_what_others_change_is_seen(tmp_path: Path):
    with Memory(tmp_path / "a.db") as first, Memory(tmp_path / "a.db") as second:
        ours, theirs = RememoDocumentStore(first), RememoDocumentStore(second)
        assert near(ours, [1.0, 0.0]) == []
        theirs.write_documents([Document(id="a", content="a", embedding=[1.0, 0.0])])
        theirs.write_documents([Document(id="b", content="b", embedding=[0.9, 0.1])])
        assert near(ours, [1.0, 0.0]) == ["a", "b"]
        theirs.write_documents([Document(id="a", content="a", embedding=[0.0, 1.0])], DuplicatePolicy.OVERWRITE)
        assert near(ours, [1.0, 0.0]) == ["b", "a"]
        theirs.delete_documents(["b"])
        assert near(ours, [1.0, 0.0]) == ["a"]
        receipt = second.scope(room="documents").add("of another origin")
        assert near(ours, [1.0, 0.0]) == ["a"]
        second.undo(receipt)
        second.erase(room="documents")
        assert near(ours, [1.0, 0.0]) == []


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["write", "delete", "ask"]), st.integers(0, 3), st.integers(0, 3)), max_size=15)
)
def test_vectors_held_ready_are_those_that_are_stored(steps: list[tuple[str, int, int]]):
    with Memory(":memory:", embedder=None) as memory:
        ours, theirs = RememoDocumentStore(memory), RememoDocumentStore(memory)
        stored: dict[str, int] = {}
        for what, name, value in [*steps, ("ask", 0, 0)]:
            if what == "write":
                document = Document(id=str(name), content="x", embedding=[1.0, float(value)] if value else None)
                theirs.write_documents([document], DuplicatePolicy.OVERWRITE)
                stored[str(name)] = value
            elif what == "delete":
                theirs.delete_documents([str(name)])
                stored.pop(str(name), None)
            else:
                assert sorted(near(ours, [1.0, 0.0])) == sorted(id for id, value in stored.items() if value)


@pytest.mark.parametrize("mode", ["words", "hybrid", "vector"])
def test_questions_are_answered_without_an_embedder_in_the_pipeline(memory: Memory, mode: Any):
    store = RememoDocumentStore(memory)
    store.write_documents(
        [
            Document(id="cat", content="Miso the cat sleeps on the blue sofa.", meta={"topic": "pets"}),
            Document(id="dog", content="Rex the dog sleeps in the garden.", meta={"topic": "pets"}),
            Document(id="rent", content="The rent is due in March.", meta={"topic": "money"}),
        ]
    )
    results = store.text_retrieval("where does the cat sleep?", top_k=1, mode=mode)
    assert [document.id for document in results] == ["cat"]
    assert results[0].score is not None
    assert 0 < results[0].score <= 1
    money = {"operator": "OR", "conditions": [{"field": "meta.topic", "operator": "==", "value": "money"}]}
    hits = store.text_retrieval("where does the cat sleep, and when is the rent due?", filters=money, mode=mode)
    assert [hit.id for hit in hits] == ["rent"]
    assert store.text_retrieval("cat", top_k=0) == []
    refused: list[dict[str, Any]] = [{"query": " "}, {"query": "x", "top_k": -1}, {"query": "x", "top_k": 10_000}]
    for wrong in refused:
        with pytest.raises(InvalidInput):
            store.text_retrieval(**wrong)


def test_pipelines_are_written_read_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCUMENTS_AT", str(tmp_path / "a.db"))
    store = RememoDocumentStore(Secret.from_env_var("DOCUMENTS_AT"), index="notes")
    writing = Pipeline()
    writing.add_component("writer", DocumentWriter(document_store=store, policy=DuplicatePolicy.SKIP))
    with pytest.raises(DeserializationError, match="allowlist"):
        Pipeline.loads(writing.dumps())  # whose modules are trusted is for the user to say, not for an import
    writing = Pipeline.loads(writing.dumps(), allowed_modules=OURS)
    documents = [
        Document(id="a", content="Ana lives in Lisbon.", meta={"n": 1}, embedding=[1.0, 0.0]),
        Document(id="b", content="Bo lives in Porto.", meta={"n": 2}, embedding=[0.0, 1.0]),
    ]
    assert writing.run({"writer": {"documents": documents}})["writer"]["documents_written"] == 2
    assert not (tmp_path / "other.db").exists()

    n = {"field": "meta.n", "operator": ">", "value": 0}
    asking = Pipeline()
    asking.add_component("words", RememoTextRetriever(store, mode="words", top_k=1, filters=n))
    asking.add_component("vectors", RememoEmbeddingRetriever(store, top_k=1, filter_policy=FilterPolicy.MERGE))
    text = asking.dumps()
    assert str(tmp_path) not in text
    asking = Pipeline.loads(text, allowed_modules=OURS)
    question = {"words": {"query": "who lives in Lisbon?"}, "vectors": {"query_embedding": [0.1, 0.9]}}
    results = asking.run(question)
    assert [document.id for document in results["words"]["documents"]] == ["a"]
    assert [document.id for document in results["vectors"]["documents"]] == ["b"]
    for pipeline, name in ((writing, "writer"), (asking, "words"), (asking, "vectors")):
        made: Any = pipeline.get_component(name)
        made.document_store.close()
    store.close()


def test_retrievers_answer_an_event_loop(memory: Memory):
    store = RememoDocumentStore(memory)

    async def main() -> None:
        await store.write_documents_async([Document(id="a", content="Ana lives in Lisbon.", embedding=[1.0, 0.0])])
        results = await RememoTextRetriever(store).run_async("Lisbon")
        assert [document.id for document in results["documents"]] == ["a"]
        results = await RememoEmbeddingRetriever(store, return_embedding=True).run_async([1.0, 0.0])
        assert results["documents"][0].embedding == [1.0, 0.0]

    asyncio.run(main())
    refused: list[dict[str, Any]] = [{"top_k": 0}, {"mode": "both"}]
    for wrong in refused:
        with pytest.raises(InvalidInput):
            RememoTextRetriever(store, **wrong)
    with pytest.raises(InvalidInput):
        RememoEmbeddingRetriever("store")  # pyright: ignore[reportArgumentType]


def test_a_store_is_opened_when_it_is_used_and_closed_when_it_opened(tmp_path: Path, memory: Memory):
    store = RememoDocumentStore(tmp_path / "a.db")
    written = store.to_dict()
    assert not (tmp_path / "a.db").exists()
    store.write_documents([WHOLE])
    store.close()
    store.close()
    again = RememoDocumentStore.from_dict(written)
    assert again.filter_documents() == [WHOLE]
    again.close()
    assert again.count_documents() == 1
    again.close()
    RememoDocumentStore(memory).close()
    assert memory.count() == 0
    with pytest.raises(InvalidInput, match="path or address"):
        RememoDocumentStore(memory).to_dict()
    assert os.environ["HAYSTACK_TELEMETRY_ENABLED"] == "False"


def test_what_a_document_says_is_learned_from():
    with Memory(":memory:") as memory:
        ana = memory.scope(user="ana")
        store = RememoDocumentStore(ana)
        store.write_documents([Document(content="The user moved to Porto.")])
        assert [(fact.subject, fact.object) for fact in ana.facts.list()] == [("ana", "Porto")]
        assert store.count_documents() == 1
