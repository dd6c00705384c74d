"""A conversation in the dashboard: what was learned beside what was said, tool calls with their answers, and images."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.serve.pages import HOSTILE, Page, checked

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.serve.dashboard.rooms import pretty_json
from rememo.serve.mem0.reading import view_of

DOT = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\r"
    b"IDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)


def url(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def test_what_was_learned_stands_beside_what_was_said(board: Callable[..., Page], memory: Memory):
    chat = memory.scope(user="ana", room="chat")
    taught = chat.messages.add("user", "My sister Eva works at CERN. I live in Lisbon.").wait()
    chat.messages.add("user", "Nothing to learn here.").wait()
    page = board("/room", room="chat")
    [aside] = page.all("aside")
    assert aside["aria-label"] == "Learned from this message"
    learned = [record.id for record in chat.list(kind=["fact", "relationship"])]
    assert len(learned) >= 3
    links = {str(link.get("href")) for link in page.all("a")}
    assert {f"/record?room=chat&id={id}" for id in learned} <= links
    assert any(link.startswith("/graph?entity=") for link in links)
    assert f"/record?room=chat&id={taught.id}" in links


def test_much_that_was_learned_is_bounded(board: Callable[..., Page], memory: Memory):
    chat = memory.scope(user="ana", room="chat")
    chat.messages.add("user", "hello", id="m", learn=False)
    with memory.scope(user="ana", room="chat").batch() as batch:
        view_of(batch).put([
            {
                "text": f"fact {place}", "kind": "fact",
                "data": {
                    "subject": "ana", "predicate": "likes", "object": f"tea {place}", "confidence": 1.0, "wording": None,
                    "statements": [], "match": {"subject": "ana", "object": f"tea {place}"}, "sources": ["m"], "status": "current",
                },
            }
            for place in range(510)
        ])  # fmt: skip
    assert "and 14 more" in " ".join(board("/room", room="chat").text.split())


def test_tool_calls_and_their_answers_belong_together(board: Callable[..., Page], memory: Memory):
    chat = memory.scope(room="chat")
    call = {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Porto"}'}}
    asked = chat.messages.add("assistant", "", tool_calls=[call], learn=False)
    chat.messages.add("tool", '{"sky":["blue"]}', tool_call_id="call-1", learn=False)
    chat.messages.add("tool", "no JSON", tool_call_id="elsewhere", learn=False)
    page = board("/room", room="chat")
    assert '"city": "Porto"' in page.text
    assert '"sky": [\n    "blue"' in page.text
    assert f"#m-{asked.id}" in [link.get("href") for link in page.all("a")]
    assert "Answers the call elsewhere" in " ".join(page.text.split())
    assert pretty_json("[" * 3_000) == "[" * 3_000
    assert pretty_json("{not json") == "{not json"


def test_images_that_a_message_carries_are_shown(board: Callable[..., Page], web: httpx.Client, memory: Memory):
    images = [url(DOT), "https://evil.example/track.gif", url(DOT, "image/jpeg")]
    memory.scope(room="chat").messages.add("user", "look", images=images, id="m", learn=False)
    page = board("/room", room="chat")
    shown = [str(image["src"]) for image in page.all("img")]
    assert shown == ["/image?room=chat&id=m&part=1", "/image?room=chat&id=m&part=3"]
    assert "not loaded here: https://evil.example/track.gif" in " ".join(page.text.split())
    for address in shown:
        got = web.get(address)
        assert got.content == DOT
        assert got.headers["content-type"] == "image/png", "by what the bytes are"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in got.headers["content-security-policy"]
        assert got.headers["cross-origin-resource-policy"] == "same-origin"
    for part, status in ((2, 400), (4, 404), (99, 404), ("x", 400)):
        assert checked(web.get("/image", params={"id": "m", "part": part}), status).text
    assert web.get("/image?id=nobody").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        url(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml"),
        url(b"<script>alert(1)</script>"),
        url(b"<html>", "text/html"),
        "data:image/png;base64,@@@@",
        "data:image/png,plain",
        "data:image/png;base64,",
    ],
)
def test_what_is_no_image_is_never_served_as_one(web: httpx.Client, memory: Memory, address: str):
    data: Any = {"role": "user", "images": [address]}
    memory.scope(room="chat").add("look", kind="message", data=data, id="m")
    checked(web.get("/room?room=chat"))
    got = web.get("/image?id=m")
    assert got.status_code == 400
    assert got.headers["content-type"] == "text/html; charset=utf-8"


def test_broken_and_hostile_messages_are_shown(board: Callable[..., Page], memory: Memory):
    for place, text in enumerate(HOSTILE):
        said = text.replace("\x00", "")
        memory.scope(room=f"r{place}").add("x", kind="message", data={"role": "user", "images": [said]})
        foreign = {"text": "y", "kind": "fact", "data": {"statements": 1, "match": 2, "sources": [said]}}
        view_of(memory.scope(room=f"r{place}")).put([foreign])
        board("/room", room=f"r{place}")


def test_an_image_is_seen_by_those_only_who_see_its_message(web: httpx.Client, memory: Memory, keys: ApiKeys):
    memory.scope(user="ana", room="chat").messages.add("user", "look", images=[url(DOT)], id="m", learn=False)
    _, text = keys.add(user="bo", rights=["read"])
    assert web.get("/image?id=m").status_code == 303
    web.post("/login", data={"key": text})
    assert web.get("/image?id=m").status_code == 404
    web.post("/login", data={"key": keys.add(user="ana", rights=["read"])[1]})
    assert web.get("/image?id=m").content == DOT
