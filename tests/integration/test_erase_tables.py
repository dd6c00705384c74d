"""Every table of a store and what an erasure does about it: whoever adds one says so here, and no column keeps a word."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.store.sqlite.connection import connect
from rememo.testing import ManualClock
from rememo.testing.postgres import DatabasePool
from rememo.testing.user_copies import CLEANED, COPIES, OTHERS, OWN_RECORDS, is_left

from .test_erase import raw
from .test_postgres_encrypted import everything, rows

AUDITED = Settings(durability="fast", worker=False, audit=True, compress_above=0)
BOTH = {
    "audit": "what tells of a person is taken out of its lines",
    "erased": "emptied when an erasure ends, but for the pieces in copies that it has named as left",
    "erasures": "whom it is about is taken out when it ends",
    "jobs": "removed with their records; payloads and errors are searched",
    "keys": "removed with what was written under them; searched",
    "kv": "removed by scope and by the user's name; caches emptied, sessions cleaned, the rest searched",
    "models": "holds no words: names of embedding models",
    "records": "removed by scope with all versions; what stands on them worked out anew; the rest searched",
    "snapshots": "removed with a whole tenant; names are searched",
    "tenants": "holds no words: counters",
    "vault": "holds no words: wrapped keys",
    "vectors": "removed with their versions",
}
SQLITE = BOTH | {
    "backups": "holds no words: paths, which the receipt names",
    "staged": "terms on their way to the index: removed with their versions",
    "words": "removed with their versions; segments merged anew",
    "past": "removed with their versions; segments merged anew",
}
POSTGRES = BOTH | {
    "floors": "holds no words: counters",
    "progress": "holds no words: how far a model under construction is",
    "trails": "holds no words: counters and hashes",
    "words": "removed with their versions",
}


@pytest.fixture
def url(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


def erase_all_that_can_be(url: str | Path) -> None:
    """Let kim say something by every way there is, copy it wherever an erasure cleans, and erase kim."""
    clock = ManualClock()
    with Memory(url, embedder=None, settings=AUDITED, clock=clock) as memory:
        for fill in OWN_RECORDS.values():
            fill(memory.scope(user="kim", room="r"))
        memory.scope(user="ana", room="r").messages.add("user", OTHERS)
        for copy in sorted(CLEANED):
            COPIES[copy](memory.scope(room="r"))
        clock.advance(2)
        assert is_left(memory)
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        assert not is_left(memory)


@pytest.mark.requirement("erase.proof")
def test_every_table_of_a_file_is_known_and_none_keeps_a_word(tmp_path: Path):
    path = tmp_path / "memory.db"
    erase_all_that_can_be(path)
    with closing(connect(str(path))) as connection:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = {str(name) for (name,) in connection.execute(sql)}
    indexes = {name for name in names if re.fullmatch(r"(words|past)_\d\d", name)}
    parts = {f"{name}_{part}" for name in indexes for part in ("config", "content", "data", "docsize", "idx")}
    tables = {re.sub(r"_\d\d$", "", name) for name in names - parts}
    assert tables - {"migrations"} == set(SQLITE)
    content = raw(path)
    assert OTHERS.encode() in content
    assert [word for word in (b"zebrafinch", b"every single morning", b"kim") if word in content] == []


@pytest.mark.requirement("erase.proof")
def test_every_table_of_a_schema_is_known_and_none_keeps_a_word(url: str):
    erase_all_that_can_be(url)
    tables = rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'rememo' AND tablename !~ '_[0-9]{2}$'")
    assert {str(name) for (name,) in tables} - {"migrations"} == set(POSTGRES)
    content = everything(url)
    assert OTHERS in content
    assert [word for word in ("zebrafinch", "every single morning", "kim") if word in content] == []
