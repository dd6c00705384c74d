"""Bad connections: slow, endless, malformed or silent; each gets the same error shape, and others are not delayed."""

import json
import logging
import socket
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from rememo import Change, Memory
from rememo.serve.app import create_app
from rememo.serve.listen import listen
from rememo.serve.server import Server

WELL = b'{"status":"ok"}'
HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def line(address: str) -> Generator[socket.socket]:
    """Speak to a server without anything that would make it proper."""
    place = httpx.URL(address)
    with socket.create_connection((place.host, place.port or 80), 30) as open_line:
        yield open_line


def heard(open_line: socket.socket) -> bytes:
    """Return all that comes until the line is closed."""
    told = b""
    try:
        while data := open_line.recv(65_536):
            told += data
    except ConnectionResetError:
        pass
    return told


def until(open_line: socket.socket, what: bytes) -> bytes:
    """Return all that comes until something has come."""
    told = b""
    while what not in told:
        data = open_line.recv(65_536)
        assert data, f"the line was closed after {told!r}"
        told += data
    return told


def fault(told: bytes) -> tuple[int, str]:
    """Return the status and the code of an answer, which must have the one shape and all headers."""
    head, _, body = told.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    assert "content-type: application/json" in lines
    assert "x-content-type-options: nosniff" in lines
    assert any(line.startswith("x-request-id: ") for line in lines)
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "detail"}
    assert error["message"]
    return int(lines[0].split()[1]), error["code"]


def test_a_head_that_does_not_come_is_given_up(serve: Any):
    address = serve(head_seconds=0.1)
    for begun in (b"", b"GET /v1/records HTTP/1.1\r\nX-Slow: ", b"\r\n"):
        with line(address) as slow:
            slow.sendall(begun)
            assert fault(heard(slow)) == (408, "too_slow")
    with line(address) as kept:
        kept.sendall(HEAD + b"\r\n")
        assert b"200 OK" in until(kept, WELL)
        kept.sendall(b"\r\n")
        assert fault(heard(kept)) == (408, "too_slow")
    assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200


@pytest.mark.parametrize("more", [b"", b"\r\n", b"GET /healthz HT"])
def test_an_answer_may_take_longer_than_a_head(serve: Any, memory: Memory, more: bytes):
    address = serve(head_seconds=0.1)
    with line(address) as following:
        following.sendall(b"GET /v1/changes HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n" + more)
        until(following, b"event: ready")
        for _ in range(3):  # others, whose heads are given up, one after the other
            with line(address) as slow:
                assert fault(heard(slow)) == (408, "too_slow")
        memory.add("one more")
        assert b"HTTP/1.1 408" not in until(following, b"one more")


def test_a_body_that_does_not_come_is_given_up(serve: Any):
    address = serve(body_seconds=0.1)
    for path, kind in (("records", "application/json"), ("import", "application/x-ndjson")):
        with line(address) as slow:
            slow.sendall(
                f"POST /v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Content-Type: {kind}\r\nContent-Length: 99\r\n\r\n{{".encode()
            )
            assert fault(heard(slow)) == (408, "too_slow")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (HEAD + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n", (431, "headers_too_large")),
        (HEAD + b"X-Endless: " + b"x" * 200_000, (431, "headers_too_large")),
        (HEAD + b"a: b\r\n" * 300 + b"\r\n", (431, "headers_too_large")),
        (b"GET /v1/records?user=" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (414, "address_too_long")),
        (b"\x00" * 100, (400, "bad_request")),
        (b"BREW /v1/records HTTP/1.1\r\n\r\n", (400, "bad_request")),
        (b"GET /v1/records HTTP/9.9\r\n\r\n", (400, "bad_request")),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", (400, "bad_request")),
        (HEAD + b"X-Bad\x00: 1\r\n\r\n", (400, "bad_request")),
        (HEAD + b"Content-Length: -1\r\n\r\n", (400, "bad_request")),
        (HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", (400, "bad_request")),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", (400, "bad_request")),
    ],
    ids=range(12),
)
def test_a_crooked_head_is_told(serve: Any, sent: bytes, expected: tuple[int, str]):
    address = serve()
    with line(address) as crooked:
        crooked.sendall(sent)
        told = heard(crooked)
    # Where a good head was answered already, the bad rest comes after.
    last = told[told.rindex(b"HTTP/1.1 4") :]
    assert fault(last) == expected
    assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../healthz", "/v1/./records", "/v1//records", "//v1/records", "/v1/records/..", "/v1/%2e%2e/healthz",
        "/V1/records", "/v1/records;a=b", "/v1/records/a/../../kv", "/v1\\records", "/healthz/", "/v1/records%00",
        "/v1%2Frecords", "/%76%31/records",
    ],
)  # fmt: skip
def test_no_path_is_bent_into_another(serve: Any, memory: Memory, path: str):
    memory.add("here", id="..")
    with line(serve()) as tricky:
        tricky.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        told = heard(tricky)
    if path == "/v1/records/..":  # an id like any other
        assert b'"text":"here"' in told
    else:
        assert fault(told) == (404, "no_such_route")


def test_requests_in_one_go_are_answered_in_their_order(serve: Any):
    with line(serve()) as busy:
        busy.sendall(HEAD + b"\r\n" + b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        told = heard(busy)
    assert told.index(b"200 OK") < told.index(b"404 Not Found")


def test_one_line_too_many_is_told_to_come_back(serve: Any):
    address = serve(connections=1)
    with line(address) as first:
        first.sendall(HEAD + b"\r\n")
        assert b"200 OK" in until(first, WELL)
        with line(address) as second:
            told = heard(second)
            assert fault(told) == (503, "unavailable")
            assert b"retry-after: 1" in told
        first.sendall(HEAD + b"\r\n")
        assert b"200 OK" in until(first, WELL)


def test_whoever_does_not_read_is_cut_off(serve: Any, memory: Memory, caplog: pytest.LogCaptureFixture):
    for number in range(20):
        memory.add("x" * 900_000, id=str(number))
    address = serve(stall=0.1)
    place = httpx.URL(address)
    with socket.socket() as silent, caplog.at_level(logging.WARNING, "rememo.serve"):
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        silent.connect((place.host, place.port or 80))
        silent.sendall(b"GET /v1/records HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        ends = time.monotonic() + 60
        while not any("is disconnected" in record.getMessage() for record in caplog.records):
            assert time.monotonic() < ends, "nobody was cut off"
            time.sleep(0.01)
    assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200


def test_a_head_request_has_no_body(serve: Any):
    answer = httpx.head(f"{serve()}/healthz", trust_env=False)
    assert (answer.status_code, answer.content) == (405, b"")


def test_what_is_under_way_ends_before_the_server_does(memory: Memory):
    begun, over = threading.Event(), threading.Event()

    @memory.hooks.on_change
    def hold(_: Change) -> None:
        begun.set()
        over.wait(30)

    listening = listen("127.0.0.1", 0)
    server = Server(create_app(memory))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=address, timeout=60, trust_env=False) as web:
        under_way = pool.submit(web.post, "/v1/records", json={"text": "kept"})
        assert begun.wait(30)
        server.should_exit = True
        while True:  # until no more is taken
            try:
                httpx.get(f"{address}/healthz", trust_env=False, timeout=30)
            except httpx.HTTPError:
                break
        assert thread.is_alive()
        over.set()
        assert under_way.result(30).status_code == 201
    thread.join(30)
    assert not thread.is_alive()
    listening.close()
    memory.hooks.remove(hold)
    assert [record.text for record in memory.list()] == ["kept"]
