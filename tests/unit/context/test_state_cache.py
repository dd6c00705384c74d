"""The cache of composed states: within its bounds, and never a state that does not hold."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rememo import Memory, Settings
from rememo.context.providers import ProviderRequest
from rememo.context.state import State
from rememo.context.state_cache import LIFE, MOST_STATES, CachedState, StateCache, StateSources
from rememo.model.scope import Scope
from rememo.testing.clock import START, ManualClock

REACH = StateSources(who=Scope(), records=(), reads=())


def held(moment: datetime, size: int = 1) -> CachedState:
    state = State(text="x" * size, values="", data="", left_out=(), at=moment)
    return CachedState(state, REACH, None, moment)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> Iterator[Memory]:
    settings = Settings(worker=False, durability="fast")
    with Memory(tmp_path / "m.db", embedder=None, clock=clock, settings=settings) as memory:
        yield memory


# ---- its bounds


@pytest.mark.requirement("state.cache")
def test_a_thousand_states_the_oldest_out_first():
    cache = StateCache()
    for number in range(MOST_STATES + 10):
        cache.put(number, held(START))
    assert len(cache) == MOST_STATES == 1_000
    assert cache.get(9, START) is None
    assert cache.get(10, START) is not None


@pytest.mark.requirement("state.cache")
def test_five_minutes_and_swept_every_minute():
    cache = StateCache()
    assert timedelta(minutes=5) == LIFE
    cache.put("old", held(START))
    assert cache.get("old", START + timedelta(seconds=299)) is not None
    cache.put("young", held(START + timedelta(seconds=290)))
    assert cache.get("old", START + timedelta(seconds=300)) is None
    assert len(cache) == 2, "swept less than a minute ago"
    assert cache.get("young", START + timedelta(seconds=360)) is not None
    assert len(cache) == 1


class CacheMachine(RuleBasedStateMachine):
    """The cache beside a plain list of what was put."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = StateCache(most=4, most_bytes=100)
        self.model: list[tuple[int, CachedState]] = []
        self.now = START

    @rule(seconds=st.integers(-30, 400))
    def time_goes_on(self, seconds: int):
        self.now += timedelta(seconds=seconds)

    @rule(key=st.integers(0, 6), size=st.integers(0, 120))
    def put(self, key: int, size: int):
        cached = held(self.now, size)
        self.cache.put(key, cached)
        if size <= 100:
            self.model = [*((k, h) for k, h in self.model if k != key), (key, cached)]
            while len(self.model) > 4 or sum(h.state.bytes for _, h in self.model) > 100:
                self.model.pop(0)

    @rule(key=st.integers(0, 6))
    def drop(self, key: int):
        self.cache.drop(key)
        self.model = [(k, h) for k, h in self.model if k != key]

    @rule()
    def sweep(self):
        self.cache.sweep(self.now)
        self._forget_old()

    @rule(key=st.integers(0, 6))
    def get(self, key: int):
        expected = next((h for k, h in self.model if k == key and self._young(h)), None)
        assert self.cache.get(key, self.now) is expected

    def _young(self, cached: CachedState) -> bool:
        return timedelta() <= self.now - cached.since < LIFE

    def _forget_old(self) -> None:
        self.model = [(k, h) for k, h in self.model if self._young(h)]

    @invariant()
    def bounds_are_kept(self):
        # Sweeping by `get` may have taken old ones out, which nobody can see; what is left is what the model holds.
        left = [(k, h) for k, h in self.model if k in self.cache]
        assert all(not self._young(h) for k, h in self.model if k not in self.cache)
        self.model = left
        assert len(self.cache) == len(left) <= 4
        assert self.cache.bytes == sum(h.state.bytes for _, h in left) <= 100


TestCache = CacheMachine.TestCase


# ---- what makes a state old


def counted(memory: Memory) -> list[str]:
    """Return where a provider notes that it was asked."""
    asked_for: list[str] = []

    @memory.provider("counts")
    def counts(request: ProviderRequest[Memory]) -> str:
        asked_for.append(request.text)
        return "x"

    return asked_for


@pytest.mark.requirement("state.cache")
def test_the_same_message_is_composed_once(memory: Memory, clock: ManualClock):
    requests = counted(memory)
    chat = memory.scope(user="alice", room="r")
    message = chat.messages.get(chat.messages.add("user", "hello").id)
    first = chat.compose(message)
    clock.advance(200)
    again = chat.compose(message.record)
    assert (first.cached, again.cached) == (False, True)
    assert again == first
    assert again.at == first.at
    assert requests == ["hello"]
    chat.compose("hello")
    chat.compose("hello", exclude="time")
    chat.compose("hello", include=["counts"])
    memory.scope(user="alice").compose("hello")
    assert len(requests) == 5
    assert chat.compose("hello", include=["counts"]).cached
    assert not chat.compose("hello", fresh=True).cached
    clock.advance(300)
    assert not chat.compose(message).cached


