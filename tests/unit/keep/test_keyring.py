"""Encryption: keys, what they refuse, and that nothing else changes for those who have them."""

import base64
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememo import Keyring, Memory, Settings
from rememo.errors import Corrupt, InvalidInput, KeyMismatch, MissingExtra
from rememo.store.sqlite.connection import Connection, connect
from rememo.testing import ManualClock
from rememo.testing.strategies import CONDITIONS, METADATA

from .corpus import messages, questions, remember

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))
FAST = Settings(durability="fast", learn=False)


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "sealed.db", encryption=Keyring(KEY), settings=FAST) as memory:
        yield memory


@contextmanager
def raw(path: Path) -> Generator[Connection]:
    """Open a file as anybody can who has it."""
    connection = connect(str(path))
    yield connection
    connection.close()


# ---- keys


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        bytearray(KEY),
        KEY.hex(),
        KEY.hex().upper(),
        base64.b64encode(KEY).decode(),
        base64.urlsafe_b64encode(KEY).decode().rstrip("="),
        base64.b64encode(KEY) + b"\n",
        lambda: KEY,
        KEY.hex,
    ],
)
def test_a_key_may_be_written_in_several_ways(key: Any):
    assert Keyring(key).current == Keyring(KEY).current


@pytest.mark.parametrize(
    "key", [b"", b"short", KEY[:16], KEY + KEY, "", "not a key!", KEY[:16].hex(), "x" * 64, lambda: b"short"]
)
def test_a_key_of_the_wrong_length_is_refused_and_not_shown(key: Any):
    with pytest.raises(InvalidInput, match="32 bytes") as error:
        Keyring(key)
    assert "short" not in str(error.value)


def test_a_key_that_is_no_key_is_refused():
    with pytest.raises(InvalidInput, match="not int"):
        Keyring(32)  # pyright: ignore[reportArgumentType] - that is the test


def test_keys_from_a_file(tmp_path: Path):
    (tmp_path / "raw").write_bytes(KEY)
    (tmp_path / "lines").write_text(f"{OTHER.hex()}\n{KEY.hex()}\n")
    (tmp_path / "empty").write_text("\n")
    assert Keyring.from_file(tmp_path / "raw").current == Keyring(KEY).current
    assert Keyring.from_file(tmp_path / "lines").current == Keyring(OTHER).current
    with pytest.raises(InvalidInput, match="holds no key"):
        Keyring.from_file(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="cannot be read"):
        Keyring.from_file(tmp_path / "none")


def test_keys_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REMEMO_MASTER_KEY", f"{OTHER.hex()}, {KEY.hex()}")
    assert Keyring.from_environment().current == Keyring(OTHER).current
    with pytest.raises(InvalidInput, match="MY_KEY holds no key"):
        Keyring.from_environment("MY_KEY")


def test_new_keys_differ_and_fit():
    first, second = Keyring.new_key(), Keyring.new_key()
    assert first != second
    assert Keyring(first).current != Keyring(second).current


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtra, match=r'pip install "rememo\[encrypt\]"'):
        Keyring(KEY)


# ---- opening


