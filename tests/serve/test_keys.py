"""Keys: what they open, how they end, and that their text is nowhere."""

import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest

from rememo import Change, Memory
from rememo.errors import InvalidInput, NotFound, RateLimited, Unauthorised
from rememo.serve.auth import ApiKeys
from rememo.serve.limits import RateLimit
from rememo.serve.loopback import is_loopback
from rememo.testing import ManualClock


@pytest.fixture
def address(serve: Any) -> str:
    return serve()


@pytest.fixture
def web(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
        yield client


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_the_first_key_closes_the_door(web: httpx.Client, keys: ApiKeys):
    assert web.get("/v1/records").status_code == 200
    _, text = keys.add()
    refused = web.get("/v1/records")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorised")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert web.get("/v1/records", headers=bearer(text)).status_code == 200
    keys.revoke(keys.list()[0].id)
    assert web.get("/v1/records").status_code == 401, "the last key that is revoked opens nothing"
    assert web.get("/healthz").status_code == 200


def test_an_open_server_answers_those_only_who_mean_it(web: httpx.Client):
    assert web.get("/v1/records", headers={"Host": "evil.example"}).status_code == 401
    assert web.get("/v1/records", headers={"Host": "localhost:80"}).status_code == 200
    assert is_loopback("127.0.0.1")
    assert is_loopback("[::1]")
    assert not is_loopback("0.0.0.0")  # noqa: S104 - that is the point
    assert not is_loopback("127.0.0.1.evil.example")


@pytest.mark.parametrize(
    ("header", "elsewhere", "here"),
    [
        ("X-Forwarded-For", ["203.0.113.5", "127.0.0.1, 203.0.113.5", "203.0.113.5, 127.0.0.1", "unknown", ""], "127.0.0.1"),
        ("X-Real-IP", ["203.0.113.5", "2001:db8::1", "203.0.113.5:443", ""], "::1"),
        ("Forwarded", ["for=203.0.113.5", 'by=127.0.0.1;for="[2001:db8::1]:443"', "for=127.0.0.1, for=203.0.113.5",
                       "For=_hidden", "proto=https", ""], 'for="[::1]:80";proto=http'),
        ("CF-Connecting-IP", ["203.0.113.5"], "127.0.0.1"),
    ],
)  # fmt: skip
def test_an_open_server_does_not_take_those_for_local_who_come_through_a_proxy(
    web: httpx.Client, keys: ApiKeys, header: str, elsewhere: list[str], here: str
):
    for value in elsewhere:
        refused = web.get("/v1/records", headers={header: value})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorised"), value
        assert "proxy" in refused.json()["error"]["message"]
        assert web.get("/v1/records", headers={header: value, "Authorization": "Token x"}).status_code == 401
    assert web.get("/v1/records", headers={header: here}).status_code == 200
    _, text = keys.add()
    assert web.get("/v1/records", headers={header: elsewhere[0], **bearer(text)}).status_code == 200


def test_an_open_server_does_not_answer_a_proxy_that_names_nobody(web: httpx.Client):
    assert web.get("/v1/records", headers={"Via": "1.1 gateway"}).status_code == 401
    for name, value in (
        ("X-Forwarded-Host", "example.org"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Port", "443"),
    ):
        assert web.get("/v1/records", headers={name: value}).status_code == 401
        # One that says it speaks for somebody here is as good as no proxy.
        assert web.get("/v1/records", headers={name: value, "X-Forwarded-For": "127.0.0.1"}).status_code == 200


def test_what_a_key_is_refused_is_noted(web: httpx.Client, memory: Memory, keys: ApiKeys):
    key, text = keys.add(user="ana", rights=["read"])
    refused = [
        web.delete("/v1/records/of-kim", headers=bearer(text)),
        web.get("/v1/records", params={"tenant": "other"}, headers=bearer(text)),
        web.delete("/v1/memories/", params={"user_id": "ana"}, headers=bearer(text)),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert web.get("/v1/records").status_code == 401
    assert web.get("/v1/records", headers=bearer("rememo_nobody")).status_code == 401
    lines = memory.audit.list(operation="denied")
    assert [entry.detail["refused"] for entry in lines] == [
        "DELETE /v1/records/{id}", "GET /v1/records", "DELETE /v1/memories/",
    ]  # fmt: skip
    assert {(entry.actor, entry.scope.user, entry.detail["reason"]) for entry in lines} == {
        (f"key:{key.id}", "ana", "forbidden")
    }


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://[", ""])
def test_a_page_of_elsewhere_cannot_make_its_visitors_empty_an_open_memory(
    web: httpx.Client, memory: Memory, keys: ApiKeys, origin: str
):
    memory.add("mine")
    # What a browser sends without asking first: a form, or a script that does not want to see the answer.
    for path in ("/v1/reset", "/v1/maintain"):
        refused = web.post(path, headers={"Origin": origin, "Content-Type": "text/plain"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert memory.count() == 1
    assert web.post("/v1/maintain", headers={"Origin": str(web.base_url)}).status_code == 200
    _, text = keys.add()
    assert web.get("/v1/records", headers={**bearer(text), "Origin": origin}).status_code == 200, "it was given a key"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer x",
        "Bearer rememo_",
        "Bearer rememo__",
        "Basic eDp5",
        "Token rememo_a_b",
        "Bearer rememo_*_x",
    ],
)
def test_what_is_no_key_opens_nothing(web: httpx.Client, keys: ApiKeys, header: str):
    keys.add()
    assert web.get("/v1/records", headers={"Authorization": header}).status_code == 401


def test_a_changed_secret_opens_nothing(keys: ApiKeys):
    key, text = keys.add()
    assert keys.check(text).id == key.id
    for wrong in (text[:-1], text + "0", text[:-1] + ("0" if text[-1] != "0" else "1"), text.upper()):
        with pytest.raises(Unauthorised):
            keys.check(wrong)


def test_a_key_ends_at_once_and_by_itself(web: httpx.Client, keys: ApiKeys, clock: ManualClock):
    short, short_text = keys.add(expires="1h")
    long, long_text = keys.add()
    assert web.get("/v1/records", headers=bearer(short_text)).status_code == 200
    clock.advance(3_600)
    assert "expired" in web.get("/v1/records", headers=bearer(short_text)).json()["error"]["message"]
    assert web.get("/v1/records", headers=bearer(long_text)).status_code == 200
    keys.revoke(long.id)
    assert "revoked" in web.get("/v1/records", headers=bearer(long_text)).json()["error"]["message"]
    shown = {key.id: key for key in keys.list()}
    assert shown[long.id].revoked_at == clock()
    assert shown[short.id].last_used_at is not None
    with pytest.raises(InvalidInput):
        keys.rotate(long.id)
    with pytest.raises(NotFound):
        keys.revoke("nobody")


def test_a_key_gets_a_new_secret(keys: ApiKeys, clock: ManualClock):
    key, first = keys.add()
    _, second = keys.rotate(key.id, grace="1h")
    assert {keys.check(first).id, keys.check(second).id} == {key.id}
    clock.advance(3_600)
    with pytest.raises(Unauthorised):
        keys.check(first)
    _, third = keys.rotate(key.id)
    with pytest.raises(Unauthorised):
        keys.check(second)
    assert keys.check(third).id == key.id


def test_bad_keys_are_not_made(keys: ApiKeys):
    bad: list[dict[str, Any]] = [
        {"rights": ["fly"]}, {"rights": []}, {"tenant": ""}, {"tenant": "rememo:server"}, {"user": ""},
        {"tenant": "*", "user": "ana"}, {"expires": "yesterday"}, {"expires": -1}, {"rate": 0}, {"max_body": 0},
    ]  # fmt: skip
    for wrong in bad:
        with pytest.raises(InvalidInput):
            keys.add(**wrong)
    assert not keys.any()


def test_rights_are_what_they_say(web: httpx.Client, keys: ApiKeys):
    _, reader = keys.add(rights=["read"])
    _, writer = keys.add(rights=["write"])
    note = {"text": "x"}
    assert web.post("/v1/records", json=note, headers=bearer(reader)).status_code == 403
    assert web.get("/v1/records", headers=bearer(writer)).status_code == 403
    assert web.post("/v1/records", json=note, headers=bearer(writer)).status_code == 201
    assert web.get("/v1/records", headers=bearer(reader)).status_code == 200
    assert web.post("/v1/reset", headers=bearer(writer)).status_code == 403
    policy = {"predicate": "likes"}
    assert web.post("/v1/facts:policy", json=policy, headers=bearer(reader)).status_code == 200
    assert web.post("/v1/facts:policy", json=policy | {"mode": "ask"}, headers=bearer(reader)).status_code == 403


def test_no_secret_and_no_content_in_a_log(web: httpx.Client, keys: ApiKeys, caplog: pytest.LogCaptureFixture):
    key, text = keys.add()
    secret = text.rpartition("_")[2]
    with caplog.at_level(logging.DEBUG, "rememo"):
        web.post("/v1/records", json={"text": "PRIVATE"}, headers=bearer(text) | {"X-Request-Id": "request-7"})
        web.get("/v1/records", params={"metadata": '{"a": "PRIVATE"}', "user": "PRIVATE"}, headers=bearer(text))
        web.get("/v1/records", headers=bearer(text + "0"))
        web.get("/v1/records", headers={"X-Request-Id": "a\tb"} | bearer(text))
        web.get(f"/v1/records?user={text}", headers=bearer(text))
        with socket.create_connection((web.base_url.host, web.base_url.port or 80), 10) as crooked:
            crooked.sendall(f"BREW /{secret} HTTP/1.1\r\nAuthorization: Bearer {text}\r\n\r\n".encode())
            crooked.recv(1_000)
    told = [record.getMessage() for record in caplog.records if record.name.startswith(("rememo", "uvicorn"))]
    assert any("request-7 POST /v1/records 201" in line and key.id in line for line in told)
    assert not [line for line in told if secret in line or "PRIVATE" in line or "\t" in line]


def test_the_text_of_a_key_is_stored_nowhere(tmp_path: Any):
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        _, text = ApiKeys(memory).add()
    secret = text.rpartition("_")[2].encode()
    assert not [file for file in tmp_path.iterdir() if secret in file.read_bytes()]


def test_a_key_asks_only_so_often(serve: Any, keys: ApiKeys):
    _, slow = keys.add(rate=0.5)
    _, other = keys.add()
    with httpx.Client(base_url=serve(), trust_env=False) as web:
        answers = [web.get("/v1/records", headers=bearer(slow)) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert answers[1].headers["retry-after"]
        assert web.get("/v1/records", headers=bearer(other)).status_code == 200


def test_a_key_sends_only_so_much(web: httpx.Client, keys: ApiKeys):
    _, small = keys.add(max_body=1_000, rights=["read", "write", "admin"])
    _, other = keys.add()
    lines = {"content-type": "application/x-ndjson"}
    kind = {"content-type": "application/json"}
    text = b'{"text": "' + b"x" * 2_000 + b'"}'
    for body in (text, iter([text[:1_500], text[1_500:]])):  # its size told before, and not
        refused = web.post("/v1/records", content=body, headers=bearer(small) | kind)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    for body in (b"x" * 2_000, iter([b"x" * 600] * 3)):
        assert web.post("/v1/import", content=body, headers=bearer(small) | lines).status_code == 413
    assert web.post("/v1/records", content=text, headers=bearer(other) | kind).status_code == 201
    assert web.post("/v1/records", json={"text": "x"}, headers=bearer(small)).status_code == 201


def test_every_answer_has_headers_that_keep_browsers_tame(web: httpx.Client, keys: ApiKeys):
    expected = {
        "x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'", "cache-control": "no-store",
    }  # fmt: skip
    answers = [
        web.get("/v1/records"), web.get("/v1/nowhere"), web.put("/v1/records"), web.get("/openapi.json"),
        web.get("/healthz"), web.get("/v1/export"), web.get("/v1/records", headers={"Authorization": "Bearer x"}),
    ]  # fmt: skip
    with web.stream("GET", "/v1/changes", headers={"Accept": "text/event-stream"}) as following:
        answers.append(following)
    for answer in answers:
        assert {name: answer.headers.get(name) for name in expected} == expected, answer.url
        assert "server" not in answer.headers
        assert answer.headers["x-request-id"]


def test_the_last_use_of_a_key_is_noted_to_the_minute(web: httpx.Client, keys: ApiKeys, clock: ManualClock):
    key, text = keys.add()
    assert keys.list()[0].last_used_at is None
    used: list[datetime | None] = []
    for seconds in (0, 30, 31):
        clock.advance(seconds)
        web.get("/v1/records", headers=bearer(text))
        used.append(keys.list()[0].last_used_at)
    assert used == [used[0], used[0], clock()]
    assert keys.list()[0].id == key.id


def test_a_bucket_fills_again():
    now = [0.0]
    limit = RateLimit(10, lambda: now[0])
    for _ in range(20):
        limit.take("a")
    with pytest.raises(RateLimited):
        limit.take("a")
    limit.take("b")
    now[0] += 0.1
    limit.take("a")
    with pytest.raises(RateLimited):
        limit.take("a")


def test_too_much_at_once_is_told_to_come_back(serve: Any, memory: Memory):
    begun, over = threading.Event(), threading.Event()

    @memory.hooks.on_change
    def hold(_: Change) -> None:
        begun.set()
        over.wait(30)

    address = serve(threads=1, queue=0)
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=address, timeout=60, trust_env=False) as web:
        first = pool.submit(web.post, "/v1/records", json={"text": "x"})
        assert begun.wait(30)
        second = web.get("/v1/records")
        assert (second.status_code, second.json()["error"]["code"]) == (503, "unavailable")
        assert second.headers["retry-after"] == "1"
        assert web.get("/healthz").status_code == 200
        assert web.post("/v1/receipts:wait", json={"jobs": []}).status_code == 200, "waiting takes nobody's thread"
        over.set()
        assert first.result(30).status_code == 201
        assert web.get("/v1/records").status_code == 200
    memory.hooks.remove(hold)


@pytest.mark.requirement("message.reply-to")
def test_a_key_replies_within_what_it_may_know_of(web: httpx.Client, memory: Memory, keys: ApiKeys):
    question = memory.scope(user="ana", room="group").messages.add("user", "The code is Zanzibar.").id
    own = memory.scope(user="bo", room="group").messages.add("user", "Hello.").id
    _, of_room = keys.add(user="bo", room="group", rights=["read", "write"])
    _, of_user = keys.add(user="bo", rights=["read", "write"])
    _, of_tenant = keys.add(rights=["read", "write"])
    group: dict[str, str] = {"user": "bo", "room": "group"}

    def reply(key: str, target: str, **labels: str) -> httpx.Response:
        body = {"role": "user", "content": "Yes.", "reply_to": target}
        return web.post("/v1/messages", params=labels, json=body, headers=bearer(key))

    # Bound to the room: it may know which messages there are, and reads none of them but its own.
    answered = reply(of_room, question)
    assert answered.status_code == 201, answered.text
    id = answered.json()["ids"][0]
    for path in (f"/v1/messages/{id}/thread", f"/v1/messages/{question}/replies"):
        shown = web.get(path, headers=bearer(of_room))
        assert [item["record"]["id"] for item in shown.json()["items"]] == [id], shown.text
        assert "Zanzibar" not in shown.text
    assert web.get(f"/v1/messages/{question}", headers=bearer(of_room)).status_code == 404
    assert reply(of_room, "nobody").status_code == 404

    # Bound to a user of any room: what it cannot read is not there, in a room that it only asks for too.
    refused, absent = reply(of_user, question, **group), reply(of_user, "nobody", **group)
    assert (refused.status_code, absent.status_code) == (404, 404)
    assert refused.text.replace(question, "nobody").split('"id"')[0] == absent.text.split('"id"')[0]
    assert web.get(f"/v1/messages/{question}/replies", params=group, headers=bearer(of_user)).status_code == 404
    assert reply(of_user, own, **group).status_code == 201

    # Of a whole tenant: it may read the room, and writes in it as whom it says.
    assert reply(of_tenant, question, **group).status_code == 201
