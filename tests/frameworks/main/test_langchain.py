"""LangChain: its published suites over every adapter, and what a memory adds."""

# LangChain is typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false, reportIncompatibleMethodOverride=false, reportMissingTypeStubs=false

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.caches import BaseCache
from langchain_core.documents import Document
from langchain_core.globals import set_llm_cache
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    AsyncCacheTestSuite,
    BaseStoreAsyncTests,
    BaseStoreSyncTests,
    RetrieversIntegrationTests,
    SyncCacheTestSuite,
    VectorStoreIntegrationTests,
)
from langchain_tests.integration_tests.indexer import AsyncDocumentIndexTestSuite, DocumentIndexerTestSuite

from rememo import Memory
from rememo.adapters.langchain import (
    LangChainEmbedder,
    RememoByteStore,
    RememoCache,
    RememoChatMessageHistory,
    RememoDocumentIndex,
    RememoRetriever,
    RememoValueStore,
    RememoVectorStore,
)
from rememo.errors import InvalidInput
from rememo.testing.clock import ManualClock

# ---- the published suites


class TestVectorStore(VectorStoreIntegrationTests):
    """With the suite's own embeddings."""

    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with RememoVectorStore(":memory:", self.get_embeddings()) as store:
            yield store


class TestVectorStoreByMeaning(VectorStoreIntegrationTests):
    """By vectors alone."""

    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with RememoVectorStore(":memory:", self.get_embeddings(), mode="vector") as store:
            yield store


class TestVectorStoreInAView(VectorStoreIntegrationTests):
    """In a view of a memory that holds other things too, with no model given."""

    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with Memory(":memory:") as memory:
            view = memory.scope(user="alice", room="docs")
            view.add("foo and bar")
            view.messages.add("user", "foo")
            RememoVectorStore(memory.scope(user="bob", room="docs")).add_texts(["foo", "bar"], ids=["1", "2"])
            yield RememoVectorStore(view)


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
class TestIndex(DocumentIndexerTestSuite):
    @pytest.fixture
    def index(self) -> Any:
        with Memory(":memory:") as memory:
            yield RememoDocumentIndex(memory=memory)

    def test_it_is_a_retriever(self, index: RememoDocumentIndex):
        index.upsert([Document(page_content=f"Number {number}") for number in range(5)])
        assert len(index.invoke("Number")) == 4
        assert len(index.invoke("Number", k=2)) == 2


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
class TestIndexAwaited(AsyncDocumentIndexTestSuite):
    @pytest.fixture
    async def index(self) -> Any:
        with Memory(":memory:") as memory:
            yield RememoDocumentIndex(memory=memory)


class TestBytes(BaseStoreSyncTests[bytes]):
    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"foo", b"\x00\xff", b""

    @pytest.fixture
    def kv_store(self) -> Iterator[BaseStore[str, bytes]]:
        with RememoByteStore(":memory:") as store:
            yield store


class TestBytesAwaited(BaseStoreAsyncTests[bytes]):
    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"foo", b"\x00\xff", b""

    @pytest.fixture
    async def kv_store(self) -> Any:
        async with RememoByteStore(":memory:") as store:
            yield store


class TestValues(BaseStoreSyncTests[Any]):
    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return {"a": [1, 2.5]}, "text", [None]

    @pytest.fixture
    def kv_store(self) -> Iterator[BaseStore[str, Any]]:
        with RememoValueStore(":memory:") as store:
            yield store


class TestValuesAwaited(BaseStoreAsyncTests[Any]):
    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return {"a": [1, 2.5]}, "text", [None]

    @pytest.fixture
    async def kv_store(self) -> Any:
        async with RememoValueStore(":memory:") as store:
            yield store


class TestCache(SyncCacheTestSuite):
    @pytest.fixture
    def cache(self) -> Iterator[BaseCache]:
        with RememoCache(":memory:") as cache:
            yield cache


class TestCacheAwaited(AsyncCacheTestSuite):
    @pytest.fixture
    async def cache(self) -> Any:
        async with RememoCache(":memory:") as cache:
            yield cache


class TestRetriever(RetrieversIntegrationTests):
    memory: Memory

    @pytest.fixture(autouse=True)
    def remembered(self) -> Iterator[None]:
        with Memory(":memory:") as memory:
            type(self).memory = memory
            for town in ("Lisbon", "Porto", "Braga", "Faro", "Evora"):
                memory.add(f"We went to {town} by train")
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return RememoRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "Where did we go by train?"


class TestRetrieverOfAVectorStore(TestRetriever):
    @property
    def retriever_constructor(self) -> Any:
        store = RememoVectorStore(self.memory)
        store.add_texts([f"Number {number}" for number in range(5)])
        return lambda k=4: store.as_retriever(search_kwargs={"k": k})

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {}


# ---- chat history

