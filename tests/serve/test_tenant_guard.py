"""No route lets a key see or change anything beyond its tenant and labels, whatever is put in address, header or body."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.serve.mem0 import ROUTES
from rememo.serve.rest.routes import SPECS
from rememo.serve.rest.signature import OperationSpec

SECRET = "Zanzibar"  # noqa: S105 - a word to look for
WIDER = (
    {"user": "bob"}, {"tenant": "other"}, {"tenant": "default", "user": "bob"}, {"room": "r2"}, {"agent": "a2"},
    {"pool": "team"}, {"tenant": "rememo:server"}, {"tenant": "*"},
)  # fmt: skip
HEADERS = {"X-Tenant": "other", "X-User": "bob", "X-Rememo-Tenant": "other", "X-Forwarded-For": "127.0.0.1"}


def fill(memory: Memory) -> None:
    """Remember something of every kind, all of it secret."""
    memory.add(f"note {SECRET}", id="note")
    memory.messages.add("user", f"message {SECRET}", id="message")
    memory.facts.add("bob", "lives_in", SECRET)
    memory.relationships.add("bob", SECRET, "friend")
    memory.documents.add(title=SECRET, text=f"document {SECRET}")
    memory.goals.add(f"goal {SECRET}", id="goal")
    memory.tasks.add(f"task {SECRET}", id="task")
    memory.actions.add("look", result=SECRET, id="action")
    memory.thoughts.add("THINK", f"thought {SECRET}", id="thought")
    memory.posts.add(f"post {SECRET}", location=SECRET, id="post")
    memory.kv.set("key", SECRET)
    memory.profiles.update("ana", {"city": SECRET})
    memory.profiles.update("bob", {"city": SECRET})
    memory.sessions.save("session")
    memory.typed("box", "").set(SECRET)
    memory.working.context.set("value", SECRET)
    memory.flow("way", steps=["a", "b"]).start(memory.bound.user or "bob", data={"word": SECRET})


@pytest.fixture
def ids(memory: Memory) -> dict[str, str]:
    """Fill what lies beyond: another user, another room, another agent, a pool, another tenant; return ids by kind."""
    for view in (
        memory.scope(user="bob", room="r2", agent="a2"),
        memory.pool("team"),
        memory.scope(tenant="other"),
    ):
        # Ids are unique in a tenant.
        if view.bound.room == "pool:team":
            view.add(f"pool {SECRET}")
        else:
            fill(view)
    memory.profiles.update("ana", {"city": SECRET})
    memory.snapshot("spring")
    return {record.kind: record.id for record in memory.scope(user="bob").list(limit=1_000)}


def samples(ids: dict[str, str]) -> dict[str, Any]:
    """Return what to put where: whatever can be named beyond the wall is."""
    everything = list(ids.values())
    return {
        "text": "x", "items": [{"text": "x"}, {"text": "y", "id": "note", "on_conflict": "replace"}], "query": SECRET, "question": SECRET,
        "vector": [1.0] * 64, "role": "user", "content": "x", "user": "bob", "assistant": "y", "max_tokens": 1_000,
        "subject": "bob", "predicate": "lives_in", "object": "Porto", "facts": [ids["fact"]], "keep": ids["fact"],
        "entity": "bob", "target": SECRET, "type": "friend", "a": "bob", "b": SECRET, "title": "x", "tool": "look",
        "step": "THINK", "value": 1, "expected_version": 1, "fields": {"a": 1}, "exported": {}, "pattern": "*",
        "before": "2000-01-01T00:00:00+00:00", "to": "2000-01-01T00:00:00+00:00", "jobs": ["x"], "message": SECRET,
        "receipt": {
            "ids": everything, "versions": dict.fromkeys(everything, 1), "outcomes": dict.fromkeys(everything, "added"),
            "recorded_at": "2026-05-01T12:00:00+00:00",
        },
        "steps": ["a", "b"], "transitions": {"a": ["b"]}, "operations": [
            {"call": "add", "arguments": {"text": "x", "id": "note", "on_conflict": "replace"}, "scope": {"user": "bob"}},
            *({"call": verb, "arguments": {"id": id}} for verb in ("delete", "tasks.done") for id in everything),
        ],
        "ids": everything, "by": "ana", "reason": "odd", "recall": "tenant", "sources": everything, "report": {"dry_run": False, "reclaimed": 0}, "reply_to": "message", "parent": "goal",
    }  # fmt: skip


def requests(call: OperationSpec, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Give requests that try to reach beyond: with what is needed, with all that can be said, and with each of it."""
    known, operation = samples(ids), call.operation
    kind = operation.method_path.partition(".")[0].removesuffix("s")
    targets = [ids[kind]] if kind in ids else [ids["note"], ids["fact"]]
    names = {
        "id": targets,
        "key": ["key", "ana", "bob"],
        "name": ["session", "bob", "spring", "box", "value", "way"],
        "ready": ["messages"],
    }
    named = [parameter.name for parameter in call.parameters_in("path")]
    for values in product(*(names[name] for name in named)):
        path = operation.path
        for name, value in zip(named, values, strict=True):
            path = path.replace(f"{{{name}}}", value)
        # One at a time, too: one that is refused would hide the others.
        more = [parameter.name for parameter in call.parameters if not parameter.required and parameter.name in known]
        for optional in ([], more, *([name] for name in more)):
            said = {
                place: {
                    parameter.name: known[parameter.name]
                    for parameter in call.parameters_in(place)
                    if parameter.required or parameter.name in optional
                }
                for place in ("query", "body")
            }
            body = said["body"] or ({"text": "x"} if operation.verb == "PATCH" else None)
            yield {"method": operation.verb, "url": f"/v1{path}", "params": said["query"], "json": body}


