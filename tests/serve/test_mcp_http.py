"""The MCP server at `/mcp`: keys, walls, rights, and who may ask at all."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.serve.mcp.tools import TOOLS

SECRET = "Zanzibar"  # noqa: S105 - a word to look for
ACCEPT = {"accept": "application/json, text/event-stream"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def ids(memory: Memory) -> dict[str, str]:
    """Fill what lies beyond: bob's, another tenant's and a pool's; return ids by kind."""
    bob = memory.scope(user="bob", room="r2")
    bob.messages.add("user", f"I moved to {SECRET}.").wait()
    bob.add(f"note {SECRET}")
    bob.facts.add("bob", "likes", SECRET)
    bob.documents.add(title=SECRET, text=f"document {SECRET}")
    bob.tasks.add(f"task {SECRET}")
    bob.profiles.update("bob", {"city": SECRET})
    memory.scope(tenant="other").add(f"other {SECRET}")
    memory.pool("team").add(f"pool {SECRET}")
    return {record.kind: record.id for record in memory.scope(user="bob").list(limit=1_000)}


def state(memory: Memory) -> list[Any]:
    views = (memory.scope(user="bob"), memory.scope(tenant="other"), memory.pool("team"))
    return [[record.to_dict() for record in view.list(limit=1_000)] for view in views]


