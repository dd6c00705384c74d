"""Limits and windows: what leaves, what stays, what fits."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.collections.message import Message
from rememo.collections.messages import Messages
from rememo.errors import InvalidInput
from rememo.testing.clock import ManualClock
from rememo.text.tokens import IMAGE_TOKENS, default_counter, message_tokens
from rememo.text.windows import newest_that_fit, units
from rememo.text.wordfiles import vocabulary_file

from .faces import messages


class Letters:
    """Counts letters, so that sums are easy."""

    def count(self, text: str) -> int:
        return len(text)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(), clock=ManualClock()) as memory:
        yield memory


@pytest.fixture
def chat(memory: Memory) -> Messages:
    return messages(memory.scope(room="r"))


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


def call(id: str) -> list[dict[str, Any]]:
    return [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]


@pytest.mark.requirement("limit.messages", "limit.eviction", "window.sliding")
def test_the_oldest_leave_first(chat: Messages):
    chat.add("system", "Be kind")
    limits = chat.limit(max_messages=4)
    assert chat.limits() == limits
    for number in range(8):
        chat.add("user", f"{number}", pinned=number == 2)
    assert texts(chat.history()) == ["Be kind", "2", "6", "7"]


@pytest.mark.requirement("limit.messages")
def test_limits_outlive_the_process_and_belong_to_their_room(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as memory:
        messages(memory.scope(room="r", user="u")).limit(max_messages=2)
    with Memory(path, embedder=None) as memory:
        for number in range(4):
            messages(memory.scope(room="r", user=f"user {number}")).add("user", f"{number}")
            messages(memory.scope(room="other")).add("user", f"{number}")
        room = messages(memory.scope(room="r"))
        assert texts(room.history()) == ["2", "3"]
        assert len(messages(memory.scope(room="other")).history()) == 4
        assert memory.scope(room="r").kv.keys() == []
        assert room.unlimit()
        assert not room.unlimit()
        room.add("user", "4")
        assert room.limits() is None
        assert len(room.history()) == 3


def test_a_limit_applies_at_once(chat: Messages):
    for number in range(5):
        chat.add("user", f"{number}")
    chat.limit(max_messages=2)
    assert texts(chat.history()) == ["3", "4"]


@pytest.mark.parametrize(
    "wrong",
    [{}, {"max_messages": 0}, {"max_tokens": -1}, {"max_messages": 1, "evict": "lifo"}, {"max_messages": True},
     {"max_messages": 1, "keep_roles": ["robot"]}, {"max_messages": 1, "on_overflow": "no function"}],
)  # fmt: skip
def test_limits_that_cannot_be_meant(chat: Messages, memory: Memory, wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        chat.limit(**wrong)
    assert chat.limits() is None
    with pytest.raises(InvalidInput, match="bind one first"):
        messages(memory).limit(max_messages=1)


@pytest.mark.requirement("limit.tokens")
def test_tokens_are_limited_and_the_newest_turn_stays_however_large(chat: Messages):
    chat.limit(max_tokens=40)
    for number in range(20):
        chat.add("user", f"number {number}")
        counter = default_counter()
        assert sum(message_tokens(counter, message.content, message.record.data) for message in chat.history()) <= 40
    assert len(chat.history()) > 3
    chat.add("user", "word " * 100)
    assert len(chat.history()) == 1


@pytest.mark.requirement("limit.eviction")
def test_a_function_says_what_leaves_first(chat: Messages):
    def shortest(messages: list[Message]) -> list[Message]:
        return sorted(messages, key=lambda message: len(message.content))

    chat.limit(max_messages=2, evict=shortest)
    for text in ("long enough", "no", "longer than that", "x", "y"):
        chat.add("user", text)
    assert texts(chat.history()) == ["longer than that", "y"]
    limits = chat.limits()
    assert limits is not None
    assert limits.evict == "custom"


def test_a_function_that_names_what_may_not_leave_is_logged(chat: Messages, caplog: pytest.LogCaptureFixture):
    pinned = chat.add("user", "pinned", pinned=True).id
    chat.limit(max_messages=1, evict=lambda _: [pinned])
    with caplog.at_level(logging.WARNING):
        chat.add("user", "a")
        chat.add("user", "b")
    assert len(chat.history()) == 3
    assert "none of the messages that may leave" in caplog.text


@pytest.mark.requirement("limit.overflow-handler")
def test_the_handler_sees_what_leaves_before_it_leaves(chat: Messages):
    seen: list[list[str]] = []
    still: list[int] = []

    def handler(leaving: list[Message]) -> None:
        seen.append(texts(leaving))
        still.append(len(chat.history()))

    chat.limit(max_messages=2, on_overflow=handler)
    for number in range(4):
        chat.add("user", f"{number}")
    assert seen == [["0"], ["1"]]
    assert still == [3, 3]


@pytest.mark.requirement("limit.overflow-handler")
def test_a_handler_vetoes_by_raising(chat: Messages, caplog: pytest.LogCaptureFixture):
    def handler(leaving: list[Message]) -> None:
        raise LookupError("the archive is down")

    chat.limit(max_messages=1, on_overflow=handler)
    with caplog.at_level(logging.WARNING):
        assert chat.add("user", "one").outcome == "added"
        assert chat.add("user", "two").outcome == "added"
    assert texts(chat.history()) == ["one", "two"]
    assert "the archive is down" in caplog.text
    chat.limit(max_messages=1)
    assert texts(chat.history()) == ["two"]


@pytest.mark.requirement("limit.eviction")
def test_what_leaves_into_a_summary(memory: Memory):
    room = memory.scope(room="r")
    chat = messages(room)
    chat.limit(max_messages=2, evict="summarise")
    ids = [chat.add("user", f"My number is {n}. And more.", name="Ana").id for n in range(5)]
    assert [message.id for message in chat.history()] == ids[3:]
    (summary,) = room.list(kind="summary")
    assert summary.text == (
        "Summary of 3 messages from 2026-05-01 12:00 to 2026-05-01 12:00 UTC:\n"
        "Ana: My number is 0.\nAna: My number is 1.\nAna: My number is 2."
    )
    assert summary.data["sources"] == ids[:3]
    assert summary.data["count"] == 3
    assert [hit.record.kind for hit in room.search("number 1", kind="summary")] == ["summary"]


def test_a_summary_says_who_said_what(memory: Memory):
    room = memory.scope(room="r", user="ana")
    messages(room).limit(max_messages=1, evict="summarise")
    messages(room).add_pair("Where is Miso?", "In the garden.")
    messages(room).add("user", "Thank you")
    assert room.list(kind="summary")[0].text.split("\n")[1:] == ["ana: Where is Miso?", "assistant: In the garden."]


def test_a_summary_of_several_users_belongs_to_none_of_them(memory: Memory):
    messages(memory.scope(room="r")).limit(max_messages=1, evict="summarise")
    for user in ("ana", "bo", "ana"):
        messages(memory.scope(room="r", user=user)).add("user", f"I am {user}.")
    summaries = memory.scope(room="r").list(kind="summary")
    assert [summary.scope.user for summary in summaries] == ["ana", "bo"]
    assert messages(memory.scope(room="r")).history()[0].user == "ana"


def test_in_a_batch_the_limit_waits_for_the_next_message(memory: Memory):
    room = memory.scope(room="r")
    messages(room).limit(max_messages=2)
    with room.batch() as batch:
        for number in range(4):
            messages(batch).add("user", f"{number}")
    assert len(messages(room).history()) == 4
    messages(room).add("user", "4")
    assert texts(messages(room).history()) == ["3", "4"]


steps = st.lists(
    st.sampled_from(["user", "assistant", "system", "pinned", "call", "result", "orphan"]), min_size=1, max_size=25
)


@given(steps, st.integers(1, 6), st.sampled_from(["fifo", "summarise"]), st.booleans())
@pytest.mark.requirement("limit.messages", "limit.tokens")
def test_whatever_is_said_the_limits_promises_hold(plan: list[str], most: int, evict: Any, by_tokens: bool):
    with Memory(":memory:", embedder=None, settings=Settings(), clock=ManualClock()) as memory:
        chat = messages(memory.scope(room="r"))
        if by_tokens:
            chat.limit(max_tokens=most * 12, evict=evict)
        else:
            chat.limit(max_messages=most, evict=evict)
        kept: set[str] = set()
        answered: dict[str, str] = {}
        pairs: list[tuple[str, str]] = []
        for number, step in enumerate(plan):
            text = f"say {number}"
            if step == "call":
                id = chat.add("assistant", text, tool_calls=call(f"c{number}")).id
                answered[f"c{number}"] = id
            elif step in ("result", "orphan"):
                waiting = list(answered) if step == "result" else []
                id = chat.add("tool", text, tool_call_id=waiting[-1] if waiting else "nobody").id
                if waiting:
                    call_message = answered.pop(waiting[-1])
                    if call_message in {
                        message.id for message in chat.history(1_000)
                    }:  # it may have left before it was answered
                        pairs.append((call_message, id))
            else:
                role = "user" if step == "pinned" else step
                id = chat.add(role, text, pinned=step == "pinned").id
                if step in ("system", "pinned"):
                    kept.add(id)
            held = chat.history(1_000)
            present = {message.id for message in held}
            assert id in present, "the newest stays"
            assert kept <= present, "pinned and system stay"
            for call_message, result in pairs:
                assert (call_message in present) == (result in present), "never parted from its result"
            grouped = units([message.record.data for message in held])
            newest = max(grouped, key=lambda unit: unit[-1])
            free = [unit for unit in grouped if unit is not newest and not any(held[at].id in kept for at in unit)]
            if not by_tokens and free:
                assert len(held) <= most, "no more than the limit while something may leave"
        lost = {id for record in memory.list(kind="summary") for id in record.data["sources"]}
        present = {message.id for message in chat.history(1_000)}
        assert lost.isdisjoint(present)
        assert evict == "fifo" or len(lost | present) == len(plan), "every message is there or in a summary"


@pytest.mark.requirement("window.tokens")
def test_a_window_holds_the_newest_that_fit(chat: Messages):
    for number in range(200):
        chat.add("user", f"{number:03}")
    shown = chat.window(70, counter=Letters())
    assert texts(shown) == [f"{number:03}" for number in range(190, 200)]
    chat.add("user", "x" * 60)
    chat.add("user", "now")
    assert texts(chat.window(50, counter=Letters())) == ["now"], "no hole: it ends at the first that does not fit"


@pytest.mark.requirement("window.tokens")
def test_system_messages_are_always_in_the_window(chat: Messages):
    chat.add("system", "rule")
    for number in range(300):
        chat.add("user", f"{number:03}")
    assert texts(chat.window(22, counter=Letters())) == ["rule", "298", "299"]
    with pytest.raises(InvalidInput, match="system messages alone have 8 tokens"):
        chat.window(7, counter=Letters())


@pytest.mark.requirement("window.tokens")
def test_a_call_and_its_result_are_shown_together(chat: Messages):
    chat.add("tool", "nobody asked", tool_call_id="gone")
    chat.add("assistant", "", tool_calls=call("c"))
    chat.add("tool", "rain", tool_call_id="c")
    chat.add("user", "ok")
    cost = sum(message_tokens(Letters(), message.content, message.record.data) for message in chat.history()[1:])
    assert texts(chat.window(cost, counter=Letters())) == ["", "rain", "ok"]
    assert texts(chat.window(cost - 1, counter=Letters())) == ["ok"]
    assert texts(chat.window(10_000)) == ["", "rain", "ok"]


@pytest.mark.requirement("window.tokens")
def test_a_newest_message_that_is_too_long_is_cut_and_marked(chat: Messages):
    chat.add("user", "before")
    chat.add("user", "many words " * 100)
    (message,) = chat.window(40)
    assert message.content.startswith("many words many")
    assert message.content.endswith(" …")
    assert message_tokens(default_counter(), message.content, message.record.data) <= 40
    with pytest.raises(InvalidInput, match="not even cut"):
        chat.window(4)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidInput, match="max_tokens"):
            chat.window(wrong)  # pyright: ignore[reportArgumentType] - on purpose
    with pytest.raises(InvalidInput, match="counter"):
        chat.window(10, counter="tiktoken")  # pyright: ignore[reportArgumentType] - on purpose


@given(
    st.lists(st.sampled_from(["user", "call", "result"]), max_size=30), st.lists(st.integers(1, 9)), st.integers(0, 60)
)
def test_windows_are_whole_and_fit(plan: list[str], sizes: list[int], most: int):
    data: list[dict[str, Any]] = []
    for number, step in enumerate(plan):
        data.append(
            {"tool_calls": call(f"c{number}")}
            if step == "call"
            else {"tool_call_id": f"c{number - 1 - number % 3}"}
            if step == "result"
            else {}
        )
    costs = [sizes[place % len(sizes)] if sizes else 1 for place in range(len(data))]
    grouped = units(data)
    assert sorted(place for unit in grouped for place in unit) == list(range(len(data)))
    taken, spent = newest_that_fit(grouped, costs.__getitem__, most)
    assert spent == sum(costs[place] for place in taken) <= most
    assert all(set(unit) <= taken or taken.isdisjoint(unit) for unit in grouped)


def test_tokens_are_those_of_a_real_tokenizer():
    from tokenizers import Tokenizer  # noqa: PLC0415 - only here

    real = Tokenizer.from_file(str(vocabulary_file()))
    text = (
        "I moved to Lisbon in May, and my cat is called Miso.\nShe's 4 years old!  Does {'json': [1, 2]} count?\n\n"
        "Überraschung: naïve café, 東京 and 🙂 emoji; https://example.org/a?b=c"
    )
    true = len(real.encode(text, add_special_tokens=False).ids)
    assert abs(default_counter().count(text) - true) <= true * 0.03
    assert default_counter().count("") == 0


def test_images_and_calls_cost_tokens():
    assert message_tokens(Letters(), "abc", {}) == 7
    assert message_tokens(Letters(), "abc", {"name": "Ana", "images": ["x", "y"]}) == 10 + 2 * IMAGE_TOKENS
    assert message_tokens(Letters(), "", {"tool_calls": call("c")}) > 40
