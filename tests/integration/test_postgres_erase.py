"""Erasure on a PostgreSQL server: no column and no dead row keeps it, others work meanwhile, and a kill costs nothing."""

import subprocess
from collections.abc import Callable, Iterator

import psycopg
import pytest

import rememo.keep.erase
from rememo import Keyring, Memory, Settings
from rememo.keep.erase import need_erasing_store
from rememo.testing import WordEmbedder
from rememo.testing.postgres import DatabasePool

from .talk import hear, kill_when
from .test_erase import open_engine_of, secret
from .test_postgres_encrypted import everything, rows

Start = Callable[..., "subprocess.Popen[str]"]
FAST = Settings(durability="fast", worker=False, audit=True)


@pytest.fixture
def url(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    rows(databases.url(name), "VACUUM")  # whoever had it before may have left dead rows
    yield databases.url(name)
    databases.take_back(name)


def fill(url: str, count: int, keyring: Keyring | None = None) -> list[str]:
    """Give kim and ana something to say in turns, changed and deleted here and there; returns kim's secrets."""
    secrets: list[str] = []
    with Memory(url, embedder=WordEmbedder(), encryption=keyring, settings=FAST) as memory:
        kim, ana = memory.scope(user="kimberly", room="shared"), memory.scope(user="ana", room="shared")
        with memory.acting(actor="kimberly"):
            kim.add_many(
                {"text": f"On day {n} the word was {secret(2 * n)}.", "id": f"kimberly-{n}"} for n in range(count)
            )
        ana.add_many({"text": f"On day {n} nothing was said to ana.", "id": f"ana-{n}"} for n in range(count))
        for number in range(0, count, 10):
            secrets += [secret(2 * number), secret(2 * number + 1)]
            kim.update(f"kimberly-{number}", text=f"On day {number} it was {secret(2 * number + 1)} after all.")
            kim.kv.set(f"day {number}", {"word": secret(2 * number)})
            kim.delete(f"kimberly-{number + 1}")
            ana.update(f"ana-{number}", text=f"On day {number} something was said to ana.")
        kim.add("in one batch only", key="once by kimberly")
        memory.profiles.update("kimberly", animal="zebrafinch")
    return secrets


def dead_rows(url: str) -> int:
    rows(url, "CREATE EXTENSION IF NOT EXISTS pgstattuple SCHEMA public")
    sql = """SELECT sum((public.pgstattuple(oid)).dead_tuple_count) FROM pg_class
    WHERE relnamespace = 'rememo'::regnamespace AND relkind = 'r' AND relname ~ '^(records|words|vectors|kv|keys|audit|erase)'"""
    return rows(url, sql)[0][0]


@pytest.mark.requirement("erase.proof")
@pytest.mark.parametrize("keyring", [None, Keyring(bytes(32))], ids=["plain", "sealed"])
def test_no_column_and_no_dead_row_keeps_it(url: str, keyring: Keyring | None):
    secrets = fill(url, 200, keyring)
    if keyring is None:
        assert [secret for secret in secrets if secret not in everything(url)] == []
    with Memory(url, embedder=WordEmbedder(), encryption=keyring, settings=FAST) as memory:
        receipt = memory.erase(user="kimberly")
        assert receipt.ok, receipt.leftovers
        assert receipt.counts["records"] == 201
        assert receipt.counts["vectors"] == receipt.counts["versions"] == receipt.counts["words"] > 201
        assert receipt.counts["kv"] == 21
        assert receipt.counts["keys"] == 1
        assert receipt.checked["texts"] == receipt.counts["versions"]
        assert receipt.checked["row_bytes"] > receipt.checked["rows"] > 200
        assert [place.split()[0] for place in receipt.beyond] == ["the", "backups", "free"]
        assert receipt.backups == ()
        content = everything(url)
        assert [secret for secret in secrets if secret in content] == []
        assert "kimberly" not in content
        assert dead_rows(url) == 0
        assert memory.scope(user="ana").count() == 200
        assert len(memory.history("ana-10")) == 2
        assert memory.audit.verify().ok
        assert memory.verify().faults == ()
        assert memory.erase(user="kimberly").beyond == ()


def test_what_others_say_too_is_no_leftover_but_what_only_the_store_says_is(url: str):
    with Memory(url, embedder=None, settings=FAST) as memory:
        for user in ("kimberly", "ana"):
            memory.scope(user=user).add("Good morning, everybody in this room!")
        memory.scope(user="kimberly").add("And this only kim says, to nobody else.")
        receipt = memory.erase(user="kimberly")
        assert receipt.ok, receipt.leftovers
        assert receipt.checked["pieces_others_have"] >= 1
        memory.scope(user="kimberly").add("A sentence that stands where nobody looks for it.")
        scope = '{"agent":null,"user":null,"room":"r"}'
        values = (scope, "A sentence that stands where nobody looks for it.", '{"written":[]}')
        rows(url, "INSERT INTO keys (tenant, scope, key, commit, at) VALUES ('default', %s, %s, %s, 1)", values)
        [left] = memory.erase(user="kimberly").leftovers
        assert "pieces of texts elsewhere" in left


def test_who_still_sees_it_is_told(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rememo.keep.erase, "_LONGEST_WAIT", 0.2)
    with (
        Memory(url, embedder=None, settings=FAST) as memory,
        psycopg.connect(url) as reader,
    ):
        memory.scope(user="kimberly").add("a secret of kim")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM rememo.records")
        receipt = memory.erase(user="kimberly")
        assert not receipt.ok
        assert "transactions that began before" in receipt.leftovers[0]
        assert dead_rows(url) > 0
        reader.rollback()
        assert memory.erase(user="kimberly").ok
        assert need_erasing_store(open_engine_of(memory)).erasures("default") == []
    assert dead_rows(url) == 0


def test_who_vacuums_is_waited_for_and_told(url: str):
    with (
        Memory(url, embedder=None, settings=FAST.but(busy_timeout=0.2)) as memory,
        psycopg.connect(url) as other,
    ):
        memory.scope(user="kimberly").add("a secret of kim")
        other.execute("LOCK TABLE rememo.kv IN SHARE UPDATE EXCLUSIVE MODE")
        [left] = memory.erase(user="kimberly").leftovers
        assert "others are vacuuming" in left
        other.rollback()
        assert memory.erase(user="kimberly").ok


@pytest.mark.requirement("erase.proof", "process.safe")
def test_others_read_and_write_meanwhile(url: str, start: Start):
    secrets = fill(url, 300)
    others = [start("chat_on", url, f"other{number}") for number in range(2)]
    for other in others:
        assert hear(other) == "ready"
    with Memory(url, embedder=WordEmbedder(), settings=FAST) as memory:
        receipt = memory.erase(user="kimberly")
        assert receipt.ok, receipt.leftovers
        for number, other in enumerate(others):
            assert other.stdin is not None
            other.stdin.write("stop\n")
            written = hear(other)["count"]
            assert memory.scope(user=f"other{number}").count() == written
        content = everything(url)
        assert [secret for secret in secrets if secret in content] == []
        assert memory.scope(user="ana").count() == 300
        assert memory.verify().faults == ()


@pytest.mark.requirement("erase.proof")
@pytest.mark.parametrize("left", [170, 60, 0])
def test_a_kill_in_the_middle_is_taken_up_again(url: str, start: Start, left: int):
    secrets = fill(url, 200)
    eraser = start("erase_user", url, "kimberly")
    assert hear(eraser) == "ready"
    with Memory(url, embedder=WordEmbedder(), settings=FAST) as memory:
        kim = memory.scope(user="kimberly")
        kill_when(eraser, lambda: kim.count() <= left)
        assert memory.verify().faults == ()
        interrupted = bool(need_erasing_store(open_engine_of(memory)).erasures("default"))
        if left:
            assert interrupted
        else:
            memory.maintain()
        receipt = memory.erase(user="kimberly")
        assert receipt.ok
        if interrupted:
            assert receipt.counts["records"] >= 200
        assert memory.erase(user="kimberly").counts == {}
        content = everything(url)
        assert [secret for secret in secrets if secret in content] == []
        assert kim.list() == []
        assert memory.scope(user="ana").count() == 200
        assert need_erasing_store(open_engine_of(memory)).erasures("default") == []
        assert memory.verify().faults == ()
