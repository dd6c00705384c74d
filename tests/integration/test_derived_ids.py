"""Who has the raw store but not its key confirms no guess by an id; stores of before are renamed, whole and while in use."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from tests.integration import older_stores
from tests.integration.older_stores import BY_HAND, KEY, MANUAL, SAID, STORES, fill

from rememo import Keyring, Memory, Settings
from rememo.adapters.memory_files import MemoryFiles
from rememo.engine import derived_id_migration, opening
from rememo.engine.view import view_of
from rememo.errors import IncompatibleStore, KeyMismatch, NotFound
from rememo.model.derived_ids import is_derived
from rememo.model.derived_names import (
    chunk_name,
    document_name,
    external_name,
    fact_name,
    relationship_name,
    revision_name,
    summary_name,
    typed_name,
    value_name,
)
from rememo.model.scope import Scope
from rememo.store.postgres import migrate as on_server
from rememo.store.postgres.store import PostgresStore
from rememo.store.sqlite import migrate as in_file
from rememo.store.sqlite.store import SqliteStore
from rememo.testing.postgres import DatabasePool

FAST = Settings(durability="fast", audit=True)
HOME = Scope(tenant="default", user="ana", room="chat-7")
pytestmark = pytest.mark.requirement("encrypt.content")


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A store as anybody has it who took its file, or its server's tables."""

    url: str

    @property
    def on_server(self) -> bool:
        return self.url.startswith("postgresql:")

    def open(self, key: str | None = KEY, **more: Any) -> Memory:
        keyring = None if key is None else Keyring(key)
        return Memory(self.url, embedder=None, encryption=keyring, settings=FAST, **more)

    def values(self) -> set[bytes]:
        """Return every value of every column of every table."""
        return set(self._server_values() if self.on_server else self._file_values())

    def _file_values(self) -> Iterator[bytes]:
        with sqlite3.connect(self.url) as connection:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            for (table,) in tables:
                if "USING fts5" in (
                    connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0] or ""
                ):
                    continue  # its rows stand in tables of their own
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield from (_bytes(value) for value in row)
        connection.close()

    def _server_values(self) -> Iterator[bytes]:
        with psycopg.connect(self.url, options="-c search_path=rememo", autocommit=True) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'rememo' AND tablename !~ '_[0-9]{2}$'"
            ).fetchall()
            for (table,) in tables:
                rows: list[tuple[object, ...]] = connection.execute(
                    cast("LiteralString", f"SELECT * FROM {table}")
                ).fetchall()
                for row in rows:
                    yield from map(_bytes, row)

    def confirmed(self, guesses: dict[str, list[bytes]]) -> list[str]:
        """Return which guesses can be confirmed by what stands in the store."""
        held = b"\n".join(self.values())
        return sorted(guess for guess, traces in guesses.items() if any(trace in held for trace in traces))


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def guesses(home: Scope = HOME, *, first: str = external_name("message", ["chat-7", "41"])) -> dict[str, list[bytes]]:
    """Return what an attacker computes of guesses, by all that is public: labels, code and contents that he thinks of."""
    hash = hashlib.sha256(MANUAL.encode()).hexdigest()
    document = document_name(home, hash)
    names = {
        "home": fact_name(home, "ana", "lives_in", "lisbon", 0),
        "new home": fact_name(home, "ana", "lives_in", "porto", 0),
        "employer": fact_name(home, "ana", "works_at", "globex", 0),
        "allergy": fact_name(home, "ana", "allergic_to", "peanuts", 0),
        "partner": fact_name(home, "ana", "married_to", "kim", 0),
        "relationship": relationship_name(home, "ana", "kim", "married_to"),
        "document": document,
        "chunk": chunk_name(document, 0),
        "external message": external_name("message", ["chat-7", "42"]),
        "external post": external_name("post", ["fediverse", "7"]),
        "typed value": typed_name(home, "mood"),
        "value": value_name(home, "context", "tone"),
        "summary": summary_name(home, first),
    }
    found = {guess: _forms(name) for guess, name in names.items()}
    for guess, text in {
        "document's text": MANUAL,
        "message's text": SAID,
        "fact's text": "ana lives in Lisbon",
    }.items():
        raw = text.encode()
        digests = [
            hashlib.sha256(raw),
            hashlib.blake2b(raw, digest_size=16),
            hashlib.blake2b(raw, digest_size=20),
            hashlib.md5(raw, usedforsecurity=False),
        ]
        found[guess] = [form for digest in digests for form in (digest.digest(), digest.hexdigest().encode())]
    return found


