"""LangGraph's checkpointer: its conformance suite as it is published, and graphs that stop, fail, fork and go on."""

# LangGraph and LangMem are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false, reportPrivateUsage=false

import importlib
import inspect
import pkgutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import spec, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES, DetectedCapabilities
from langgraph.checkpoint.conformance.initializer import checkpointer_test
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from rememo import Keyring, Memory
from rememo.adapters.langgraph import RememoSaver
from rememo.errors import Closed, InvalidInput

Test = Callable[[BaseCheckpointSaver[str]], Awaitable[None]]


def published() -> Iterator[Any]:
    """Give every test of the published suite."""
    for module in pkgutil.iter_modules(spec.__path__):
        test_module = importlib.import_module(f"{spec.__name__}.{module.name}")
        for name, test in inspect.getmembers(test_module, inspect.iscoroutinefunction):
            if name.startswith("test_"):
                yield pytest.param(test, id=f"{module.name.removeprefix('test_')}-{name}")


@pytest.fixture
def saver() -> Iterator[RememoSaver]:
    with RememoSaver(":memory:") as made:
        yield made


@pytest.mark.parametrize("test", list(published()))
async def test_conformance(test: Test, saver: RememoSaver):
    await test(saver)


async def test_a_sealed_memory_conforms_too(tmp_path: Path):
    with Memory(tmp_path / "agent.db", encryption=Keyring(Keyring.new_key())) as memory:

        @checkpointer_test(name="sealed")
        async def sealed() -> AsyncGenerator[RememoSaver]:
            yield RememoSaver(memory.scope(user=str(uuid4())))

        report = await validate(sealed)
        assert report.conformance_level() == "FULL"


def test_the_suite_has_nothing_to_skip(saver: RememoSaver):
    assert DetectedCapabilities.from_instance(saver).detected == ALL_CAPABILITIES


# ---- graphs


class State(TypedDict):
    said: Annotated[list[str], add]


def says(text: str) -> Any:
    """Return a node that says something."""

    def node(state: State) -> dict[str, Any]:
        return {"said": [text]}

    return node


def asking() -> StateGraph[State]:
    """Return a graph that asks a person before it goes on."""

    def ask(state: State) -> dict[str, Any]:
        return {"said": [f"answered {interrupt('go on?')}"]}

    graph = StateGraph(State)
    graph.add_node("first", says("first"))
    graph.add_node("ask", ask)
    graph.add_node("last", says("last"))
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    graph.add_edge("ask", "last")
    graph.add_edge("last", END)
    return graph


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def test_a_graph_that_was_interrupted_goes_on_in_another_life_of_the_memory(tmp_path: Path):
    path = tmp_path / "agent.db"
    with RememoSaver(path) as saver:
        stopped = asking().compile(checkpointer=saver).invoke({"said": []}, thread("t"))
        assert stopped["__interrupt__"][0].value == "go on?"
    with RememoSaver(path) as saver:
        graph = asking().compile(checkpointer=saver)
        assert graph.get_state(thread("t")).next == ("ask",)
        assert graph.invoke(Command(resume="yes"), thread("t"))["said"] == ["first", "answered yes", "last"]
        assert graph.get_state(thread("t")).next == ()


async def test_the_same_for_event_loops(tmp_path: Path):
    async with RememoSaver(tmp_path / "agent.db") as saver:
        graph = asking().compile(checkpointer=saver)
        await graph.ainvoke({"said": []}, thread("t"))
        assert (await graph.ainvoke(Command(resume="yes"), thread("t")))["said"][-1] == "last"
        history = [state async for state in graph.aget_state_history(thread("t"))]
        assert [len(state.values["said"]) for state in history] == [3, 2, 1, 0, 0]


