"""Blocking calls for an event loop: on a thread, and awaited to their end."""

import asyncio
from collections.abc import Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar, cast

T = TypeVar("T")
P = ParamSpec("P")


async def run_in_thread(run: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a call on a thread and return what it returns.

    A caller that is cancelled waits for its end all the same, and is cancelled then: a write that was begun cannot be
    stopped, and must not happen after what the caller does next.
    """
    running = asyncio.ensure_future(asyncio.to_thread(run, *arguments, **named))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        running.exception()
        raise cancelled
    return running.result()


def in_thread(method: Callable[P, T]) -> "Callable[P, CoroutineType[Any, Any, T]]":
    """Return the asynchronous twin of a method, which runs the method on a thread, a subclass's own one where there is one."""

    @wraps(method)
    async def twin(*arguments: P.args, **named: P.kwargs) -> T:
        owner, *rest = arguments
        return await run_in_thread(getattr(owner, method.__name__), *rest, **named)

    return cast("Callable[P, CoroutineType[Any, Any, T]]", twin)