def _forms(name: str) -> list[bytes]:
    block = UUID(name)
    return [name.encode(), block.hex.encode(), block.bytes, f"derived-{block.hex}".encode()]


@pytest.fixture(params=["file", "server"])
def raw(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Raw]:
    if request.param == "file":
        yield Raw(url=str(tmp_path / "memory.db"))
        return
    databases: DatabasePool = request.getfixturevalue("databases")
    name = databases.lend()
    yield Raw(url=databases.url(name))
    databases.take_back(name)


# ---- the attack


def test_without_the_key_no_guess_is_confirmed(raw: Raw):
    with raw.open() as memory:
        fill(memory)
        # With the key they are what they are: the attack looks for the right things.
        derive = view_of(memory).engine.ids.derive  # what the key is needed for
        held = {record.id for record in memory.list(limit=200)}
        assert derive("default", fact_name(HOME, "ana", "lives_in", "lisbon", 0)) in held
        revised = [revision.data["record"] for revision in memory.list(kind="revision")]
        assert revised
    assert raw.confirmed(guesses()) == []
    # Ids of records stand there as they are; which of them were revised does not.
    assert raw.confirmed({id: _forms(revision_name(id)) for id in revised}) == []
    with raw.open() as memory:
        before = {record.id for record in memory.list(limit=200)}
        memory.rotate_keys(reencrypt=True).wait()
        assert {record.id for record in memory.list(limit=200)} == before, "ids outlive the keys of contents"
        ana = memory.scope(user="ana", room="chat-7")
        assert ana.typed("mood", {"level": 1}).get() == {"level": 7}
        assert ana.documents.add(text=MANUAL).outcome == "ignored"
    assert raw.confirmed(guesses()) == []
    with raw.open() as memory:
        assert memory.drop_key(tenant="default")
    assert raw.confirmed(guesses()) == []
    with raw.open() as memory:
        with pytest.raises(KeyMismatch, match="dropped"):
            memory.scope(user="ana", room="chat-7").typed("mood", {"level": 1}).get()
        assert memory.scope(tenant="acme", user="ben").facts.list()[0].object == "Oslo"


def test_another_master_key_wraps_the_key_of_ids_anew(raw: Raw):
    newer = Keyring.new_key()
    with raw.open() as memory:
        fill(memory)
    with Memory(raw.url, embedder=None, encryption=Keyring(newer, KEY), settings=FAST) as memory:
        memory.rotate_keys()
    with raw.open(newer) as memory:
        assert memory.scope(user="ana", room="chat-7").typed("mood", {"level": 1}).get() == {"level": 7}


def test_two_tenants_have_different_ids_for_the_same(raw: Raw):
    with raw.open() as memory:
        ids = [memory.scope(tenant=name, user="ana").facts.add("ana", "likes", "tea").id for name in ("one", "two")]
    assert ids[0] != ids[1]


# ---- stores of before


