"""Contents: long ones are compressed and marked so, and nobody who reads them notices."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import Corrupt, InvalidInput
from rememo.store.cipher.codec import FieldCodec
from rememo.store.sqlite.connection import connect

LONG = "a long story that goes on and on, and then some. " * 500
FAST = Settings(durability="fast", learn=False)


def kept(path: Path) -> list[tuple[object, ...]]:
    connection = connect(str(path))
    rows = connection.execute("SELECT text, data, metadata FROM records ORDER BY number").fetchall()
    connection.close()
    return rows


@pytest.mark.requirement("extend.compress")
def test_long_contents_are_compressed_and_marked(tmp_path: Path):
    with Memory(tmp_path / "a.db", settings=FAST) as memory:
        memory.add(LONG, id="a", data={"story": LONG}, metadata={"tale": LONG, "n": 1})
        memory.add("short", id="b", data={"n": 2}, metadata={"n": 2})
        memory.kv.set("k", LONG)
        record = memory.get("a")
        assert (record.text, record.data, record.metadata) == (LONG, {"story": LONG}, {"tale": LONG, "n": 1})
        assert memory.kv.get("k") == LONG
        assert [hit.id for hit in memory.search("long story", mode="words")] == ["a"]
        # Filters see through it, whatever is asked of them.
        assert [record.id for record in memory.list(metadata={"n": {"$gte": 1}})] == ["a", "b"]
        assert [record.id for record in memory.list(metadata={"tale": {"$contains": "and then some"}})] == ["a"]
        assert memory.count(metadata={"n": 1}) == 1
        assert memory.delete_where(metadata={"tale": {"$exists": True}}) == 1
        assert [version.text for version in memory.history("a")] == [LONG]
        assert memory.verify().ok
        memory.export(tmp_path / "a.jsonl")
    first, second = kept(tmp_path / "a.db")
    for content in first:
        assert isinstance(content, bytes)
        assert content[0] == 1
        assert len(content) < len(LONG) / 20
    assert second == ("short", '{"n":2}', '{"n":2}')
    with Memory(":memory:", settings=FAST) as other:
        other.import_(tmp_path / "a.jsonl")
        assert other.history("a")[0].text == LONG


def test_what_does_not_become_shorter_is_kept_as_it_is(tmp_path: Path):
    noise = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(5_000))
    with Memory(tmp_path / "a.db", settings=FAST.but(compress_above=10)) as memory:
        memory.add("0123456789a", id="a")
        memory.add(noise, id="b")
        assert memory.get("b").text == noise
    assert kept(tmp_path / "a.db")[0][0] == "0123456789a"


def test_compression_can_be_switched_off_and_still_be_read(tmp_path: Path):
    with Memory(tmp_path / "a.db", settings=FAST) as memory:
        memory.add(LONG, id="a")
    with Memory(tmp_path / "a.db", settings=FAST.but(compress_above=0)) as memory:
        assert memory.get("a").text == LONG
        memory.add(LONG, id="b")
    assert kept(tmp_path / "a.db")[1][0] == LONG


def test_a_size_below_nothing_is_refused():
    with pytest.raises(InvalidInput, match="compress_above"):
        Settings(compress_above=-1)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=300), above=st.integers(0, 50))
def test_every_text_comes_back(text: str, above: int):
    contents = FieldCodec("t", None, above)
    assert contents.decode(contents.encode(text, "text", "a", 1), "text", "a", 1) == text


@pytest.mark.parametrize(
    "content", [b"", b"\x01", b"\x01(\xb5/\xfd", b"\x01rubbish", b"\x00\xff\xff", b"\x07new", b"\x02sealed"]
)
def test_what_cannot_be_read_raises(content: bytes):
    with pytest.raises(Corrupt, match="text of a"):
        FieldCodec("t", None, 0).decode(content, "text", "a", 1)
