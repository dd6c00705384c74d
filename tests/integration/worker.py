"""What the processes of the integration tests do: `python worker.py COMMAND ARGUMENTS…`, one JSON value a line."""

import ctypes
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo import Keyring, Memory, Settings
from rememo.errors import Closed, RememoError, VersionConflict
from rememo.llm.openai import OpenAICompatible
from rememo.recall.embed.static import StaticEmbedder
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.sqlite.connection import Connection, connect
from rememo.store.sqlite.database import SqliteDatabase


class Numbers:
    """A model of eight dimensions that is down for every text with the word "later", which makes a job of it."""

    name = "numbers"
    dimension = 8

    def embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32] | None]":
        if any("later" in text for text in texts):
            raise ConnectionError("the model is not there")
        return [_vector(text) for text in texts]


def _vector(text: str) -> "NDArray[np.float32]":
    numbers = np.frombuffer(blake2b(text.encode(), digest_size=8).digest(), np.uint8).astype(np.float32) + 1
    return numbers / np.float32(np.linalg.norm(numbers))


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def wait_for_go() -> None:
    say("ready")
    sys.stdin.readline()


# ---- writing beside others


def add(path: str, count: str, who: str) -> None:
    """Add single records and tell how long each took."""
    with Memory(path) as memory:
        room = memory.scope(room=who)
        wait_for_go()
        waits: list[float] = []
        ids: list[str] = []
        begun = time.perf_counter()
        for number in range(int(count)):
            started = time.perf_counter()
            ids.append(room.add(f"{who} wrote entry{number} about Lisbon", metadata={"number": number}).id)
            waits.append(time.perf_counter() - started)
        say({"ids": ids, "total": time.perf_counter() - begun, "waits": sorted(waits)})


def count_up(path: str, count: str, kv: str = "") -> None:
    """Add one to a shared key, many times."""
    with Memory(path, embedder=None, settings=Settings.load(kv=kv)) as memory:
        wait_for_go()
        for _ in range(int(count)):
            memory.kv.update("counter", lambda value: value + 1, default=0)
        say("done")


def count_typed(path: str, count: str) -> None:
    """Add one to a shared typed value, many times."""
    with Memory(path) as memory:
        box = memory.typed("counter", 0)
        wait_for_go()
        for _ in range(int(count)):
            box.update(lambda value: value + 1)
        say(box.get())


def gather_in_flow(path: str, count: str, who: str) -> None:
    """Merge data into a shared flow, many times."""
    with Memory(path, embedder=None) as memory:
        flow = memory.flow("shared", steps=["gather"])
        wait_for_go()
        for number in range(int(count)):
            flow.set("ana", data={"by": {who: {str(number): number}}})
        say("done")


def die_in_flow(path: str) -> None:
    """Wait inside a flow's block, to be killed there."""
    with Memory(path, embedder=None) as memory, memory.flow("shared", steps=["gather", "end"]).run("ana"):
        memory.flow("shared", steps=["gather", "end"]).advance("ana", data={"half": True})
        wait_for_go()


def revise_expected(path: str, id: str, count: str, who: str) -> None:
    """Append to a record's list by reading, changing and naming the version that was read."""
    conflicts = 0
    with Memory(path, embedder=None) as memory:
        wait_for_go()
        for number in range(int(count)):
            while True:
                record = memory.get(id)
                data = {"marks": [*record.data["marks"], f"{who}-{number}"]}
                try:
                    memory.update(id, data=data, expected_version=record.version)
                except VersionConflict:
                    conflicts += 1
                else:
                    break
        say(conflicts)


def revise_field(path: str, id: str, count: str, field: str) -> None:
    """Set one field again and again; the others belong to other processes."""
    with Memory(path, embedder=None) as memory:
        wait_for_go()
        for number in range(1, int(count) + 1):
            value: Any = {
                "text": f"text {number}",
                "source": f"source {number}",
                "importance": number / int(count),
                "metadata": {"number": number},
            }[field]
            memory.update(id, **{field: value})
        say("done")


def hold(path: str) -> None:
    """Stay inside a write until told to go on."""
    database = SqliteDatabase(path, durability="full", busy_timeout=5)

    def write(connection: Connection) -> None:
        connection.execute("INSERT INTO tenants (tenant, clock) VALUES ('held', 1)")
        wait_for_go()

    database.write(write)
    database.close()
    say("released")


def write_on(path: str, who: str) -> None:
    """Write numbered steps of three records, each in one transaction, until the file named `path`.stop is there."""
    stop = Path(path + ".stop")
    with Memory(path, embedder=None) as memory:
        room = memory.scope(room=who)
        number = 0
        while not stop.exists():
            room.add_many([{"text": f"part {part} of step {number}", "data": {"step": number}} for part in range(3)])
            number += 1
            if number == 1:
                say("ready")
        say(number)


