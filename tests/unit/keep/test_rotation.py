"""Changing keys while a memory is in use, and dropping them."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, KeyMismatch
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.protocol import ID_KEY
from rememo.store.sqlite.connection import connect
from rememo.store.sqlite.reencryption import SqliteReencryption

from .corpus import change_keys_meanwhile, questions, remember

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
FAST = Settings(durability="fast", learn=False, audit=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An encrypted file of two tenants with everything that is encrypted in it."""
    with Memory(tmp_path / "a.db", encryption=Keyring(OLD), settings=FAST) as memory:
        remember(memory, 250)
        memory.update("m1", text="a second thought about the telescope")
        memory.add("once", key="only once", id="keyed")
        for number in range(150):
            memory.kv.set(f"key {number}", f"value {number}")
    with Memory(tmp_path / "a.db", tenant="acme", encryption=Keyring(OLD), settings=FAST) as memory:
        memory.add("of another tenant")
    return tmp_path / "a.db"


def answers(memory: Memory) -> list[object]:
    return [
        *([hit.id for hit in memory.search(question)] for question in questions(15)),
        [(record.id, record.text, record.data, record.metadata, record.source) for record in memory.list(limit=500)],
        [memory.kv.get(key) for key in memory.kv.keys("*1*")],
        memory.count(metadata={"mood": "glad"}),
    ]


def wrapped(path: Path) -> dict[tuple[str, int], tuple[str, bytes]]:
    connection = connect(str(path))
    rows = connection.execute("SELECT tenant, serial, master, wrapped FROM vault").fetchall()
    connection.close()
    return {(tenant, serial): (master, key) for tenant, serial, master, key in rows}


def test_wrapping_anew_takes_the_former_key_out_of_use(path: Path):
    before = wrapped(path)
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        expected = answers(memory)
        receipt = memory.rotate_keys(reencrypt=False)
        assert receipt.jobs == ()
        assert answers(memory) == expected
        content = path.read_bytes() + path.with_name("a.db-wal").read_bytes()
    after = wrapped(path)
    assert after.keys() == before.keys()
    assert {master for master, _ in after.values()} == {Keyring(NEW).current}
    assert not [key for _, key in before.values() if key in content], "a former wrapping is still in the file"
    with pytest.raises(KeyMismatch):
        Memory(path, encryption=Keyring(OLD))
    with Memory(path, encryption=Keyring(NEW)) as memory:
        assert answers(memory) == expected


@pytest.mark.parametrize("worker", [True, False])
def test_contents_are_sealed_anew_in_jobs(path: Path, worker: bool):
    before = wrapped(path)
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST.but(worker=worker)) as memory:
        expected = answers(memory)
        receipt = memory.rotate_keys()
        assert len(receipt.jobs) == 2
        # While it is being done, what was said twice under two keys is not known to be the same: hits of it are not folded.
        assert answers(memory)[-3:] == expected[-3:]
        receipt.wait()
        assert answers(memory) == expected
        assert memory.verify().faults == ()
        assert memory.audit.verify().ok
        assert memory.history("m1")[0].text != memory.get("m1").text
        assert memory.add("once", key="only once", id="other").ids == ("keyed",)
        memory.add("written by the new key", id="new")
    # The key of ids, which has no other after it, stays.
    assert set(wrapped(path)) == {("", 1), ("acme", ID_KEY), ("acme", 2), ("default", ID_KEY), ("default", 2)}
    content = path.read_bytes()
    assert not [key for _, key in before.values() if key in content]
    connection = connect(str(path))
    heads = connection.execute(
        "SELECT DISTINCT substr(text, 1, 3) FROM records UNION SELECT DISTINCT substr(vector, 1, 3) FROM vectors"
        " UNION SELECT DISTINCT substr(key, 1, 3) FROM kv UNION SELECT DISTINCT substr(value, 1, 3) FROM kv"
        " UNION SELECT DISTINCT substr(key, 1, 3) FROM keys"
    ).fetchall()
    connection.close()
    assert heads == [(b"\x02\x00\x02",)]
    with Memory(path, encryption=Keyring(NEW), settings=FAST) as memory:
        assert memory.get("new").text == "written by the new key"
    with Memory(path, tenant="acme", encryption=Keyring(NEW), settings=FAST) as memory:
        assert memory.list()[0].text == "of another tenant"


