"""What callers of other libraries write is taken where it can mean one thing only; else the error has our spelling."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from rememo import AsyncMemory, InvalidInput, Memory, NotFound, RememoError, errors


class Step(Enum):
    ASK = "ask"
    PAY = 2


@pytest.fixture
def memory():
    with Memory(":memory:", embedder=None) as opened:
        yield opened


def test_errors_are_imported_from_the_package(memory: Memory):
    with pytest.raises(NotFound):
        memory.get("nowhere")
    assert NotFound is errors.NotFound
    assert issubclass(InvalidInput, RememoError)


@pytest.mark.parametrize(
    ("given", "name"),
    [("user_id", "user"), ("agent_id", "agent"), ("thread_id", "room"), ("session_id", "room"), ("run_id", "room")],
)
def test_labels_of_other_libraries(memory: Memory, given: str, name: str):
    untyped: Any = memory
    assert getattr(untyped.scope(**{given: "x"}).bound, name) == "x"


def test_a_label_is_a_text_or_the_number_of_a_platform(memory: Memory):
    memory.scope(user=42, room=-100123).add("I like tea.", learn=False)
    assert memory.scope(user="42", room="-100123").count() == 1
    assert memory.scope(user=42).bound.user == "42"
    untyped: Any = memory
    with pytest.raises(InvalidInput, match="user must be text, not bool"):
        untyped.scope(user=True)


def test_counts_of_other_libraries(memory: Memory):
    memory.add_many([f"tea {number}" for number in range(4)])
    untyped: Any = memory
    for given in ("top_k", "k", "n_results", "limit"):
        assert len(untyped.search("tea", **{given: 2})) == 2
    with pytest.raises(TypeError, match="top_k and limit, which are the same; give limit"):
        untyped.search("tea", top_k=2, limit=2)


def test_a_message_as_models_take_it(memory: Memory):
    untyped: Any = memory.scope(user="ana", room="monday").messages
    untyped.add({"role": "user", "content": "I live in Lisbon.", "name": None}, metadata={"n": 1})
    (message,) = memory.messages.history()
    assert (message.role, message.content, message.record.metadata) == ("user", "I live in Lisbon.", {"n": 1})
    with pytest.raises(InvalidInput, match="unknown field 'refusal'"):
        untyped.add({"role": "user", "content": "x", "refusal": "no"})
    with pytest.raises(InvalidInput, match="a message has a role and a content"):
        untyped.add({"content": "x"})
    with pytest.raises(InvalidInput, match=r"one by one"):
        untyped.add([{"role": "user", "content": "x"}])


def test_milliseconds_are_a_time(memory: Memory):
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    untyped: Any = memory
    untyped.messages.add("user", "hello", at=int(moment.timestamp() * 1000))
    untyped.messages.add("user", "again", timestamp=int(moment.timestamp() * 1000))
    assert [message.at for message in memory.messages.history()] == [moment, moment]


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "seconds": (lambda memory: memory.messages.add("user", "x", at=1_760_000_000), InvalidInput, "^at must be a datet"),
    "a float": (lambda memory: memory.add("x", occurred_at=1.76e9), InvalidInput, r"datetime\.fromtimestamp\(seconds"),
    "far away": (lambda memory: memory.add("x", occurred_at=10**30), InvalidInput, "outside the years 1 to 9999"),
    "naive": (
        lambda memory: memory.messages.add("user", "x", at=datetime(2026, 5, 1)),  # noqa: DTZ001 - what is refused
        InvalidInput,
        "^at has no time zone; give it one, such as at=",
    ),
    "published": (lambda memory: memory.posts.add("x", published_at="soon"), InvalidInput, "^published_at is not"),
    "thought": (lambda memory: memory.thoughts.add("THINK", "x", at="soon"), InvalidInput, "^at is not an ISO"),
    "action": (lambda memory: memory.actions.add("tool", at="soon"), InvalidInput, "^at is not an ISO"),
    "pair": (lambda memory: memory.messages.add_pair(3, "x"), InvalidInput, "^user must be text"),
    "keep_roles": (
        lambda memory: memory.messages.limit(max_messages=3, keep_roles=3),
        InvalidInput,
        "^keep_roles must be a collection",
    ),
    "a filter": (lambda memory: memory.tasks.list(goal=object()), InvalidInput, "^goal must be text, not object"),
    "a conversation": (lambda memory: memory.add([{"role": "user"}]), InvalidInput, r"messages\.add\("),
    "a receipt": (lambda memory: memory.history(memory.add("x")), InvalidInput, "not Receipt; give its id"),
    "a label": (lambda memory: memory.search("x", user_id="ana"), TypeError, r"memory\.scope\(user=…\)\.search"),
    "opening": (lambda memory: type(memory)(user="ana"), TypeError, r"Memory\(\) has no argument 'user'.*scope\(user"),
    "filters": (lambda memory: memory.search("x", filters={}), TypeError, "kind=, ids=, after="),
    "a typing error": (lambda memory: memory.search("x", tresh=0.1), TypeError, "did you mean threshold"),
    "nothing like it": (lambda memory: memory.scope(zzz=1), TypeError, "it takes agent, room, tenant, user"),
    "history": (lambda memory: memory.tasks.history("x"), AttributeError, r"memory\.history\(id\) has every version"),
    "get_all": (lambda memory: memory.get_all(), AttributeError, r"list\(\) has everything"),
    "no such thing": (lambda memory: memory.zzz, AttributeError, "Memory has no attribute 'zzz'$"),
}


@pytest.mark.parametrize("given", WRONG)
def test_an_error_names_what_the_caller_wrote_and_our_spelling(memory: Memory, given: str):
    call, kind, says = WRONG[given]
    with pytest.raises(kind, match=says):
        call(memory)


def test_members_of_an_enum_are_steps(memory: Memory):
    untyped: Any = memory
    flow = untyped.flow("order", steps=Step, transitions={Step.ASK: [Step.PAY]})
    assert flow.steps == ("ask", "PAY")
    assert flow.start(7).step == "ask"
    assert flow.set(7, step=Step.PAY).step == "PAY"
    assert flow.get("7").user == "7"


def test_a_receipt_of_an_async_memory_is_awaited(tmp_path: Path):
    async def talk() -> list[str]:
        async with AsyncMemory(tmp_path / "a.db", embedder=None) as memory:
            chat = memory.scope(user="ana", room="monday")
            receipt = await (await chat.messages.add("user", "I live in Lisbon.")).wait()
            assert receipt.status == "done"
            document = await (await chat.documents.add(text="Tea is served at five.", title="House rules")).wait()
            assert document.id == document.ids[0]
            async with chat.batch() as batch:
                await batch.messages.add("user", "My cat is called Miso.")
            assert batch.receipt is not None
            await batch.receipt.wait()
            untyped: Any = chat.messages
            await (await untyped.add({"role": "user", "content": "I like tea."})).wait()
            assert len(await memory.scope(user="ana").search("tea", limit=1)) == 1
            return [fact.object for fact in await chat.facts.list(subject="ana")]

    assert {"Miso", "Lisbon", "tea"} <= set(asyncio.run(talk()))


def test_a_receipt_of_an_async_memory_equals_that_of_another(memory: Memory):
    receipt = memory.add("x")

    async def add() -> object:
        async with AsyncMemory(":memory:", embedder=None) as other:
            return await other.add("x")

    assert asyncio.run(add()) != receipt
    from rememo.model.receipt import to_async_receipt  # noqa: PLC0415 - only here

    assert to_async_receipt(receipt) == receipt
    assert receipt == to_async_receipt(receipt)
