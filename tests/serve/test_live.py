"""Live changes: each one once, in order, from whichever process, resumed without a loss; whoever does not read is dropped."""

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import listening

from rememo import Memory, Settings
from rememo.client import Client
from rememo.client.change_stream import parse_events
from rememo.errors import InvalidInput, Unauthorised, Unavailable
from rememo.serve.app import create_app
from rememo.serve.auth import ApiKeys
from rememo.serve.listen import listen
from rememo.serve.server import Server
from rememo.serve.service import ServerOptions
from rememo.testing import ManualClock

STREAM = {"Accept": "text/event-stream"}
QUICK: dict[str, Any] = {"poll": 0.02, "heartbeat": 0.05}
WRITE = "import sys; from rememo import Memory\nwith Memory(sys.argv[1], embedder=None) as m: m.add(sys.argv[2], id=sys.argv[2])"


@pytest.fixture
def address(serve: Any) -> str:
    return serve(**QUICK)


def wait_until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        threading.Event().wait(0.01)


def text_of(change: Any) -> tuple[str, str]:
    return change.outcome, change.record.text


def test_each_change_is_told_as_it_is_made(address: str, memory: Memory):
    memory.add("before", id="old")
    with Client(address) as client:
        ana = client.scope(user="ana").live()
        every = client.live()
        memory.scope(user="ana").add("one", id="a")
        memory.add("hers not", id="b")
        memory.update("a", text="two")
        memory.delete("a")
        assert [text_of(change) for change in islice(ana, 3)] == [
            ("added", "one"),
            ("updated", "two"),
            ("deleted", "two"),
        ]
        told = list(islice(every, 4))
        assert [change.id for change in told] == ["a", "b", "a", "a"]
        assert [text_of(change) for change in islice(client.live(after=told[1].cursor), 2)] == [
            ("updated", "two"),
            ("deleted", "two"),
        ]
        begun = client.live(after=told[0].at)
        assert next(begun).id == "b"
        for follower in (ana, every, begun):
            follower.close()


def test_events_as_they_stand_on_the_line(address: str, memory: Memory):
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as web:
        with web.stream("GET", "/v1/changes", headers=STREAM) as answer:
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            lines = answer.iter_lines()
            assert next(lines) == "retry: 1000"
            told = parse_events(lines)
            start, name, _ = next(told)
            assert name == "ready"
            memory.add("one\ntwo", id="a")
            cursor, name, data = next(told)
            assert (name, json.loads(data)["record"]["text"]) == ("changed", "one\ntwo")
        # Nothing is lost between two lines.
        memory.add("meanwhile", id="b")
        for last, expected in ((cursor, ["b"]), (start, ["a", "b"])):
            with web.stream("GET", "/v1/changes", headers=STREAM | {"Last-Event-ID": last}) as answer:
                told = parse_events(answer.iter_lines())
                assert next(told)[1] == "ready"
                assert [json.loads(next(told)[2])["id"] for _ in expected] == expected
        with web.stream("GET", "/v1/changes", headers=STREAM) as answer:
            assert ": still here" in islice(answer.iter_lines(), 20)
        page = web.get("/v1/changes", params={"after": cursor}).json()
        assert [item["id"] for item in page["items"]] == ["b"]
        for bad in (
            {"after": "x"},
            {"as_of": "2026-05-01T00:00:00Z"},
            {"nonsense": "1"},
            {"after": "2026-05-01T00:00"},
        ):
            assert web.get("/v1/changes", params=bad, headers=STREAM).json()["error"]["code"] == "invalid_input"


def test_what_another_process_writes_is_told(tmp_path: Path, running: Any):
    path = str(tmp_path / "a.db")
    with (
        Memory(path, embedder=None, settings=Settings(durability="fast")) as memory,
        running(memory, ServerOptions(poll=0.02)) as address,
        Client(address) as client,
    ):
        changes = client.live()
        subprocess.run([sys.executable, "-c", WRITE, path, "far"], check=True)
        assert next(changes).id == "far"
        changes.close()


