"""Several workers in several processes, one of them killed: every message is learned once, and nothing twice."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.collections.facts import Facts
from rememo.engine.job_payloads import LEARN
from rememo.engine.view import view_of
from rememo.jobs.worker import Worker
from rememo.model.ids import new_id
from rememo.model.job import NewJob

Start = Callable[[str], "subprocess.Popen[str]"]
LONGEST = 100.0
HEAD = """
import sys
from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.jobs import tasks
from rememo.jobs import worker as working
path = sys.argv[1]
memory = Memory(path, settings=Settings(durability="fast", worker=False))
worker = working.Worker(view_of(memory).engine)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run a piece of Python in a process of its own; whatever is left is killed."""
    with ExitStack() as stack:

        def run(source: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-c", HEAD + textwrap.dedent(source), str(tmp_path / "memory.db")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={name: value for name, value in os.environ.items() if not name.startswith("REMEMO_")},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            stack.enter_context(process.stdout)  # pyright: ignore[reportArgumentType] - it is a pipe
            stack.enter_context(process.stdin)  # pyright: ignore[reportArgumentType] - it is a pipe
            return process

        yield run


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", settings=Settings(durability="fast", worker=False)) as memory:
        yield memory


def say(memory: Memory, *texts: str) -> None:
    items = [
        {"text": text, "kind": "message", "jobs": (NewJob(id=new_id(), task=LEARN, payload={}),)} for text in texts
    ]
    view_of(memory).put(items)  # jobs are not on the surface


def facts(memory: Memory) -> Facts:
    return Facts(view_of(memory))


def worker_of(memory: Memory) -> Worker:
    return Worker(view_of(memory).engine)


@pytest.mark.requirement("process.safe", "write.receipt")
def test_many_workers_learn_everything_once(memory: Memory, start: Start):
    users = [memory.scope(user=f"user-{number}") for number in range(10)]
    for view in users:
        say(view, *[f"I love thing {number}." for number in range(12)], "I live in Lisbon.", "I moved to Porto.")
    workers = [start("print(sum(iter(lambda: worker.run_once(limit=7), 0)))") for _ in range(3)]
    done = [int(worker.communicate(timeout=LONGEST)[0]) for worker in workers]
    assert sum(done) == 10 * 14, "each job was taken once"
    assert memory.stats().jobs == {"done": 140}
    for view in users:
        assert [fact.object for fact in facts(view).list(predicate="lives_in")] == ["Porto"]
        likes = facts(view).list(predicate="likes")
        assert len(likes) == 12
        assert all(len(fact.sources) == 1 for fact in likes)
    assert memory.verify().ok


@pytest.mark.requirement("process.safe")
def test_workers_that_meet_in_one_place_leave_no_contradiction(memory: Memory, start: Start):
    view = memory.scope(user="ana")
    for number in range(30):
        say(view, f"I live in {['Lisbon', 'Porto', 'Rome', 'Oslo'][number % 4]}.")
    workers = [start("print(sum(iter(lambda: worker.run_once(limit=1), 0)))") for _ in range(3)]
    done = [int(worker.communicate(timeout=LONGEST)[0]) for worker in workers]
    assert sum(done) == 30
    assert memory.stats().jobs == {"done": 30}
    everything = facts(view).list(current_only=False)
    assert [fact.object for fact in everything if fact.status == "current"] == ["Porto"]
    ordered = sorted(everything, key=lambda fact: (fact.valid_to is None, fact.valid_to))
    for before, after in pairwise(ordered):
        assert before.valid_to == after.valid_from
    assert sum(len(fact.sources) for fact in everything) == 30


@pytest.mark.requirement("write.receipt")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_killed_in_the_middle_repeats_nothing(memory: Memory, start: Start, moment: str):
    say(memory.scope(user="ana"), "I love tea.", "My sister Bea works at CERN.")
    killed = start(
        f"""
        worker = working.Worker(view_of(memory).engine, lease=0.001)
        real = tasks.learn
        def learn(*arguments, **options):
            if {moment!r} == "after":
                real(*arguments, **options)
            print("there", flush=True)
            sys.stdin.read()
        tasks.learn = learn
        worker.run_once()
        """
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "there\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait(LONGEST)
    assert memory.count(kind="fact") == (3 if moment == "after" else 0)
    versions = [record.version for record in memory.list(kind=["fact", "relationship"])]
    assert worker_of(memory).run_until_idle() == 2
    assert memory.count(kind="fact") == 3
    assert memory.count(kind="relationship") == 2
    if moment == "after":
        assert [record.version for record in memory.list(kind=["fact", "relationship"])] == versions
    assert memory.stats().jobs == {"done": 2}


@pytest.mark.requirement("write.receipt")
def test_a_process_of_its_own_learns_what_others_write(memory: Memory, start: Start):
    other = start(
        """
        worker.start()
        print("working", flush=True)
        sys.stdin.readline()
        print(worker.stop(30), flush=True)
        """
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "working\n"
    view = memory.scope(user="ana")
    receipt = view_of(view).put(  # jobs are not on the surface
        [{"text": "I love tea.", "kind": "message", "jobs": (NewJob(id=new_id(), task=LEARN, payload={}),)}]
    )
    assert worker_of(memory).follow(receipt, LONGEST, tenant="default").status == "done"
    assert [fact.object for fact in facts(view).list()] == ["tea"]
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()
    assert other.stdout.readline() == "True\n"
