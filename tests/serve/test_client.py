"""The conformance suite over HTTP: what a memory does, a client of its server does alike."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest
from pydantic import BaseModel

from rememo import Memory, Settings
from rememo.client import Client
from rememo.errors import (
    AlreadyExists,
    Closed,
    Forbidden,
    InvalidInput,
    InvalidStep,
    NotFound,
    Paused,
    ReadOnly,
    Unauthorised,
    Unavailable,
    VersionConflict,
)
from rememo.recall.embed.protocol import Embedder
from rememo.serve.auth import ApiKeys
from rememo.serve.rest.operations import BATCHED
from rememo.testing import ManualClock, MemoryConformance, OpenMemory
from rememo.testing.base import STANDARD_EMBEDDER

FAST = Settings(durability="fast")
_HOOKS = "a hook is a function, and is called where the memory is; client.changes() tells of changes instead"
_ACTING = "in whose name something is done is the key's to say, not the caller's"
_MODEL = "a model is changed where the store is: `rememo reembed` does it"
OUT: Final = {
    "test_a_store_goes_to_a_distant_model_and_back": _MODEL,
    "test_who_has_not_got_the_new_model_goes_by_words_and_loses_no_vector": _MODEL,
    "test_every_change_is_told_once_with_what_it_was": _HOOKS,
    "test_a_hook_is_told_after_the_write_is_durable": _HOOKS,
    "test_a_batch_is_told_when_it_is_whole": _HOOKS,
    "test_what_failed_or_was_repeated_is_not_told": _HOOKS,
    "test_a_failing_hook_is_logged_and_counted_and_the_write_stands": _HOOKS,
    "test_a_hook_may_write": _HOOKS,
    "test_a_removed_hook_is_silent": _HOOKS,
    "test_isolation_of_hooks": _HOOKS,
    "test_every_write_leaves_who_when_what_and_from_where": _ACTING,
    "test_later_work_is_done_in_its_own_name": _ACTING,
    "test_lines_are_listed_by_time_actor_operation_and_scope": _ACTING,
    "test_where_it_is_off_nothing_is_noted_and_checks_are_refused": _ACTING,
    "test_acting_nests_and_ends": _ACTING,
    "test_threads_share_one_chain_without_a_gap": _ACTING,
    "test_what_else_is_done_is_noted_too": "refusals are noted by those who refuse: the server does it",
    "test_flags_come_from_the_users_own_checks": "a check is a function, and is asked where the memory is",
    "test_vectors_of_another_model_are_refused_by_name": "the server has the model; opening a client names none",
    "test_versions_of_several_at_once": "looks inside the engine",
    "test_flows_are_found_within_a_view_and_nothing_else": "looks inside the engine",
    "test_a_strangers_record_under_the_id_of_a_fact_costs_nobody_anything": "looks inside the engine",
    "test_one_bad_fact_costs_a_message_none_of_its_others": "looks inside the engine",
    "test_every_verb_says_that_it_is_closed": "has backup(), which writes a file of the server's; see below for the rest",
}
"""What cannot cross HTTP, and why."""


class TestOverHttp(MemoryConformance):
    machine_runs = 3
    machine_steps = 25

    @pytest.fixture
    def open_memory(self, clock: ManualClock, hosted: Callable[[Memory], str]) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        held: dict[str, str] = {}
        with ExitStack() as stack:

            def open_served(
                name: str = "memory",
                *,
                tenant: str = "default",
                embedder: Embedder | None = STANDARD_EMBEDDER,
                settings: Settings | None = None,
            ) -> Memory:
                if name not in held:
                    memory = Memory(":memory:", embedder=embedder, settings=settings or FAST, clock=clock)
                    stack.enter_context(memory)
                    held[name] = hosted(memory)
                return cast("Memory", stack.enter_context(Client(held[name], tenant=tenant)))

            yield open_served


for left_out in OUT:
    setattr(TestOverHttp, left_out, None)


def test_only_what_is_there_is_left_out():
    assert [name for name in OUT if not hasattr(MemoryConformance, name)] == []


@pytest.fixture
def client(serve: Any) -> Iterator[Client]:
    with Client(serve()) as client:
        yield client


def test_a_talk_from_afar(client: Client):
    chat = client.scope(user="ana", room="r1")
    receipt = chat.messages.add("user", "I live in Lisbon.").wait()
    assert receipt.status == "done"
    [fact] = chat.facts.list(subject="ana")
    assert (fact.object, fact.sources[0].id) == ("Lisbon", receipt.id)
    assert [message.content for message in chat.messages.history()] == ["I live in Lisbon."]
    assert "Lisbon" in chat.context("where does she live?", max_tokens=500).text
    assert "Lisbon" in chat.compose("where do I live?").text
    assert chat.search("Lisbon", kind="message")[0].record == chat.get(receipt.id)
    assert client.kv.set("a", {"b": [1]}) == 1
    assert client.kv.get("a") == {"b": [1]}
    assert client.profiles.get("nobody") is None
    goal = chat.goals.add("Learn to swim").id
    chat.goals.done(goal)
    assert chat.goals.get(goal).status == "done"


def test_a_person_is_erased_from_afar(client: Client):
    for user in ("kim", "ana"):
        client.scope(user=user).add(f"{user} said so", id=user)
    assert client.erase(user="kim", dry_run=True).counts == {"records": 1, "versions": 1}
    receipt = client.erase(user="kim")
    assert (receipt.ok, dict(receipt.target), receipt.counts["records"]) == (True, {"user": "kim"}, 1)
    assert len(receipt.digest) == 64
    assert client.users() == ["ana"]
    with pytest.raises(InvalidInput, match="given no target"):
        client.erase()
    untyped: Any = client
    for wrong in ({"tenant": True}, {"tenant": "acme"}, {"user": "ana", "dry_run": "no"}):
        with pytest.raises(InvalidInput):
            untyped.erase(**wrong)
    assert client.users() == ["ana"]
    assert client.erase(tenant="default").counts["records"] == 1


def test_no_ids_are_not_all_ids(client: Client):
    client.add("one", id="a")
    assert client.list(ids=[]) == []
    assert [record.id for record in client.list(ids=["a"])] == ["a"]
    assert client.delete_where(ids=[]) == 0


def test_a_conflict_is_settled_from_afar(client: Client):
    client.facts.policy("favourite_colour", "ask")
    for colour in ("green", "blue"):
        client.facts.add("ana", "favourite_colour", colour)
    [conflict] = client.facts.conflicts()
    client.facts.resolve(conflict, keep=conflict.facts[1])
    assert [fact.object for fact in client.facts.list(subject="ana")] == [conflict.facts[1].object]


def test_a_pool_an_export_and_the_past(client: Client, clock: ManualClock, tmp_path: Path):
    client.pool("team").add("shared", id="a")
    assert client.get("a").scope.room == "pool:team"
    then = clock()
    clock.advance()
    client.update("a", text="changed", expected_version=1)
    assert client.as_of(then).get("a").text == "shared"
    with pytest.raises(ReadOnly):
        client.as_of(then).add("x")
    with pytest.raises(VersionConflict):
        client.update("a", text="late", expected_version=1)
    client.export(tmp_path / "a.jsonl")
    assert client.scope(tenant="other").import_(tmp_path / "a.jsonl").versions == 2


def test_every_verb_of_a_closed_client_says_so(client: Client, tmp_path: Path):
    client.add("here", id="x")
    client.snapshot("s")
    client.export(tmp_path / "all.jsonl")
    past, view = client.as_of("s"), client.scope(user="ana")
    client.close()
    verbs: list[Callable[[], object]] = [
        lambda: client.add("new"),
        lambda: client.get("x"),
        lambda: client.search("here"),
        lambda: client.as_of("s"),
        lambda: client.kv.update("k", lambda _: 1),
        lambda: client.typed("t", 0).get(),
        lambda: client.flow("f", steps=["a"]).get("ana"),
        lambda: client.batch().__enter__().add("x") and client.batch(),
        lambda: client.export(tmp_path / "again.jsonl"),
        lambda: client.import_(tmp_path / "all.jsonl"),
        lambda: client.audit.export(tmp_path / "trail.jsonl"),
        view.list,
        past.list,
    ]
    for number, verb in enumerate(verbs):
        if number == 7:
            with pytest.raises(Closed), client.batch() as batch:
                batch.add("x")
            continue
        with pytest.raises(Closed, match=r"closed.*open it again"):
            verb()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.jsonl"]


class Address(BaseModel):
    city: str
    street: str


def test_a_flow_with_models_is_checked_here(client: Client):
    flow = client.flow(
        "order", steps=["address", "pay", "done"], transitions={"pay": ["done"]}, models={"address": Address}
    )
    with pytest.raises(NotFound):
        flow.set("ana", data={})
    flow.start("ana", data={"address": {"city": "Lisbon"}})
    with pytest.raises(InvalidInput, match="city"):
        flow.set("ana", data={"address": {"city": 7}})
    with pytest.raises(InvalidInput, match="street"):
        flow.advance("ana")
    moved = flow.advance("ana", data={"address": Address(city="Lisbon", street="Rua Augusta")})
    assert (moved.step, moved.data["address"]["street"]) == ("pay", "Rua Augusta")
    with pytest.raises(InvalidStep):
        flow.set("ana", step="address")
    flow.pause("ana")
    with pytest.raises(Paused):
        flow.set("ana", step="done")
    assert flow.resume("ana").step == "pay"
    with pytest.raises(ZeroDivisionError), flow.run("bo", on_error="clear"):
        raise ZeroDivisionError
    assert flow.get("bo") is None
    with pytest.raises(InvalidStep):
        client.flow("order", steps=["a"]).start("cy", step="b")
    with pytest.raises(InvalidInput):
        client.flow("order", steps=[])
    with pytest.raises(InvalidInput):
        client.scope(user="ana").flow("order", steps=["a"]).get("bo")


def test_typed_values_have_types_on_this_side_only(client: Client, web: httpx.Client):
    box = client.scope(user="ana").typed("address", Address(city="Porto", street="Rua"), type=Address)
    assert box.get().city == "Porto"
    box.set(Address(city="Lisbon", street="Rua"))
    assert box.update(lambda held: held.model_copy(update={"street": "Praça"})).street == "Praça"
    held = web.get("/v1/typed/address", params={"user": "ana"}).json()
    assert (held["value"], held["version"]) == ({"city": "Lisbon", "street": "Praça"}, 2)
    assert (
        web.put("/v1/typed/address", params={"user": "ana"}, json={"value": 1, "expected_version": 1}).status_code
        == 409
    )
    assert web.post("/v1/typed/address/undo", params={"user": "ana"}).json()["value"]["street"] == "Rua"
    assert box.get().street == "Rua"
    with pytest.raises(InvalidInput, match="hooks"):
        box.on_change(print)
    with client.batch() as batch:
        batch.typed("n", 0).set(5)
        assert client.typed("n", 0).get() == 0
    assert client.typed("n", 0).get() == 5


def test_plans_and_values_of_the_workbench(client: Client):
    bench = client.scope(room="r").working
    first = bench.todos.add("Paint", priority=5).id
    bench.todos.add("Buy paint", parent=first)
    assert [(todo.text, todo.depth) for todo in bench.todos.list()] == [("Paint", 0), ("Buy paint", 1)]
    upcoming = bench.todos.next()
    assert upcoming is not None
    assert upcoming.text == "Buy paint"
    bench.todos.update(first, done=True)
    assert bench.todos.get(first).done
    bench.context.set("mood", None)
    assert (bench.context.get("mood", "good"), bench.context.get("none", "good")) == (None, "good")
    assert bench.context.all() == {"mood": None}
    assert bench.context.delete("mood")
    bench.messages.add("user", "hello")
    assert bench.stats().messages.count == 1


def test_a_batch_in_one_request(web: httpx.Client, keys: ApiKeys):
    steps: list[dict[str, Any]] = [
        {"call": "add", "arguments": {"text": "one", "id": "a"}, "scope": {"user": "ana"}},
        {"call": "messages.add", "arguments": {"role": "user", "content": "hi", "at": "2026-05-01T12:00:00Z"}},
        {"call": "update", "arguments": {"id": "a", "pinned": True}},
    ]
    done = web.post("/v1/batch", json={"operations": steps}, headers={"Idempotency-Key": "k"})
    assert (done.status_code, len(done.json()["ids"])) == (200, 2), done.text
    again = web.post("/v1/batch", json={"operations": steps}, headers={"Idempotency-Key": "k"})
    assert again.json()["ids"] == done.json()["ids"]
    assert web.get("/v1/records/a").json()["scope"]["user"] == "ana"
    for bad, says in (
        ([{"call": "add", "arguments": {"text": "two"}}, {"call": "clear"}], "clear"),
        (
            [{"call": "add", "arguments": {"text": "two"}}, {"call": "add", "arguments": {"text": 7}}],
            "text must be text",
        ),
        ([{"call": "add", "arguments": {"text": "x"}, "scope": {"tenant": "other"}}], "tenant"),
        ([{"call": "add", "arguments": {"text": "x"}, "nonsense": 1}], "nonsense"),
        ([{"call": "add", "arguments": {"text": "x"}}] * 1_001, "1,000"),
    ):
        refused = web.post("/v1/batch", json={"operations": bad})
        assert refused.status_code == 400
        assert says in refused.json()["error"]["message"]
    assert web.get("/v1/records:count").json() == {"value": 2}
    _, text = keys.add(user="bo")
    bound = {"Authorization": f"Bearer {text}"}
    wide = {"operations": [{"call": "add", "arguments": {"text": "x"}, "scope": {"user": "ana"}}]}
    assert web.post("/v1/batch", json=wide, headers=bound).status_code in (400, 403)
    pool = {"operations": [{"call": "add", "arguments": {"text": "x"}, "pool": "team"}]}
    assert web.post("/v1/batch", json=pool, headers=bound).status_code == 403


def test_whatever_can_be_part_of_a_batch_waits_in_it(client: Client, memory: Memory):
    ids = {
        "goals": client.goals.add("g").id, "tasks": client.tasks.add("t").id, "records": client.add("r").id,
        "todos": client.working.todos.add("d").id, "gone": client.add("x").id, "dropped": client.tasks.add("o").id,
    }  # fmt: skip
    client.working.context.set("old", 1)
    before = memory.count()
    with client.batch() as batch:
        made: dict[str, Callable[[], object]] = {
            "add": lambda: batch.add("a"),
            "add_many": lambda: batch.add_many(["b", {"text": "c"}]),
            "update": lambda: batch.update(ids["records"], text="changed"),
            "delete": lambda: batch.delete(ids["gone"]),
            "messages.add": lambda: batch.messages.add("user", "hi"),
            "messages.add_pair": lambda: batch.messages.add_pair("hi", "ho"),
            "actions.add": lambda: batch.actions.add("tool", result=1),
            "thoughts.add": lambda: batch.thoughts.add("THINK", "so"),
            "posts.add": lambda: batch.posts.add("post"),
            "goals.add": lambda: batch.goals.add("g2"),
            "goals.update": lambda: batch.goals.update(ids["goals"], text="g3"),
            "goals.done": lambda: batch.goals.done(ids["goals"]),
            "goals.drop": lambda: batch.goals.drop(ids["goals"]),
            "tasks.add": lambda: batch.tasks.add("t2"),
            "tasks.update": lambda: batch.tasks.update(ids["tasks"], text="t3"),
            "tasks.done": lambda: batch.tasks.done(ids["tasks"]),
            "tasks.drop": lambda: batch.tasks.drop(ids["dropped"]),
            "working.think": lambda: batch.working.think("hm"),
            "working.todos.add": lambda: batch.working.todos.add("d2"),
            "working.todos.update": lambda: batch.working.todos.update(ids["todos"], text="d3"),
            "working.todos.done": lambda: batch.working.todos.done(ids["todos"]),
            "working.todos.drop": lambda: batch.working.todos.drop(ids["todos"]),
            "working.todos.delete": lambda: batch.working.todos.delete(ids["todos"]),
            "working.context.set": lambda: batch.working.context.set("new", 1),
            "working.context.delete": lambda: batch.working.context.delete("old"),
        }
        assert set(made) == BATCHED
        for verb in made.values():
            verb()
        assert (memory.count(), memory.get(ids["records"]).text) == (before, "r")
        for refused in (lambda: batch.kv.set("k", 1), lambda: batch.facts.add("a", "b", "c"), batch.maintain):
            with pytest.raises(InvalidInput, match="batch"):
                refused()
    assert batch.receipt is not None
    assert memory.get(ids["records"]).text == "changed"
    assert memory.count() == before + 11


def test_a_key_that_may_only_write_makes_batches(serve: Any, keys: ApiKeys):
    _, text = keys.add(rights=["write"])
    with Client(serve(), key=text) as client:
        id = client.add("one").id
        with client.batch(key="clé") as batch:
            batch.update(id, text="two")
        with pytest.raises(Forbidden):
            client.get(id)


def test_files_stay_whole(client: Client, tmp_path: Path):
    client.add("one")
    assert client.export(tmp_path / "a.jsonl", plain=True).versions == 1
    with pytest.raises(AlreadyExists, match=r"a\.jsonl"):
        client.export(tmp_path / "a.jsonl")
    with pytest.raises(InvalidInput, match=r"no\.jsonl"):
        client.import_(tmp_path / "no.jsonl")
    with pytest.raises(InvalidInput, match="nowhere"):
        client.export(tmp_path / "nowhere" / "a.jsonl")
    assert client.audit.export(tmp_path / "trail.jsonl") >= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "trail.jsonl"]


def test_what_cannot_be_done_is_raised(client: Client, keys: ApiKeys):
    with pytest.raises(NotFound):
        client.get("nobody")
    with pytest.raises(InvalidInput):
        client.context("x", template="{{ 1 }}")
    with pytest.raises(InvalidInput):
        Client("localhost:1")
    keys.add()
    with pytest.raises(Unauthorised):
        client.list()
    client.close()
    with pytest.raises(Closed):
        client.list()
    with Client("http://127.0.0.1:9") as nowhere, pytest.raises(Unavailable):
        nowhere.list()


def test_milliseconds_are_a_time_over_http_too(client: Client):
    untyped: Any = client
    id = untyped.messages.add("user", "I moved to Lisbon.", at=1_700_000_000_000).id
    assert client.get(id).at == datetime.fromtimestamp(1_700_000_000, UTC)