def state(memory: Memory) -> list[Any]:
    """Return all that lies beyond the wall."""
    beyond = [memory.scope(user="bob"), memory.pool("team"), memory.scope(tenant="other")]
    found: list[Any] = [[record.to_dict() for record in view.list(limit=1_000)] for view in beyond]
    for view in (memory, memory.scope(user="bob", room="r2", agent="a2"), memory.scope(tenant="other")):
        known = view.profiles.keys()
        found += [[(key, view.profiles.get(key)) for key in known], view.kv.keys()]
        found += [[session.name for session in view.sessions.list()], view.snapshots(), view.facts.policy("lives_in")]
        states = view.flow("way", steps=["a", "b"]).active(paused=True)
        found += [[(state.user, state.step, state.data, state.version) for state in states if state.user != "ana"]]
    return found


@pytest.mark.requirement("api.rest")
@pytest.mark.parametrize("labels", [{"user": "ana"}, {"room": "r1"}], ids=str)
def test_no_route_leads_beyond_a_key(
    serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str], labels: dict[str, Any]
):
    _, text = keys.add(**labels, rights=["read", "write", "admin"])
    before = state(memory)
    with httpx.Client(
        base_url=serve(), headers={"Authorization": f"Bearer {text}", **HEADERS}, timeout=30, trust_env=False
    ) as web:
        for call in SPECS:
            for request in requests(call, ids):
                answer = web.request(**request)
                assert answer.status_code < 500, (request, answer.text)
                told = answer.text.replace(f'"target":"{SECRET}"', "")
                if call.operation.method_path == "changes":  # what was written here under the same names is told again
                    found = answer.json().get("items", [])
                    assert [item for item in found if labels.items() - item["record"]["scope"].items()] == []
                    continue
                assert answer.status_code >= 400 or SECRET not in told or mine(call), (request, answer.text)
    assert state(memory) == before


def mine(call: OperationSpec) -> bool:
    """Whether an operation may answer by what it was asked, or by what was written here under the same names."""
    return call.operation.method_path in {
        "facts.extract",
        "relationships.list",
        "relationships.graph",
        "relationships.path",
        "relationships.get",
    }


def test_no_address_widens_a_key(serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str]):
    _, text = keys.add(user="ana", room="r1", agent="a1", rights=["read", "write", "admin"])
    with httpx.Client(
        base_url=serve(), headers={"Authorization": f"Bearer {text}"}, timeout=30, trust_env=False
    ) as web:
        for call in SPECS:
            request = next(requests(call, ids))
            for wider in WIDER:
                answer = web.request(**request | {"params": request["params"] | wider})
                assert answer.status_code in (400, 403), (call.operation, wider, answer.text)
        for path in ("/v1/export", "/v1/import"):
            for wider in WIDER:
                answer = web.request("GET" if path == "/v1/export" else "POST", path, params=wider)
                assert answer.status_code in (400, 403), (path, wider)
        assert SECRET not in web.get("/v1/export").text


def test_the_default_tenant_is_a_wall_too(serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str]):
    _, text = keys.add(tenant="default", rights=["read", "write", "admin"])
    with httpx.Client(base_url=serve(), headers={"Authorization": f"Bearer {text}"}, trust_env=False) as web:
        assert web.get("/v1/records", params={"tenant": "other"}).status_code == 403
        assert web.get("/v1/records", params={"tenant": "default"}).status_code == 200
        assert web.post("/v1/verify").status_code == 403


