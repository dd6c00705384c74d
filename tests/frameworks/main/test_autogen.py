import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MemoryQueryEvent
from autogen_core import CancellationToken, Image
from autogen_core.memory import Memory as BaseMemory
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from PIL import Image as Picture

from rememo import Memory
from rememo.adapters.autogen import RememoMemory
from rememo.errors import InvalidInput

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def memory() -> AsyncGenerator[Memory]:
    with Memory(":memory:") as made:
        yield made


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata or None)


async def test_what_was_added_is_found_with_its_score(memory: Memory):
    agent_memory = RememoMemory(memory.scope(user="ana"))
    await agent_memory.add(text("Ana's cat is called Miso.", topic="pets"))
    await agent_memory.add(text("The parcel arrives on Friday."))
    results = (await agent_memory.query("what is the cat called?", limit=1)).results
    assert [message.content for message in results] == ["Ana's cat is called Miso."]
    assert results[0].mime_type is MemoryMimeType.TEXT
    assert results[0].metadata is not None
    assert results[0].metadata["topic"] == "pets"
    assert 0 < results[0].metadata["score"] <= 1
    assert memory.get(results[0].metadata["id"]).text == "Ana's cat is called Miso."
    assert (await agent_memory.query("cat", metadata={"topic": "work"})).results == []
    assert (await agent_memory.query("cat", threshold=1.0)).results == []
    assert (await agent_memory.query("who won the world cup?")).results == []
    assert [result.content for result in (await agent_memory.query(text("the parcel"), limit=1)).results] == [
        "The parcel arrives on Friday."
    ]


async def test_without_a_question_the_newest_come(memory: Memory):
    agent_memory = RememoMemory(memory, limit=2, threshold=0.5)
    for number in range(4):
        await agent_memory.add(text(f"note {number}"))
    assert [result.content for result in (await agent_memory.query()).results] == ["note 3", "note 2"]


@pytest.mark.parametrize(
    "content",
    [
        MemoryContent(content={"city": "Lisbon", "n": [1, None, 2**70]}, mime_type=MemoryMimeType.JSON),
        MemoryContent(content="# Title", mime_type=MemoryMimeType.MARKDOWN, metadata={"deep": {"er": [1]}}),
        MemoryContent(content=b"\x00\xff\x89", mime_type=MemoryMimeType.BINARY),
        MemoryContent(content="a,b\0 \ud83c", mime_type="text/csv", metadata={"n": 2**80}),
        MemoryContent(content="", mime_type=MemoryMimeType.TEXT),
    ],
)
async def test_contents_of_every_type_come_back(memory: Memory, content: MemoryContent):
    agent_memory = RememoMemory(memory)
    await agent_memory.add(content)
    [result] = (await agent_memory.query()).results
    assert result.content == content.content
    assert result.mime_type == content.mime_type
    assert type(result.mime_type) is type(content.mime_type)
    assert {**(result.metadata or {}), **(content.metadata or {})} == result.metadata


async def test_an_image_comes_back(memory: Memory):
    agent_memory = RememoMemory(memory)
    image = Image.from_pil(Picture.new("RGB", (2, 2), (250, 10, 10)))
    await agent_memory.add(MemoryContent(content=image, mime_type=MemoryMimeType.IMAGE, metadata={"name": "red"}))
    [result] = (await agent_memory.query()).results
    assert isinstance(result.content, Image)
    assert result.content.image.getpixel((0, 0)) == (250, 10, 10)


async def test_what_json_cannot_hold_is_refused(memory: Memory):
    agent_memory = RememoMemory(memory)
    with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
        await agent_memory.add(text("x", what=object()))
    assert memory.count() == 0


async def test_a_call_that_was_cancelled_does_nothing(memory: Memory):
    agent_memory, token = RememoMemory(memory), CancellationToken()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await agent_memory.add(text("x"), token)
    with pytest.raises(asyncio.CancelledError):
        await agent_memory.query("x", token)
    assert memory.count() == 0