def add_and_wait(path: str, count: str, who: str) -> None:
    """Add messages, wait until each is learned from by a model that takes its time, and tell what that took."""
    # Not above: it brings the conformance suite, whose packages weigh more than what other commands measure.
    from rememo.testing.endpoint import ChatReply, ScriptedEndpoint  # noqa: PLC0415

    with ScriptedEndpoint(default=ChatReply({"facts": []})) as endpoint:

        def slow(_body: dict[str, Any]) -> ChatReply:
            time.sleep(0.05)
            return ChatReply({"facts": []})

        endpoint.script(*[slow] * 4 * int(count))
        with OpenAICompatible(endpoint.url, "scripted") as llm, Memory(path, llm=llm) as memory:
            room = memory.scope(user=who, room=who)
            room.messages.add("user", "This one loads whatever is loaded late.").wait()
            wait_for_go()
            began, spent, adds = time.perf_counter(), time.process_time(), list[float]()
            for number in range(int(count)):
                started = time.perf_counter()
                receipt = room.messages.add("user", f"I live in Lisbon{number}.")
                adds.append(time.perf_counter() - started)
                receipt.wait()
            say({"total": time.perf_counter() - began, "spent": time.process_time() - spent, "adds": sorted(adds)})
            sys.stdin.readline()  # its model goes on for the others


# ---- the embedding model is changed


def use_through_a_change(address: str, who: str) -> None:
    """Add and search until told to stop, while another process changes the model; tell what went wrong, and what is found."""
    stop = threading.Event()
    errors: list[str] = []
    with Memory(address) as memory:
        room = memory.scope(room=who)
        room.add(f"{who} was here before anything else")
        say("ready")
        threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
        number = 0
        while not stop.is_set():
            try:
                text = f"der entry{number} und the word of {who}"
                added = room.add(text)
                hits = room.search(text, limit=3)
                if added.id not in [hit.id for hit in hits]:
                    errors.append(f"entry{number} was not found")
                if number % 10 == 0:
                    room.update(added.id, metadata={"seen": True})
            except RememoError as error:
                errors.append(f"{type(error).__name__}: {error}")
            number += 1
            if number == 30:
                say("going")
        [hit, *_] = room.search(f"der entry0 und the word of {who}", limit=1, explain=True)
        nearest = room.search(f"der entry7 und the word of {who}", limit=1, mode="vector")[0].text
        say({"errors": errors, "count": number, "reasons": sorted(hit.reasons), "nearest": nearest,
             "dead": len(memory.jobs.list("dead"))})  # fmt: skip
        sys.stdin.readline()


def change_model(address: str, language: str) -> None:
    """Change the model of a store to the static one of another language."""
    with Memory(address, embedder=None) as memory:
        say(memory.reembed(StaticEmbedder(language)))


# ---- forks


def fork_and_go_on(path: str, count: str) -> None:
    """Use one memory on both sides of a fork."""
    with Memory(path) as memory:
        memory.add("before the fork")
        memory.search("fork")
        child = os.fork()
        who = "parent" if child else "child"
        for number in range(int(count)):
            memory.add(f"{who} wrote entry{number}")
            memory.get(memory.list(limit=1)[0].id)
        if not child:
            memory.close()
            os._exit(0)
        say({"child": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "count": memory.count()})


def fork_while_loading(path: str) -> None:
    """Fork while a thread is loading what its first write needs; the child needs the same."""
    loading = threading.Event()

    class SlowDisk:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "rememo.jobs.worker":
                loading.set()
                time.sleep(0.3)

    sys.meta_path.insert(0, SlowDisk())
    with Memory(path) as memory:
        thread = threading.Thread(target=lambda: memory.add("from the thread"))
        thread.start()
        loading.wait(10)
        child = os.fork()
        if not child:
            memory.add("from the child")
            memory.close()
            os._exit(0)
        thread.join()
        say({"child": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "count": memory.count()})


def fork_while_writing(path: str, forks: str, count: str) -> None:
    """Fork again and again while threads write, read and back up; every receipt is kept."""
    over = threading.Event()
    receipts: list[str] = []
    errors: list[str] = []
    with Memory(path) as memory:

        def write(who: int) -> None:
            number = 0
            try:
                while not over.is_set():
                    receipts.append(memory.add(f"thread {who} wrote entry{number} of {who * 7919}").id)
                    memory.search("entry", limit=3) if number % 10 == 0 else memory.get(receipts[-1])
                    number += 1
            except RememoError as error:
                errors.append(repr(error))

        def back_up() -> None:
            number = 0
            while not over.is_set():
                memory.backup(f"{path}.copy{number}")
                number += 1

        threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        threads.append(threading.Thread(target=back_up))
        for thread in threads:
            thread.start()
        exits: list[int] = []
        for fork in range(int(forks)):
            child = os.fork()
            if not child:
                for number in range(int(count)):
                    memory.get(memory.add(f"child {fork} wrote entry{number}", id=f"child-{fork}-{number}").id)
                os._exit(0)
            exits.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        over.set()
        for thread in threads:
            thread.join()
        say({"exits": exits, "errors": errors, "ids": receipts})


