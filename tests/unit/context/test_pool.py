"""The pool of threads: calls that are given up, in whatever state, take nothing with them but their own thread."""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from rememo.context.provider_pool import MOST_THREADS, ProviderCall, ProviderPool
from rememo.errors import Closed


@pytest.fixture
def pool() -> Iterator[ProviderPool]:
    pool = ProviderPool()
    yield pool
    pool.close()


def call(
    function: Callable[[Any], Any], *, timeout: float = 30, owner: object = "owner"
) -> tuple[ProviderCall, "SimpleQueue[ProviderCall]"]:
    changed: SimpleQueue[ProviderCall] = SimpleQueue()
    return ProviderCall(owner, function, None, timeout=timeout, changed=changed), changed


def ended(waited: ProviderCall, changed: "SimpleQueue[ProviderCall]") -> ProviderCall:
    while not waited.ended:
        changed.get(timeout=30)
    return waited


def test_a_call_that_is_given_up_while_it_waits_is_never_run(pool: ProviderPool):
    go_on, ran = threading.Event(), threading.Event()
    running = [call(lambda _: go_on.wait()) for _ in range(MOST_THREADS)]
    for hanging, changed in running:
        pool.submit(hanging)
        assert changed.get(timeout=30).begun
    waiting, _ = call(lambda _: ran.set())
    after, changed = call(lambda _: "after")
    pool.submit(waiting)
    pool.submit(after)
    assert waiting.deadline is None, "its time begins with its turn"
    assert pool.abandon(waiting)
    go_on.set()
    assert ended(after, changed).result == "after"
    for ending, its in running:
        assert ended(ending, its).result is True
    assert not ran.is_set()
    assert not pool.hanging("owner")


def test_what_ended_in_time_is_not_given_up(pool: ProviderPool):
    running, changed = call(lambda _: 7)
    pool.submit(running)
    ended(running, changed)
    assert not pool.abandon(running)
    assert running.result == 7


def test_a_coroutine_that_comes_too_late_is_let_go(pool: ProviderPool):
    """Else Python says that it was never awaited, which is an error here."""
    go_on = threading.Event()

    async def never() -> None:
        raise AssertionError

    def late(_: None) -> Any:
        go_on.wait()
        return never()

    running, changed = call(late)
    pool.submit(running)
    assert changed.get(timeout=30).begun
    assert pool.abandon(running)
    go_on.set()
    # The thread is gone when nothing hangs any more; others are as good as before.
    again, its = call(lambda _: "again")
    pool.submit(again)
    assert ended(again, its).result == "again"


def test_a_coroutine_whose_loop_ends_before_it_begins_is_let_go():
    async def never() -> None:
        raise AssertionError

    for _ in range(20):
        pool = ProviderPool()
        running, changed = call(lambda _: never())
        pool.submit(running)
        changed.get(timeout=30)
        pool.close()
        del running, pool


def test_closing_tells_those_that_wait_for_a_thread(pool: ProviderPool):
    go_on = threading.Event()
    running = [call(lambda _: go_on.wait()) for _ in range(MOST_THREADS)]
    for hanging, changed in running:
        pool.submit(hanging)
        changed.get(timeout=30)
    waiting, its = call(lambda _: None)
    pool.submit(waiting)
    pool.close()
    assert isinstance(ended(waiting, its).error, Closed)
    with pytest.raises(Closed):
        pool.submit(call(lambda _: None)[0])

    async def later(_: None) -> None:
        await asyncio.sleep(0)

    with pytest.raises(Closed):
        pool.submit(call(later)[0])
    go_on.set()


def test_a_closed_loop_of_the_caller_is_an_answer(pool: ProviderPool):
    from rememo.context.provider_pool import caller_loop  # noqa: PLC0415 - only here

    async def later(_: None) -> str:
        await asyncio.sleep(0)
        return "never"

    loop = asyncio.new_event_loop()
    loop.close()
    token = caller_loop.set(loop)
    try:
        running, changed = call(later)
        pool.submit(running)
    finally:
        caller_loop.reset(token)
    assert isinstance(ended(running, changed).error, RuntimeError)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_the_threads_are_there_for_the_next(pool: ProviderPool, seed: int):
    dice, released = random.Random(seed), threading.Event()

    async def is_async(_: None) -> str:
        await asyncio.Event().wait()
        return "never"

    def returns_waiting(_: None) -> Any:
        return is_async(None)

    def raises(_: None) -> None:
        raise ValueError("no")

    kinds: list[Callable[[Any], Any]] = [lambda _: "fine", raises, lambda _: released.wait(), is_async, returns_waiting]

    def user(number: int) -> None:
        mine = random.Random(number)
        for turn in range(10):
            started, changed = call(mine.choice(kinds), owner=(number, turn))
            pool.submit(started)
            if mine.random() < 0.5:
                # Wait until something is known of it, so that it is given up in every state it can be in.
                while started.deadline is None:
                    changed.get(timeout=30)
            pool.abandon(started)

    users = [threading.Thread(target=user, args=(dice.randrange(1000),)) for _ in range(4)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(60)
        assert not thread.is_alive()
    released.set()
    # All eight at once, none of which can end before the last has begun.
    meeting = threading.Barrier(MOST_THREADS)
    last = [call(lambda _: meeting.wait(30)) for _ in range(MOST_THREADS)]
    for submitted, _ in last:
        pool.submit(submitted)
    assert sorted(ended(submitted, changed).result for submitted, changed in last) == list(range(MOST_THREADS))