MESSAGES: list[Any] = [
    SystemMessage("You are kind."),
    HumanMessage("My cat is called Miso.", name="alice", id="m-1"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": ["Miso\x00", 2**70]}, "id": "c1"}]),
    ToolMessage("a cat", tool_call_id="c1", artifact={"n": 1}),
    ToolMessage("", tool_call_id="c2"),
    AIMessage([{"type": "text", "text": "Lovely"}, {"type": "image_url", "image_url": {"url": "data:x"}}]),
    AIMessage(""),
    AIMessageChunk(content="part", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    ChatMessage(content="I object", role="critic"),
    HumanMessage("half \ud800 and \x00"),
]


def test_messages_come_back_as_they_were(tmp_path: Path):
    with RememoChatMessageHistory("chat-1", tmp_path / "agent.db", user="alice") as history:
        history.add_messages(MESSAGES)
    with Memory(tmp_path / "agent.db") as memory:
        history = RememoChatMessageHistory("chat-1", memory, user="alice")
        assert history.messages == MESSAGES
        assert RememoChatMessageHistory("chat-1", memory, user="alice", limit=3).messages == MESSAGES[-3:]
        assert RememoChatMessageHistory("chat-2", memory, user="alice").messages == []
        room = memory.scope(room="chat-1", user="alice")
        assert [message.role for message in room.messages.history()][:4] == ["system", "user", "assistant", "tool"]
        assert room.search("what is the cat called?")[0].text == "My cat is called Miso."
        room.messages.add("user", "said elsewhere")
        assert history.messages[-1] == HumanMessage("said elsewhere")
        memory.snapshot("before")
        history.clear()
        assert history.messages == []
        assert len(RememoChatMessageHistory("chat-1", memory.as_of("before")).messages) == len(MESSAGES) + 1


def test_messages_are_added_whole_or_not_at_all():
    with RememoChatMessageHistory("chat-1", ":memory:") as history:
        with pytest.raises(InvalidInput):
            history.add_messages([HumanMessage("first"), HumanMessage("second", additional_kwargs={"bad": object()})])
        assert history.messages == []


async def test_a_chain_remembers_its_sessions():
    with Memory(":memory:") as memory:
        model = GenericFakeChatModel(
            messages=iter([AIMessage("Hello Ana"), AIMessage("You are Ana"), AIMessage("Who?")])
        )
        chain = RunnableWithMessageHistory(model, lambda session_id: RememoChatMessageHistory(session_id, memory))
        session: RunnableConfig = {"configurable": {"session_id": "s1"}}
        await chain.ainvoke([HumanMessage("I am Ana")], session)
        chain.invoke([HumanMessage("Who am I?")], session)
        await chain.ainvoke([HumanMessage("Who am I?")], {"configurable": {"session_id": "s2"}})
        texts = [str(record.text) for record in await RememoChatMessageHistory("s1", memory).aget_messages()]
        assert texts == ["I am Ana", "Hello Ana", "Who am I?", "You are Ana"]
        assert len(RememoChatMessageHistory("s2", memory).messages) == 2


# ---- documents

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None) as memory:
        yield memory


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(), metadata=st.dictionaries(st.text(), JSON, max_size=4), id=st.one_of(st.none(), st.text(min_size=1))
)
def test_documents_come_back_as_they_were(shared: Memory, text: str, metadata: dict[str, Any], id: str | None):
    store = RememoVectorStore(shared)
    ids = store.add_documents([Document(page_content=text, metadata=metadata, id=id)])
    assert store.get_by_ids(ids) == [Document(page_content=text, metadata=metadata, id=ids[0])]
    store.delete(ids)
    assert store.get_by_ids(ids) == []


def test_documents_are_found_by_words_meaning_and_metadata():
    with RememoVectorStore(":memory:") as store:
        store.add_texts(
            ["The invoice is due in May", "Cats sleep sixteen hours", "Kittens nap all day", "The invoice was paid"],
            [
                {"topic": "money", "n": 1},
                {"topic": "pets", "n": 2},
                {"topic": "pets", "n": 3},
                {"topic": "money", "n": 4},
            ],
            ids=["a", "b", "c", "d"],
        )
        assert store.similarity_search("sleeping cat", k=2)[0].id == "b"
        assert [
            document.id
            for document in store.similarity_search("invoice", k=4, filter={"n": {"$gt": 1}, "topic": "money"})
        ] == ["d"]
        (best, score), *_ = store.similarity_search_with_relevance_scores("when is the invoice due?", k=2)
        assert best.id == "a"
        assert 0 < score <= 1
        different = store.max_marginal_relevance_search("cats that sleep", k=2, fetch_k=4, lambda_mult=0.1)
        assert {record.metadata["topic"] for record in different} == {"pets", "money"}
        assert len(store.as_retriever(search_type="mmr", search_kwargs={"k": 3}).invoke("cats")) == 3
        threshold = store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.2, "k": 4}
        )
        assert {document.id for document in threshold.invoke("invoice due in May")} <= {"a", "d"}
        with pytest.raises(InvalidInput):
            store.similarity_search("cats", k=0)
        with pytest.raises(InvalidInput, match="2 texts"):
            store.add_texts(["x", "y"], ids=["1"])
        store.delete()
        assert store.similarity_search("cats") == []


