"""Blocking calls for an event loop: on a thread, and awaited to their end."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
