"""The workbench: what is recorded by itself, values, plans, numbers."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict
from typing import Any

import pytest

from rememo import AsyncMemory, Memory, Settings, Working
from rememo.aio import AsyncWorking
from rememo.errors import Closed, InvalidInput, NotFound, ReadOnly
from rememo.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(learn=False), clock=clock) as memory:
        yield memory


@pytest.mark.requirement("working.messages")
def test_messages_are_added_listed_and_asked_for_by_role(memory: Memory):
    working = memory.scope(room="r").working
    working.messages.add("system", "Be brief.")
    working.messages.add_pair("Hello?", "Hello!")
    assert [message.content for message in working.messages.history()] == ["Be brief.", "Hello?", "Hello!"]
    assert [message.content for message in working.messages.history(roles="assistant")] == ["Hello!"]
    assert [message.role for message in working.messages.history(roles=["system", "user"])] == ["system", "user"]
    # It is a face of the memory, not a store beside it.
    assert memory.search("hello")[0].record.scope.room == "r"
    assert memory.scope(room="r").messages.latest()[0].content == "Hello!"


@pytest.mark.requirement("working.actions")
def test_a_tool_is_recorded_with_time_and_outcome(memory: Memory, clock: ManualClock):
    working, begun = memory.working, clock()
    with working.tool("search", {"query": "cats"}, metadata={"turn": 3}) as call:
        clock.advance(5)
        call.result = {"hits": ["Miso"]}
    with pytest.raises(ZeroDivisionError), working.tool("divide", {"by": 0}):
        _ = 1 / 0
    with working.tool("search") as refused:
        refused.fail("no such index")
    ok, divided, failed = working.actions.list()
    assert (ok.tool, ok.parameters, ok.result, ok.success) == (
        "search", {"query": "cats"}, {"hits": ["Miso"]}, True,
    )  # fmt: skip
    assert (ok.at, ok.error, ok.record.metadata) == (begun, None, {"turn": 3})
    assert call.receipt is not None
    assert (ok.id, ok.duration) == (call.receipt.id, call.duration)
    assert ok.duration is not None
    assert ok.duration >= 0
    assert (divided.success, divided.error, divided.parameters) == (
        False,
        "ZeroDivisionError: division by zero",
        {"by": 0},
    )
    assert (failed.success, failed.error, failed.result) == (False, "no such index", None)
    assert working.actions.success_rate() == 1 / 3
    assert working.actions.success_rate("search") == 0.5


def test_tools_inside_tools_and_side_by_side(memory: Memory, clock: ManualClock):
    working = memory.working
    with pytest.raises(KeyError), working.tool("outer") as outer:  # noqa: PT012 - the block is what is tested
        clock.advance()
        with working.tool("inner") as inner:
            inner.result = 1
        outer.result = 2
        raise KeyError("late")
    # By when they began, though the inner one ended first; what was known by then is kept.
    assert [(action.tool, action.success, action.result) for action in working.actions.list()] == [
        ("outer", False, 2),
        ("inner", True, 1),
    ]
    together = threading.Barrier(8)

    def use(number: int) -> None:
        with memory.working.tool(f"tool-{number}", {"number": number}) as call:
            together.wait(30)
            call.result = number

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    used = {
        action.tool: (action.parameters, action.result)
        for action in working.actions.list()
        if action.tool.startswith("tool-")
    }
    assert used == {f"tool-{number}": ({"number": number}, number) for number in range(8)}


def test_what_a_tool_cannot_be_given(memory: Memory):
    working = memory.working
    ran: list[str] = []
    wrong: list[tuple[Any, Any, str]] = [
        ("", {}, "tool"), (3, {}, "tool"), ("t", ["a"], "mapping"), ("t", {"a": {1}}, "JSON"), ("t", {1: 2}, "keys"),
    ]  # fmt: skip
    for name, parameters, message in wrong:
        with pytest.raises(InvalidInput, match=message), working.tool(name, parameters):
            ran.append("the tool must not run when its call cannot be recorded")
    assert not ran
    assert not working.actions.list()
    # A result that cannot be kept is told where it is set, and the call is not lost.
    with pytest.raises(InvalidInput, match=r"^result is a object, which JSON cannot hold"), working.tool("t") as call:
        call.result = object()
    with pytest.raises(InvalidInput, match="more than"), working.tool("t") as call:
        call.result = "x" * 1_048_000
    with pytest.raises(InvalidInput, match="reason"), working.tool("t") as call:
        call.fail("")
    assert [action.success for action in working.actions.list()] == [False] * 3
    with pytest.raises(ReadOnly), memory.as_of(memory.snapshot("s")).working.tool("t"):
        ran.append("never")
    assert not ran


class _Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("a\x00b\ud800"), "ValueError: a�b?"),
        (_Odd(), "_Odd"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("x" * 5_000), "ValueError: " + "x" * 987 + "…"),
    ],
)
def test_any_exception_can_be_recorded(memory: Memory, error: BaseException, message: str):
    with pytest.raises(type(error)), memory.working.tool("t"):
        raise error
    assert memory.working.actions.latest(1)[0].error == message


def test_the_tools_own_error_goes_on_when_it_cannot_be_recorded():
    memory = Memory(":memory:", embedder=None)
    with pytest.raises(KeyError) as caught, memory.working.tool("t"):  # noqa: PT012 - the block is what is tested
        memory.close()
        raise KeyError("what matters")
    assert "could not be remembered" in caught.value.__notes__[0]
    with Memory(":memory:", embedder=None) as other, pytest.raises(Closed), other.working.tool("t"):
        other.close()


@pytest.mark.requirement("working.thoughts")
def test_thoughts_are_kept_by_their_step(memory: Memory):
    working = memory.working
    working.think("She asks about cats.")
    working.think("search(cats)", step="ACT", metadata={"turn": 1})
    working.think("Miso", step="observe")
    working.think("The cat is called Miso.", step="ANSWER")
    assert [thought.step for thought in working.thoughts.list()] == ["THINK", "ACT", "OBSERVE", "FINAL"]
    assert working.thoughts.latest(step="answer")[0].text == "The cat is called Miso."
    for step in ("GUESS", None, 3):
        with pytest.raises(InvalidInput, match="step"):
            working.think("no", step=step)  # pyright: ignore[reportArgumentType] - meant
    with pytest.raises(InvalidInput, match="empty"):
        working.think(" ")


@pytest.mark.requirement("working.context")
def test_values_are_kept_by_name(memory: Memory):
    context = memory.scope(room="r").working.context
    assert context.get("mood") is None
    assert context.get("mood", "calm") == "calm"
    context.set("mood", {"now": ["glad", 1, None]})
    held = context.get("mood")
    held["now"].append("changed outside")
    assert context.get("mood") == {"now": ["glad", 1, None]}
    assert context.update("count", lambda count: count + 1, default=0) == 1
    assert context.update("count", lambda count: count + 1, default=0) == 2
    assert context.all() == {"count": 2, "mood": {"now": ["glad", 1, None]}}
    assert context.delete("mood")
    assert not context.delete("mood")
    context.set("mood", None)
    assert context.get("mood", "default") is None
    # Exactly this scope: neither a wider nor a narrower view has the same values.
    assert memory.working.context.all() == {}
    assert memory.scope(room="r", user="ana").working.context.get("count") is None


def test_values_have_versions_like_every_record(memory: Memory):
    context = memory.working.context
    first = context.set("plan", "a")
    moment = memory.snapshot("then")
    second = context.set("plan", "b")
    assert (first.outcome, second.outcome) == ("added", "replaced")
    assert memory.as_of(moment).working.context.all() == {"plan": "a"}
    memory.undo(second)
    assert context.get("plan") == "a"
    with pytest.raises(RuntimeError), memory.batch() as batch:  # noqa: PT012 - the block is what is tested
        batch.working.context.set("plan", "c")
        raise RuntimeError
    with memory.batch() as batch:
        batch.working.context.set("plan", "c")
        batch.working.context.set("other", 1)
        with pytest.raises(InvalidInput, match="batch"):
            batch.working.context.update("plan", str)
    assert context.all() == {"other": 1, "plan": "c"}
    with pytest.raises(ReadOnly):
        memory.as_of("then").working.context.set("plan", "x")


def test_values_that_cannot_be_kept(memory: Memory):
    context = memory.working.context
    wrong: list[tuple[Any, Any]] = [("", 1), (3, 1), ("a\x00", 1), ("a", {1, 2}), ("a", float("nan")), ("a", 2**63)]
    for name, value in wrong:
        with pytest.raises(InvalidInput):
            context.set(name, value)
    with pytest.raises(InvalidInput, match="more than"):
        context.set("a", ["x" * 1_000_000, "y" * 100_000])
    with pytest.raises(InvalidInput):
        context.update("a", lambda _: object())
    with pytest.raises(InvalidInput, match="function"):
        context.update("a", 3)  # pyright: ignore[reportArgumentType] - meant
    assert context.all() == {}


def test_updates_side_by_side_lose_nothing(memory: Memory):
    def count(_: int) -> None:
        memory.working.context.update("count", lambda count: count + 1, default=0)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count, range(200)))
    assert memory.working.context.get("count") == 200


@pytest.mark.requirement("working.todos")
def test_a_plan_has_parts_and_a_next_step(memory: Memory, clock: ManualClock):
    todos = memory.working.todos
    assert todos.next() is None
    trip = todos.add("Plan the trip", priority=3).id
    clock.advance()
    flights = todos.add("Book flights", parent=trip, priority=2).id
    hotel = todos.add("Book a hotel", parent=trip, priority=7).id
    near = todos.add("Near the river", parent=hotel).id
    urgent = todos.add("Renew the passport", priority=9).id

    def plan(**parts: Any) -> list[tuple[str, int]]:
        return [(todo.id, todo.depth) for todo in todos.list(**parts)]

    assert plan() == [(urgent, 0), (trip, 0), (hotel, 1), (near, 2), (flights, 1)]
    order: list[str] = []
    while (step := todos.next()) is not None:
        order.append(step.id)
        todos.done(step.id)
    assert order == [urgent, near, hotel, flights, trip]
    todos.update(hotel, done=False, priority=0)
    assert plan(open=True) == [(hotel, 1)]
    assert todos.get(hotel).open
    assert not todos.get(trip).open
    assert todos.get(trip).done
    assert (todos.get(near).parent, todos.get(near).text, todos.get(near).priority) == (hotel, "Near the river", 0)
    todos.drop(hotel)
    assert todos.next() is None
    assert not todos.get(hotel).done
    todos.delete(trip)  # its parts stand on their own
    assert plan() == [(urgent, 0), (flights, 0), (hotel, 0), (near, 1)]
    # They are the memory's tasks.
    assert {task.id for task in memory.tasks.list(parent=hotel)} == {near}


def test_plans_that_cannot_be(memory: Memory):
    todos = memory.working.todos
    whole, note = todos.add("whole").id, memory.add("a note").id
    part = todos.add("part", parent=whole).id
    for parent in ("nobody", note):
        with pytest.raises(NotFound, match="parent"):
            todos.add("lost", parent=parent)
    for parent in (part, whole):
        with pytest.raises(InvalidInput, match="which is a part of it"):
            todos.update(whole, parent=parent)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("priority", {"priority": 11}), ("done", {"done": "yes"}), ("text", {"text": ""}), ("nothing to change", {}),
    ]  # fmt: skip
    for message, changes in wrong:
        with pytest.raises(InvalidInput, match=message):
            todos.update(part, **changes)
    with pytest.raises(InvalidInput, match="open"):
        todos.list(open=1)  # pyright: ignore[reportArgumentType] - meant
    for verb in (todos.done, todos.drop, todos.get, todos.delete):
        with pytest.raises(NotFound):
            verb("nobody")
        with pytest.raises(NotFound):
            verb(note)
    # Two processes may close a ring at the same moment: nobody is lost, and nothing turns for ever.
    memory.update(whole, data={"status": "open", "parent": part})
    assert {todo.id for todo in todos.list()} == {whole, part}
    assert todos.next() is not None
    with memory.batch() as batch:
        first = batch.working.todos.add("first", id="first")
        batch.working.todos.add("second", parent=first.id, id="second")
    assert todos.get("second").depth == 1


@pytest.mark.requirement("working.stats")
def test_the_workbench_in_numbers(memory: Memory):
    room = memory.scope(room="r")
    working = room.working
    empty = working.stats()
    assert (empty.messages.count, empty.actions.success_rate, empty.actions.average_duration) == (0, None, None)
    assert empty.bytes.total == 0
    working.messages.add("system", "four")
    working.messages.add("user", "12")
    working.messages.add("user", "1234")
    working.actions.add("search", duration=1.0, result="é")
    working.actions.add("search", duration=3.0, error="no")
    working.actions.add("mail")
    working.think("abc")
    working.think("abcde")
    working.think("x", step="ACT")
    first, two, _ = (working.todos.add(text).id for text in ("a", "b", "c"))
    working.todos.done(first)
    working.todos.drop(two)
    working.context.set("a", 1)
    working.limit(max_actions=5)
    room.add("a note is not on the bench")
    stats = working.stats()
    assert (stats.messages.count, stats.messages.by_role) == (3, {"system": 1, "user": 2})
    assert stats.messages.average_length == {"system": 4.0, "user": 3.0}
    assert (stats.actions.count, stats.actions.success_rate) == (3, 2 / 3)
    assert (stats.actions.average_duration, stats.actions.total_duration) == (2.0, 4.0)
    assert list(stats.actions.tools) == ["search", "mail"]
    assert (stats.actions.tools["search"].count, stats.actions.tools["search"].success_rate) == (2, 0.5)
    assert stats.actions.tools["mail"].average_duration is None
    assert (stats.thoughts.by_step, stats.thoughts.average_length) == (
        {"ACT": 1, "THINK": 2},
        {"ACT": 1.0, "THINK": 4.0},
    )
    assert asdict(stats.todos) == {"count": 3, "open": 1, "done": 1, "dropped": 1}
    assert stats.context == 1
    sizes = asdict(stats.bytes)
    assert sizes.pop("total") == sum(sizes.values())
    assert all(sizes.values())
    with pytest.raises(FrozenInstanceError):
        stats.context = 2  # pyright: ignore[reportAttributeAccessIssue] - meant


def test_a_workbench_stands_on_a_memory(memory: Memory):
    room = memory.scope(room="r")
    room.messages.add("user", "hello")
    assert Working(room).stats().messages.count == Working(Working(room)).stats().messages.count == 1
    assert Working(room).bound == room.bound
    for wrong in (None, "agent.db", Memory):
        with pytest.raises(InvalidInput, match="takes a memory"):
            Working(wrong)  # pyright: ignore[reportArgumentType] - meant


def test_clearing_leaves_other_kinds(memory: Memory):
    working = memory.working
    memory.add("a note")
    memory.goals.add("a goal")
    working.messages.add("user", "hello")
    working.think("hm")
    working.todos.add("do")
    working.context.set("a", 1)
    working.limit(max_messages=3)
    assert working.clear() == 5
    assert working.clear() == 0
    assert sorted(record.kind for record in memory.list()) == ["goal", "note"]
    assert working.limits().max_messages == 100


def test_the_async_workbench_does_the_same():
    async def run() -> None:
        async with AsyncMemory(":memory:", embedder=None) as memory:
            working = memory.scope(room="r").working

            async def use(number: int) -> None:
                async with working.tool("search", {"number": number}) as call:
                    await asyncio.sleep(0)
                    call.result = number

            await asyncio.gather(*(use(number) for number in range(10)))
            assert {action.result for action in await working.actions.list()} == set(range(10))
            with pytest.raises(KeyError, match="gone"):
                async with working.tool("fails"):
                    raise KeyError("gone")
            waiting = asyncio.Event()

            async def stay() -> None:
                async with working.tool("cancelled"):
                    waiting.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(stay())
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert [action.error for action in await working.actions.latest(2)] == [
                "KeyError: 'gone'",
                "CancelledError",
            ]
            await working.context.set("a", 1)
            assert await working.context.all() == {"a": 1}
            assert (await working.todos.next()) is None
            async with memory.sessions.run("kept") as kept:
                await kept.context.set("b", 2)
            assert (await memory.sessions.list())[0].context == 2
            ended: list[AsyncWorking] = []
            with pytest.raises(ValueError, match="stop"):  # noqa: PT012 - the block is what is tested
                async with memory.sessions.run("secret", clear=True) as secret:
                    ended.append(secret)
                    await secret.messages.add("user", "hidden")
                    assert (await secret.stats()).messages.count == 1
                    raise ValueError("stop")
            with pytest.raises(Closed):
                await ended[0].stats()
            assert (await memory.working.stats()).messages.count == 0

    asyncio.run(run())