def test_a_wrong_key_is_refused_at_opening(tmp_path: Path):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("secret")
    with pytest.raises(KeyMismatch, match=f"encrypted with the master key {Keyring(KEY).current}"):
        Memory(tmp_path / "a.db", encryption=Keyring(OTHER))
    with pytest.raises(KeyMismatch, match=r"encryption=Keyring\(key\)"):
        Memory(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", encryption=Keyring(OTHER, KEY)) as memory:
        assert memory.list()[0].text == "secret"


def test_a_plain_file_does_not_become_a_sealed_one(tmp_path: Path):
    with Memory(tmp_path / "a.db", settings=FAST) as memory:
        memory.add("plain")
    with pytest.raises(KeyMismatch, match="not encrypted"):
        Memory(tmp_path / "a.db", encryption=Keyring(KEY))
    with Memory(tmp_path / "a.db") as memory:
        assert memory.count() == 1


def test_a_plain_file_that_is_empty_does(tmp_path: Path):
    Memory(tmp_path / "a.db", settings=FAST).close()
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("secret")
    with pytest.raises(KeyMismatch):
        Memory(tmp_path / "a.db")


def test_a_sealed_memory_of_one_process_works_too():
    with Memory(":memory:", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("the telescope is in the attic", metadata={"n": 1})
        assert memory.search("telescope", metadata={"n": 1})[0].text == "the telescope is in the attic"
        assert memory.verify().ok


# ---- what was moved or changed does not open

MOVES = {
    "text": "UPDATE records SET text = (SELECT text FROM records WHERE id = 'b') WHERE id = 'a'",
    "text into data": "UPDATE records SET data = (SELECT text FROM records WHERE id = 'a') WHERE id = 'a'",
    "metadata": "UPDATE records SET metadata = (SELECT metadata FROM records WHERE id = 'b') WHERE id = 'a'",
    "source": "UPDATE records SET source = (SELECT source FROM records WHERE id = 'b') WHERE id = 'a'",
    "id": "UPDATE records SET id = CASE id WHEN 'a' THEN 'b' ELSE 'a' END WHERE tenant = 'default' AND number IN (1, 2)",
    "version": "UPDATE records SET version = 2 WHERE id = 'a'",
    "tenant": "UPDATE records SET text = (SELECT text FROM records WHERE tenant = 'acme') WHERE id = 'a'",
    "plain text": "UPDATE records SET text = 'something else' WHERE id = 'a'",
    "cut": "UPDATE records SET text = substr(text, 1, 20) WHERE id = 'a'",
    "nothing": "UPDATE records SET text = x'' WHERE id = 'a'",
    "compressed": "UPDATE records SET text = x'0128b52ffd' WHERE id = 'a'",
}


@pytest.mark.parametrize("statement", MOVES.values(), ids=MOVES)
def test_a_content_that_was_moved_or_changed_does_not_open(tmp_path: Path, statement: str):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        for name in "ab":
            memory.add(f"the text of {name}", id=name, data={"of": name}, metadata={"of": name}, source=f"from {name}")
    with Memory(tmp_path / "a.db", tenant="acme", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("the text of acme", id="a")
    with raw(tmp_path / "a.db") as connection:
        connection.execute("DROP INDEX records_by_id")  # two rows are to change places
        connection.execute(statement.replace("WHERE id = 'a'", "WHERE id = 'a' AND tenant = 'default'"))
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        with pytest.raises(Corrupt):
            memory.list()
        assert not memory.verify().ok


def test_a_vector_that_was_moved_does_not_open(tmp_path: Path):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("the telescope stands in the attic")
        memory.add("bread is made of flour and water")
    with raw(tmp_path / "a.db") as connection:
        connection.execute("UPDATE vectors SET vector = (SELECT vector FROM vectors ORDER BY place DESC LIMIT 1)")
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        with pytest.raises(Corrupt, match="vector"):
            memory.search("telescope")
        assert [fault for fault in memory.verify().faults if "vector" in fault]


def test_a_key_that_was_moved_to_another_tenant_does_not_open(tmp_path: Path):
    for tenant in ("acme", "rival"):
        with Memory(tmp_path / "a.db", tenant=tenant, encryption=Keyring(KEY), settings=FAST) as memory:
            memory.add(f"secret of {tenant}")
    with raw(tmp_path / "a.db") as connection:
        connection.execute(
            "UPDATE vault SET wrapped = (SELECT wrapped FROM vault WHERE tenant = 'rival') WHERE tenant = 'acme'"
        )
    with (
        Memory(tmp_path / "a.db", tenant="acme", encryption=Keyring(KEY)) as memory,
        pytest.raises(Corrupt, match="acme"),
    ):
        memory.list()


def test_a_value_that_was_moved_does_not_open(sealed: Memory, tmp_path: Path):
    sealed.kv.set("theirs", "secret")
    sealed.kv.set("mine", "nothing")
    with raw(tmp_path / "sealed.db") as connection:
        connection.execute("UPDATE kv SET value = (SELECT value FROM kv ORDER BY version, key LIMIT 1)")
    with pytest.raises(Corrupt):
        [sealed.kv.get(key) for key in ("mine", "theirs")]


# ---- the same answers


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, Memory]]:
    """The same life, told to a plain memory and to an encrypted one."""
    folder = tmp_path_factory.mktemp("both")
    memories: list[Memory] = []
    for name, encryption in (("plain", None), ("sealed", Keyring(KEY))):
        clock = ManualClock()
        memory = Memory(folder / f"{name}.db", encryption=encryption, settings=FAST, clock=clock)
        remember(memory, 600)
        for number in range(0, 600, 50):
            memory.update(f"m{number}", text=f"I changed my mind about the accordion {number}")
            clock.advance(seconds=1)
        memory.delete("m7")
        memories.append(memory)
    yield memories[0], memories[1]
    for memory in memories:
        memory.close()


def answers(memory: Memory, question: str, **more: Any) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.score, 6)) for hit in memory.search(question, limit=20, **more)]


@pytest.mark.requirement("encrypt.content")
@pytest.mark.parametrize("mode", ["hybrid", "words", "vector"])
def test_search_gives_the_same_hits_in_the_same_order(both: tuple[Memory, Memory], mode: Any):
    plain, sealed = both
    for question in questions(60):
        expected = answers(plain, question, mode=mode)
        assert expected
        assert answers(sealed, question, mode=mode) == expected