@contextmanager
def yesterday(raw: Raw, monkeypatch: pytest.MonkeyPatch, kind: str = "sealed") -> Generator[None]:
    """Make the store what an earlier release left behind."""
    if not raw.on_server:
        older_stores.unpack_file(kind, raw.url)
        yield
        return
    with psycopg.connect(raw.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rememo CASCADE")
    first = on_server.migrations()[:1]
    with monkeypatch.context() as patch:
        patch.setattr(on_server, "migrations", lambda: first)
        # Opening it makes the tables of then.
        patch.setattr(opening, "migrate_derived_ids", leave_as_it_is)
        Memory(raw.url, embedder=None, settings=FAST.but(audit=False)).close()
    older_stores.load_tables(raw.url)
    yield
    # Other tests are lent this database with today's tables.
    with psycopg.connect(raw.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA rememo CASCADE")
    Memory(raw.url, embedder=None, settings=FAST.but(audit=False)).close()


def need_everything(memory: Memory) -> None:
    """Look whether all that was there is found, under the ids of now, and goes on."""
    ana = memory.scope(user="ana", room="chat-7")
    assert ana.typed("mood", {"level": 1}).get() == {"level": 7}
    assert ana.working.context.get("tone") == "calm"
    facts = {fact.object: fact for fact in ana.facts.list(limit=100)}
    assert set(facts) == {"Porto", "Globex", "peanuts", "Kim", "chess"}
    first, second = ana.messages.get(("chat-7", 41)), ana.messages.get(("chat-7", 42))
    assert (first.content, second.reply_to) == (SAID, first.id)
    assert [source.id for source in facts["peanuts"].sources] == [first.id]
    assert [
        (relationship.entity, relationship.target) for relationship in ana.relationships.list(type="married_to")
    ] == [("ana", "Kim")]
    lisbon = [fact for fact in ana.facts.list(current_only=False) if fact.object == "Lisbon"]
    assert [version.version for version in memory.history(lisbon[0].id)] == [1, 2]
    (document,) = ana.documents.list()
    assert ana.documents.text(document.id) == MANUAL
    assert [passage.document.id for passage in ana.documents.search("how do I boil water?")] == [document.id]
    (summary,) = ana.list(kind="summary")
    assert {first.id, second.id} <= set(summary.data["sources"])
    assert memory.get(BY_HAND).text.startswith("a note under")
    assert "Buy a kettle." in MemoryFiles(memory.scope(user="ana")).view("/memories/plan.md")
    # Nothing that is said again is stored again.
    count = memory.count()
    assert ana.documents.add(title="Kettle", text=MANUAL).outcome == "ignored"
    assert ana.documents.add(title="Kettle", text=MANUAL, key="kettle").id == document.id
    assert ana.messages.add("user", SAID, external_id=("chat-7", 41)).outcome == "ignored"
    assert ana.posts.add("Sunrise over the Douro", external_id=("fediverse", 7)).outcome == "ignored"
    assert ana.facts.add("ana", "likes", "chess", key="chess").id == facts["chess"].id
    # What this release adds to the limits may be written with it; no record comes or goes.
    assert set(ana.sessions.load("monday").outcomes.values()) <= {"updated"}
    assert memory.count() == count
    ids = {record.id for record in memory.list(limit=200) if not record.id.startswith("0")}
    assert {id for id in ids if not is_derived(id)} == {BY_HAND}
    ana.messages.add("user", "I live in Braga now.").wait()
    assert {fact.object for fact in ana.facts.list(predicate="lives_in")} == {"Braga"}
    assert memory.verify().ok
    assert memory.audit.verify().ok


def test_a_sealed_store_of_before_is_renamed(raw: Raw, monkeypatch: pytest.MonkeyPatch):
    with yesterday(raw, monkeypatch):
        assert set(raw.confirmed(guesses())) == {guess for guess in guesses() if "'s text" not in guess}
        with raw.open() as memory:
            need_everything(memory)
        assert raw.confirmed(guesses()) == []
        if not raw.on_server:
            held = Path(raw.url).read_bytes()
            assert [guess for guess, forms in guesses().items() if any(form in held for form in forms)] == []
        with raw.open() as memory:
            assert memory.scope(tenant="acme", user="ben").facts.list()[0].object == "Oslo"
            # Ids that somebody wrote down are still understood.
            old = fact_name(HOME, "ana", "works_at", "globex", 0)
            assert memory.get(old).text == "ana works at Globex"
            assert len(memory.history(old)) == 1
            memory.update(old, metadata={"seen": True})
            memory.delete(old)
            with pytest.raises(NotFound):
                memory.get(old)


def test_a_plain_store_of_before_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    raw = Raw(url=str(tmp_path / "memory.db"))
    with yesterday(raw, monkeypatch, "plain"), raw.open(None) as memory:
        need_everything(memory)


def test_renaming_that_was_interrupted_is_gone_on_with(raw: Raw, monkeypatch: pytest.MonkeyPatch):
    with yesterday(raw, monkeypatch):
        monkeypatch.setattr(derived_id_migration, "STEP", 1)
        for steps in (1, 3, 9):
            with monkeypatch.context() as patch:
                _kill_after(patch, steps)
                with pytest.raises(_Killed):
                    raw.open()
        with raw.open() as memory:
            need_everything(memory)
        assert raw.confirmed(guesses()) == []


def leave_as_it_is(_: object) -> None:
    """Rename nothing, as an earlier release does."""


class _Killed(BaseException):
    """The process ends here."""


def _kill_after(patch: pytest.MonkeyPatch, steps: int) -> None:
    left = [steps]
    for kind in (SqliteStore, PostgresStore):
        rename = kind.rename

        def dying(self: Any, tenant: str, ids: Sequence[str], renames: Any, rename: Any = rename) -> int:
            if not left[0]:
                raise _Killed
            left[0] -= 1
            return rename(self, tenant, ids, renames)

        patch.setattr(kind, "rename", dying)


OPEN = """
import json, sys
from rememo import Keyring, Memory
with Memory(sys.argv[1], embedder=None, encryption=Keyring(sys.argv[2])) as memory:
    print(json.dumps(sorted(one.id for one in memory.list(limit=200))))
"""


def test_several_processes_rename_at_once(raw: Raw, monkeypatch: pytest.MonkeyPatch):
    with yesterday(raw, monkeypatch):
        command = [sys.executable, "-c", OPEN, raw.url, KEY]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        seen = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
        assert seen[0] == seen[1] == seen[2]
        with raw.open() as memory:
            assert sorted(record.id for record in memory.list(limit=200)) == seen[0]
            need_everything(memory)


def test_what_somebody_claimed_before_stays_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    raw = Raw(url=str(tmp_path / "memory.db"))
    future = fact_name(HOME, "ana", "lives_in", "braga", 0)
    with yesterday(raw, monkeypatch, "plain"):
        with monkeypatch.context() as patch:
            patch.setattr(opening, "migrate_derived_ids", leave_as_it_is)
            with raw.open(None) as memory:
                mallory = memory.scope(user="mallory")
                # One as a note, one that passes for a fact.
                mallory.add("mine", id=future)
                data: dict[str, Any] = {
                    "statements": [],
                    "match": {"subject": "ana", "object": "cats"},
                    "predicate": "likes",
                }
                fact = {
                    "text": "mine too",
                    "id": fact_name(HOME, "ana", "likes", "cats", 0),
                    "kind": "fact",
                    "data": data,
                }
                view_of(mallory).put([fact])  # as earlier releases let anybody do
        with raw.open(None) as memory:
            ana = memory.scope(user="ana", room="chat-7")
            ana.messages.add("user", "I live in Braga. I like cats. I am allergic to pollen.").wait()
            assert {fact.object for fact in ana.facts.list(limit=100)} >= {"Braga", "cats", "pollen"}
            assert memory.scope(user="mallory").get(future).text == "mine"
            assert memory.scope(user="mallory").count() == 2


def test_a_tenant_whose_key_was_dropped_before_is_renamed_too(raw: Raw, monkeypatch: pytest.MonkeyPatch):
    with yesterday(raw, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(opening, "migrate_derived_ids", leave_as_it_is)
            with raw.open() as memory:
                memory.drop_key(tenant="default")
        assert "home" in raw.confirmed(guesses())
        with raw.open() as memory:
            assert memory.scope(tenant="acme", user="ben").facts.list()[0].object == "Oslo"
            assert memory.verify().ok
        assert raw.confirmed(guesses()) == []


def test_an_earlier_release_refuses_what_was_renamed(raw: Raw, monkeypatch: pytest.MonkeyPatch):
    with yesterday(raw, monkeypatch):
        raw.open().close()
        for module in (in_file, on_server):
            first = module.migrations()[:1]
            monkeypatch.setattr(module, "migrations", lambda first=first: first)
        with pytest.raises(IncompatibleStore, match="newer Rememo"):
            raw.open()
        monkeypatch.undo()


@pytest.mark.parametrize("kind", ["sealed", "plain"])
def test_an_export_of_before_is_brought_in(kind: str, tmp_path: Path):
    raw = Raw(url=str(tmp_path / "memory.db"))
    with raw.open(None if kind == "plain" else KEY) as memory:
        memory.import_(STORES / f"{kind}.jsonl")
        ana = memory.scope(user="ana", room="chat-7")
        assert ana.typed("mood", {"level": 1}).get() == {"level": 7}
        assert ana.documents.add(title="Kettle", text=MANUAL).outcome == "ignored"
        assert ana.messages.get(("chat-7", 42)).reply_to == ana.messages.get(("chat-7", 41)).id
        assert set(ana.sessions.load("monday").outcomes.values()) <= {"updated"}
        assert memory.get(BY_HAND).text.startswith("a note under")
        assert memory.import_(STORES / f"{kind}.jsonl").versions == 0
        assert memory.verify().ok
    assert kind == "plain" or raw.confirmed(guesses()) == []


def test_a_plain_export_tells_nothing_of_what_is_stored_later(tmp_path: Path):
    raw, target = Raw(url=str(tmp_path / "memory.db")), tmp_path / "plain.jsonl"
    with raw.open() as memory:
        fill(memory)
        memory.export(target, plain=True)
        held = {record.id for record in memory.list(limit=200) if is_derived(record.id)}
    text = target.read_text()
    assert not [id for id in held if id in text]
    assert "id_key" not in text.partition("\n")[0]
    # It goes on in a plain store, and in the one that it came from.
    with Raw(url=str(tmp_path / "other.db")).open(None) as other:
        other.import_(target)
        assert other.scope(user="ana", room="chat-7").typed("mood", {"level": 1}).get() == {"level": 7}
    with raw.open() as memory:
        assert memory.import_(target).versions == 0
