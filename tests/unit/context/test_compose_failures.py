"""Providers that raise, hang, return what cannot be used, or block the loop: named, and nothing else is lost."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rememo import Memory, ProviderRequest, ProviderResponse, Settings
from rememo.context.provider_pool import MOST_HANGING, MOST_THREADS
from rememo.context.state import State
from rememo.engine.view import view_of
from rememo.errors import Closed
from rememo.testing.clock import START, ManualClock

SOON = 0.05


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, clock=ManualClock(), settings=Settings(worker=False)) as memory:
        yield memory


@pytest.fixture
def ever() -> Iterator[threading.Event]:
    """What a hanging provider waits for; set when the test is over, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


def failures(state: State) -> dict[str, str]:
    return {failure.name: failure.reason for failure in state.failures}


class Odd:
    pass


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        (7, "wrong type", "it returned int; return text"),
        (b"bytes", "wrong type", "bytes"),
        (["text"], "wrong type", "list"),
        ({"txt": "a"}, "wrong type", "'txt'; a mapping may have text"),
        (ProviderResponse(text=7), "wrong type", "text must be text"),  # pyright: ignore[reportArgumentType] - that is the test
        (ProviderResponse(text="a\ud800"), "wrong type", "surrogate"),
        (ProviderResponse(values={1: 2}), "wrong type", "keys must be text"),  # pyright: ignore[reportArgumentType] - that is the test
        (ProviderResponse(values=[1]), "wrong type", "values must be a mapping"),  # pyright: ignore[reportArgumentType] - that is the test
        (ProviderResponse(data=Odd()), "wrong type", "data is a Odd"),
        (ProviderResponse(data={"a": float("nan")}), "wrong type", "nan"),
        ("x" * 10_000_000, "too large", "1,048,576 bytes allowed"),
        (ProviderResponse(text="é" * 600_000), "too large", "max_provided_bytes"),
        (ProviderResponse(values={"a": "x" * 10_000_000}), "too large", "allowed"),
        (ProviderResponse(data=[[[0] * 1000] * 1000] * 10), "too large", "allowed"),
        (ProviderResponse(data={str(n): n for n in range(600_000)}), "too large", "allowed"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_answers_that_cannot_be_used_are_named(memory: Memory, answer: Any, reason: str, says: str):
    memory.providers.add("odd", lambda _: answer)
    memory.providers.add("fine", lambda _: "fine")
    state = memory.compose("x", include=["odd", "fine"])
    assert failures(state) == {"odd": reason}
    assert says in state.failures[0].says
    assert state.text == "fine"


def test_data_that_holds_itself_is_named(memory: Memory):
    loop: list[Any] = []
    loop.append(loop)
    memory.providers.add("loop", lambda _: ProviderResponse(data=loop))
    assert failures(memory.compose("x", include="loop")) == {"loop": "too large"}


@pytest.mark.requirement("state.compose")
@pytest.mark.parametrize("error", [ValueError("no key " * 1000), KeyboardInterrupt(), SystemExit(3), Closed("theirs")])
@pytest.mark.parametrize("waits", [False, True])
def test_one_that_raises_is_named_and_the_others_are_heard(memory: Memory, error: BaseException, *, waits: bool):
    def broken(request: ProviderRequest[Memory]) -> str:
        raise error

    async def broken_later(request: ProviderRequest[Memory]) -> str:
        await asyncio.sleep(0)
        raise error

    memory.provider("broken")(broken_later if waits else broken)
    memory.providers.add("fine", lambda _: "fine")
    for _ in range(3):
        state = memory.compose("x", include=["broken", "fine"])
        assert failures(state) == {"broken": "failed"}
        assert state.failures[0].says.startswith(type(error).__name__)
        assert len(state.failures[0].says) < 600
        assert state.text == "fine"
        assert not state.cached, "what failed may do better next time"
        assert "broken: failed" in repr(state)


def test_a_built_in_one_that_fails_is_named(memory: Memory):
    memory.profiles.update("alice", name="Alice")
    # A value that another program put there.
    kv = view_of(memory).engine.kv  # on the surface nothing of the kind can be done
    kv.set("default", '[null,null,null,"profiles"]', "alice", "no json", START)
    state = memory.scope(user="alice").compose("x")
    assert failures(state) == {"profile": "failed"}
    assert "It is" in state.text


@pytest.mark.requirement("state.compose")
@pytest.mark.parametrize("waits", [False, True])
def test_a_slow_one_is_left_out_in_its_time_and_named(memory: Memory, ever: threading.Event, *, waits: bool):
    def hang(request: ProviderRequest[Memory]) -> str:
        ever.wait()
        return "too late"

    async def hang_async(request: ProviderRequest[Memory]) -> str:
        await asyncio.Event().wait()
        return "never"

    memory.provider("slow", timeout=SOON)(hang_async if waits else hang)
    memory.providers.add("fine", lambda _: "fine")
    state = memory.compose("x", include=["slow", "fine"])
    assert failures(state) == {"slow": "slow"}
    assert "within 0.05 s" in state.failures[0].says
    assert state.text == "fine"


def test_a_cancelled_one_may_clean_up(memory: Memory):
    cleaned = threading.Event()

    @memory.provider("slow", timeout=SOON)
    async def slow(request: ProviderRequest[Memory]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return "never"

    memory.compose("x", include="slow")
    assert cleaned.wait(5)


def test_hanging_ones_do_not_use_up_the_threads(memory: Memory, ever: threading.Event):
    hanging = [f"hang{number}" for number in range(2 * MOST_THREADS)]
    for name in hanging:
        memory.providers.add(name, lambda _: str(ever.wait()), timeout=SOON)
    memory.providers.add("fine", lambda _: "fine", timeout=5)
    state = memory.compose("x", include=[*hanging, "fine"])
    assert failures(state) == dict.fromkeys(hanging, "slow")
    assert state.text == "fine"
    assert memory.compose("y", include="fine").text == "fine"


def test_one_that_hangs_again_and_again_is_called_no_more_until_it_ends(memory: Memory):
    begun, go_on = threading.Semaphore(0), threading.Event()
    calls: list[int] = []

    @memory.provider("hang", timeout=SOON)
    def hang(request: ProviderRequest[Memory]) -> str:
        calls.append(1)
        go_on.wait()
        begun.release()
        return "at last"

    reasons = [failures(memory.compose("x", include="hang"))["hang"] for _ in range(MOST_HANGING + 3)]
    assert reasons == ["slow"] * MOST_HANGING + ["busy"] * 3
    assert len(calls) == MOST_HANGING
    go_on.set()
    for _ in range(MOST_HANGING):
        assert begun.acquire(timeout=5)
    # The threads note their end a moment after the function's.
    tries = (memory.compose("x", include="hang") for _ in range(10_000))
    assert next(state.text for state in tries if not state.failures) == "at last"


def test_an_async_one_that_blocks_the_loop_is_replaced_with_it(memory: Memory, ever: threading.Event):
    @memory.provider("blocks", timeout=SOON)
    async def blocks(request: ProviderRequest[Memory]) -> str:
        ever.wait()
        return "never"

    @memory.provider("fine", timeout=SOON, position=200)
    async def fine(request: ProviderRequest[Memory]) -> str:
        return "fine"

    state = memory.compose("x", include=["blocks", "fine"])
    assert failures(state) == {"blocks": "slow", "fine": "slow"}
    assert "did not begin" in state.failures[1].says
    assert memory.compose("x", include="fine").text == "fine"


def test_after_close(memory: Memory):
    memory.providers.add("p", lambda _: "x")
    memory.compose("x")
    memory.close()
    with pytest.raises(Closed):
        memory.compose("x")
    with pytest.raises(Closed):
        memory.compose("x", include="p", fresh=True)