def test_long_messages_are_told_apart(memory: Memory):
    memory.providers.add("echo", lambda request: request.text)
    long = "x" * 100_000
    assert memory.compose(long, include="echo").text == long
    assert memory.compose(long + "y", include="echo").text == long + "y"
    assert memory.compose(long, include="echo").cached


@pytest.mark.requirement("state.cache")
def test_a_write_within_reach_makes_it_old_and_one_elsewhere_does_not(memory: Memory, clock: ManualClock):
    chat = memory.scope(user="alice", agent="helper", room="r")
    id = chat.messages.add("user", "hello").id
    writes: list[Any] = [
        lambda: chat.messages.add("user", "more"),
        lambda: memory.scope(user="alice", agent="helper", room="another").add("a note"),
        lambda: chat.update(id, metadata={"a": 1}),
        lambda: chat.update(id, pinned=True),
        lambda: chat.delete(id),
        lambda: chat.goals.add("a goal"),
        lambda: chat.rollback(clock() - timedelta(seconds=3)),
        lambda: memory.profiles.update("alice", name="Alice"),
        lambda: memory.scope(agent="helper").profiles.update("alice", name="Al"),
        lambda: chat.profiles.update("alice", name="A"),
        lambda: chat.profiles.forget("alice"),
        chat.clear,
    ]
    for number, write in enumerate(writes):
        chat.compose("hello")
        assert chat.compose("hello").cached, number
        clock.advance(1)
        write()
        assert not chat.compose("hello").cached, number
    elsewhere: list[Any] = [
        lambda: memory.scope(user="bob", agent="helper", room="r").add("a note"),
        lambda: memory.scope(tenant="other").add("a note"),
        lambda: memory.profiles.update("bob", name="Bob"),
    ]
    chat.compose("hello")
    for write in elsewhere:
        clock.advance(1)
        write()
        assert chat.compose("hello").cached


def test_of_a_user_in_a_group_both_the_room_and_the_users_rooms_are_within_reach(memory: Memory):
    group = memory.scope(room="group", agent="helper")
    alice = memory.scope(user="alice", agent="helper", room="alone")
    writes: list[Any] = [
        lambda: memory.scope(room="group", agent="helper", user="bob").messages.add("user", "hello all"),
        lambda: alice.messages.add("user", "hello helper"),
        lambda: memory.profiles.update("alice", name="Alice"),
    ]
    for write in writes:
        group.compose("hello", user="alice")
        assert group.compose("hello", user="alice").cached
        write()
        assert not group.compose("hello", user="alice").cached
    group.compose("hello")
    alice.add("another note")
    assert group.compose("hello").cached
    assert not group.compose("hello", user="bob").cached


@pytest.mark.requirement("state.cache")
def test_what_expires_is_gone_at_once(memory: Memory, clock: ManualClock):
    chat = memory.scope(user="alice", room="r")
    chat.add("a note that passes", kind="message", data={"role": "user"}, ttl=30)
    assert "that passes" in chat.compose("hello").text
    clock.advance(29)
    assert chat.compose("hello").cached
    clock.advance(1)
    state = chat.compose("hello")
    assert "that passes" not in state.text
    assert not state.cached


def test_a_write_while_it_is_composed_makes_it_old(memory: Memory):
    chat = memory.scope(user="alice", room="r")

    @chat.provider("writes")
    def writes(request: ProviderRequest[Memory]) -> None:
        request.memory.add("a note")

    chat.compose("hello")
    assert not chat.compose("hello").cached


@pytest.mark.requirement("state.cache")
def test_another_memory_on_the_same_file_is_noticed(memory: Memory, tmp_path: Path, clock: ManualClock):
    with Memory(tmp_path / "m.db", embedder=None, clock=clock) as other:
        chat, theirs = memory.scope(user="alice", room="r"), other.scope(user="alice", room="r")
        chat.compose("hello")
        assert chat.compose("hello").cached
        theirs.messages.add("user", "from over there", learn=False)
        assert "from over there" in chat.compose("hello").text
        assert chat.compose("hello").cached
        other.profiles.update("alice", name="Alice")
        assert "name: Alice" in chat.compose("hello").text


def test_changes_of_providers_count(memory: Memory):
    memory.compose("hello")
    memory.providers.add("new", lambda _: "news")
    assert "news" in memory.compose("hello").text
    memory.providers.remove("new")
    assert "news" not in memory.compose("hello").text
    memory.providers.remove("time")
    assert memory.compose("hello").text == ""


def test_maintain_sweeps(memory: Memory, clock: ManualClock):
    memory.compose("hello")
    cache = memory._composer._process_state.cache  # pyright: ignore[reportPrivateUsage] - nothing of it is seen from outside
    assert len(cache) == 1
    clock.advance(301)
    memory.maintain()
    assert len(cache) == 0


def test_a_clock_that_was_set_back_keeps_nothing_longer(memory: Memory, clock: ManualClock):
    memory.compose("hello")
    clock.advance(-3600)
    assert not memory.compose("hello").cached
