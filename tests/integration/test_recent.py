"""Recent messages on a Redis server alone: at most so many, for so many hours."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememo import AsyncRecentMessages, RecentMessages, Settings
from rememo.errors import AlreadyExists, Closed, InvalidInput, MissingExtra, NotFound, Unavailable
from rememo.testing import ManualClock
from rememo.testing.redis import RedisPrefixes, RedisServer

Open = Callable[..., RecentMessages]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_room(places: RedisPrefixes, clock: ManualClock) -> Iterator[Open]:
    url, opened = places.lend(), list[RecentMessages]()

    def open_one(room: str = "r", **more: Any) -> RecentMessages:
        opened.append(RecentMessages(url, room=room, clock=clock, **more))
        return opened[-1]

    yield open_one
    for opened_room in opened:
        opened_room.close()


def contents_of(room: RecentMessages, limit: int = 1_000, offset: int = 0, **more: Any) -> list[str]:
    return [message.content for message in room.history(limit, offset, **more)]


@pytest.mark.requirement("store.redis", "history.limit-offset-roles")
def test_the_latest_come_oldest_first_and_are_shared(open_room: Open, clock: ManualClock):
    room = open_room()
    room.add("system", "Be kind.")
    for number in range(1, 6):
        clock.advance()
        room.add("user" if number % 2 else "assistant", f"number {number}")
    assert contents_of(room, 3) == ["number 3", "number 4", "number 5"]
    assert contents_of(room, 2, 1) == ["number 3", "number 4"]
    assert contents_of(room, 2, roles="user") == ["number 3", "number 5"]
    assert contents_of(room, 2, 2, roles=["user", "system"]) == ["Be kind.", "number 1"]
    assert contents_of(room, 5, 99) == contents_of(room, 5, 99, roles="user") == []
    assert [message.content for message in room.latest()] == ["number 5"]
    assert contents_of(open_room()) == contents_of(room)
    assert open_room("other").count() == open_room(tenant="other").count() == 0
    assert room.count() == 6


@pytest.mark.requirement("store.redis", "record.message-model")
def test_a_message_is_what_it_is_in_a_memory(open_room: Open, clock: ManualClock):
    room = open_room()
    at = datetime(2026, 1, 2, tzinfo=UTC)
    made = room.add("user", "Hé 🎈", id="m1", user="ana", name="Ana", username="@a", metadata={"n": [1]}, at=at)
    message = room.get("m1")
    assert message == made == room.history()[0]
    assert (message.role, message.content, message.user, message.name, message.username) == (
        "user",
        "Hé 🎈",
        "ana",
        "Ana",
        "@a",
    )
    assert (message.at, message.stored_at, message.metadata) == (at, clock(), {"n": [1]})
    question, answer = room.add_pair("and?", "so it is")
    assert answer.reply_to == question.id
    message.metadata["n"].append(2)
    assert room.get("m1").metadata == {"n": [1]}
    with pytest.raises(AlreadyExists, match="'m1' is in room 'r' already"):
        room.add("user", "again", id="m1")
    with pytest.raises(NotFound, match="'m2'"):
        room.get("m2")
    assert room.count() == 3


@pytest.mark.requirement("store.redis")
def test_a_room_is_gone_so_many_hours_after_its_last_message(open_room: Open, clock: ManualClock):
    room = open_room(ttl_hours=0.5)
    room.add("user", "first", id="x")
    clock.advance(1799)
    room.add("user", "second")
    clock.advance(1799.999999)
    assert contents_of(room) == ["first", "second"]
    clock.advance(0.000001)
    assert contents_of(room) == []
    assert room.count() == room.clear() == 0
    with pytest.raises(NotFound):
        room.get("x")
    room.add("user", "anew", id="x")
    assert contents_of(room) == ["anew"]


@pytest.mark.requirement("store.redis")
def test_it_holds_so_many_and_parts_no_call_from_its_result(open_room: Open):
    room = open_room(max_messages=4)
    room.add("system", "rules")
    room.add("assistant", "", tool_calls=[{"id": "c1"}, {"id": "c2"}])
    room.add("tool", "one", tool_call_id="c1")
    room.add("tool", "two", tool_call_id="c2")
    assert contents_of(room) == ["rules", "", "one", "two"]
    room.add("user", "next")
    assert contents_of(room) == ["rules", "next"]
    for number in range(5):
        room.add("system", f"rule {number}")
    assert contents_of(room) == ["rule 1", "rule 2", "rule 3", "rule 4"]
    room.add_pair("q", "a")
    assert contents_of(room) == ["rule 3", "rule 4", "q", "a"]
    # What has just come stays, with what it answers.
    small = open_room("small", max_messages=1)
    small.add("assistant", "", tool_calls=[{"id": "c1"}])
    small.add("tool", "one", tool_call_id="c1")
    assert contents_of(small) == ["", "one"]
    small.add("user", "go on")
    assert contents_of(small) == ["go on"]


TURNS = st.lists(
    st.one_of(
        st.just(("user", None, None)),
        st.just(("system", None, None)),
        st.tuples(st.just("assistant"), st.lists(st.sampled_from("abc"), unique=True, max_size=2), st.none()),
        st.tuples(st.just("tool"), st.none(), st.sampled_from("abc")),
    ),
    max_size=30,
)


@given(turns=TURNS, most=st.integers(1, 6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_leaves_is_what_the_rules_say(places: RedisPrefixes, turns: list[Any], most: int):
    with RecentMessages(places.lend(), room="r", max_messages=most) as room:
        held: list[tuple[str, Any, Any, str]] = []
        for number, (role, calls, answers) in enumerate(turns):
            text = f"{number}"
            room.add(role, text, tool_calls=calls and [{"id": call} for call in calls], tool_call_id=answers)
            held.append((role, calls, answers, text))
            trim(held, most)
            assert contents_of(room) == [message[3] for message in held]


def trim(held: list[tuple[str, Any, Any, str]], most: int) -> None:
    """Take out what is too much, as the room promises."""
    newest = held[-1]
    for sparing in (True, False):
        for message in list(held):
            if len(held) <= most:
                return
            if message in held and not (sparing and message[0] == "system"):
                place = held.index(message)
                leaving = [message, *(later for later in held[place + 1 :] if later[2] in (message[1] or ()))]
                if newest not in leaving:
                    for each in leaving:
                        held.remove(each)


@pytest.mark.requirement("history.clear", "store.redis")
def test_clearing_leaves_a_usable_room(open_room: Open):
    room = open_room()
    room.add_pair("q", "a")
    assert room.clear() == 2
    assert contents_of(room) == []
    room.add("user", "again")
    assert contents_of(room) == ["again"]


@pytest.mark.requirement("chat.build-history")
def test_it_speaks_to_models(open_room: Open):
    room = open_room()
    room.add(
        "assistant", "", tool_calls=[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    )
    room.add("tool", "42", tool_call_id="c1")
    shown = room.for_model(system="Be brief.", user="And now?")
    assert [message["role"] for message in shown] == ["system", "assistant", "tool", "user"]
    assert [message["role"] for message in room.for_model(limit=1)] == []


def test_many_threads_lose_nothing(open_room: Open):
    room = open_room(max_messages=500)

    def talk(who: int) -> None:
        for number in range(50):
            room.add("user", f"{who} {number}")

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    contents = contents_of(room)
    assert len(contents) == len(set(contents)) == 200
    assert [content for content in contents if content.startswith("0 ")] == [f"0 {n}" for n in range(50)]


def test_secrets_are_taken_out_before_storing(open_room: Open):
    room = open_room(settings=Settings(redact=("emails",)))
    room.add("user", "write to ana@example.org", metadata={"by": "ana@example.org"})
    assert "example.org" not in f"{room.history()[0].record}"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"max_messages": 0}, "max_messages must be a whole number from 1 to 10,000"),
        ({"max_messages": 10**9}, "max_messages"),
        ({"ttl_hours": 0}, "ttl_hours must be a number above 0"),
        ({"ttl_hours": float("nan")}, "ttl_hours"),
        ({"ttl_hours": "24"}, "ttl_hours"),
        ({"room": ""}, "room"),
        ({"room": None}, "room"),
    ],
)
def test_a_room_that_cannot_be_meant_is_named(open_room: Open, more: dict[str, Any], says: str):
    with pytest.raises(InvalidInput, match=says):
        open_room(**more)


def test_a_message_that_cannot_be_meant_is_named(open_room: Open):
    room = open_room()
    for wrong, says in (
        (lambda: room.add("robot", "x"), "there is no role 'robot'"),
        (lambda: room.add("user", " "), "content is empty"),
        (lambda: room.add("user", "x", id=""), "id"),
        (lambda: room.add("user", "x", metadata={"a": object()}), "metadata"),
        (lambda: room.add("user", "x", tool_calls="no"), "tool_calls must be a list"),  # pyright: ignore[reportArgumentType]
        (lambda: room.add("user", "x", at=datetime(2026, 1, 1)), "no time zone"),  # noqa: DTZ001 - that is the fault
        (lambda: room.add_pair("x", ""), "content is empty"),
        (lambda: room.history(0), "limit must be"),
        (lambda: room.history(5, -1), "offset must be"),
        (lambda: room.history(roles="robot"), "there is no role 'robot'"),
        (lambda: room.latest(-2), "limit must be"),
    ):
        with pytest.raises(InvalidInput, match=says):
            wrong()
    assert room.count() == 0


@pytest.mark.requirement("store.redis")
def test_a_lost_server_is_told_and_comes_back():
    with RedisServer() as server, RecentMessages(server.url(), room="r") as room:
        room.add("user", "kept")
        server.kill()
        for lost in (room.history, room.count, room.clear, lambda: room.add("user", "lost")):
            with pytest.raises(Unavailable, match="cannot be reached"):
                lost()
        server.start()
        assert contents_of(room) == ["kept"]
    with pytest.raises(Closed):
        room.count()


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("rememo.engine.redis_state.find_spec", nothing)
    with pytest.raises(MissingExtra, match=r"rememo\[redis\]"):
        RecentMessages("redis://localhost", room="r")


def test_it_can_be_awaited(places: RedisPrefixes):
    async def talk() -> list[str]:
        async with AsyncRecentMessages(places.lend(), room="r") as room:
            await room.add("user", "one")
            await asyncio.gather(*(room.add("user", f"more {number}") for number in range(5)))
            assert await room.count() == 6
            return [message.content for message in await room.history(1, 5)]

    assert asyncio.run(talk()) == ["one"]
