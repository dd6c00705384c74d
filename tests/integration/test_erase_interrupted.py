"""An erasure killed after any of its writes: no summary says what its sources no longer say, keys may change meanwhile, and it ends."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rememo import Keyring, Memory, Settings
from rememo.keep.erase import need_erasing_store
from rememo.testing.postgres import DatabasePool
from rememo.testing.user_copies import OTHERS, WORDS, is_left, stored_values

from .test_erase import open_engine_of

Start = Callable[..., "subprocess.Popen[str]"]
NewStore = Callable[[], str]
OLD, NEW = Keyring.new_key(), Keyring.new_key()
FAST = Settings(durability="fast", worker=False, audit=True)
_MOMENTS = 8
"""How many moments of an erasure are looked at."""


@pytest.fixture(params=["sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStore]:
    """Give what makes the address of an empty store."""
    if request.param == "sqlite":
        numbers = iter(range(1_000))
        yield lambda: str(tmp_path / f"memory{next(numbers)}.db")
        return
    databases: DatabasePool = request.getfixturevalue("databases")
    lent: list[str] = []

    def lend() -> str:
        lent.append(databases.lend())
        return databases.url(lent[-1])

    yield lend
    for name in lent:
        databases.take_back(name)


def fill(url: str) -> None:
    """Let kim and others talk in a room, and keep what they say in a summary, in a session, and as facts."""
    with Memory(url, embedder=None, encryption=Keyring(OLD), settings=FAST) as memory:
        room = memory.scope(room="r")
        for user, text in (("kim", WORDS), ("ana", OTHERS), ("kim", "My brother is called Rui. I live in Lisbon.")):
            room.scope(user=user).messages.add("user", text).wait()
        room.scope(user="ana").messages.add("user", "As you know, I live in Porto and my sister is called Ida.").wait()
        room.summaries.update()
        room.sessions.save("monday")
        room.scope(user="kim").kv.set("animal", WORDS)
        assert "zebrafinch" in room.summaries.list()[0].text


def killed_after(start: Start, url: str, writes: int) -> int | None:
    """Let a process erase kim and die after so many writes; returns how many there were where it ended before."""
    process = start("erase_until", url, "kim", writes, OLD)
    assert process.stdout is not None
    ended = process.stdout.read()
    if process.wait() == -signal.SIGKILL:
        return None
    assert process.returncode == 0
    return int(ended)


def check(memory: Memory) -> None:
    """Nothing of kim is left, and everything of ana."""
    room = memory.scope(room="r")
    assert not is_left(memory)
    assert "kim" not in stored_values(memory)
    [summary] = room.summaries.list()
    assert OTHERS in summary.text
    assert len(memory.history(summary.id)) == 1
    assert room.sessions.get("monday")["messages"][0]["text"] == OTHERS
    assert memory.users() == ["ana"]
    assert {fact.object for fact in memory.scope(user="ana").facts.list()} == {"Porto", "Ida"}
    assert need_erasing_store(open_engine_of(memory)).erasures("default") == []
    assert memory.audit.verify().faults == ()
    assert memory.verify().faults == ()


@pytest.mark.requirement("erase.proof")
def test_a_kill_after_any_write_and_new_keys_before_it_goes_on(new_store: NewStore, start: Start):
    url = new_store()
    fill(url)
    total = killed_after(start, url, 1_000_000)
    assert total is not None
    with Memory(url, embedder=None, encryption=Keyring(OLD), settings=FAST) as memory:
        check(memory)
    url = new_store()
    fill(url)
    with Memory(url, embedder=None, encryption=Keyring(OLD), settings=FAST) as memory:
        removed = memory.erase(user="kim").counts["records"]
    interrupted = 0
    for writes in sorted({1 + place * (total - 1) // (_MOMENTS - 1) for place in range(_MOMENTS)}):
        url = new_store()
        fill(url)
        assert killed_after(start, url, writes) is None
        with Memory(url, embedder=None, encryption=Keyring(NEW, OLD), settings=FAST) as memory:
            room = memory.scope(room="r")
            contents = " ".join(message.content for message in room.messages.history(100))
            # Whatever moment it was: a summary says nothing that its sources no longer say.
            assert "zebrafinch" in contents or not any(
                "zebrafinch" in record.text for record in memory.list(kind="summary")
            )
            interrupted += bool(need_erasing_store(open_engine_of(memory)).erasures("default"))
            memory.rotate_keys().wait(60)
        # The former master key is gone, and the former data key with it.
        with Memory(url, embedder=None, encryption=Keyring(NEW), settings=FAST) as memory:
            if writes % 2:
                memory.maintain()
            receipt = memory.erase(user="kim")
            assert receipt.ok, receipt.leftovers
            # Nobody was given a receipt yet; once it is ended there is nothing to tell of.
            assert receipt.counts.get("records", 0) == (removed if writes < total else 0)
            check(memory)
    assert interrupted > 1


@pytest.mark.requirement("erase.proof")
def test_the_check_knows_what_went_before_an_interruption(new_store: NewStore, start: Start):
    url = new_store()
    fill(url)
    with Memory(url, embedder=None, encryption=Keyring(OLD), settings=FAST) as memory:
        # A copy that nothing but its words gives away.
        memory.scope(room="r").kv.set("last", WORDS)
        store = need_erasing_store(open_engine_of(memory))
        writes = 0
        while memory.scope(user="kim").count():
            writes += 1
            assert killed_after(start, url, writes) is None
        assert store.erasures("default")
        [left] = memory.erase(user="kim").leftovers
        assert left.startswith("the key 'last' of room 'r', which holds words that were erased")
