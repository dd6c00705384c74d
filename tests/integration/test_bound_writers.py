"""Whoever is bound to a room decides nothing in others, on a file as on PostgreSQL, encrypted or not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.keep.keyring import Keyring
from rememo.memory import walled
from rememo.testing import ManualClock
from rememo.testing.postgres import DatabasePool

SETTINGS = Settings(durability="fast", worker=False)


@pytest.fixture(params=["file", "encrypted file", "postgres", "encrypted postgres"])
def memory(
    request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path, databases: DatabasePool
) -> Iterator[Memory]:
    kind = str(request.param)
    encryption = Keyring(Keyring.new_key()) if kind.startswith("encrypted") else None
    name = databases.lend() if "postgres" in kind else None
    url = str(tmp_path / "memory.db") if name is None else databases.url(name)
    with Memory(url, embedder=None, settings=SETTINGS, clock=clock, encryption=encryption) as opened:
        yield opened
    if name is not None:
        databases.take_back(name)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.mark.requirement("conflict.policy")
def test_a_bound_writer_leaves_other_rooms_as_they_are(memory: Memory, clock: ManualClock):
    home = memory.scope(user="ana", room="home")
    home.messages.add("user", "I live in Lisbon. My sister is called Bea.").wait()
    clock.advance(60)
    before = [[version.to_dict() for version in home.history(record.id)] for record in home.list(limit=100)]
    support = walled(memory, memory.scope(room="support").bound).scope(user="ana")
    said = support.messages.add("user", "I moved to Porto. My sister is called Bea.").wait()
    assert [[version.to_dict() for version in home.history(record.id)] for record in home.list(limit=100)] == before
    assert {fact.object for fact in support.facts.list(predicate="lives_in")} == {"Porto"}
    assert [relationship.count for relationship in support.relationships.list()] == [1]
    assert support.facts.conflicts() == []
    [conflict] = memory.facts.conflicts()
    assert [fact.object for fact in conflict.facts] == ["Lisbon", "Porto"]
    support.delete(said.id).wait()
    assert memory.facts.conflicts() == []
    assert [[version.to_dict() for version in home.history(record.id)] for record in home.list(limit=100)] == before