def _add_in_pool(number: int) -> str:
    return _shared[0].add(f"pool entry{number}").id


_shared: list[Memory] = []


def fork_pool(path: str, count: str) -> None:
    """Use the parent's memory in the processes of a pool."""
    with Memory(path) as memory:
        memory.add("opened in the parent")
        _shared.append(memory)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            ids = pool.map(_add_in_pool, range(int(count)), chunksize=5)
        memory.add("the parent goes on")
        say({"ids": ids, "count": memory.count()})


# ---- to be killed


def acknowledge(path: str, seed: str) -> None:
    """Do everything that writes, at random, and tell each receipt once it is there."""
    dice = random.Random(int(seed))
    with Memory(path, embedder=Numbers()) as memory:
        say({"did": "opened"})
        live: list[str] = []
        for step in range(100_000):
            name = f"{seed}-{step}"
            choice = dice.random() if live else 0.0
            if choice < 0.4:
                later = " later" if dice.random() < 0.3 else ""
                receipt = memory.add(f"entry{name} said{later}", id=name)
                live.append(name)
                say({"did": "add", "id": name, "jobs": receipt.jobs})
            elif choice < 0.6:
                id = dice.choice(live)
                version = memory.update(id, text=f"entry{id} changed at {step}").version
                say({"did": "update", "id": id, "version": version, "text": f"entry{id} changed at {step}"})
            elif choice < 0.7:
                id = live.pop(dice.randrange(len(live)))
                memory.delete(id)
                say({"did": "delete", "id": id})
            elif choice < 0.85:
                ids = [f"{name}-{place}" for place in range(5)]
                memory.add_many([{"text": f"entry{id} of many", "id": id} for id in ids])
                live += ids
                say({"did": "add_many", "ids": ids})
            else:
                memory.kv.set(name, step)
                say({"did": "set", "key": name, "value": step})


def add_batches(path: str, size: str) -> None:
    """Add large batches, one after the other."""
    with Memory(path, embedder=Numbers()) as memory:
        say(0)
        for batch in range(1, 1000):
            memory.add_many([f"batch {batch} entry{number}" for number in range(int(size))])
            say(batch)


def repeat_backup(path: str, folder: str) -> None:
    """Back up again and again into a folder."""
    with Memory(path, embedder=None) as memory:
        say("ready")
        for number in range(1000):
            memory.backup(Path(folder) / f"copy{number}.db")
            say(number)


def repeat_export(path: str, folder: str) -> None:
    """Export again and again into a folder."""
    with Memory(path, embedder=None) as memory:
        say("ready")
        for number in range(1000):
            memory.export(Path(folder) / f"copy{number}.jsonl")
            say(number)


def import_export(path: str, source: str) -> None:
    """Import once."""
    with Memory(path, embedder=None) as memory:
        say("ready")
        memory.import_(source)
        say("done")


def compress_all(path: str) -> None:
    """Compress everything that is older than a moment, once told to."""
    with Memory(path, embedder=None) as memory:
        wait_for_go()
        say({"count": memory.summaries.compress(older_than="1ms").count})


def open_each() -> None:
    """Open every file named on a line of stdin, write to it and close it."""
    say("ready")
    for line in sys.stdin:
        with Memory(line.strip(), embedder=None) as memory:
            memory.add("made by one of several processes at once")
        say("done")


def open_once(path: str) -> None:
    """Open a file, telling when it begins and when it is done."""
    say("opening")
    memory = Memory(path, embedder=None)
    say("opened")
    sys.stdin.readline()
    memory.close()


# ---- trouble


def run_out_of_room(path: str, most_bytes: str) -> None:
    """Write until the operating system lets no file grow, then go on after there is room again."""
    with Memory(path, embedder=None) as memory:
        memory.add("before there was trouble")
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), hard))
        ids: list[str] = []
        failed: dict[str, str] = {}
        for number in range(100_000):
            try:
                ids.append(memory.add(f"entry{number} " + "x" * 2_000).id)
            except RememoError as error:
                failed = {"type": type(error).__name__, "message": str(error)}
                break
        readable = sum(1 for id in ids if memory.get(id).text)
        count = memory.count()
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        memory.add("after there is room again")
        say(
            {
                "added": len(ids),
                "readable": readable,
                "count": count,
                "failed": failed,
                "faults": memory.verify().faults,
            }
        )