async def test_clearing_ends_what_it_holds_and_nothing_else(memory: Memory):
    ana, bo = RememoMemory(memory.scope(user="ana")), RememoMemory(memory.scope(user="bo"))
    await ana.add(text("Ana's note"))
    await bo.add(text("Bo's note"))
    memory.scope(user="ana", room="chat").messages.add("user", "said elsewhere")
    await ana.clear()
    assert (await ana.query()).results == []
    assert [result.content for result in (await bo.query()).results] == ["Bo's note"]
    assert memory.scope(user="ana").count(kind="message") == 1
    await ana.clear()


async def test_what_was_said_elsewhere_can_be_recalled(memory: Memory):
    memory.scope(user="ana", room="chat").messages.add("user", "My cat is called Miso.")
    agent_memory = RememoMemory(memory, user="ana", kinds=["note", "message"])
    [result] = (await agent_memory.query("the cat", limit=1)).results
    assert result.content == "My cat is called Miso."
    assert result.mime_type is MemoryMimeType.TEXT


async def test_the_context_gets_what_helps_with_the_last_question(memory: Memory):
    agent_memory = RememoMemory(memory, limit=1)
    await agent_memory.add(text("Ana's cat is called Miso."))
    await agent_memory.add(text("The parcel arrives on Friday."))
    context = BufferedChatCompletionContext(buffer_size=10)
    assert (await agent_memory.update_context(context)).memories.results == []
    assert await context.get_messages() == []
    await context.add_message(UserMessage(content=["when does the parcel arrive?"], source="user"))
    await context.add_message(SystemMessage(content="Relevant memory content: of another memory, about a cat"))
    result = await agent_memory.update_context(context)
    assert [result.content for result in result.memories.results] == ["The parcel arrives on Friday."]
    last = (await context.get_messages())[-1]
    assert isinstance(last, SystemMessage)
    assert "1. The parcel arrives on Friday." in last.content
    assert "Miso" not in last.content


async def test_an_agent_answers_with_what_it_remembers(tmp_path: Path):
    agent_memory = RememoMemory(tmp_path / "agent.db", user="ana", limit=2)
    await agent_memory.add(text("Ana's cat is called Miso."))
    client = ReplayChatCompletionClient(["She is called Miso.", "You are welcome."])
    agent = AssistantAgent("helper", model_client=client, memory=[agent_memory])
    result = await agent.run(task="What is my cat called?")
    [event] = [message for message in result.messages if isinstance(message, MemoryQueryEvent)]
    assert [message.content for message in event.content] == ["Ana's cat is called Miso."]
    sent_messages: list[LLMMessage] = list(client.create_calls[0]["messages"])
    assert any(isinstance(message, SystemMessage) and "Miso" in message.content for message in sent_messages)
    assert not any(isinstance(message, AssistantMessage) for message in sent_messages)

    written = agent.dump_component()
    await agent_memory.close()
    again = AssistantAgent.load_component(written)
    result = await again.run(task="And what was the cat's name?")
    assert any(isinstance(message, MemoryQueryEvent) for message in result.messages)
    for opened_memory in again._memory or []:  # pyright: ignore[reportPrivateUsage]
        await opened_memory.close()


async def test_a_memory_is_written_as_a_configuration_and_opened_by_it(tmp_path: Path, memory: Memory):
    agent_memory = RememoMemory(
        tmp_path / "a.db", agent="helper", user="ana", room="r", kinds=["note", "fact"], limit=3, threshold=0.1
    )
    await agent_memory.add(text("The parcel: on Friday."))
    written = agent_memory.dump_component()
    assert written.provider == "rememo.adapters.autogen.RememoMemory"
    await agent_memory.close()
    again = BaseMemory.load_component(written)
    assert isinstance(again, RememoMemory)
    assert again.dump_component() == written
    assert [result.content for result in (await again.query()).results] == ["The parcel: on Friday."]
    await again.close()
    await again.close()
    with pytest.raises(InvalidInput, match="path or address"):
        RememoMemory(memory).dump_component()


async def test_a_memory_that_was_given_stays_open(memory: Memory):
    agent_memory = RememoMemory(memory)
    await agent_memory.close()
    assert memory.count() == 0


async def test_what_is_added_is_learned_from(memory: Memory):
    ana = memory.scope(user="ana")
    await RememoMemory(ana).add(text("The user moved to Porto."))
    assert [(fact.subject, fact.object) for fact in ana.facts.list()] == [("ana", "Porto")]