def test_search_is_the_same_in_a_room_by_metadata_and_in_the_past(both: tuple[Memory, Memory]):
    (plain, sealed), past = both, datetime(2025, 4, 1, tzinfo=UTC)
    for question in questions(20, seed=9):
        for more in (
            {"metadata": {"mood": "glad"}},
            {"metadata": {"place": {"$gte": 4}}, "kind": "message"},
            {"after": past, "before": past + timedelta(days=20)},
        ):
            expected = answers(plain, question, **more)
            assert answers(sealed, question, **more) == expected
        assert answers(sealed.scope(room="garden"), question) == answers(plain.scope(room="garden"), question)
        then = plain.history("m0")[0].recorded_at
        assert answers(sealed.as_of(then), question) == answers(plain.as_of(then), question)


def test_hits_say_the_same(both: tuple[Memory, Memory]):
    plain, sealed = both
    mine, theirs = (memory.search("Who gave me the saxophone?", explain=True) for memory in both)
    assert [(hit.text, hit.record.data, hit.record.metadata, hit.record.source, hit.reasons) for hit in mine] == [
        (hit.text, hit.record.data, hit.record.metadata, hit.record.source, hit.reasons) for hit in theirs
    ]
    assert plain.count() == sealed.count()


STORED = st.lists(METADATA, min_size=1, max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stored=STORED, wanted=CONDITIONS, limit=st.integers(1, 5), offset=st.integers(0, 4))
def test_any_filter_means_the_same(stored: list[dict[str, Any]], wanted: dict[str, Any], limit: int, offset: int):
    results: list[Any] = []
    for encryption in (None, Keyring(KEY)):
        with Memory(":memory:", embedder=None, encryption=encryption, settings=FAST, clock=ManualClock()) as memory:
            memory.add_many(
                [
                    {"text": f"harbour {place}", "id": str(place), "metadata": value, "data": {"m": place % 2}}
                    for place, value in enumerate(stored)
                ]
            )
            answer: list[Any] = [
                [record.id for record in memory.list(metadata=wanted)],
                [record.id for record in memory.list(metadata=wanted, limit=limit, offset=offset)],
                [hit.id for hit in memory.search("harbour", metadata=wanted, limit=limit)],
                memory.count(metadata=wanted),
                memory.delete_where(metadata=wanted),
                [record.id for record in memory.list()],
            ]
            results.append(answer)
    assert results[0] == results[1]


# ---- tenants


def test_tenants_have_keys_of_their_own(tmp_path: Path):
    text = "the same words under two keys"
    for tenant in ("acme", "rival"):
        with Memory(tmp_path / "a.db", tenant=tenant, encryption=Keyring(KEY), settings=FAST) as memory:
            memory.add(text, data={"name": "Alice"})
    with raw(tmp_path / "a.db") as connection:
        rows = connection.execute("SELECT fingerprint, hash, speaker FROM records").fetchall()
        words = [set(row[0].split()) for row in connection.execute("SELECT terms FROM staged").fetchall()]
    assert len(words) == 2
    assert not words[0] & words[1]
    assert all(mine != other for mine, other in zip(*rows, strict=True))


def test_reading_a_tenant_that_is_not_there_makes_no_key(sealed: Memory, tmp_path: Path):
    sealed.add("one")
    with Memory(tmp_path / "sealed.db", tenant="nobody", encryption=Keyring(KEY), settings=FAST) as nobody:
        assert nobody.search("one") == []
        assert nobody.kv.get("key") is None
        assert nobody.kv.keys() == []
        assert nobody.list(metadata={"a": 1}) == []
    with raw(tmp_path / "sealed.db") as connection:
        assert connection.execute("SELECT count(*) FROM vault WHERE tenant = 'nobody'").get == 0


def test_more_than_one_process_may_make_the_first_key(tmp_path: Path):
    keyring = Keyring(KEY)
    first = Memory(tmp_path / "a.db", encryption=keyring, settings=FAST)
    second = Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST)
    with first, second:
        second.count()
        first.add("of the first")
        second.add("of the second")
        assert (
            [record.text for record in first.list()]
            == [record.text for record in second.list()]
            == ["of the first", "of the second"]
        )


def test_what_is_learned_is_sealed_too(tmp_path: Path):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=Settings(durability="fast")) as memory:
        chat = memory.scope(user="alice", room="chat")
        chat.messages.add("user", "I live in Ljubljana and my cat is called Miso.").wait()
        assert chat.facts.list()
        assert memory.verify().ok
        held = messages(5)
        chat.messages.add("user", held[0]["text"]).wait()
    assert b"Ljubljana" not in (tmp_path / "a.db").read_bytes()
