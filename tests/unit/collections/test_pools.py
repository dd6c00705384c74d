"""Pools and shared rooms: one history for two agents, a pool for a group, and scopes that keep others out."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rememo import AsyncMemory, Memory, Settings
from rememo.context.gather import recall_view
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.testing.clock import ManualClock

from .learning import worker_of


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(worker=False), clock=ManualClock()) as memory:
        yield memory


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list()]


@pytest.mark.requirement("share.agents")
def test_two_agents_on_one_room_see_one_history(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as first, Memory(path, embedder=None) as second:
        planner = first.scope(room="trip", agent="planner")
        booker = second.scope(room="trip", agent="booker")
        planner.messages.add("assistant", "We need 2 rooms in Porto.")
        booker.messages.add("assistant", "I booked them for May.")
        for memory in (first, second):
            history = memory.scope(room="trip").messages.history()
            assert [(message.record.scope.agent, message.content) for message in history] == [
                ("planner", "We need 2 rooms in Porto."),
                ("booker", "I booked them for May."),
            ]
        assert [message.content for message in planner.messages.history()] == ["We need 2 rooms in Porto."], "its own"


@pytest.mark.requirement("share.group-pool")
def test_what_is_posted_to_a_pool_is_there_for_all_with_its_author(memory: Memory):
    alice = memory.scope(user="alice", agent="helper", room="chat-1")
    bob = memory.scope(user="bob")
    id = alice.pool("team-7").add("The demo is on Friday.").id
    bob.pool("team-7").messages.add("user", "I will bring 3 cables.")
    shared = memory.pool("team-7")
    assert texts(shared) == texts(alice.pool("team-7")) == texts(bob.pool("team-7"))
    entry = bob.pool("team-7").get(id)
    assert (entry.scope.user, entry.scope.agent, entry.scope.room) == ("alice", "helper", "pool:team-7")
    assert shared.users() == ["alice", "bob"]
    assert [hit.record.text for hit in bob.pool("team-7").search("when is the demo?", limit=1)] == [
        "The demo is on Friday."
    ]
    bob.pool("team-7").update(id, text="The demo is on Monday.")
    assert alice.pool("team-7").get(id).scope.user == "alice", "the author stays"
    assert texts(memory.pool("team-7").scope(user="bob")) == ["I will bring 3 cables."]
    assert memory.pool("team-8").list() == []


@pytest.mark.requirement("share.group-pool", "share.scopes")
def test_nothing_private_can_be_seen_through_a_pool(memory: Memory):
    alice = memory.scope(user="alice", agent="helper", room="chat-1")
    own = alice.add("My salary is 4711.").id
    alice.messages.add("user", "I live in Lisbon.").wait()
    alice.kv.set("pin", 1234)
    questions = ("What is shared?", "Is the salary shared?")
    memory.profiles.update("alice", name="Lovelace")
    memory.flow("onboarding", steps=["name"]).start("alice")
    alice.pool("team-7").add("Shared: 1.")
    for pool in (alice.pool("team-7"), memory.scope(user="bob").pool("team-7"), memory.pool("team-7")):
        assert texts(pool) == ["Shared: 1."]
        assert [hit.record.text for hit in pool.search("salary Lisbon shared")] == ["Shared: 1."]
        assert pool.facts.list() == []
        assert pool.kv.keys() == []
        assert pool.count() == 1
        assert pool.rooms() == ["pool:team-7"]
        for read in (pool.get, pool.delete, pool.history):
            with pytest.raises(NotFound):
                read(own)
        with pytest.raises(NotFound):
            pool.update(own, text="seen")
        assert pool.delete_where(ids=[own]) == 0
        assert recall_view(view_of(pool.scope(user="alice"))).scope.room == "pool:team-7", "recall does not leave it"
        recalled = [
            look(question, user="alice").text for question in questions for look in (pool.context, pool.compose)
        ]
        assert ["Shared: 1." in text for text in recalled[:2]] == [True, True]
        for text in recalled:
            assert "4711" not in text
            assert "Lovelace" not in text
            assert "onboarding" not in text
        for recall in ("agent", "tenant"):
            with pytest.raises(InvalidInput, match="a pool shows what is in it and nothing else"):
                pool.context(questions[0], recall=recall)
        assert pool.diff(memory.snapshot(f"s{id(pool)}")).added == ()
    assert texts(memory.scope(user="bob")) == []
    assert alice.get(own).text == "My salary is 4711."


@pytest.mark.requirement("share.group-pool", "share.scopes")
def test_a_pool_is_opened_as_a_pool_and_never_leaves_its_tenant(memory: Memory):
    memory.pool("team-7").add("ours")
    acme = memory.scope(tenant="acme")
    assert acme.pool("team-7").list() == []
    acme.pool("team-7").add("theirs")
    assert texts(memory.pool("team-7")) == ["ours"]
    with pytest.raises(InvalidInput, match="open one with"):
        memory.scope(room="pool:team-7")
    with pytest.raises(InvalidInput, match="cannot become"):
        memory.pool("team-7").scope(room="chat-1")
    with pytest.raises(InvalidInput, match="cannot reach"):
        memory.pool("team-7").scope(tenant="acme")
    assert texts(memory.pool("team-7").scope(room="pool:team-7")) == ["ours"]
    for wrong in ("", "x" * 600, "nul\x00", 7):
        with pytest.raises(InvalidInput, match="name"):
            memory.pool(wrong)  # pyright: ignore[reportArgumentType] - on purpose


def test_everything_works_in_a_pool(memory: Memory):
    alice, bob = (memory.scope(user=user).pool("team-7") for user in ("alice", "bob"))
    alice.facts.add("I", "lives in", "Lisbon")
    assert [(fact.subject, fact.object) for fact in bob.facts.list()] == [("alice", "Lisbon")]
    with alice.batch() as batch:
        first = batch.add("one")
        batch.update(first.id, text="one and a half")
    assert bob.get(first.id).scope.user == "alice"
    alice.kv.set("next", "demo")
    assert bob.kv.get("next") == "demo"
    document = alice.documents.add(text="The plan has 3 parts. The first is tea.", title="Plan")
    assert [document.title for document in bob.documents.list()] == ["Plan"]
    assert bob.documents.add(text="The plan has 3 parts. The first is tea.", title="Plan").id == document.id
    alice.messages.add("user", "I bought 12 cups.")
    bob.messages.add("user", "I bought 7 plates.")
    current = bob.summaries.update()
    assert current is not None
    assert "alice: I bought 12 cups." in current.text
    worker_of(memory).run_until_idle()
    past = alice.as_of(memory.snapshot("then"))
    with pytest.raises(ReadOnly):
        past.add("no")
    assert past.count() == alice.count()
    memory.undo(bob.add("a slip"))
    assert "a slip" not in texts(alice)


@pytest.mark.requirement("share.group-pool")
def test_pools_are_there_for_those_who_wait():
    async def run() -> None:
        async with AsyncMemory(":memory:", embedder=None) as memory:
            await memory.scope(user="alice").pool("team-7").add("shared")
            records = await memory.pool("team-7").list()
            assert [(record.text, record.scope.user) for record in records] == [("shared", "alice")]
            assert await memory.pool("team-7").summaries.current() is None

    asyncio.run(run())