def test_an_operator_reaches_every_tenant(serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str]):
    _, text = keys.add(tenant="*", rights=["read", "admin"])
    with httpx.Client(base_url=serve(), headers={"Authorization": f"Bearer {text}"}, trust_env=False) as web:
        assert SECRET in web.get("/v1/records", params={"tenant": "other"}).text
        assert web.post("/v1/verify").json()["ok"] is True
        assert web.get("/v1/kv", params={"tenant": "rememo:server"}).status_code == 403


FILTERS = (
    {"user_id": "bob"}, {"run_id": "r2"}, {"agent_id": "a2"}, {"user_id": {"in": ["ana", "bob"]}}, {"user_id": "*"},
    {"OR": [{"user_id": "ana"}, {"user_id": "bob"}]}, {"NOT": {"metadata": {"a": 1}}}, {"app_id": {"ne": "x"}},
    {"AND": [{"user_id": "*"}, {"agent_id": "*"}, {"run_id": "*"}]}, {"categories": {"in": ["task", "goal", "fact"]}},
)  # fmt: skip
STARS: dict[str, str] = dict.fromkeys(("user_id", "agent_id", "run_id", "app_id"), "*")


def mem0_requests(id: str) -> Iterator[dict[str, Any]]:
    """Give requests as clients of mem0 make them, that try to reach beyond."""
    yield {"method": "POST", "url": "/v3/memories/", "json": {}}
    for filters in (*FILTERS, {"memory_ids": [id]}):
        yield {"method": "POST", "url": "/v3/memories/", "json": {"filters": filters}}
        yield {"method": "POST", "url": "/v3/memories/search/", "json": {"query": SECRET, "filters": filters}}
        yield {"method": "DELETE", "url": "/v1/memories/", "params": {"filters": str(filters)}}
    said = [{"role": "user", "content": "mine"}]
    names: list[dict[str, str]] = [
        {"user_id": "bob"},
        {"run_id": "r2"},
        {"agent_id": "a2"},
        {"run_id": "pool:team"},
        STARS,
    ]
    for named in names:
        yield {"method": "POST", "url": "/v3/memories/add/", "json": {"messages": said, "infer": False, **named}}
        yield {"method": "POST", "url": "/v3/memories/add/", "json": {"messages": said, "filters": named}}
        yield {"method": "POST", "url": "/v3/memories/", "json": named}
        yield {"method": "POST", "url": "/v3/memories/search/", "json": {"query": SECRET, **named}}
        yield {"method": "DELETE", "url": "/v1/memories/", "params": named}
    for url in (f"/v1/memories/{id}/", f"/v1/memories/{id}/history/"):
        yield {"method": "GET", "url": url}
    yield {"method": "PUT", "url": f"/v1/memories/{id}/", "json": {"text": "x"}}
    yield {"method": "DELETE", "url": f"/v1/memories/{id}/", "params": {"delete_linked": "true"}}
    yield {"method": "PUT", "url": "/v1/batch/", "json": {"memories": [{"memory_id": id, "text": "x"}]}}
    yield {"method": "DELETE", "url": "/v1/batch/", "json": {"memories": [{"memory_id": id}]}}
    yield {"method": "GET", "url": "/v1/ping/"}
    yield {"method": "GET", "url": "/v1/entities/"}
    for kind, name in (("user", "bob"), ("run", "r2"), ("run", "pool:team"), ("agent", "a2"), ("app", "x")):
        yield {"method": "DELETE", "url": f"/v2/entities/{kind}/{name}/"}
    for wider in WIDER:
        yield {"method": "POST", "url": "/v3/memories/", "params": wider, "json": wider}


@pytest.mark.requirement("api.rest")
@pytest.mark.parametrize("labels", [{"user": "ana"}, {"room": "r1"}, {"tenant": "third"}], ids=str)
def test_no_route_of_mem0_leads_beyond_a_key(
    serve: Any, memory: Memory, keys: ApiKeys, ids: dict[str, str], labels: dict[str, Any]
):
    memory.scope(user="bob", room="r2", agent="a2").add(f"app {SECRET}", metadata={"app_id": "x"})
    _, text = keys.add(**labels, rights=["read", "write", "admin"])
    before = state(memory)
    asked: set[tuple[str, str]] = set()
    with httpx.Client(
        base_url=serve(), headers={"Authorization": f"Token {text}", **HEADERS}, timeout=30, trust_env=False
    ) as web:
        for id in (ids["note"], ids["fact"], ids["task"]):
            for request in mem0_requests(id):
                answer = web.request(**request)
                asked.add((request["method"], request["url"].replace(id, "{id}")))
                assert answer.status_code < 500, (request, answer.text)
                assert answer.status_code >= 400 or SECRET not in answer.text, (request, answer.text)
    assert state(memory) == before
    assert {(verb, path) for verb, path, *_ in ROUTES if "{" not in path or "{id}" in path} <= asked | {
        ("GET", "/v1/events/")
    }
