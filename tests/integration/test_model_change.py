"""One process changes the embedding model while others add and search: they follow it by themselves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rememo import Memory
from rememo.engine.engine import Engine
from rememo.engine.view import view_of
from rememo.jobs.worker import Worker
from rememo.recall.embed.static import StaticEmbedder
from rememo.testing.postgres import DatabasePool

from .talk import Process, hear

Start = Callable[..., Process]
pytestmark = pytest.mark.requirement("embed.online-change")


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    databases: DatabasePool = request.getfixturevalue("databases")
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


def tell(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()


def engine_of(memory: Memory) -> Engine:
    return view_of(memory).engine  # what is behind the surface


def test_processes_follow_a_change_of_the_model_without_an_error(address: str, start: Start):
    users = [start("use_through_a_change", address, who) for who in ("ana", "bob")]
    for user in users:
        assert hear(user) == "ready"
        assert hear(user) == "going"
    changer = start("change_model", address, "german")
    assert hear(changer) > 0
    assert changer.wait() == 0
    # And once more, back to where they came from: by then they have written under the new one.
    back = start("change_model", address, "english")
    assert hear(back) > 0
    last = start("change_model", address, "german")
    assert hear(last) > 0
    for user in users:
        tell(user)
    told = [hear(user) for user in users]
    for report, who in zip(told, ("ana", "bob"), strict=True):
        assert report["errors"] == []
        assert report["dead"] == 0
        assert "words_only" not in report["reasons"]
        assert "meaning" in report["reasons"]
        assert report["nearest"] == f"der entry7 und the word of {who}"
    for user in users:
        tell(user)
        assert user.wait() == 0

    model = StaticEmbedder("german")
    with Memory(address, embedder=model) as memory:
        runner = engine_of(memory).runner
        assert isinstance(runner, Worker)
        runner.run_until_idle()
        check = memory.verify()
        assert (check.faults, check.missing_vectors, check.owed_vectors) == ((), (), 0)
        assert memory.stats().vectors == memory.stats().versions
        for stored in engine_of(memory).store.dump(memory.bound):
            [expected] = model.embed([stored.record.text])
            assert expected is not None
            assert stored.vector is not None
            np.testing.assert_allclose(stored.vector, expected, atol=1e-6)