def test_others_read_and_write_while_contents_are_sealed_anew(path: Path):
    wrong: list[BaseException] = []
    over = threading.Event()

    def use() -> None:
        try:
            with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST.but(worker=False)) as other:
                number = 0
                while not over.is_set() or number < 3:
                    number += 1
                    other.add(f"the xylophone number {number}", id=f"x{number}")
                    assert f"x{number}" in [
                        hit.id for hit in other.search(f"xylophone {number}", mode="words", limit=500)
                    ]
                    other.update(f"m{number % 100}", text=f"the xylophone again {number}")
                    other.kv.set(f"key {number % 150}", number)
                    assert other.kv.get(f"key {number % 150}") == number
        except BaseException as error:  # noqa: BLE001 - told to the test
            wrong.append(error)

    thread = threading.Thread(target=use)
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        thread.start()
        memory.rotate_keys().wait()
        memory.rotate_keys().wait()
        over.set()
        thread.join()
        assert wrong == []
        assert memory.verify().faults == ()
        assert len(memory.kv.keys()) == 150


def test_an_interrupted_sealing_is_begun_again(path: Path):
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST.but(worker=False)) as memory:
        expected = answers(memory)
        reencryption = view_of(memory).engine.reencryption  # as if the process died in the middle
        assert isinstance(reencryption, SqliteReencryption)
        reencryption.cipher.add_key("default")
        reencryption._database.write(lambda connection: reencryption._step(connection, "default", 0))  # pyright: ignore[reportPrivateUsage]
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
        # As above.
        assert answers(memory)[-3:] == expected[-3:]
        assert memory.verify().faults == ()
        memory.rotate_keys().wait()
        assert answers(memory) == expected
        assert memory.verify().faults == ()


@pytest.mark.requirement("encrypt.content")
def test_a_tenant_whose_key_was_dropped_is_unreadable_at_once_and_for_ever(path: Path):
    key = wrapped(path)["default", 1][1]
    elsewhere = Memory(path, encryption=Keyring(OLD), settings=FAST)
    with elsewhere, Memory(path, encryption=Keyring(OLD), settings=FAST) as memory:
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
                lambda view=view: view.add("more"),
                lambda view=view: view.history("m1"),
            ):
                with pytest.raises(KeyMismatch, match="dropped"):
                    use()
        assert key not in path.read_bytes() + path.with_name("a.db-wal").read_bytes()
        check = memory.verify()
        assert check.faults == ()
        assert check.unchecked == ("the contents of tenant 'default': its key was dropped",)
        memory.rotate_keys().wait()
    with Memory(path, tenant="acme", encryption=Keyring(OLD), settings=FAST) as memory:
        memory.maintain()
        assert memory.search("tenant")[0].text == "of another tenant"


def test_bad_calls(tmp_path: Path, path: Path):
    with Memory(tmp_path / "plain.db", settings=FAST) as memory:
        for use in (memory.rotate_keys, lambda: memory.drop_key(tenant="default")):
            with pytest.raises(InvalidInput, match="not encrypted"):
                use()
    with Memory(path, encryption=Keyring(OLD), settings=FAST) as memory:
        with pytest.raises(InvalidInput, match="whole tenant"):
            memory.scope(user="user-1").drop_key(tenant="default")
        with pytest.raises(InvalidInput, match="whole tenant"):
            memory.drop_key(tenant="acme")


class Meanwhile(tuple[object, ...]):  # noqa: SLOT001 - it holds what happens
    """Names between whose looking up something happens."""

    happens: Callable[[], object]

    def __new__(cls, names: tuple[object, ...], happens: Callable[[], object]) -> Self:
        made = super().__new__(cls, names)
        made.happens = happens
        return made

    def __iter__(self) -> Iterator[object]:
        yield self[0]
        self.happens()
        yield from self[1:]


def test_a_key_that_is_sealed_anew_while_it_is_looked_up_is_found(path: Path, monkeypatch: pytest.MonkeyPatch):
    with Memory(path, encryption=Keyring(NEW, OLD), settings=FAST.but(worker=False)) as memory:
        reencryption = view_of(memory).engine.reencryption  # the job itself, at a chosen moment
        assert isinstance(reencryption, SqliteReencryption)
        reencryption.cipher.add_key("default")
        plain, times = FieldCodec.name_forms, list[int]()

        def reencrypt() -> None:
            times.append(1)
            reencryption._each("SELECT space, key FROM kv WHERE tenant = ?", "default", reencryption._reencrypt_value)  # pyright: ignore[reportPrivateUsage]

        def names(contents: FieldCodec, name: str) -> Meanwhile:
            return Meanwhile(plain(contents, name), reencrypt)

        monkeypatch.setattr(FieldCodec, "name_forms", names)
        assert memory.kv.get("key 7") == "value 7"
        assert times == [1]
        monkeypatch.undo()
        assert memory.kv.get("key 7") == "value 7"


@pytest.mark.requirement("erase.proof")
def test_no_key_is_missed_while_the_names_of_all_change(tmp_path: Path):
    with Memory(tmp_path / "b.db", encryption=Keyring(OLD), settings=FAST.but(worker=False)) as memory:
        change_keys_meanwhile(memory, 1_200)
