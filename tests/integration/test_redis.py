"""What a Redis server alone can show: its errors, its end and return, its clusters, and what is asked of it."""

import itertools
import json
import logging
import random
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.parse import quote

import pytest

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import (
    Closed,
    DiskFull,
    IncompatibleStore,
    InvalidInput,
    MissingExtra,
    RememoError,
    StorageError,
    Unavailable,
)
from rememo.model.health import Health
from rememo.observe.metrics import Metrics
from rememo.store.redis.embedded import connect, free_port
from rememo.testing import ManualClock
from rememo.testing.redis import RedisPrefixes, RedisServer

Start = Callable[..., "Popen[str]"]
SECRET = "s3cret-w0rd"  # noqa: S105 - of a server that lives for one test


def settings(url: str) -> Settings:
    return Settings(durability="fast", worker=False, kv=url)


def open_memory(url: str, path: Path | str = ":memory:") -> Memory:
    return Memory(path, embedder=None, settings=settings(url))


def health(memory: Memory) -> Health:
    return view_of(memory).engine.health()[0]  # what `doctor` and metrics show


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


# ---- opening


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("redis://127.0.0.1:1", Unavailable, r"redis://127\.0\.0\.1:1/0 cannot be reached .*see to the server"),
        (f"redis://ana:{SECRET}@127.0.0.1:1", Unavailable, "cannot be reached"),
        (f"redis://ana:{SECRET}@host:port", InvalidInput, "not an address of a Redis server"),
        (f"redis://:{SECRET}@[host", InvalidInput, "not an address of a Redis server"),
        ("redis://", InvalidInput, "names no host"),
        ("redis://host/first", InvalidInput, "the database 'first'; it has a number"),
        ("redis://host#part", InvalidInput, "#"),
        ("redis://host?prefix={a}", InvalidInput, "prefix must be"),
        ("redis://host?timeout=soon", InvalidInput, "timeout must be seconds"),
        ("redis://host?colour=red", InvalidInput, "knows no 'colour'"),
        ("unix://", InvalidInput, "whole path"),
        ("unix:///nowhere/redis.sock", Unavailable, "/nowhere/redis.sock"),
        ("mysql://host", InvalidInput, "begins with redis://, not 'mysql'"),
        ("localhost", InvalidInput, "begins with redis://.*write redis://localhost"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(
    url: str, error: type[RememoError], says: str, caplog: pytest.LogCaptureFixture
):
    with pytest.raises(error, match=says) as raised:
        open_memory(url)
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(settings(url))
    assert caplog.text == ""


def test_a_wrong_password_is_told_and_never_shown(caplog: pytest.LogCaptureFixture):
    with RedisServer("--requirepass", SECRET) as server:
        base = f"127.0.0.1:{server.port}"
        for login in ("", f":{SECRET}2@", f"nobody:{SECRET}@"):
            with pytest.raises(StorageError, match=r"refused the user or the password .*correct them") as raised:
                open_memory(f"redis://{login}{base}")
            assert SECRET not in str(raised.value)
        with open_memory(f"redis://:{quote(SECRET)}@{base}") as memory:
            memory.kv.set("k", 1)
            server.kill()
            with pytest.raises(Unavailable) as lost:
                memory.kv.get("k")
            assert SECRET not in f"{lost.value} {health(memory)} {caplog.text}"


def test_what_is_no_redis_server_is_told():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            taken, _ = listening.accept()
            with taken:
                taken.recv(1000)
                taken.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(IncompatibleStore, match="does not answer as a Redis server"):
            open_memory(f"redis://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()


def test_a_redis_server_is_no_store_of_records():
    with pytest.raises(InvalidInput, match=r"RecentMessages"):
        Memory("redis://localhost", embedder=None)


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("rememo.engine.redis_state.find_spec", nothing)
    with pytest.raises(MissingExtra, match=r"rememo\[redis\]"):
        open_memory("redis://localhost")


def test_what_it_holds_is_chosen_and_checked(places: RedisPrefixes):
    with pytest.raises(InvalidInput, match="kv_holds cannot have 'limits'"):
        Settings(kv_holds=("kv", "limits"))
    url = places.lend()
    with Memory(":memory:", embedder=None, settings=settings(url).but(kv_holds="flows")) as memory:
        memory.kv.set("k", 1)
        memory.flow("f", steps=["a"]).start("ana")
        with open_memory(url) as other:
            assert other.kv.get("k") is None
            assert other.flow("f", steps=["a"]).get("ana") is not None


def test_an_encrypted_memory_shows_a_server_nothing(tmp_path: Path):
    with pytest.raises(InvalidInput, match="would see it plain"):
        Memory(tmp_path / "a.db", encryption=Keyring(bytes(32)), settings=settings("redis://127.0.0.1:1"))


# ---- what is asked of the server


@pytest.mark.requirement("kv.invalidate-pattern", "store.redis")
def test_nothing_that_blocks_is_asked_of_it(server: RedisServer):
    with open_memory(server.url()) as memory, connect(server.port) as client:
        for number in range(3_000):
            memory.kv.set(f"user:{number}", number, ttl=600)
        assert len(memory.kv.keys("user:1*")) == 1_111
        assert memory.kv.invalidate("user:?") == 10
        assert memory.stats().keys == 2_990
        memory.erase(tenant=memory.bound.tenant)
        assert memory.stats().keys == 0
        asked = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
        assert "hscan" in asked
        assert not asked & {"keys", "flushdb", "flushall", "hgetall", "hkeys", "smembers"}
        assert list(client.scan_iter("*")) == [b"rememo:{default}:floor"]


@pytest.mark.requirement("store.redis")
def test_writing_sweeps_a_few_versions_of_what_has_expired(server: RedisServer):
    clock = ManualClock()
    opened = Memory(":memory:", embedder=None, settings=settings(server.url()), clock=clock)
    with opened as memory, connect(server.port) as client:
        for number in range(120):
            memory.kv.set(f"user:{number}", number, ttl=30)
        clock.advance(31)
        left: list[int] = []
        while len(left) < 2 or left[-1] < left[-2]:
            memory.kv.set("stays", len(left))
            left.append(client.hlen("rememo:{default}:index:[null,null,null]") - 1)
        assert left[-1] == 0, "all of them, by writing alone"
        steps = [before - after for before, after in itertools.pairwise([120, *left])]
        assert max(steps) <= 20, "no write pays for all"


@pytest.mark.requirement("store.redis")
def test_redis_itself_lets_go_of_what_has_expired(server: RedisServer):
    with open_memory(server.url()) as memory, connect(server.port) as client:
        memory.kv.set("short", 1, ttl=30)
        memory.kv.set("slides", 1, ttl=30, sliding=True)
        memory.kv.set("stays", 1)
        ends = {key.rpartition(b":")[2]: client.pttl(key) for key in client.scan_iter("*:value:*")}
        assert ends[b"stays"] == -1
        assert all(30_000 < ends[name] <= 90_000 for name in (b"short", b"slides"))
        memory.kv.delete("stays")
        # Now the namespace itself has an end.
        assert 0 < client.pttl("rememo:{default}:index:[null,null,null]") <= 8 * 86_400_000


def test_braces_in_a_tenants_name_do_not_move_it(places: RedisPrefixes):
    url = places.lend()
    with open_memory(url) as memory:
        names = ["a", "{a}", "a}b", "{", "}", "%7Ba%7D", "a{b}c"]
        for number, tenant in enumerate(names):
            memory.scope(tenant=tenant).kv.set("k", number)
        assert [memory.scope(tenant=tenant).kv.get("k") for tenant in names] == list(range(len(names)))


@pytest.mark.parametrize("pattern", ["k*", "[ab]*", "*é?", "[^k]*", "[z-a]", "[", "\\*", "k[0-9", "*\n*", "]", "[]]*"])
def test_patterns_mean_the_same_as_in_a_file(places: RedisPrefixes, pattern: str):
    with open_memory(places.lend()) as shared, Memory(":memory:", embedder=None) as file:
        for key in ("k1", "k\n2", "a", "b-", "café1", "\\x", "]x", "^", "z", "K1", "*", "caf🎈x"):
            shared.kv.set(key, 1)
            file.kv.set(key, 1)
        assert shared.kv.keys(pattern) == file.kv.keys(pattern)
        assert shared.kv.invalidate(pattern) == file.kv.invalidate(pattern)


def test_keys_of_another_program_are_left_alone(server: RedisServer):
    with open_memory(server.url()) as memory, connect(server.port) as client:
        client.set("rememo:{default}:index:[null,null,null]", "theirs")
        with pytest.raises(IncompatibleStore, match=r"another program .*prefix="):
            memory.kv.set("k", 1)


def test_a_server_without_memory_says_so(server: RedisServer):
    with open_memory(server.url()) as memory, connect(server.port) as client:
        memory.kv.set("k", 1)
        client.config_set("maxmemory", "1mb")

        def fill() -> None:
            for number in range(1_000):
                memory.kv.set(f"large {number}", "".join(random.choices("abcdef", k=20_000)))

        with pytest.raises(DiskFull, match=r"no memory left .*raise maxmemory"):
            fill()
        assert memory.kv.get("k") == 1
        assert health(memory).ok


def test_a_user_with_few_rights_is_told_which(server: RedisServer):
    with connect(server.port) as client:
        client.execute_command("ACL", "SETUSER", "ana", "on", ">pw", "~rememo:*", "+info", "+client")
        url = f"redis://ana:pw@127.0.0.1:{server.port}"
        with open_memory(url) as memory:
            with pytest.raises(StorageError, match="does not let this user do that"):
                memory.kv.set("k", 1)
            client.execute_command("ACL", "SETUSER", "ana", "+@read", "+@write", "+@scripting", "+@connection")
            memory.kv.set("k", 1)
            assert memory.kv.keys() == ["k"]


# ---- many at once


@pytest.mark.requirement("process.safe", "store.redis")
def test_a_shared_counter_counts_every_process(places: RedisPrefixes, tmp_path: Path, start: Start):
    url = places.lend()
    # A file of its own for each: what they share is on the server.
    counters = [start("count_up", tmp_path / f"{number}.db", 200, url) for number in range(2)]
    for counter in counters:
        assert counter.stdout is not None
        assert json.loads(counter.stdout.readline()) == "ready"
    for counter in counters:
        assert counter.stdin is not None
        counter.stdin.write("go\n")
    for counter in counters:
        assert counter.stdout is not None
        assert json.loads(counter.stdout.readline()) == "done"
    with open_memory(url) as memory:
        assert memory.kv.get("counter") == memory.kv.version("counter") == 400


@pytest.mark.requirement("store.redis")
def test_on_a_cluster_a_tenant_is_on_one_node():
    buses = free_port(), free_port()
    with RedisServer(*in_cluster(buses[0])) as first, RedisServer(*in_cluster(buses[1])) as second:
        join(first, second, buses[1])
        with open_memory(first.url()) as memory:
            for tenant in ("a", "b", "c", "d{e}"):
                view = memory.scope(tenant=tenant)
                for key in ("x", "y", "z"):
                    assert view.kv.set(key, tenant, ttl=60) == 1
                assert view.kv.compare_and_set("x", 2, expected_version=1) == 2
                assert view.kv.keys() == ["x", "y", "z"]
                assert view.stats().keys == 3
                assert view.kv.invalidate("[xy]") == 2
                assert view.kv.get("z") == tenant
        for node in (first, second):
            with connect(node.port) as client:
                assert client.dbsize() > 0


def in_cluster(bus: int) -> tuple[str, ...]:
    # The port that they would choose for each other may be too high.
    return "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", str(bus)


def join(first_server: RedisServer, second_server: RedisServer, bus: int) -> None:
    """Make a cluster of two, each with half of the slots, and wait until both know it."""
    with connect(first_server.port) as first, connect(second_server.port) as second:
        first.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
        second.execute_command("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
        second.execute_command("CLUSTER", "SET-CONFIG-EPOCH", 2)
        first.execute_command("CLUSTER", "MEET", "127.0.0.1", second_server.port, bus)
        wait_until(lambda: ready(first) and ready(second))


def ready(client: Any) -> bool:
    told = client.execute_command("CLUSTER", "INFO")
    return b"cluster_state:ok" in told and b"cluster_known_nodes:2" in told


# ---- its end and its return


@pytest.mark.requirement("store.redis")
def test_a_lost_server_takes_nothing_that_must_not_be_lost(
    server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "rememo.redis")
    kept = {"helper": "small"}
    with open_memory(server.url(), tmp_path / "a.db") as memory:
        room = memory.scope(user="ana", room="r")
        configs = memory.kv.cached("config", kept.__getitem__, save=kept.__setitem__)
        flow = memory.flow("order", steps=["a", "b"])
        memory.kv.set("k", 1)
        flow.start("ana")
        assert configs.get("helper") == "small"
        memory.profiles.update("ana", colour="green")
        room.messages.limit(max_messages=50)
        assert health(memory).ok

        server.kill()
        for lost in (
            lambda: memory.kv.get("k"),
            lambda: memory.kv.set("k", 2),
            memory.kv.keys,
            lambda: memory.kv.update("k", lambda value: value + 1),
            lambda: flow.get("ana"),
            lambda: flow.advance("ana"),
        ):
            with pytest.raises(Unavailable, match=r"cannot be reached .*try again"):
                lost()
        # What must not be lost goes on.
        room.messages.add("user", "I live in Lisbon.")
        assert [message.content for message in room.messages.history()] == ["I live in Lisbon."]
        assert (profile := memory.profiles.update("ana", size="M")) == memory.profiles.get("ana")
        assert profile.fields == {"colour": "green", "size": "M"}
        limits = room.messages.limits()
        assert limits is not None
        assert limits.max_messages == 50
        memory.sessions.save("evening")
        assert [session.name for session in memory.sessions.list()] == ["evening"]
        assert memory.stats().records == 1
        assert memory.maintain().reclaimed == 0
        # A cache reads where it is a copy of; an old copy must not come back, so writing says that it may.
        assert configs.get("helper") == "small"
        with pytest.raises(Unavailable):
            configs.set("helper", "large")
        state = room.compose("where does she live?")
        assert "Lisbon" in state.text
        assert [failure.name for failure in state.failures] == ["flows"]

        assert not health(memory).ok
        assert health(memory).failures >= 6
        assert "records and whatever else is in the store go on" in health(memory).says
        assert caplog.text.count("cannot be reached") == 1
        metrics = Metrics(memory).render().decode()
        assert 'rememo_server_up{server="kv"} 0.0' in metrics
        assert 'rememo_server_failures_total{server="kv"}' in metrics

        server.start()
        assert memory.kv.get("k") == 1
        assert (state := flow.get("ana")) is not None
        assert state.step == "a"
        assert (health(memory).ok, health(memory).says, health(memory).since) == (True, "", None)
        assert caplog.text.count("/0 is back") == 1
        assert 'rememo_server_up{server="kv"} 1.0' in Metrics(memory).render().decode()
        configs.forget("helper")
        assert configs.get("helper") == "large"


@pytest.mark.requirement("store.redis")
def test_a_server_killed_under_load_loses_no_write_that_was_told(server: RedisServer):
    told, failed = [0] * 4, [0] * 4
    enough = threading.Event()

    def count(place: int) -> None:
        with open_memory(server.url()) as memory:
            while not enough.is_set():
                try:
                    memory.kv.update(f"n{place}", lambda value: value + 1, default=0)
                    told[place] += 1
                except Unavailable:
                    failed[place] += 1

    threads = [threading.Thread(target=count, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        wait_for_more(told, 200)
        server.kill()
        wait_for_more(failed, 4)
        server.start()
    wait_for_more(told, 200)
    enough.set()
    for thread in threads:
        thread.join()
    with open_memory(server.url()) as memory:
        for place in range(4):
            # One that broke off in the middle may have been done: it was told as unknown, at most once for each kill.
            assert told[place] <= memory.kv.get(f"n{place}") <= told[place] + 3
            assert memory.kv.version(f"n{place}") == memory.kv.get(f"n{place}")


def wait_for_more(counts: list[int], more: int) -> None:
    goal = sum(counts) + more
    wait_until(lambda: sum(counts) > goal)


def wait_until(done: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not done():
        pause.wait(0.005)


def test_a_server_that_comes_back_empty_is_filled_again(server: RedisServer):
    with open_memory(server.url()) as memory:
        memory.kv.set("k", 1)
        memory.profiles.update("ana", colour="green")
        server.kill()
        server.forget()
        server.start()
        assert memory.kv.get("k") is None
        assert memory.kv.set("k", 2) == 1
        assert memory.profiles.get("ana") is not None


def test_a_server_that_hangs_is_not_waited_for_by_every_call(server: RedisServer):
    with open_memory(server.url() + "&timeout=0.3") as memory:
        memory.kv.set("k", 1)
        server.pause()
        with pytest.raises(Unavailable, match="a write may have been done or not"):
            memory.kv.set("k", 2)
        with pytest.raises(Unavailable, match="tried again in a moment"):
            memory.kv.get("k")
        server.resume()
        wait_until(lambda: back(memory))
        assert memory.kv.get("k") in (1, 2)


def back(memory: Memory) -> bool:
    try:
        memory.kv.keys()
    except Unavailable:
        return False
    return health(memory).ok


def test_a_closed_memory_says_so(places: RedisPrefixes):
    memory = open_memory(places.lend())
    memory.close()
    memory.close()
    with pytest.raises(Closed):
        memory.kv.get("k")


def test_a_session_that_leaves_nothing_leaves_nothing_on_the_server(places: RedisPrefixes):
    with open_memory(places.lend()) as memory:
        memory.kv.set("k", 1)
        with memory.sessions.run("secret", clear=True) as working:
            working.context.set("word", "hidden")
            assert view_of(working).engine.plain_kv is not view_of(memory).engine.plain_kv
        assert memory.kv.keys() == ["k"]
        assert memory.stats().keys == 1
