"""Every statement on PostgreSQL carries its tenant, so that a cluster can be cut between any two of them."""

import re
from pathlib import Path
from typing import Any

import pytest

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.store.postgres.session import PostgresSession
from rememo.testing import ManualClock, WordEmbedder
from rememo.testing.postgres import DatabasePool

# Not `models`: it belongs to the store, not to a tenant.
TABLES = re.compile(
    r"\b(records|words|vectors|tenants|progress|snapshots|keys|jobs|kv|floors|audit|trails|vault|erasures|erased)(_\d\d)?\b"
)
CONDITION = re.compile(r"\btenant( \|\| '')? = |\(tenant, |\.tenant = |\bAS held \(tenant|\(tenant\) VALUES")


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    said: set[str] = set()
    execute, copy = PostgresSession.execute, PostgresSession.copy

    def listen(self: PostgresSession, sql: str, values: Any = ()) -> Any:
        said.add(sql)
        return execute(self, sql, values)

    def listen_to_copy(self: PostgresSession, sql: str, types: Any, rows: Any) -> None:
        said.add(sql)
        copy(self, sql, types, rows)

    monkeypatch.setattr(PostgresSession, "execute", listen)
    monkeypatch.setattr(PostgresSession, "copy", listen_to_copy)
    return said


def live(memory: Memory, clock: ManualClock, folder: Path) -> None:
    """Do whatever is done in the name of one tenant."""
    chat = memory.scope(user="ana", room="one", agent="helper")
    chat.messages.add("user", "I live in Lisbon and my cat is called Miso.").wait()
    before = clock.advance(1)
    first = chat.add("a ship in the harbour", metadata={"n": 1, "tags": ["x"]}, key="k").id
    chat.add("a ship in the harbour", metadata={"n": 1, "tags": ["x"]}, key="k")
    chat.add_many([f"ship {number} in the harbour" for number in range(20)])
    chat.update(first, text="a boat", expected_version=1)
    chat.update(first, metadata={"n": 2})
    chat.add("another", id="given", ttl=5)
    chat.add("another", id="given", on_conflict="replace")
    for known_at in (None, before):
        chat.search("ship harbour", known_at=known_at, metadata={"n": {"$gte": 1}})
        chat.list(known_at=known_at, limit=5, kind=["note", "message"])
        chat.list(known_at=known_at, ids=[first])
        chat.count(known_at=known_at)
    chat.similar([1.0] * WordEmbedder().dimension)
    chat.get(first)
    chat.history(first)
    memory.users()
    memory.snapshot("here")
    chat.undo(chat.delete(first))
    chat.delete_where(kind="note", metadata={"n": 2})
    memory.rollback("here")
    memory.diff(before, clock.advance(1))
    memory.kv.set("a", 1, ttl=50, sliding=True)
    memory.kv.update("a", lambda value: value + 1)
    clock.advance(20)
    memory.kv.get("a")
    memory.kv.keys("*")
    memory.kv.delete("a")
    memory.kv.invalidate("*")
    memory.export(folder / "all.jsonl")
    memory.import_(folder / "all.jsonl")
    memory.stats()
    memory.jobs.list()
    memory.jobs.list(limit=5)
    memory.jobs.list("dead", limit=5)
    view_of(memory).engine.kv.spaces("default")
    memory.erase(room="one")


@pytest.mark.parametrize(("audit", "keyring"), [(False, None), (True, None), (True, Keyring(bytes(32)))])
def test_every_statement_carries_its_tenant(
    databases: DatabasePool, statements: set[str], tmp_path: Path, *, audit: bool, keyring: Keyring | None
):
    name, clock = databases.lend(), ManualClock()
    settings = Settings(durability="fast", worker=False, audit=audit)
    url = databases.url(name)
    with Memory(url, embedder=WordEmbedder(), encryption=keyring, settings=settings, clock=clock) as memory:
        statements.clear()
        live(memory, clock, tmp_path)
    databases.take_back(name)
    # What is vacuumed is a table, whoever has rows in it.
    about_tenants = [sql for sql in statements if TABLES.search(sql) and not sql.startswith("VACUUM")]
    assert len(about_tenants) > 40
    assert [sql for sql in about_tenants if not CONDITION.search(sql)] == []
