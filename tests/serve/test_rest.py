"""REST: what goes in comes out, in pages, once, at the version that was meant."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.serve.rest.openapi import openapi_document
from rememo.testing import ManualClock, WordEmbedder

from .conftest import Serve


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.requirement("api.rest")
def test_a_record_from_birth_to_death(web: httpx.Client):
    made = ok(
        web.post("/v1/records", params={"user": "ana"}, json={"text": "The kettle is broken", "id": "a/b ü"}), 201
    )
    assert (made["ids"], made["outcomes"]) == (["a/b ü"], {"a/b ü": "added"})
    path = "/v1/records/a%2Fb%20%C3%BC"
    found = web.get(path)
    assert (ok(found)["text"], found.headers["etag"]) == ("The kettle is broken", '"1"')
    ok(web.patch(path, json={"text": "The kettle is mended"}, headers={"If-Match": '"1"'}))
    late = web.patch(path, json={"text": "lost"}, headers={"If-Match": '"1"'})
    assert ok(late, 412)["error"]["code"] == "version_conflict"
    assert [version["text"] for version in ok(web.get(f"{path}/history"))["items"]] == [
        "The kettle is broken",
        "The kettle is mended",
    ]
    [hit] = ok(web.post("/v1/search", json={"query": "mended kettle", "explain": True}))["items"]
    assert hit["record"]["id"] == "a/b ü"
    assert hit["reasons"]
    assert ok(web.delete(path))["outcomes"] == {"a/b ü": "deleted"}
    assert ok(web.get(path), 404)["error"]["code"] == "not_found"


@pytest.mark.requirement("api.rest")
def test_talk_is_learned_from_and_shown_to_a_model(web: httpx.Client):
    chat = {"user": "ana", "room": "r1"}
    said = ok(web.post("/v1/messages", params=chat, json={"role": "user", "content": "I live in Lisbon."}), 201)
    assert ok(web.post("/v1/receipts:wait", json={"jobs": said["jobs"]})) == {"value": "done"}
    [fact] = ok(web.get("/v1/facts", params={"subject": "ana"}))["items"]
    assert (fact["predicate"], fact["object"], fact["sources"][0]["id"]) == ("lives_in", "Lisbon", said["ids"][0])
    [message] = ok(web.get("/v1/messages", params=chat))["items"]
    assert (message["role"], message["content"], message["user"]) == ("user", "I live in Lisbon.", "ana")
    shown = ok(web.post("/v1/context", params=chat, json={"query": "where does she live?", "max_tokens": 400}))
    assert "ana lives in Lisbon" in shown["text"]
    assert shown["tokens"] <= 400
    assert "Lisbon" in ok(web.post("/v1/compose", params=chat, json={"message": "where do I live?"}))["text"]


def test_state_and_plans(web: httpx.Client):
    assert ok(web.put("/v1/kv/step", json={"value": {"at": 2}, "ttl": "1h"})) == {"value": 1}
    assert ok(web.get("/v1/kv/step")) == {"value": {"at": 2}}
    lost = web.post("/v1/kv/step/compare-and-set", json={"value": 3, "expected_version": 7})
    assert ok(lost, 409)["error"]["code"] == "version_conflict"
    [goal] = ok(web.post("/v1/goals", json={"text": "Learn to swim", "priority": 3}), 201)["ids"]
    ok(web.post(f"/v1/goals/{goal}/done"))
    assert [goal["status"] for goal in ok(web.get("/v1/goals", params={"status": "done"}))["items"]] == ["done"]
    assert ok(web.patch("/v1/profiles/ana", json={"fields": {"city": "Porto"}}))["fields"] == {"city": "Porto"}
    assert ok(web.get("/v1/profiles/nobody")) is None
    ok(web.post("/v1/documents", json={"title": "Tin", "text": "The food is in the blue tin."}), 201)
    assert "blue tin" in ok(web.post("/v1/documents:search", json={"query": "blue tin"}))["items"][0]["text"]


def test_pages_stand_still_while_others_write(web: httpx.Client, clock: ManualClock):
    ok(web.post("/v1/records:bulk", json={"items": [{"text": str(n)} for n in range(5)]}), 201)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = ok(web.get("/v1/records", params={"limit": 2} | ({"cursor": cursor} if cursor else {})))
        seen = [item["text"] for item in page["items"]] + seen
        cursor = page["next"]
        if cursor is None:
            break
        clock.advance()
        ok(web.post("/v1/records", json={"text": "new"}), 201)
    assert seen == ["0", "1", "2", "3", "4"]
    assert ok(web.get("/v1/records", params={"cursor": "W10="}), 400)["error"]["code"] == "invalid_input"


def test_a_retry_under_a_key_does_nothing_anew(web: httpx.Client):
    again = [
        ok(web.post("/v1/records", json={"text": "once"}, headers={"Idempotency-Key": "k"}), 201) for _ in range(2)
    ]
    assert again[0]["ids"] == again[1]["ids"]
    assert ok(web.get("/v1/records:count")) == {"value": 1}


def test_many_at_once_are_all_or_none(web: httpx.Client):
    bad = web.post("/v1/records:bulk", json={"items": ["one", {"text": "two", "kind": "nonsense"}]})
    assert ok(bad, 400)["error"]["code"] == "invalid_input"
    assert ok(web.get("/v1/records:count")) == {"value": 0}


def test_the_past_is_read_by_time_and_by_name(web: httpx.Client, clock: ManualClock):
    ok(web.post("/v1/records", json={"text": "old", "id": "a"}), 201)
    ok(web.put("/v1/snapshots/spring"))
    then = clock()
    clock.advance(60)
    ok(web.patch("/v1/records/a", json={"text": "new"}))
    for moment in ("spring", then.isoformat()):
        assert ok(web.get("/v1/records/a", params={"as_of": moment}))["text"] == "old"
    assert ok(web.get("/v1/records/a", params={"known_at": then.isoformat()}))["text"] == "old"
    assert (
        ok(web.patch("/v1/records/a", params={"as_of": "spring"}, json={"text": "x"}), 409)["error"]["code"]
        == "read_only"
    )
    changed = ok(web.post("/v1/diff", json={"before": "spring"}))["changed"]
    assert [[fact["text"] for fact in pair] for pair in changed] == [["old", "new"]]
    clock.advance()
    ok(web.post("/v1/rollback", json={"to": "spring"}))
    assert ok(web.get("/v1/records/a"))["text"] == "old"


def test_a_conflict_is_settled_by_ids(web: httpx.Client):
    ok(web.post("/v1/facts:policy", json={"predicate": "favourite_colour", "mode": "ask"}))
    for colour in ("green", "blue"):
        ok(web.post("/v1/facts", json={"subject": "ana", "predicate": "favourite_colour", "object": colour}), 201)
    [conflict] = ok(web.get("/v1/facts:conflicts"))["items"]
    ids = [fact["id"] for fact in conflict["facts"]]
    ok(web.post("/v1/facts:resolve", json={"facts": ids, "keep": "blue"}))
    assert ok(web.get("/v1/facts:conflicts"))["items"] == []
    assert ok(web.post("/v1/facts:resolve", json={"facts": ids, "keep": "blue"}), 404)


def test_every_example_in_the_description_works(web: httpx.Client):
    shown = 0
    for path, verbs in openapi_document()["paths"].items():
        for verb, told in verbs.items():
            example = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            if example is None:
                continue
            shown += 1
            at = path.replace("{id}", "a")
            if at != path:
                ok(web.post("/v1/records", json={"text": "x", "id": "a"}), 201)
            at = at.replace("{name}", "order").replace("{key}", "step")
            answer = web.request(verb, at, json=example, params={"user": "ana"} if "/flows/" in path else {})
            assert answer.is_success, (verb, at, answer.text)
    assert shown > 20


@pytest.mark.requirement("api.reset")
def test_reset_is_logged_and_leaves_a_usable_memory(
    web: httpx.Client, memory: Memory, caplog: pytest.LogCaptureFixture
):
    for user in ("ana", "bob"):
        ok(web.post("/v1/records", params={"user": user}, json={"text": "one"}), 201)
        ok(web.put("/v1/kv/a", params={"user": user}, json={"value": 1}))
    with caplog.at_level(logging.WARNING, "rememo.serve"):
        done = ok(web.post("/v1/reset", params={"user": "ana"}, headers={"X-Request-Id": "r-1"}))
    assert done == {"records": 1, "keys": 1, "profiles": 0, "sessions": 0}
    [line] = [
        record.getMessage()
        for record in caplog.records
        if "reset" in record.getMessage() and "POST" not in record.getMessage()
    ]
    assert "'user': 'ana'" in line
    assert "key:open from 127.0.0.1, request r-1" in line
    assert [entry.actor for entry in memory.audit.list(operation="clear")] == ["key:open"]
    assert ok(web.get("/v1/users"))["items"] == ["bob"]
    ok(web.post("/v1/records", params={"user": "ana"}, json={"text": "again"}), 201)


def test_everything_can_be_taken_away_and_brought_back(web: httpx.Client):
    ok(web.post("/v1/records", json={"text": "kept", "id": "a"}), 201)
    taken = web.get("/v1/export")
    assert taken.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in taken.text.splitlines()]
    assert (lines[0]["format"], len(lines)) == ("rememo-export", 3)
    headers = {"content-type": "application/x-ndjson"}
    brought = web.post("/v1/import", params={"tenant": "other"}, content=taken.content, headers=headers)
    assert ok(brought)["versions"] == 1
    assert ok(web.get("/v1/records/a", params={"tenant": "other"}))["text"] == "kept"
    assert ok(web.post("/v1/import", content=b"nonsense", headers=headers), 400)


def test_times_are_utc_on_the_wire(web: httpx.Client):
    ok(web.post("/v1/records", json={"text": "x", "id": "a", "occurred_at": "2026-05-01T14:00:00+02:00"}), 201)
    told = datetime.fromisoformat(ok(web.get("/v1/records/a"))["occurred_at"])
    assert told == datetime(2026, 5, 1, 12, tzinfo=UTC)
    naive = web.post("/v1/records", json={"text": "x", "occurred_at": "2026-05-01T14:00:00"})
    assert "time zone" in ok(naive, 400)["error"]["message"]


def test_health(web: httpx.Client, memory: Memory):
    assert ok(web.get("/healthz")) == {"status": "ok"}
    assert ok(web.get("/readyz")) == {"status": "ready"}
    memory.close()
    closed = web.get("/readyz")
    assert (ok(closed, 503)["error"]["code"], closed.headers["retry-after"]) == ("closed", "1")
    assert ok(web.get("/healthz")) == {"status": "ok"}


@pytest.mark.requirement("embed.online-change")
def test_a_server_without_the_new_embedding_model_answers_by_words_and_says_so(
    tmp_path: Path, hosted: Callable[[Memory], str]
):
    with (
        Memory(tmp_path / "a.db", embedder=WordEmbedder("first-model")) as memory,
        Memory(tmp_path / "a.db", embedder=WordEmbedder("first-model")) as other,
        httpx.Client(base_url=hosted(memory)) as web,
    ):
        ok(web.post("/v1/records", json={"text": "the kettle was mended"}), 201)
        other.reembed(WordEmbedder("second-model", 8))
        [hit] = ok(web.post("/v1/search", json={"query": "mended kettle", "explain": True}))["items"]
        assert "words_only" in hit["reasons"]
        ok(web.post("/v1/records", json={"text": "the lamp was mended"}), 201)
        assert len(ok(web.post("/v1/search", json={"query": "mended"}))["items"]) == 2
        assert ok(web.get("/readyz")) == {"status": "ready", "degraded": ["embedder"]}
        assert "second-model" in ok(web.get("/v1/stats"))["words_only"]


@pytest.mark.requirement("erase.proof")
def test_a_person_is_erased_with_a_receipt(web: httpx.Client, memory: Memory):
    for tenant in ("default", "other"):
        for user in ("kim", "ana"):
            memory.scope(tenant=tenant, user=user).add(f"{user} of {tenant}", id=f"{user}-note")
    assert ok(web.post("/v1/erase", json={"user": "kim", "dry_run": True}))["counts"] == {"records": 1, "versions": 1}
    assert memory.count() == 2
    done = ok(web.post("/v1/erase", json={"user": "kim"}))
    assert (done["target"], done["counts"]["records"], done["leftovers"]) == ({"user": "kim"}, 1, [])
    assert [record.text for record in memory.list()] == ["ana of default"]
    assert memory.scope(tenant="other").count() == 2
    assert ok(web.post("/v1/erase", json={"ids": ["ana-note"]}, params={"user": "kim"}))["counts"] == {}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "given no target"),
        ({"ids": []}, "1 to 10,000"),
        ({"user": "ana", "ids": ["x"]}, "not both"),
        ({"user": "ana", "tenant": memory.bound.tenant}, "erases everything"),
        ({"tenant": "other"}, "bound to tenant 'default' and cannot erase tenant 'other'"),
        ({"tenant": True}, "tenant"),
        ({"user": "ana", "dry_run": "false"}, "dry_run"),
        ({"user": "ana", "dry_run": 0}, "dry_run"),
        ({"user": ""}, "empty"),
        ({"name": "ana"}, "name"),
    ]
    for body, says in wrong:
        assert says in ok(web.post("/v1/erase", json=body), 400)["error"]["message"]
    assert ok(web.post("/v1/erase", json={"tenant": "default"}))["counts"]["records"] == 1
    assert (memory.count(), memory.scope(tenant="other").count()) == (0, 2)


def test_only_a_key_that_rules_the_tenant_may_erase(serve: Serve, keys: ApiKeys, memory: Memory):
    address = serve()
    memory.scope(user="ana").add("mine", id="a")
    memory.scope(tenant="other", user="ana").add("theirs", id="a")

    def erase(text: str, query: str = "") -> httpx.Response:
        headers = {"Authorization": f"Bearer {text}"}
        return httpx.post(f"{address}/v1/erase{query}", json={"user": "ana"}, headers=headers, trust_env=False)

    _, writes = keys.add(rights=["read", "write"])
    _, of_one = keys.add(rights=["admin"], user="ana")
    _, rules = keys.add(rights=["admin"])
    for refused in (erase(writes), erase(of_one), erase(rules, "?tenant=other")):
        assert refused.status_code == 403
    assert memory.count() == 1
    ok(erase(rules))
    assert (memory.count(), memory.scope(tenant="other").count()) == (0, 1)


@pytest.mark.requirement("api.rest", "fact.extract")
def test_the_next_request_sees_what_the_last_one_taught(web: httpx.Client, clock: ManualClock):
    for number in range(5):
        ana = {"user": f"ana{number}"}
        for text in ("I live in Lisbon.", "I moved to Porto."):
            clock.advance()
            ok(web.post("/v1/messages", params=ana, json={"role": "user", "content": text}), 201)
        shown = ok(web.post("/v1/context", params=ana, json={"query": "where do I live?"}))
        assert f"ana{number} lives in Porto" in shown["text"]
        clock.advance()
        ok(web.post("/v1/records", params=ana, json={"text": "User moved to Braga"}), 201)
        assert [fact["object"] for fact in ok(web.get("/v1/facts", params=ana))["items"]] == ["Braga"]
        ok(web.post("/v1/records", params=ana, json={"text": "User moved to Faro", "learn": False}), 201)
        [hit, *_] = ok(web.post("/v1/search", params=ana, json={"query": "where do I live?", "kind": "fact"}))["items"]
        assert hit["record"]["data"]["object"] == "Braga"
