"""Encrypted and compressed contents on a PostgreSQL server: unreadable in every column, found as before, and keys that change."""

import threading
from collections.abc import Iterator
from typing import Any, LiteralString, cast

import psycopg
import pytest
from tests.unit.keep.corpus import change_keys_meanwhile, messages, questions, remember

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import Corrupt, KeyMismatch
from rememo.store.cipher.protocol import ID_KEY
from rememo.store.postgres.reencryption import PostgresReencryption
from rememo.testing.postgres import DatabasePool

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
FAST = Settings(durability="fast", learn=False, audit=True, worker=False)
LONG = "a long story that goes on and on, and then some. " * 500


@pytest.fixture
def url(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


def rows(url: str, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
    """Ask the server as anybody can who has the database."""
    with psycopg.connect(url, options="-c search_path=rememo", autocommit=True) as connection:
        cursor = connection.execute(cast("LiteralString", sql), values)
        return cursor.fetchall() if cursor.description else []


def everything(url: str) -> str:
    """Return every column of every row."""
    tables = rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'rememo' AND tablename !~ '_[0-9]{2}$'")
    parts = [str(row[0]) for (name,) in tables for row in rows(url, f"SELECT t::text FROM {name} AS t")]
    # What stands in bytes is shown in hexadecimal.
    return "\n".join(parts)


def fill(url: str) -> None:
    with Memory(url, encryption=Keyring(OLD), settings=FAST) as memory:
        remember(memory, 120)
        memory.update("m1", text="a second thought about the telescope")
        memory.update("m2", metadata={"mood": "cross"})
        memory.add("once", key="only once", id="keyed")
        for number in range(20):
            memory.kv.set(f"key {number}", f"value {number}")
        memory.scope(tenant="acme").add("of another tenant")


def answers(memory: Memory) -> list[object]:
    return [
        *([hit.id for hit in memory.search(question)] for question in questions(10)),
        [(record.id, record.text, record.data, record.metadata, record.source) for record in memory.list(limit=500)],
        [memory.kv.get(key) for key in memory.kv.keys("*1*")],
        memory.count(metadata={"mood": "glad"}),
        [hit.id for hit in memory.search("telescope", metadata={"mood": "cross"})],
    ]


# ---- compression


@pytest.mark.requirement("extend.compress")
def test_long_texts_are_compressed_and_nobody_notices(url: str):
    with Memory(url, settings=FAST) as memory:
        memory.add(LONG, id="a", data={"story": LONG}, metadata={"tale": LONG, "n": 1})
        memory.add("short", id="b", metadata={"n": 2})
        memory.add_many([{"text": f"{number} {LONG}", "id": f"c{number}"} for number in range(5)])
        record = memory.get("a")
        assert (record.text, record.data, record.metadata) == (LONG, {"story": LONG}, {"tale": LONG, "n": 1})
        assert memory.search("story", mode="words", metadata={"n": 1})[0].text == LONG
        assert [record.id for record in memory.list(metadata={"tale": {"$contains": "and then some"}})] == ["a"]
        memory.update("a", pinned=True)
        assert memory.history("a")[0].text == LONG
        assert memory.verify().ok
    with Memory(url, settings=FAST.but(compress_above=0)) as memory:
        assert memory.get("c3").text == f"3 {LONG}"
        memory.add(LONG, id="d")
    kept = {row[0]: row[1:] for row in rows(url, "SELECT id, text, length(packed), get_byte(packed, 0) FROM records")}
    assert kept["b"] == ("short", None, None)
    assert kept["d"] == (LONG, None, None)
    for id in ("a", "c0", "c4"):
        text, size, mark = kept[id]
        assert (text, mark) == ("", 1)
        assert size < len(LONG) / 20


# ---- what is encrypted


@pytest.mark.requirement("encrypt.content", "security.encrypt")
def test_nothing_said_can_be_read_in_any_column(url: str):
    secrets = [
        "opens with 4711",
        "Filomena",
        "filomena",
        "Ljubljana",
        "ljubljana",
        "saxophon",
        "Bernardo",
        "wistful",
        LONG[:60],
    ]
    with Memory(url, encryption=Keyring(OLD), settings=FAST.but(learn=True)) as memory:
        remember(memory, 60)
        chat = memory.scope(user="user-1", room="kitchen")
        chat.messages.add("user", "I live in Ljubljana and my sister Filomena plays the saxophone.").wait()
        memory.update("m3", text="the safe opens with 4711", metadata={"said by": "Filomena"})
        memory.add(LONG, data={"wordy": LONG}, key="once for Filomena")
        memory.kv.set("by Filomena", {"told": "4711"})
        memory.profiles.update("u", {"told": "4711"})
        assert [hit.id for hit in memory.search("which number opens the safe?", limit=1)] == ["m3"]
        stored = next(view_of(memory).engine.store.dump(memory.bound))  # what a store gives
        assert stored.vector is not None
        said = [message["text"][:60] for message in messages(60)]
        content = everything(url)
        assert stored.vector.tobytes().hex() not in content
        assert [text for text in (*secrets, *said) if text in content or text.encode().hex() in content] == []
        assert memory.verify().ok


@pytest.mark.requirement("encrypt.content")
def test_hits_and_their_order_are_the_same_without(url: str, databases: DatabasePool):
    plain = databases.lend()
    found: list[object] = []
    for address, keyring in ((url, Keyring(OLD)), (databases.url(plain), None)):
        with Memory(address, encryption=keyring, settings=FAST) as memory:
            remember(memory, 150)
            found.append(
                [
                    [(hit.id, round(hit.score, 6)) for hit in memory.search(question, mode=mode)]  # pyright: ignore[reportArgumentType]
                    for question in questions(15)
                    for mode in ("hybrid", "words", "vector")
                ]
            )
    databases.take_back(plain)
    assert found[0] == found[1]


def test_a_wrong_key_is_refused_at_opening(url: str):
    with Memory(url, encryption=Keyring(OLD), settings=FAST) as memory:
        memory.add("secret")
    with pytest.raises(KeyMismatch, match=f"encrypted with the master key {Keyring(OLD).current}"):
        Memory(url, encryption=Keyring(NEW))
    with pytest.raises(KeyMismatch, match=r"encryption=Keyring\(key\)"):
        Memory(url)
    with Memory(url, encryption=Keyring(NEW, OLD)) as memory:
        assert memory.list()[0].text == "secret"


def test_a_plain_store_does_not_become_a_sealed_one(url: str):
    with Memory(url, settings=FAST) as memory:
        memory.add("plain")
    with pytest.raises(KeyMismatch, match="not encrypted"):
        Memory(url, encryption=Keyring(OLD))
    with Memory(url) as memory:
        assert memory.count() == 1


MOVES = {
    "text": "UPDATE records SET packed = (SELECT packed FROM records WHERE id = 'b') WHERE id = 'a'",
    "metadata": "UPDATE records SET metadata = (SELECT metadata FROM records WHERE id = 'b') WHERE id = 'a'",
    "data from metadata": "UPDATE records SET data = metadata WHERE id = 'a'",
    "version": "UPDATE records SET version = 2 WHERE id = 'a'",
    "tenant": "UPDATE records SET packed = (SELECT packed FROM records WHERE tenant = 'acme') WHERE id = 'a'",
    "plain text": "UPDATE records SET packed = NULL, text = 'something else' WHERE id = 'a'",
    "plain data": """UPDATE records SET data = '{"a":1}' WHERE id = 'a'""",
    "cut": "UPDATE records SET packed = substr(packed, 1, 20) WHERE id = 'a'",
    "nothing": "UPDATE records SET packed = '' WHERE id = 'a'",
}


@pytest.mark.parametrize("statement", MOVES.values(), ids=MOVES)
def test_a_content_that_was_moved_or_changed_does_not_open(url: str, statement: str):
    with Memory(url, encryption=Keyring(OLD), settings=FAST) as memory:
        for name in "ab":
            memory.add(f"the secret of {name}", id=name, metadata={"of": name}, data={"is": name})
        memory.scope(tenant="acme").add("of acme")
        rows(url, statement)
        with pytest.raises(Corrupt):
            memory.get("a")
        assert memory.get("b").text == "the secret of b"
        assert memory.verify().faults


# ---- keys that change


def test_wrapping_anew_takes_the_former_key_out_of_use(url: str):
    fill(url)
    before = [key.hex() for (key,) in rows(url, "SELECT wrapped FROM vault")]
    with Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        expected = answers(memory)
        assert memory.rotate_keys(reencrypt=False).jobs == ()
        assert answers(memory) == expected
    assert {row[0] for row in rows(url, "SELECT master FROM vault")} == {Keyring(NEW).current}
    assert not [key for key in before if key in everything(url)]
    with pytest.raises(KeyMismatch):
        Memory(url, encryption=Keyring(OLD))
    with Memory(url, encryption=Keyring(NEW)) as memory:
        assert answers(memory) == expected


def test_contents_are_sealed_anew_in_jobs(url: str):
    fill(url)
    with (
        Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as memory,
        Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as other,
    ):
        expected = answers(memory)
        assert answers(other) == expected
        receipt = memory.rotate_keys()
        assert len(receipt.jobs) == 2
        assert answers(memory) == expected
        receipt.wait()
        assert answers(memory) == answers(other) == expected
        assert memory.verify().faults == ()
        assert memory.audit.verify().ok
        assert memory.history("m1")[0].text != memory.get("m1").text
        assert other.add("once", key="only once", id="other").ids == ("keyed",)
        other.add("written by the new key", id="new")
        assert memory.search("written by the new key")[0].id == "new"
        assert memory.scope(tenant="acme").list()[0].text == "of another tenant"
    # The key of ids, which has no other after it, stays.
    kept = [("", 1), ("acme", ID_KEY), ("acme", 2), ("default", ID_KEY), ("default", 2)]
    assert rows(url, "SELECT tenant, serial FROM vault ORDER BY tenant, serial") == kept
    heads = rows(
        url, "SELECT DISTINCT substr(packed, 1, 3) FROM records UNION SELECT substr(sealed, 1, 3) FROM vectors"
    )
    assert heads == [(b"\x02\x00\x02",)]
    names = "SELECT substr(key, 1, 4) FROM kv UNION SELECT substr(value, 1, 4) FROM kv UNION SELECT substr(key, 1, 4) FROM keys"
    assert rows(url, names) == [("AgAC",)]


def test_others_read_and_write_while_contents_are_sealed_anew(url: str):
    fill(url)
    wrong: list[BaseException] = []
    over = threading.Event()

    def use() -> None:
        try:
            with Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as other:
                number = 0
                while not over.is_set() or number < 3:
                    number += 1
                    other.add(f"the xylophone number {number}", id=f"x{number}")
                    hits = other.search(f"xylophone {number}", mode="words", limit=500)
                    assert f"x{number}" in [hit.id for hit in hits]
                    other.update(f"m{number % 100}", text=f"the xylophone again {number}")
                    other.kv.set(f"key {number % 20}", number)
                    assert other.kv.get(f"key {number % 20}") == number
                    assert other.count(metadata={"mood": "glad"}) > 0
        except BaseException as error:  # noqa: BLE001 - told to the test
            wrong.append(error)

    thread = threading.Thread(target=use)
    with Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        thread.start()
        memory.rotate_keys().wait()
        memory.rotate_keys().wait()
        over.set()
        thread.join()
        assert wrong == []
        assert memory.verify().faults == ()
        assert len(memory.kv.keys()) == 20


def test_an_interrupted_sealing_is_begun_again(url: str):
    fill(url)
    with Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        expected = answers(memory)
        reencryption = view_of(memory).engine.reencryption  # as if the process died in the middle
        assert isinstance(reencryption, PostgresReencryption)
        reencryption.cipher.add_key("default")
        codecs, database = reencryption._codecs, reencryption._database  # pyright: ignore[reportPrivateUsage]
        codecs.write(database, lambda session: reencryption._step(session, "default", 0), "default")  # pyright: ignore[reportPrivateUsage]
    with Memory(url, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        # In the middle, what was said twice under two keys is not known to be the same: hits of it are not folded.
        assert answers(memory)[-4:-1] == expected[-4:-1]
        assert memory.verify().faults == ()
        memory.rotate_keys().wait()
        assert answers(memory) == expected
        assert memory.verify().faults == ()


@pytest.mark.requirement("encrypt.content")
def test_a_tenant_whose_key_was_dropped_is_unreadable_at_once_and_for_ever(url: str):
    fill(url)
    [(key,)] = rows(url, "SELECT wrapped FROM vault WHERE tenant = 'default' AND serial > 0")
    with (
        Memory(url, encryption=Keyring(OLD), settings=FAST) as elsewhere,
        Memory(url, encryption=Keyring(OLD), settings=FAST) as memory,
    ):
        elsewhere.search("telescope")
        assert elsewhere.kv.get("key 1") == "value 1"
        assert memory.drop_key(tenant="default")
        assert not memory.drop_key(tenant="default")
        for view in (memory, elsewhere, memory.scope(room="garden")):
            for use in (
                lambda view=view: view.search("telescope"),
                lambda view=view: view.list(),
                lambda view=view: view.get("m1"),
                lambda view=view: view.count(),
                lambda view=view: view.kv.get("key 1"),
                lambda view=view: view.kv.set("key 1", "more"),
                lambda view=view: view.add("more"),
                lambda view=view: view.history("m1"),
            ):
                with pytest.raises(KeyMismatch, match="dropped"):
                    use()
        assert key.hex() not in everything(url)
        check = memory.verify()
        assert check.faults == ()
        assert check.unchecked == ("the contents of tenant 'default': its key was dropped",)
        memory.rotate_keys().wait()
        acme = memory.scope(tenant="acme")
        acme.maintain()
        assert acme.search("tenant")[0].text == "of another tenant"


def test_a_tenant_that_others_have_sealed_since_takes_nothing_readable(url: str):
    with Memory(url, settings=FAST) as plain, Memory(url, encryption=Keyring(OLD), settings=FAST) as sealed:
        sealed.add("tiger")
        with pytest.raises(KeyMismatch, match="another process has encrypted it since"):
            plain.add("elephant")
        assert [record.text for record in sealed.list()] == ["tiger"]
    assert "elephant" not in everything(url)


@pytest.mark.requirement("erase.proof")
def test_no_key_is_missed_while_the_names_of_all_change(url: str):
    with Memory(url, embedder=None, encryption=Keyring(OLD), settings=FAST) as memory:
        change_keys_meanwhile(memory, 700)