def tries(ids: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give calls of every tool that try to reach bob: by name, by id, by what is said of him."""
    needed: dict[str, dict[str, Any]] = {
        "remember": {"text": f"bob {SECRET}"}, "recall": {"query": SECRET}, "context": {"query": SECRET}, "facts": {},
        "forget": {"ids": list(ids.values())}, "history": {}, "note_task": {"text": "x"}, "tasks": {},
        "log_turn": {"user_said": "x"},
    }  # fmt: skip
    for tool in TOOLS:
        base = needed[tool.name]
        yield tool.name, base
        for wider in ({"user": "bob"}, {"room": "r2"}, {"user": "bob", "room": "r2"}, {"room": "pool:team"},
                      {"tenant": "other"}, {"agent": "x"}, {"scope": {"user": "bob"}}, {"user": ["bob"]}):  # fmt: skip
            yield tool.name, base | wider
    for id in ids.values():
        yield "history", {"id": id}
        yield "forget", {"ids": [id]}
        yield "note_task", {"id": id, "status": "done"}
        yield "remember", {"text": "overwritten", "replaces": id}
    yield "facts", {"subject": "bob", "all": True}
    yield "remember", {"text": "x", "facts": [{"subject": "bob", "predicate": "likes", "object": "x"}]}


@pytest.mark.requirement("mcp.server")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_memory_is_used_over_http(serve: Any, memory: Memory, assistant: Callable[..., Any], mode: str):
    helper = assistant(url=f"{serve()}/mcp", mode=mode)
    made = helper.got("remember", text="Ana prefers tea.", user="ana")
    assert memory.get(made["id"]).scope.user == "ana"
    assert [item["id"] for item in helper.got("recall", query="tea", user="ana", kinds=["note"])["items"]] == [
        made["id"]
    ]
    assert helper.got("recall", query="tea", user="bob")["items"] == []
    assert helper.client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode]


def test_no_argument_leads_beyond_a_key(
    serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str], assistant: Callable[..., Any]
):
    _, text = keys.add(user="ana", rights=["read", "write", "admin"])
    helper = assistant(url=f"{serve()}/mcp", key=text)
    before = state(memory)
    for address in (
        "rememo://rooms/r2",
        "rememo://profiles/bob",
        f"rememo://documents/{ids['document']}",
        "rememo://rooms/pool%3Ateam",
    ):
        with pytest.raises(Exception, match=r"there is no|nothing is known|beyond"):
            helper.ask("read_resource", address)
    assert SECRET not in str(helper.ask("list_resources"))
    for name, arguments in (("what_do_you_know_about_me", {"user": "bob"}), ("summarise_room", {"room": "r2"})):
        with pytest.raises(Exception, match=r"bound to user|there is no room"):
            helper.ask("get_prompt", name, arguments)
    assert SECRET not in str(helper.ask("get_prompt", "what_do_you_know_about_me", {}))
    for tool, arguments in tries(ids):
        answer = helper.use(tool, **arguments)
        told = str(answer).replace(f"bob {SECRET}", "")  # what was said here
        assert answer.is_error or SECRET not in told, (tool, arguments, told)
    assert state(memory) == before


def test_no_address_widens_a_key(serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str]):
    _, text = keys.add(user="ana", room="r1")
    with httpx.Client(base_url=serve(), headers={"Authorization": f"Bearer {text}", **ACCEPT}, trust_env=False) as web:
        for wider in ("user=bob", "tenant=other", "room=r2", "pool=team", "tenant=rememo:server", "tenant=*", "x=1",
                      "user=ana&user=bob"):  # fmt: skip
            answer = web.post(f"/mcp?{wider}", json=LIST)
            assert answer.status_code in (400, 403), wider
            assert answer.json()["error"]["code"] in ("forbidden", "invalid_input")
        assert web.post("/mcp?user=ana&agent=a", json=LIST).status_code == 200


def test_an_address_narrows_what_a_key_reaches(
    serve: Any, memory: Memory, keys: ApiKeys, assistant: Callable[..., Any]
):
    _, text = keys.add()
    helper = assistant(url=f"{serve()}/mcp?user=ana&room=tea", key=text)
    assert not {"user", "room"} & set(helper.tools()["recall"].input_schema["properties"])
    made = memory.get(helper.got("remember", text="Green tea first.")["id"])
    assert (made.scope.user, made.scope.room) == ("ana", "tea")


def test_rights_decide_which_tools_there_are(serve: Any, memory: Memory, keys: ApiKeys, assistant: Callable[..., Any]):
    url = f"{serve()}/mcp"
    note = memory.scope(user="ana").add("Ana prefers tea.").id
    reader = assistant(url=url, key=keys.add(user="ana", rights=["read"])[1])
    assert set(reader.tools()) == {"recall", "context", "facts", "history", "tasks"}
    with pytest.raises(Exception, match="Unknown tool: forget"):
        reader.use("forget", ids=[note])
    writer = assistant(url=url, key=keys.add(user="ana", rights=["write"])[1])
    assert set(writer.tools()) == {"remember", "forget", "note_task", "log_turn"}
    # Whoever may only write learns nothing by writing.
    told = writer.got(
        "remember", text="Ana prefers tea.", facts=[{"subject": "ana", "predicate": "likes", "object": "tea"}]
    )
    assert (told["outcome"], told["facts"]) == ("added", [])
    with pytest.raises(Exception, match="no right to read"):
        writer.ask("list_resources")
    assert writer.ask("list_prompts").prompts == []
    idle = assistant(url=url, key=keys.add(user="ana", rights=["admin"])[1])
    assert idle.tools() == {}
    # The past can be looked at, and not written to.
    past = assistant(url=f"{url}?as_of=2026-01-01T00:00:00%2B00:00", key=keys.add()[1])
    assert "remember" not in past.tools()
    assert past.got("recall", query="tea")["items"] == []


def test_a_key_that_is_revoked_ends_at_once(serve: Any, keys: ApiKeys, assistant: Callable[..., Any]):
    key, text = keys.add(user="ana")
    helper = assistant(url=f"{serve()}/mcp", key=text)
    helper.got("recall", query="tea")
    keys.revoke(key.id)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the client makes of 401
        helper.use("recall", query="tea")


def test_who_may_ask(serve: Any, keys: ApiKeys):
    address = serve(origins=["https://app.example"])
    with httpx.Client(base_url=address, headers=ACCEPT, trust_env=False) as web:
        for headers, status in (
            ({}, 200),
            ({"Origin": "http://localhost:5173"}, 200),
            ({"Origin": "https://app.example"}, 200),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "http://127.0.0.1.evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Host": "evil.example"}, 401),
            ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
            ({"Host": "evil.example", "Origin": "http://localhost"}, 403),
        ):
            assert web.post("/mcp", json=LIST, headers=headers).status_code == status, headers
        _, text = keys.add()
        assert web.post("/mcp", json=LIST).status_code == 401
        mine = {"Authorization": f"Bearer {text}"}
        assert web.post("/mcp", json=LIST, headers=mine).status_code == 200
        # A key is proof enough of where a request is meant to go; a page that nobody allowed is not.
        assert web.post("/mcp", json=LIST, headers={**mine, "Host": "memory.example"}).status_code == 200
        refused = web.post("/mcp", json=LIST, headers={**mine, "Origin": "https://evil.example"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


def test_what_is_no_request_of_the_protocol(serve: Any):
    with httpx.Client(base_url=serve(max_body=10_000), headers=ACCEPT, trust_env=False) as web:
        for verb in ("GET", "DELETE", "PUT"):
            answer = web.request(verb, "/mcp")
            assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
            assert answer.headers["allow"] == "POST"
        large = web.post("/mcp", json={**LIST, "params": {"x": "y" * 20_000}})
        assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
        for body in (b"", b"{", b"[]", b'"x"', b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 1}', b"[" * 5_000):
            answer = web.post("/mcp", content=body, headers={"content-type": "application/json"})
            assert 400 <= answer.status_code < 500, body
        assert web.post("/mcp", content=b"x", headers={"content-type": "text/plain"}).status_code in (400, 415)
        assert web.post("/mcp", json=LIST, headers={"mcp-protocol-version": "1999-01-01"}).status_code == 400
        assert web.post("/mcp", json=LIST).status_code == 200


def test_the_trail_says_which_key_did_it(serve: Any, memory: Memory, keys: ApiKeys, assistant: Callable[..., Any]):
    key, text = keys.add(user="ana")
    assistant(url=f"{serve()}/mcp", key=text).got("remember", text="Ana prefers tea.")
    assert [entry.actor for entry in memory.audit.list(actor=f"key:{key.id}", operation="write")][:1] == [
        f"key:{key.id}"
    ]