@pytest.mark.parametrize("make", [InMemorySaver, lambda: RememoSaver(":memory:")], ids=["reference", "rememo"])
def test_time_travel_forks_a_thread_and_leaves_what_was(make: Callable[[], BaseCheckpointSaver[str]]):
    graph = asking().compile(checkpointer=make())
    graph.invoke({"said": []}, thread("t"))
    graph.invoke(Command(resume="yes"), thread("t"))
    asked_state = next(state for state in graph.get_state_history(thread("t")) if state.next == ("ask",))
    fork = graph.update_state(asked_state.config, None)
    assert graph.invoke(Command(resume="no"), fork)["said"] == ["first", "answered no", "last"]
    corrected = graph.update_state(asked_state.config, {"said": ["corrected"]}, as_node="first")
    assert graph.get_state(corrected).values["said"] == ["first", "corrected"]
    ends = [state.values["said"] for state in graph.get_state_history(thread("t")) if not state.next]
    assert ends == [["first", "answered no", "last"], ["first", "answered yes", "last"]]
    assert graph.get_state(asked_state.config).values["said"] == ["first"]
    assert [(record.metadata or {}).get("step") for record in graph.get_state_history(thread("t"), limit=2)] == [2, 4]
    before = list(graph.get_state_history(thread("t"), before=asked_state.config, filter={"source": "loop"}))
    assert [item.next for item in before] == [("first",)]


def test_what_was_done_before_a_failure_is_not_done_again(saver: RememoSaver):
    done: list[str] = []

    def kept() -> bool:
        """Whether what the other node wrote is stored: a failure before that would let it run again, and rightly so."""
        latest = saver.get_tuple(thread("t"))
        return latest is not None and any(channel == "said" for _, channel, _ in latest.pending_writes or ())

    def fails(state: State) -> dict[str, Any]:
        done.append("fails")
        if done.count("fails") > 1:
            return {"said": ["mended"]}
        while not kept():
            time.sleep(0.001)
        raise RuntimeError("once")

    def works(state: State) -> dict[str, Any]:
        done.append("works")
        return {"said": ["worked"]}

    built = StateGraph(State)
    built.add_node("fails", fails)
    built.add_node("works", works)
    built.add_edge(START, "works")
    built.add_edge(START, "fails")
    graph = built.compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="once"):
        graph.invoke({"said": []}, thread("t"))
    assert sorted(graph.invoke(None, thread("t"))["said"]) == ["mended", "worked"]
    assert done.count("works") == 1


# ---- channels that store their changes only


def changing(saver: BaseCheckpointSaver[str]) -> Any:
    def joined(value: list[str], more: Sequence[list[str]]) -> list[str]:
        return value + [item for some in more for item in some]

    class Notes(TypedDict):
        notes: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=4)]

    def write(state: Notes) -> dict[str, Any]:
        return {"notes": [f"note {len(state['notes'])}"]}

    graph = StateGraph(Notes)
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    return graph.compile(checkpointer=saver)


def test_channels_of_changes_are_told_as_the_reference_tells_them_also_after_pruning(saver: RememoSaver):
    reference = InMemorySaver()
    for item in (saver, reference):
        graph = changing(item)
        for turn in range(7):
            graph.invoke({"notes": [f"turn {turn}"]}, thread("t"))
    actual, expected = changing(saver), changing(reference)
    for ours, theirs in zip(
        actual.get_state_history(thread("t")), expected.get_state_history(thread("t")), strict=True
    ):
        assert ours.values == theirs.values
    before = actual.get_state(thread("t")).values
    saver.prune(["t"])
    assert actual.get_state(thread("t")).values == before
    assert len(list(saver.list(thread("t")))) < len(list(reference.list(thread("t"))))
    assert actual.invoke({"notes": ["on"]}, thread("t"))["notes"][:-2] == before["notes"]


# ---- what a memory adds


def test_threads_lie_within_the_view_and_go_with_it(tmp_path: Path):
    with Memory(tmp_path / "agent.db") as memory:
        alice, bob = RememoSaver(memory.scope(user="alice")), RememoSaver(memory.scope(user="bob"))
        for saver in (alice, bob):
            asking().compile(checkpointer=saver).invoke({"said": []}, thread("t"))
        alice.delete_thread("t")
        assert alice.get_tuple(thread("t")) is None
        assert bob.get_tuple(thread("t")) is not None
        assert memory.search("first go on", limit=5) == []
        assert memory.erase(user="bob").leftovers == ()
        assert list(RememoSaver(memory).list(None)) == []
        alice.close()
        assert memory.count() == 0


def test_state_larger_than_a_record_is_kept_whole(saver: RememoSaver):
    large = "ab" * 1_500_000
    built = StateGraph(State)
    built.add_node("write", says(large))
    built.add_edge(START, "write")
    graph = built.compile(checkpointer=saver)
    assert graph.invoke({"said": []}, thread("t"))["said"] == [large]
    assert graph.get_state(thread("t")).values["said"] == [large]
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    saver.delete_thread("t")
    assert graph.get_state(thread("copy")).values["said"] == [large]


