"""Large scopes on PostgreSQL: asked for by an index on the server, as good as compared whole, and never beyond the scope."""

# pyright: reportPrivateUsage=false

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.store.postgres.store import PostgresStore
from rememo.testing import WordEmbedder
from rememo.testing.postgres import DatabasePool

DIMENSION = 32
MANY, FEW = 3_000, 40


class Clustered:
    """Vectors in clusters, as those of texts are; a text is the number of its vector."""

    name, dimension = "clustered", DIMENSION

    def __init__(self) -> None:
        chance = np.random.default_rng(7)
        centres = chance.normal(size=(60, DIMENSION))
        vectors = centres[chance.integers(60, size=10_000)] + 0.7 * chance.normal(size=(10_000, DIMENSION))
        self.vectors: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        last = [text.split()[-1] for text in texts]
        return [self.vectors[int(word) if word.isdecimal() else crc32(word.encode()) % 10_000] for word in last]


@pytest.fixture
def database(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


@pytest.fixture(scope="module")
def embedder() -> Clustered:
    return Clustered()


def open_server(url: str, embedder: Clustered, above: int) -> Memory:
    return Memory(url, embedder=embedder, settings=Settings(durability="fast", worker=False, index_above=above))


def fill(memory: Memory) -> None:
    memory.scope(user="many").add_many(
        {"text": f"note {number}", "kind": "note" if number % 3 else "message", "metadata": {"n": number}}
        for number in range(MANY)
    )
    memory.scope(user="few").add_many(f"note {number}" for number in range(MANY, MANY + FEW))


def numbers(memory: Memory, vector: NDArray[np.float32], **asked: object) -> list[int]:
    hits = memory.similar(vector.tolist(), limit=10, **asked)  # pyright: ignore[reportArgumentType] - named below
    return [int(hit.record.text.split()[-1]) for hit in hits]


def test_an_index_finds_what_comparing_all_finds(database: str, embedder: Clustered):
    with open_server(database, embedder, 0) as whole:
        fill(whole)
        whole.scope(user="many").delete_where(metadata={"n": {"$lt": 50}})
        store = view_of(whole).engine.store
        assert isinstance(store, PostgresStore)
        assert store.build_index() == ()  # no scope is large enough
        asked = [embedder.vectors[place] for place in range(9_000, 9_060)]
        with open_server(database, embedder, 1_000) as large:
            other = view_of(large).engine.store
            assert isinstance(other, PostgresStore)
            assert len(other.build_index()) == 1
            assert len(other.build_index()) == 1  # again is harmless
            many, exact = large.scope(user="many"), whole.scope(user="many")
            found = [len({*numbers(many, vector)} & {*numbers(exact, vector)}) for vector in asked]
            assert sum(found) >= 0.97 * 10 * len(asked)
            # The vectors are not held here, those of small scopes are.
            assert not other._scopes.get(many.bound, view_of(large).engine.now()).columns.dimension
            assert numbers(large.scope(user="few"), asked[0]) == numbers(whole.scope(user="few"), asked[0])
            assert other._scopes.get(large.scope(user="few").bound, view_of(large).engine.now()).columns.dimension
            for filter in ({"kind": "message"}, {"metadata": {"n": {"$in": list(range(100, 130))}}}):
                both = [
                    ({*numbers(many, vector, **filter)}, {*numbers(exact, vector, **filter)}) for vector in asked[:20]
                ]
                assert sum(len(approximate & other) for approximate, other in both) >= 0.97 * sum(
                    len(other) for _, other in both
                )
            # What is written is found, what is deleted is not.
            (best,) = many.similar(asked[0].tolist(), limit=1)
            many.delete(best.record.id)
            assert int(best.record.text.split()[-1]) not in numbers(many, asked[0])
            many.add("note 9000")
            assert numbers(many, asked[0])[0] == 9_000


def test_both_ways_rank_a_search_alike(database: str, embedder: Clustered):
    with open_server(database, embedder, 0) as whole, open_server(database, embedder, 1_000) as large:
        fill(whole)
        store = view_of(large).engine.store
        assert isinstance(store, PostgresStore)
        store.build_index()
        same = 0
        for place in range(9_000, 9_030):
            ours = [hit.record.id for hit in large.scope(user="many").search(f"what about {place}", limit=10)]
            theirs = [hit.record.id for hit in whole.scope(user="many").search(f"what about {place}", limit=10)]
            same += len({*ours} & {*theirs})
        assert same >= 0.9 * 300


def test_another_model_in_its_place_is_not_hindered(database: str, embedder: Clustered):
    with open_server(database, embedder, 1_000) as memory:
        fill(memory)
        store = view_of(memory).engine.store
        assert isinstance(store, PostgresStore)
        store.build_index()
        memory.reembed(WordEmbedder())
    with Memory(database, embedder=WordEmbedder(), settings=Settings(worker=False, index_above=1_000)) as memory:
        memory.scope(user="many").add("a ship in the harbour")
        assert memory.scope(user="many").search("ship harbour")[0].record.text == "a ship in the harbour"


def test_the_command_builds_what_is_needed(database: str, embedder: Clustered, tmp_path: Path):
    with open_server(database, embedder, 0) as memory:
        fill(memory)
    command = [sys.executable, "-c", "from rememo.cli import main; main()", "index"]

    def run(*arguments: str, above: int = 1_000) -> "subprocess.CompletedProcess[str]":
        given = {**os.environ, "REMEMO_URL": database, "REMEMO_INDEX_ABOVE": str(above)}
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, env=given)

    assert "no scope is large enough" in run("-", above=100_000).stdout
    assert re.search(r"vectors_\d\d_near_1_32", run("-").stdout)
    Memory(tmp_path / "a.db").close()
    refused = run(str(tmp_path / "a.db"))
    assert refused.returncode == 1
    assert "needs no index" in refused.stderr
