"""Through every framework: what holds now comes first, and what was superseded is marked or left out.

Ana lives in Lisbon, and weeks later she has moved to Porto; Bob lives in Paris.
"""

# Frameworks are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Iterator

import pytest
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import UserMessage
from google.adk.events.event import Event
from google.genai import types
from haystack import Document
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from rememo import Memory
from rememo.adapters.autogen import RememoMemory
from rememo.adapters.google_adk import RememoMemoryService
from rememo.adapters.haystack import RememoDocumentStore
from rememo.adapters.langchain import RememoChatMessageHistory, RememoRetriever, RememoVectorStore
from rememo.adapters.llamaindex import RememoChatStore, RememoMemoryBlock
from rememo.recall.embed.static import StaticEmbedder
from rememo.testing.clock import ManualClock

LISBON, PORTO, PARIS = "I live in Lisbon.", "I moved to Porto.", "I live in Paris."
QUESTION, PAST = "where does ana live?", "where did ana live before Porto?"
pytestmark = pytest.mark.requirement("conflict.policy")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", clock=clock) as memory:
        yield memory


def test_langchain_retriever(memory: Memory, clock: ManualClock):
    for user, text in (("ana", LISBON), ("ana", PORTO), ("bob", PARIS)):
        RememoChatMessageHistory(f"{user}-{text[-3]}", memory, user=user).add_messages([HumanMessage(text)])
        clock.advance(20 * 86_400)
    first, *others = RememoRetriever(memory=memory, k=6, threshold=0.0).invoke(QUESTION)
    assert (first.page_content, first.metadata["rememo"]["status"]) == ("ana lives in Porto", "current")
    marks = {other.page_content: other.metadata["rememo"] for other in others}
    assert marks[LISBON]["status"] == "superseded"
    assert marks[LISBON]["superseded_by"] == first.metadata["rememo"]["id"]


def test_langchain_vector_store(memory: Memory, clock: ManualClock):
    store = RememoVectorStore(memory.scope(user="ana"))
    old = LangChainDocument(LISBON, metadata={"page": 1})
    store.add_documents([old], ids=["old"])
    clock.advance(20 * 86_400)
    store.add_documents([LangChainDocument(PORTO)], ids=["new"])
    vector = StaticEmbedder().embed([LISBON])[0]
    assert vector is not None
    for results in (store.similarity_search(QUESTION), store.similarity_search_by_vector(vector.tolist(), k=2)):
        assert [item.id for item in results] == ["new", "old"]
        assert "rememo" not in results[0].metadata
        assert results[1].metadata["page"] == 1
        assert results[1].metadata["rememo"]["status"] == "superseded"
    # A mark that comes back with its document is not kept: what holds may change.
    store.delete(["new"])
    store.add_documents([results[1]])
    assert store.similarity_search(QUESTION)[0].metadata == {"page": 1}


def test_haystack(memory: Memory, clock: ManualClock):
    store = RememoDocumentStore(memory.scope(user="ana"))
    for id, text, vector in (("old", LISBON, [1.0, 0.0]), ("new", PORTO, [0.7, 0.7])):
        store.write_documents([Document(id=id, content=text, meta={"page": 1}, embedding=vector)])
        clock.advance(20 * 86_400)
    by_text = store.text_retrieval(QUESTION)
    for results in (by_text, store.embedding_retrieval([1.0, 0.1])):
        assert [item.id for item in results] == ["new", "old"]
        assert results[0].meta == {"page": 1}
        assert results[1].meta["rememo"]["status"] == "superseded"
    assert [item.id for item in store.embedding_retrieval([1.0, 0.1], top_k=1)] == ["new"]
    assert store.filter_documents()[0].meta == {"page": 1}


@pytest.mark.asyncio
async def test_autogen(memory: Memory, clock: ManualClock):
    agent = RememoMemory(memory.scope(user="ana"))
    for text in (LISBON, PORTO):
        await agent.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
        clock.advance(20 * 86_400)
    first, second = (await agent.query(QUESTION)).results
    assert (first.content, second.content) == (PORTO, LISBON)
    assert (second.metadata or {})["status"] == "superseded"
    for question, output in ((QUESTION, [PORTO]), (PAST, [LISBON, PORTO])):
        context = BufferedChatCompletionContext(10)
        await context.add_message(UserMessage(content=question, source="user"))
        assert [result.content for result in (await agent.update_context(context)).memories.results] == output


@pytest.mark.asyncio
async def test_google_adk(memory: Memory, clock: ManualClock):
    service = RememoMemoryService(memory)
    for user, text in (("ana", LISBON), ("ana", PORTO), ("bob", PARIS)):
        statement = types.Content(role="user", parts=[types.Part(text=text)])
        event = Event(author="user", content=statement, timestamp=clock().timestamp())
        await service.add_events_to_memory(app_name="app", user_id=user, events=[event], session_id=text)
        clock.advance(20 * 86_400)
    for question, output in (("where do I live?", [PORTO]), (PAST, [LISBON, PORTO])):
        results = (await service.search_memory(app_name="app", user_id="ana", query=question)).memories
        assert [message.content.parts[0].text for message in results if message.content.parts] == output
    assert results[0].custom_metadata["rememo"]["status"] == "superseded"


@pytest.mark.asyncio
async def test_llamaindex(memory: Memory, clock: ManualClock):
    view = memory.scope(user="ana")
    for key, text in (("c1", LISBON), ("c2", PORTO)):
        RememoChatStore(view).add_message(key, ChatMessage(role="user", content=text))
        clock.advance(20 * 86_400)
    block = RememoMemoryBlock(view, accept_short_term_memory=False)
    recalled = await block.aget([ChatMessage(role="user", content="where do I live?")])
    assert "Porto" in recalled
    assert "Lisbon" not in recalled
