# pyright: reportUnknownMemberType=false
# Functions of theirs return lists of anything.

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.memory import Memory as LlamaMemory
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from rememo import Memory
from rememo.adapters.llamaindex import RememoChatStore, RememoMemoryBlock, RememoMemoryStore
from rememo.errors import InvalidInput

ODD = [
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="developer", content="Be very brief."),
    ChatMessage(role="user", content=""),
    ChatMessage(role="user", blocks=[]),
    ChatMessage(role="user", content="a\0b \ud83c", additional_kwargs={"n": 2**70, "deep": {"x": [1, None, 1.5]}}),
    ChatMessage(role="user", blocks=[TextBlock(text="what is this?"), ImageBlock(url="https://example.com/cat.png")]),
    ChatMessage(role="user", blocks=[ImageBlock(image=b"\x89PNG\r\n", image_mimetype="image/png")]),
    ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm"),
            ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs={"a": 1, "b": 2}),
        ],
    ),
    ChatMessage(role="tool", content="3", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(
        role="assistant",
        content=None,
        additional_kwargs={
            "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        },
    ),
    ChatMessage(role="function", content="4", additional_kwargs={"tool_call_id": "c2"}),
    ChatMessage(role="chatbot", content="Three."),
    ChatMessage(role="model", content="Four."),
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as made:
        yield made


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def texts(messages: list[ChatMessage] | None) -> list[str | None]:
    return [message.content for message in messages or []]


# ---- the chat store


def test_messages_are_added_read_and_deleted(memory: Memory):
    store = RememoChatStore(memory)
    assert store.get_messages("a") == []
    assert store.get_keys() == []
    for text in ("one", "two", "three", "four"):
        store.add_message("a", user(text))
    store.add_message("b", user("elsewhere"))
    assert texts(store.get_messages("a")) == ["one", "two", "three", "four"]
    assert store.get_keys() == ["a", "b"]
    assert texts([m for m in [store.delete_message("a", 1)] if m]) == ["two"]
    assert store.delete_message("a", 9) is None
    assert store.delete_message("a", -9) is None
    assert texts([m for m in [store.delete_last_message("a")] if m]) == ["four"]
    assert texts(store.delete_messages("a")) == ["one", "three"]
    assert store.delete_messages("a") is None
    assert store.delete_last_message("a") is None
    assert store.get_keys() == ["b"]


def test_every_kind_of_message_comes_back_as_it_was(memory: Memory):
    store = RememoChatStore(memory)
    store.set_messages("a", ODD)
    assert store.get_messages("a") == ODD
    for message in ODD:
        store.add_message("b", message)
    assert store.get_messages("b") == ODD


def test_messages_are_ordinary_ones(memory: Memory):
    store = RememoChatStore(memory.scope(user="ana"))
    store.set_messages("a", [*ODD, user("My cat is called Miso.")])
    room = memory.scope(user="ana", room="a")
    assert room.messages.latest()[0].content == "My cat is called Miso."
    assert [hit.text for hit in room.search("what is the cat called?", kind="message", limit=1)] == [
        "My cat is called Miso."
    ]
    shape = room.messages.for_model(limit=50)
    assert [item["tool_call_id"] for item in shape if item["role"] == "tool"] == ["c1", "c2"]
    room.messages.add("assistant", "Nice to meet Miso.")
    assert store.get_messages("a")[-1] == ChatMessage(role="assistant", content="Nice to meet Miso.")


def test_setting_replaces_at_once_and_leaves_what_stays(memory: Memory):
    store = RememoChatStore(memory)
    store.set_messages("a", [user("one"), user("two"), user("three")])
    before = {record.text: record.id for record in memory.list(kind="message")}
    store.set_messages("a", [user("one"), user("2"), user("three")])
    after = {record.text: record.id for record in memory.list(kind="message")}
    assert texts(store.get_messages("a")) == ["one", "2", "three"]
    assert after["one"] == before["one"]
    assert after["three"] != before["three"]
    with pytest.raises(InvalidInput, match="not str"):
        store.set_messages("a", [user("x"), "text"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="additional_kwargs"):
        store.set_messages("a", [ChatMessage(content="x", additional_kwargs={"o": object()})])
    assert texts(store.get_messages("a")) == ["one", "2", "three"]
    store.set_messages("a", [])
    assert store.get_messages("a") == []


def test_the_asynchronous_methods_do_the_same(memory: Memory):
    async def main() -> None:
        store = RememoChatStore(memory)
        await store.aset_messages("a", ODD)
        await store.async_add_message("a", user("last"))
        assert await store.aget_messages("a") == [*ODD, user("last")]
        assert await store.adelete_last_message("a") == user("last")
        assert await store.adelete_message("a", 0) == ODD[0]
        assert await store.aget_keys() == ["a"]
        assert await store.adelete_messages("a") == ODD[1:]

    asyncio.run(main())


def test_what_it_opened_is_closed_and_there_again(tmp_path: Path):
    store = RememoChatStore(tmp_path / "chats.db")
    store.add_message("a", user("one"))
    store.close()
    again = RememoChatStore(tmp_path / "chats.db")
    assert texts(again.get_messages("a")) == ["one"]
    again.close()


def test_a_key_that_cannot_be_a_room_is_refused(memory: Memory):
    store = RememoChatStore(memory)
    for key in ("", "x" * 600, "pool:team"):
        with pytest.raises(InvalidInput):
            store.add_message(key, user("x"))
    with pytest.raises(InvalidInput):
        RememoChatStore(memory.scope(room="b")).add_message("a", user("x"))


def test_a_chat_buffer_stands_on_it(memory: Memory):
    buffer = ChatMemoryBuffer.from_defaults(
        token_limit=1000, chat_store=RememoChatStore(memory), chat_store_key="a", tokenizer_fn=str.split
    )
    buffer.put(user("one"))
    buffer.put(ChatMessage(role="assistant", content="two"))
    assert texts(buffer.get()) == ["one", "two"]
    assert [message.content for message in memory.scope(room="a").messages.history()] == ["one", "two"]
    buffer.reset()
    assert buffer.get() == []


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("ab"), st.text(max_size=5)),
        st.tuples(st.just("set"), st.sampled_from("ab"), st.lists(st.sampled_from(["x", "y", ""]), max_size=4)),
        st.tuples(st.just("delete"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("clear"), st.sampled_from("ab"), st.none()),
    ),
    max_size=10,
)


@settings(max_examples=15, deadline=None)
@given(steps)
def test_it_does_what_their_own_store_does(taken: list[tuple[str, str, Any]]):
    theirs = SimpleChatStore()
    with Memory(":memory:", embedder=None) as memory:
        ours = RememoChatStore(memory)
        for what, key, value in taken:
            if what == "add":
                ours.add_message(key, user(value))
                theirs.add_message(key, user(value))
            elif what == "set":
                ours.set_messages(key, [user(item) for item in value])
                theirs.set_messages(key, [user(item) for item in value])
            elif what == "delete":
                assert ours.delete_message(key, value) == theirs.delete_message(key, value)
            else:
                assert (ours.delete_messages(key) or []) == (theirs.delete_messages(key) or [])
            assert ours.get_messages(key) == theirs.get_messages(key)
        assert ours.get_keys() == sorted(key for key in theirs.get_keys() if theirs.get_messages(key))


# ---- what Memory keeps its messages in


T = TypeVar("T")


async def closing(store: SQLAlchemyChatStore, run: Callable[[SQLAlchemyChatStore], Awaitable[T]]) -> T:
    """Run something with a store of theirs, and let go of its connections, which it does not do itself."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
    store._async_engine = engine  # pyright: ignore[reportPrivateUsage]
    try:
        return await run(store)
    finally:
        await engine.dispose()


def test_the_memory_store_does_what_their_own_does(memory: Memory):
    async def main(store: RememoMemoryStore | SQLAlchemyChatStore) -> list[Any]:
        seen: list[Any] = []
        await store.add_messages("a", [user(str(number)) for number in range(6)])
        await store.add_message("a", user("old"), MessageStatus.ARCHIVED)
        await store.add_message("b", user("b"))
        seen.append(texts(await store.archive_oldest_messages("a", 2)))
        seen.append(texts(await store.delete_oldest_messages("a", 1)))
        seen.extend([texts(await store.get_messages("a", status)) for status in (None, *MessageStatus)])
        seen.extend([await store.count_messages("a", status) for status in (None, *MessageStatus)])
        seen.append(texts(await store.get_messages("a", limit=2, offset=1)))
        seen.append(texts(await store.delete_oldest_messages("a", 0)))
        seen.append(sorted(await store.get_keys()))
        await store.delete_messages("a", MessageStatus.ARCHIVED)
        seen.append(texts(await store.get_messages("a", None)))
        await store.set_messages("a", ODD[:2])
        seen.append(await store.get_messages("a", None))
        await store.delete_messages("a")
        seen.append(await store.count_messages("a", None))
        return seen

    ours = asyncio.run(main(RememoMemoryStore(memory)))
    theirs = asyncio.run(closing(SQLAlchemyChatStore(table_name="messages"), main))
    assert ours == theirs


def test_a_message_of_the_memory_store_is_deleted_by_its_place(memory: Memory):
    async def main() -> None:
        store = RememoMemoryStore(memory)
        await store.add_messages("a", [user("one"), user("two")])
        assert await store.delete_message("a", 0) == user("one")
        assert await store.delete_message("a", 5) is None

    asyncio.run(main())


# ---- the block


def words(text: str) -> list[str]:
    return text.split()


def test_what_leaves_the_short_term_memory_is_recalled_from_the_block(memory: Memory):
    async def main(store: SQLAlchemyChatStore) -> None:
        block = RememoMemoryBlock(memory.scope(user="ana"), max_tokens=400)
        chat = LlamaMemory.from_defaults(
            session_id="monday",
            chat_store=store,
            token_limit=60,
            token_flush_size=20,
            memory_blocks=[block],
            tokenizer_fn=words,
        )
        await chat.aput(user("My cat is called Miso and she sleeps on the blue sofa."))
        await chat.aput(ChatMessage(role="assistant", content="Noted!"))
        for number in range(12):
            await chat.aput(user(f"Let us talk about invoice number {number} now please."))
            await chat.aput(ChatMessage(role="assistant", content=f"Invoice {number} is paid."))
        await chat.aput(user("Where does my cat sleep?"))
        output = await chat.aget()
        assert output[0].role == MessageRole.SYSTEM
        assert "blue sofa" in (output[0].content or "")
        assert not any("blue sofa" in (message.content or "") for message in output[1:])

        other = LlamaMemory.from_defaults(
            session_id="tuesday", chat_store=store, memory_blocks=[block], tokenizer_fn=words
        )
        await other.aput(user("What is my cat called?"))
        assert "Miso" in ((await other.aget())[0].content or "")

    asyncio.run(closing(SQLAlchemyChatStore(table_name="messages"), main))
    kept = memory.scope(user="ana", room="monday").messages.history(limit=5)
    assert kept
    assert all("session_id" not in str(match.record.data) for match in kept)


def test_the_block_beside_the_store_says_nothing_twice(memory: Memory):
    async def main() -> None:
        ana = memory.scope(user="ana")
        ana.scope(room="last week").messages.add("user", "My cat is called Miso.")
        chat = LlamaMemory.from_defaults(
            session_id="today",
            chat_store=RememoMemoryStore(ana),
            memory_blocks=[RememoMemoryBlock(ana, accept_short_term_memory=False)],
            tokenizer_fn=words,
        )
        await chat.aput(user("I have bought a red blanket for my cat."))
        await chat.aput(user("What is my cat called?"))
        output = await chat.aget()
        assert "Miso" in (output[0].content or "")
        assert "blanket" not in (output[0].content or "")
        assert texts(output[1:]) == ["I have bought a red blanket for my cat.", "What is my cat called?"]

    asyncio.run(main())


def test_a_block_that_is_asked_nothing_says_nothing(memory: Memory):
    async def main() -> None:
        block = RememoMemoryBlock(memory)
        assert await block.aget([]) == ""
        assert await block.aget([ChatMessage(role="assistant", content="hello")]) == ""
        assert await block.aget([user("anything?")]) == ""

    asyncio.run(main())


def test_a_block_closes_what_it_opened(tmp_path: Path):
    block = RememoMemoryBlock(tmp_path / "memory.db", name="recalled")
    asyncio.run(block.aput([user("My cat is called Miso.")], session_id="a"))
    block.close()
    with Memory(tmp_path / "memory.db") as memory:
        assert memory.scope(room="a").messages.latest()[0].content == "My cat is called Miso."


def test_what_is_said_is_learned_from():
    with Memory(":memory:") as memory:
        ana = memory.scope(user="ana")
        RememoChatStore(ana).add_message("chat-1", ChatMessage(role="user", content="I moved to Porto."))
        assert [(fact.subject, fact.object) for fact in ana.facts.list()] == [("ana", "Porto")]
