"""What a model might be shown, gathered within a view."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory, Settings
from rememo.context import gather
from rememo.context.dates import ago, day, day_and_time
from rememo.context.item import ContextItem
from rememo.engine.view import View, view_of
from rememo.errors import InvalidInput
from rememo.model.scope import Scope
from rememo.testing.clock import START, ManualClock
from rememo.text.fence import fenced


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", settings=Settings(worker=False), clock=clock) as memory:
        yield memory


@pytest.fixture
def chat(memory: Memory) -> Memory:
    return memory.scope(user="ana", room="today", agent="helper")


def seen(memory: Memory) -> View:
    return view_of(memory)  # functions over views are what is tested


def texts(items: list[ContextItem]) -> list[str]:
    return [item.text for item in items]


def test_recall_looks_as_far_as_it_is_told(chat: Memory, memory: Memory):
    bound = seen(chat)
    assert gather.recall_view(bound).scope == Scope(user="ana", agent="helper")
    assert gather.recall_view(bound, "room").scope == bound.scope
    assert gather.recall_view(bound, "agent").scope == Scope(agent="helper")
    assert gather.recall_view(bound, "tenant").scope == Scope()
    other = memory.scope(tenant="acme").scope(room="r", user="u")
    assert gather.recall_view(seen(other), "tenant").scope == Scope(tenant="acme")


def test_a_view_without_a_user_stays_in_its_room(memory: Memory):
    room = seen(memory.scope(room="group", agent="helper"))
    assert gather.recall_view(room).scope == room.scope
    assert gather.recall_view(room, user="ana").scope == Scope(user="ana", agent="helper")


def test_recall_that_cannot_be_meant_is_refused(chat: Memory, memory: Memory):
    with pytest.raises(InvalidInput, match="recall must be one of room, user, agent, tenant, not 'all'"):
        gather.recall_view(seen(chat), "all")  # pyright: ignore[reportArgumentType] - that is the test
    with pytest.raises(InvalidInput, match="bound to user 'ana'"):
        gather.recall_view(seen(chat), user="bo")
    with pytest.raises(InvalidInput, match="bound to an agent"):
        gather.recall_view(seen(memory.scope(user="ana")), "agent")


def test_the_past_stays_the_past(chat: Memory, clock: ManualClock):
    chat.messages.add("user", "I adopted a cat")
    then = clock()
    clock.advance(60)
    chat.messages.add("user", "The cat ran away")
    past = gather.recall_view(seen(chat.as_of(then)), "tenant")
    assert texts(gather.passages(past, "what about the cat?")) == ["I adopted a cat"]
    assert texts(gather.recent(past)) == ["I adopted a cat"]


def test_recent_turns_are_the_rooms_and_carry_who_and_when(chat: Memory, memory: Memory):
    memory.scope(user="ana", room="yesterday", agent="helper").messages.add("user", "Elsewhere")
    chat.messages.add("system", "Be kind")
    chat.messages.add("user", "Hello", name="Ana Lima", at=START)
    chat.messages.add("assistant", "", tool_calls=[{"id": "c1"}])
    chat.messages.add("tool", "42", tool_call_id="c1")
    chat.messages.add("assistant", "Hi!", at=START)
    items = gather.recent(seen(chat))
    assert [(item.speaker, item.text, item.at, item.kind) for item in items] == [
        ("Ana Lima", "Hello", START, "message"),
        ("helper", "Hi!", START, "message"),
    ]
    assert [item.id for item in items] == [
        message.id for message in chat.messages.history() if message.content in ("Hello", "Hi!")
    ]


def test_passages_come_from_every_kind_of_text(chat: Memory, memory: Memory):
    other = memory.scope(user="ana", room="last week", agent="helper")
    id = other.messages.add("user", "The piano lessons are on Thursdays").id
    note = other.add("Piano teacher: Ms Silva").id
    chat.documents.add(text="# Piano\n\nA piano has 88 keys.", title="Piano")
    chat.add("Piano thoughts", kind="thought")
    memory.scope(user="bo", room="last week", agent="helper").messages.add("user", "I sold my piano")
    items = gather.passages(gather.recall_view(seen(chat)), "when are the piano lessons?")
    assert items[0].id == id
    assert items[0].score > 0
    assert {item.kind for item in items} == {"message", "note", "chunk"}
    assert not any("sold" in item.text for item in items)
    without = gather.passages(gather.recall_view(seen(chat)), "when are the piano lessons?", leave_out=[id])
    assert note in {item.id for item in without}
    assert id not in {item.id for item in without}


def test_what_was_recalled_and_stored_again_is_not_recalled_again(chat: Memory):
    chat.messages.add("user", f"{fenced('Miso is a cat')}\nWho feeds Miso?")
    chat.messages.add("user", fenced("Miso is a cat"))
    chat.add("Miso is a cat", source="recall:context")
    items = gather.passages(gather.recall_view(seen(chat)), "Miso")
    assert texts(items) == ["Who feeds Miso?"]


def test_an_empty_question_finds_no_passages(chat: Memory):
    chat.messages.add("user", "Hello")
    assert gather.passages(seen(chat), "  ") == []


def test_facts_are_those_that_hold_now(chat: Memory, memory: Memory, clock: ManualClock):
    chat.messages.add("user", "I live in Lisbon. My cat is called Miso.").wait()
    clock.advance(86_400)
    other = memory.scope(user="ana", room="later", agent="helper")
    other.messages.add("user", "I moved to Porto. My cat is called Miso.").wait()
    view = gather.recall_view(seen(chat))
    fact_texts = texts(gather.facts(view))
    assert "ana lives in Porto" in fact_texts
    assert "ana lives in Lisbon" not in fact_texts
    assert fact_texts.count("ana has a pet: Miso") == 1
    assert "Miso is a cat" in texts(gather.facts(view, "How is Miso?"))
    assert "Miso is a cat" not in fact_texts
    before = gather.recall_view(seen(chat.as_of(START + timedelta(seconds=1))))
    assert "ana lives in Lisbon" in texts(gather.facts(before))


def test_facts_of_others_are_not_there(chat: Memory, memory: Memory):
    memory.scope(user="bo", room="today", agent="helper").messages.add("user", "I live in Rome.").wait()
    assert gather.facts(gather.recall_view(seen(chat)), "Where does bo live?") == []
    assert texts(gather.facts(gather.recall_view(seen(chat), "agent"), "Where does bo live?")) == ["bo lives in Rome"]


def test_a_sister_is_found_by_the_word(chat: Memory):
    chat.facts.add("my sister", "works at", "the harbour")
    assert texts(gather.facts(seen(chat), "Where does my sister work?")) == ["ana's sister works at harbour"]


def test_relationships_are_the_strongest_first(chat: Memory):
    chat.relationships.add("ana", "Bo", "colleague", strength=0.2)
    chat.relationships.add("Carla", "ana", "boss", strength=0.9)
    chat.relationships.add("Dora", "Emil", "married to", strength=1.0)
    assert texts(gather.relationships(seen(chat))) == ["Carla and ana: boss", "ana and Bo: colleague"]
    assert texts(gather.relationships(seen(chat), "How is Dora?"))[0] == "Dora and Emil: married to"


def test_plans_are_open_and_due_first(chat: Memory, memory: Memory):
    chat.goals.add("Learn to swim", priority=9)
    chat.tasks.add("Call the bank", due=START + timedelta(days=2))
    done = chat.tasks.add("Buy bread").id
    chat.tasks.done(done)
    memory.scope(user="ana", room="else", agent="helper").goals.add("Run far", due=START + timedelta(days=1))
    items = gather.plans(gather.recall_view(seen(chat)))
    assert texts(items) == ["Run far", "Call the bank", "Learn to swim"]
    assert [gather.due_time(item.record) for item in items if item.record] == [
        START + timedelta(days=1), START + timedelta(days=2), None,
    ]  # fmt: skip


def test_the_profile_is_the_users(chat: Memory, memory: Memory):
    assert gather.profile(seen(chat)) is None
    memory.profiles.update("ana", language="English", address={"city": "Lisbon"})
    memory.profiles.update("bo", language="Italian")
    memory.scope(user="ana").profiles.update("ana", language="Portuguese", tags=["a", 1])
    item = gather.profile(seen(chat))
    assert item is not None
    assert item.text == "language: Portuguese; address city: Lisbon; tags: a, 1"
    assert gather.profile(seen(memory)) is None
    assert gather.profile(seen(chat.as_of(START))) is None


def test_dates_are_said_in_words():
    now = datetime(2026, 11, 15, 11, 30, tzinfo=UTC)
    assert day(now) == "Sunday 15 November 2026"
    assert day_and_time(now) == "Sunday 15 November 2026, 11:30 UTC"
    spans = {0: "today", 1: "yesterday", -1: "tomorrow", 13: "13 days ago", 14: "2 weeks ago", 90: "3 months ago",
             -21: "in 3 weeks", 365: "12 months ago", 800: "2 years ago"}  # fmt: skip
    assert {days: ago(now - timedelta(days=days), now) for days in spans} == spans