def test_pruning_ends_what_nothing_refers_to(saver: RememoSaver):
    graph = asking().compile(checkpointer=saver)
    graph.invoke({"said": []}, thread("t"))
    graph.invoke(Command(resume="yes"), thread("t"))
    before = saver._memory.count()
    saver.prune(["t"])
    assert graph.get_state(thread("t")).values["said"] == ["first", "answered yes", "last"]
    assert len(list(saver.list(thread("t")))) == 1
    assert saver._memory.count() < before / 2
    saver.delete_thread("t")
    assert saver._memory.count() == 0


def test_bad_input_is_told(saver: RememoSaver):
    with pytest.raises(InvalidInput, match="thread_id"):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(InvalidInput, match="strategy"):
        saver.prune(["t"], strategy="some")
    saver.close()
    with pytest.raises(Closed):
        saver.get_tuple(thread("t"))


# ---- processes

KILLED = """
import os, signal, sys
from operator import add
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph
from rememo.adapters.langgraph import RememoSaver

class State(TypedDict):
    said: Annotated[list[str], add]

def first(_):
    return {"said": ["first"]}

def dies(_):
    os.kill(os.getpid(), signal.SIGKILL)

graph = StateGraph(State)
graph.add_node("first", first)
graph.add_node("second", dies)
graph.add_edge(START, "first")
graph.add_edge("first", "second")
graph.compile(checkpointer=RememoSaver(sys.argv[1])).invoke(
    {"said": []}, {"configurable": {"thread_id": "t"}}, durability="sync"
)
"""

WRITER = """
import sys
from langgraph.checkpoint.base import empty_checkpoint
from rememo.adapters.langgraph import RememoSaver

with RememoSaver(sys.argv[1]) as saver:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(25):
        for name in ("shared", sys.argv[2]):
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = {"by": [sys.argv[2], number]}
            checkpoint["channel_versions"] = {"by": saver.get_next_version(None, None)}
            place = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
            done = saver.put(place, checkpoint, {"step": number}, checkpoint["channel_versions"])
            saver.put_writes(done, [("by", number)], sys.argv[2])
"""


def test_a_killed_process_loses_nothing_that_was_done(tmp_path: Path):
    path = tmp_path / "agent.db"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    built = StateGraph(State)
    built.add_node("first", says("again"))
    built.add_node("second", says("second"))
    built.add_edge(START, "first")
    built.add_edge("first", "second")
    with RememoSaver(path) as saver:
        graph = built.compile(checkpointer=saver)
        assert graph.get_state(thread("t")).next == ("second",)
        assert graph.invoke(None, thread("t"))["said"] == ["first", "second"]


def test_two_processes_write_to_one_file(tmp_path: Path):
    path = tmp_path / "agent.db"
    RememoSaver(path).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n")
        assert writer.returncode == 0
    with RememoSaver(path) as saver:
        for name in ("a", "b"):
            own = list(saver.list(thread(name)))
            assert [checkpoint.checkpoint["channel_values"]["by"] for checkpoint in reversed(own)] == [
                [name, n] for n in range(25)
            ]
            assert [[write[2] for write in checkpoint.pending_writes or ()] for checkpoint in own] == [
                [n] for n in range(24, -1, -1)
            ]
        shared = list(saver.list(thread("shared")))
        assert len(shared) == 50
        ids = [checkpoint.checkpoint["id"] for checkpoint in shared]
        assert ids == sorted(ids, reverse=True)


def test_ids_that_are_not_langgraphs_are_ordered_by_their_times(saver: RememoSaver):
    for id in ("z-older", "a-younger"):
        checkpoint = empty_checkpoint()
        checkpoint["id"] = id
        checkpoint["channel_values"] = {"channel": id}
        done = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {}, {})
        saver.put_writes(done, [("channel", id)], "task")
    assert [record.checkpoint["id"] for record in saver.list(thread("t"))] == ["a-younger", "z-older"]
    latest = saver.get_tuple(thread("t"))
    assert latest is not None
    assert latest.checkpoint["channel_values"] == {"channel": "a-younger"}
    assert latest.pending_writes == [("task", "channel", "a-younger")]