def test_a_key_sees_its_own_and_ends_with_its_right(serve: Any, memory: Memory, keys: ApiKeys, clock: ManualClock):
    key, text = keys.add(user="ana", rights=["read"])
    _, writer = keys.add(rights=["write"])
    address = serve(**QUICK)
    with pytest.raises(Unauthorised), Client(address) as client:
        client.live()
    with Client(address, writer) as client, pytest.raises(Exception, match="lacks the right 'read'"):
        client.live()
    with Client(address, text) as client:
        with pytest.raises(Exception, match="bound to user"):
            client.scope(user="bo").live()
        changes = client.live()
        memory.scope(user="bo").add("not hers")
        memory.scope(user="ana").add("hers", id="a")
        assert next(changes).id == "a"
        keys.revoke(key.id)
        with pytest.raises(Unauthorised, match="revoked"):
            next(changes)


class Relay:
    """Stands between a client and a server, and cuts their lines when told."""

    def __init__(self, address: str) -> None:
        self._far = httpx.URL(address)
        self._front = socket.create_server(("127.0.0.1", 0))
        self._lines: list[socket.socket] = []
        self.address = f"http://127.0.0.1:{self._front.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all lines."""
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take no more."""
        with suppress(OSError):
            self._front.shutdown(socket.SHUT_RDWR)
        self._front.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._front.accept()
                far = socket.create_connection((self._far.host, self._far.port or 80))
                self._lines += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


def test_a_broken_line_is_taken_up_again(address: str, memory: Memory):
    with closing(Relay(address)) as relay, Client(relay.address) as client:
        changes = client.live()
        memory.add("one", id="a")
        assert next(changes).id == "a"
        relay.cut()
        memory.add("two", id="b")
        memory.add("three", id="c")
        assert [next(changes).id, next(changes).id] == ["b", "c"]
        changes.close()


def test_only_so_many_follow(serve: Any, memory: Memory):
    with Client(serve(streams=1, **QUICK)) as client:
        first = client.live()
        with pytest.raises(Unavailable, match="streams"):
            client.live()
        memory.add("one", id="a")
        assert next(first).id == "a"
        first.close()


@pytest.mark.parametrize("comes_back", [True, False])
def test_whoever_does_not_read_is_told_and_dropped(
    serve: Any, memory: Memory, caplog: pytest.LogCaptureFixture, comes_back: bool
):
    address = httpx.URL(serve(stall=1 if comes_back else 0.1, **QUICK))
    with socket.socket() as line, caplog.at_level(logging.INFO, "rememo.serve"):
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.settimeout(30)
        line.connect((address.host, address.port))
        line.sendall(b"GET /v1/changes HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
        assert b"200 OK" in line.recv(100)
        for number in range(20):
            memory.add("x" * 500_000, id=str(number))
        seen = "has not read" if comes_back else "GET /v1/changes"
        ends = time.monotonic() + 30
        while not any(seen in record.getMessage() for record in caplog.records):
            assert time.monotonic() < ends, "nobody was cut off"
            time.sleep(0.01)
        told = b""
        while data := line.recv(1_000_000):
            told = (told + data)[-2_000:]
    assert (b"event: dropped" in told, b"Last-Event-ID" in told) == (comes_back, comes_back)


def test_followers_leave_when_the_server_stops(memory: Memory):
    listening = listen("127.0.0.1", 0)
    server = Server(create_app(memory, ServerOptions(**QUICK)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with httpx.stream("GET", f"{address}/v1/changes", headers=STREAM, timeout=30, trust_env=False) as answer:
        told = parse_events(answer.iter_lines())
        assert next(told)[1] == "ready"
        server.should_exit = True
        assert [name for _, name, _ in told] == ["stopping"]
    thread.join(10)
    assert not thread.is_alive()
    listening.close()


def test_a_bad_place_to_begin_is_refused_here(address: str):
    with Client(address) as client, pytest.raises(InvalidInput):
        client.live(after="nonsense")


def test_a_follower_that_has_left_leaves_nothing_behind(memory: Memory):
    app = create_app(memory, ServerOptions(poll=0.02, heartbeat=30))
    waiting: Any = app.state.service.stopping
    with listening(Server(app)) as address, httpx.Client(base_url=address, timeout=30, trust_env=False) as web:
        for _ in range(3):
            with web.stream("GET", "/v1/changes", headers=STREAM) as events:
                lines = events.iter_lines()  # which closes the stream when it is forgotten
                assert next(lines).startswith("retry")
                wait_until(lambda: waiting._waiters)  # it waits for changes, or for the server to stop
        wait_until(lambda: not waiting._waiters)