def test_vectors_of_a_model_are_searched_by_vector():
    embeddings = VectorStoreIntegrationTests.get_embeddings()
    with Memory(":memory:", embedder=LangChainEmbedder(embeddings)) as memory:
        store = RememoVectorStore(memory)
        store.add_texts(["red", "green", "blue"])
        assert store.similarity_search_by_vector(embeddings.embed_query("blue"), k=1)[0].page_content == "blue"
        assert len(store.similarity_search_by_vector(embeddings.embed_query("blue"), k=3)) == 3
        with pytest.raises(InvalidInput, match="LangChainEmbedder"):
            RememoVectorStore(memory, embeddings)
    with RememoVectorStore.from_texts(["one", "two"], embeddings, memory=":memory:") as made:
        assert made.embeddings is embeddings
        assert made.similarity_search("two", k=1)[0].page_content == "two"


def test_the_indexing_api_keeps_documents_in_step():
    records = InMemoryRecordManager("docs")
    records.create_schema()
    with RememoVectorStore(":memory:") as store:

        def sync(*texts: str) -> dict[str, Any]:
            documents = [Document(page_content=text, metadata={"source": "s"}) for text in texts]
            return dict(index(documents, records, store, cleanup="full", source_id_key="source", key_encoder="sha256"))

        assert sync("a", "b")["num_added"] == 2
        assert sync("b", "c") == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 1}
        assert sorted(document.page_content for document in store.similarity_search("x", k=10)) == ["b", "c"]


def test_the_retriever_looks_among_all_that_is_remembered(tmp_path: Path):
    with Memory(tmp_path / "agent.db") as memory:
        alice = memory.scope(user="alice", room="chat-1")
        alice.messages.add("user", "The train to Porto leaves at nine")
        alice.add("The train to Faro was late", metadata={"line": "south"})
        memory.scope(user="bob").add("Bob takes the train to Braga")
        results = RememoRetriever(memory=memory.scope(user="alice")).invoke("train")
        assert {(document.page_content, document.metadata["rememo"]["kind"]) for document in results} == {
            ("The train to Porto leaves at nine", "message"),
            ("The train to Faro was late", "note"),
        }
        assert results[0].metadata["rememo"]["user"] == "alice"
        south = RememoRetriever(memory=memory, kind="note", filter={"line": "south"})
        assert [record.metadata["line"] for record in south.invoke("train")] == ["south"]
        assert RememoRetriever(memory=memory).invoke("favourite pizza") == []
        assert RememoRetriever(memory=memory, threshold=0.0).invoke("favourite pizza")


# ---- values and answers


def test_stores_of_other_names_and_scopes_are_others_and_values_end():
    clock = ManualClock()
    with Memory(":memory:", clock=clock) as memory:
        first, other = RememoByteStore(memory, name="one", ttl="1h"), RememoByteStore(memory, name="other")
        first.mset([("a*[b]?", b"1"), ("a", b"2"), ("ab", b"3")])
        assert sorted(first.yield_keys(prefix="a*[")) == ["a*[b]?"]
        assert list(other.yield_keys()) == []
        assert RememoByteStore(memory.scope(user="bob"), name="one").mget(["a"]) == [None]
        with pytest.raises(InvalidInput, match="bytes"):
            other.mset([("x", b"1"), ("y", "text")])  # pyright: ignore[reportArgumentType] - that is the test
        assert other.mget(["x"]) == [None]
        with pytest.raises(InvalidInput, match="JSON"):
            RememoValueStore(memory).mset([("x", object())])
        clock.advance(3_601)
        assert first.mget(["a"]) == [None]


def test_answers_are_cached_over_processes(tmp_path: Path):
    model = FakeListLLM(responses=["first", "second", "third"])
    chat = GenericFakeChatModel(messages=iter([AIMessage("hello"), AIMessage("again")]))
    try:
        with RememoCache(tmp_path / "agent.db") as cache:
            set_llm_cache(cache)
            assert model.invoke("question") == "first"
            assert chat.invoke("hi").content == "hello"
        with RememoCache(tmp_path / "agent.db") as cache:
            set_llm_cache(cache)
            assert model.invoke("question") == "first"
            assert chat.invoke("hi").content == "hello"
            cache.clear()
            assert model.invoke("question") == "second"
    finally:
        set_llm_cache(None)


def test_what_texts_say_is_learned_from():
    with Memory(":memory:") as memory:
        ana = memory.scope(user="ana")
        RememoVectorStore(ana).add_texts(["The user moved to Porto."])
        assert [(fact.subject, fact.object) for fact in ana.facts.list()] == [("ana", "Porto")]