def without_rights(path: str, user: str) -> None:
    """Open, read and write as somebody who may not."""
    # Whatever is loaded when it is first needed must be there before the rights go.
    import_module("rememo.aio")
    Memory(":memory:", embedder=None).close()
    if user != "same":
        os.setgid(int(user))
        os.setuid(int(user))
    said: dict[str, Any] = {}
    try:
        with Memory(path, embedder=None) as memory:
            said["count"] = memory.count()
            memory.add("must not be")
    except RememoError as error:
        said["type"] = type(error).__name__
        said["message"] = str(error)
    say(said)


def read_without_rights(path: str) -> None:
    """Read, search and serve a file that cannot be written, and try to write it."""
    if os.geteuid() == 0:
        _give_up_capabilities()
    say(import_module("look_around").look_around(path))


def _give_up_capabilities() -> None:
    """Let root be held by the modes of files like anybody else; it stays the owner of its own, also in closed folders."""
    version_3, every_half = 0x20080522, 2
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    nothing = (ctypes.c_uint32 * (3 * every_half))()
    if ctypes.CDLL(None, use_errno=True).capset(header, nothing):
        raise OSError(ctypes.get_errno(), "the capabilities could not be given up")


def measure_export(path: str, target: str) -> None:
    """Export and tell how much memory the process had at its peak before and after."""
    with Memory(path, embedder=None) as memory:
        memory.get(memory.list(limit=1)[0].id)
        before = _peak_kib()
        transferred = memory.export(target)
        say({"versions": transferred.versions, "before_kib": before, "peak_kib": _peak_kib()})


def _peak_kib() -> int:
    # What getrusage tells of a new process begins with the peak of the one that started it; Linux knows better.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def close_under_way(path: str) -> None:
    """Close while threads write and read: each of them must be told."""
    memory = Memory(path, embedder=None)
    ended: list[str] = []
    busy = threading.Barrier(9)

    def work(act: Callable[[], object]) -> None:
        try:
            act()
            busy.wait()
            while True:
                act()
        except Closed:
            ended.append("Closed")

    acts: list[Callable[[], object]] = [lambda: memory.add("one more"), lambda: memory.list(limit=5)] * 4
    threads = [threading.Thread(target=work, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    busy.wait()
    memory.close()
    for thread in threads:
        thread.join(20)
    say({"ended": ended, "alive": sum(thread.is_alive() for thread in threads)})


def add_audited(path: str, name: str, threads: str, count: str) -> None:
    """Add from several threads with auditing on, each in its own name."""
    with Memory(path, embedder=None, settings=Settings(audit=True)) as memory:
        say("ready")
        sys.stdin.readline()

        def work(who: int) -> None:
            with memory.acting(actor=f"{name}-{who}"):
                for number in range(int(count)):
                    memory.add(f"entry{number}", id=f"{name}-{who}-{number}")

        workers = [threading.Thread(target=work, args=(who,)) for who in range(int(threads))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        say("done")


def erase_user(path: str, user: str) -> None:
    """Erase and tell the receipt."""
    with Memory(path, embedder=None) as memory:
        say("ready")
        receipt = memory.erase(user=user)
        say({"counts": dict(receipt.counts), "leftovers": receipt.leftovers, "checked": dict(receipt.checked)})


def erase_until(url: str, user: str, writes: str, key: str) -> None:
    """Erase in an encrypted store, and die by `kill -9` right after so many writes; tell how many there were if it ends before."""
    done = 0

    def counted(own: Callable[..., Any]) -> Callable[..., Any]:
        def write(*given: Any, **named: Any) -> Any:
            nonlocal done
            result = own(*given, **named)
            done += 1
            if done == int(writes):
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return write

    settings = Settings(durability="fast", worker=False, audit=True)
    with Memory(url, embedder=None, encryption=Keyring(key), settings=settings) as memory:
        for database in (SqliteDatabase, PostgresDatabase):
            database.write = counted(database.write)
        memory.erase(user=user)
    say(done)


def chat_on(path: str, who: str) -> None:
    """Write and search as somebody else until told to stop; tell the waits."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    waits: list[float] = []
    with Memory(path, embedder=None) as memory:
        view = memory.scope(user=who, room="shared")
        say("ready")
        number = 0
        while not stop.is_set():
            began = time.perf_counter()
            view.add(f"{who} writes entry{number}", id=f"{who}-{number}")
            waits.append(time.perf_counter() - began)
            number += 1
            memory.search("word entry5", limit=5)
            memory.list(limit=3)
        say({"count": number, "longest": max(waits)})


def hold_file(path: str) -> None:
    """Keep others from writing to a file until told to stop."""
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        wait_for_go()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
