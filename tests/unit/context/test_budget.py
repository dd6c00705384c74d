"""Never over budget: whatever is stored, whatever is asked, and however somebody counts."""

import math
from typing import Any, Final
from zlib import crc32

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import InvalidInput
from rememo.testing.clock import ManualClock
from rememo.text.tokens import PieceCounter, TokenCounter, chat_tokens, default_counter


class Letters:
    """One token a character."""

    def count(self, text: str) -> int:
        return len(text)


class Words:
    """One token a word: line breaks and marks cost nothing."""

    def count(self, text: str) -> int:
        return len(text.split())


class Steep:
    """Two texts together cost more than each alone."""

    def count(self, text: str) -> int:
        return math.ceil(len(text) ** 1.2 / 4)


class Moody:
    """A longer text may cost less."""

    def count(self, text: str) -> int:
        return len(text) // 4 + crc32(text.encode()) % 40


class Rounded:
    """Charged in hundreds, and something even for nothing."""

    def count(self, text: str) -> int:
        return 100 * (len(text) // 400 + 1)


class Free:
    """Everything is free."""

    def count(self, text: str) -> int:  # noqa: ARG002 - the protocol names it
        return 0


COUNTERS: Final[list[TokenCounter]] = [default_counter(), Letters(), Words(), Steep(), Moody(), Rounded(), Free()]
WORDS = st.sampled_from(
    ["train", "garden", "Miso", "</recalled-12345678>", "\n", "5", "very", "字", "é", "…", "a" * 60]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=60).map(" ".join).filter(str.strip)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "call", "image"]), TEXTS), max_size=8)
TEMPLATES = st.sampled_from([
    None, "{{ query }}", "{{ facts|join }}{% for one in passages %}{{ one.text }}{% endfor %}{{ recent|join(' ', 'text') }}",
])  # fmt: skip
PICTURE = "https://example.org/cat.png"


def fill(memory: Memory, turns: list[tuple[str, str]], room: str) -> None:
    chat = memory.scope(user="ana", room=room, agent="helper")
    for number, (what, text) in enumerate(turns):
        if what == "call":
            chat.messages.add("assistant", text, tool_calls=[{"id": f"c{number}", "arguments": text}])
            chat.messages.add("tool", text, tool_call_id=f"c{number}")
        elif what == "image":
            chat.messages.add("user", text, images=[PICTURE])
        else:
            chat.messages.add(what, text)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    now=TURNS,
    before=TURNS,
    notes=st.lists(TEXTS, max_size=4),
    goal=st.one_of(st.none(), TEXTS),
    query=st.one_of(TEXTS, st.just("")),
    most=st.one_of(st.integers(1, 400), st.integers(400, 4_000)),
    counter=st.sampled_from(COUNTERS),
    more=st.fixed_dictionaries({}, optional={"system": TEXTS, "ids": st.booleans(), "template": TEMPLATES}),
)
@example(now=[("user", "a b " * 900)], before=[], notes=[], goal=None, query="a", most=300, counter=Steep(), more={})
def test_it_never_costs_more_than_it_may(  # noqa: PLR0917 - given by name
    now: list[tuple[str, str]],
    before: list[tuple[str, str]],
    notes: list[str],
    goal: str | None,
    query: str,
    most: int,
    counter: TokenCounter,
    more: dict[str, Any],
):
    with Memory(":memory:", embedder=None, settings=Settings(worker=False), clock=ManualClock()) as memory:
        fill(memory, before, "before")
        chat = memory.scope(user="ana", room="now", agent="helper")
        for note in notes:
            chat.add(note)
        if goal is not None:
            chat.goals.add(goal)
        chat.facts.add("ana", "likes", "trains")
        memory.profiles.update("ana", about=query or "nothing")
        fill(memory, now, "now")
        try:
            context = chat.context(query, max_tokens=most, counter=counter, **more)
        except InvalidInput as error:
            assert str(most) in str(error).replace(",", ""), error  # noqa: PT017 - either is right, by the budget
            return
    assert counter.count(context.text) <= context.tokens <= most
    assert chat_tokens(counter, context.messages) <= most
    assert len({record.id for record in context.records}) == len(context.records)
    called = [tool_call["id"] for message in context.messages for tool_call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in context.messages if "tool_call_id" in message]
    assert called == answered
    if "system" in more:
        assert context.messages[0]["content"].startswith(more["system"])


class Never:
    """Whatever has this letter in it is too dear, once it is put together, however short it is cut."""

    def count(self, text: str) -> int:
        return 10_000 if "ŋ" in text and "\n" in text else 1


@given(st.text("ŋ …a", max_size=40))
@example("a")
@example("aa")
def test_taking_away_comes_to_an_end(text: str):
    with Memory(":memory:", embedder=None, settings=Settings(worker=False)) as memory:
        chat = memory.scope(user="ana", room="now")
        chat.messages.add("user", f"ŋ{text}")
        assert chat.context("what?", max_tokens=400, counter=Never()).tokens <= 400


@pytest.mark.requirement("window.tokens")
@pytest.mark.parametrize("counter", COUNTERS)
def test_a_budget_is_put_to_use(counter: TokenCounter):
    with Memory(":memory:", embedder=None, settings=Settings(worker=False)) as memory:
        chat = memory.scope(user="ana", room="now")
        for number in range(200):
            memory.scope(user="ana", room="before").messages.add(
                "user", f"The {number}th train to town number {number}"
            )
        context = chat.context("trains to town", max_tokens=1_500, counter=counter)
    assert len(context.records) >= 10
    if isinstance(counter, PieceCounter | Letters):
        assert context.tokens >= 1_400
