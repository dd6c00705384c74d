"""The conformance suite over HTTP: what a memory does, a client of its server does alike."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from rememo import Memory, Settings
from rememo.client import Client
from rememo.errors import Closed, InvalidInput, NotFound, ReadOnly, Unauthorised, Unavailable, VersionConflict
from rememo.recall.embed.protocol import Embedder
from rememo.serve.auth import Keys
from rememo.testing import ManualClock, OpenMemory
from rememo.testing.base import STANDARD_EMBEDDER
from rememo.testing.records import ChangeSuite, ConflictSuite, RecordSuite
from rememo.testing.scopes import ScopeSuite
from rememo.testing.travel import DiffSuite, HistorySuite, RollbackSuite

FAST = Settings(durability="fast")


class TestOverHttp(RecordSuite, ConflictSuite, ChangeSuite, ScopeSuite, HistorySuite, DiffSuite, RollbackSuite):
    @pytest.fixture
    def open_memory(self, clock: ManualClock, running: Any) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
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
                    held[name] = stack.enter_context(running(memory))
                return cast("Memory", stack.enter_context(Client(held[name], tenant=tenant)))

            yield open_served


@pytest.fixture
def client(serve: Any) -> Iterator[Client]:
    with Client(serve()) as client:
        yield client


def test_the_client_is_made_from_what_is_served():
    tool = Path(__file__).parents[2] / "tools" / "client.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_talk_from_afar(client: Client):
    chat = client.scope(user="ana", room="r1")
    receipt = chat.messages.add("user", "I live in Lisbon.").wait()
    assert receipt.status == "done"
    [fact] = chat.facts.list(subject="ana")
    assert (fact.object, fact.sources[0].id) == ("Lisbon", receipt.id)
    assert [one.content for one in chat.messages.history()] == ["I live in Lisbon."]
    assert "Lisbon" in chat.context("where does she live?", max_tokens=500).text
    assert "Lisbon" in chat.compose("where do I live?").text
    assert chat.search("Lisbon", kind="message")[0].record == chat.get(receipt.id)
    assert client.kv.set("a", {"b": [1]}) == 1
    assert client.kv.get("a") == {"b": [1]}
    assert client.profiles.get("nobody") is None
    goal = chat.goals.add("Learn to swim").id
    chat.goals.done(goal)
    assert chat.goals.get(goal).status == "done"


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


def test_what_cannot_be_done_is_raised(client: Client, keys: Keys):
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
