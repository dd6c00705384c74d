"""Pages that take a while come in two parts: what stands on every page at once, and the rest when it is ready.

A page says when it has looked at what is asked and found it sound; what goes wrong before that has its status, and what is
made quickly comes whole.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import Response, StreamingResponse

WAIT_SECONDS: Final = 0.05
"""Seconds that a page is waited for before its top is sent."""
MARK: Final = b"<!--main-->"
"""Where the top of every page ends; whatever is shown is escaped, so that nothing else reads like it."""


class StreamedPage:
    """The top of a page that is being made on another thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Future[bytes] = self._loop.create_future()

    def tell(self, top: bytes) -> None:
        """Say, on the thread that makes the page, that the rest may take a while."""

        def told() -> None:
            if not self._told.done():
                self._told.set_result(top)

        self._loop.call_soon_threadsafe(told)

    async def answer(
        self, making: Awaitable[Response], fault: Callable[[Exception], bytes], headers: dict[str, str]
    ) -> Response:
        """Return the page, whole if it is ready soon; what is wrong with it then is raised, and told in it later on."""
        whole = asyncio.ensure_future(making)
        # Whoever has left is not told.
        whole.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({whole, self._told}, return_when=asyncio.FIRST_COMPLETED)
        if not whole.done():
            await asyncio.wait({whole}, timeout=WAIT_SECONDS)
        if whole.done() or not self._told.done():
            return await whole
        top = self._told.result()

        async def parts() -> AsyncIterator[bytes]:
            yield top
            try:
                page = bytes((await whole).body)
            except Exception as error:  # noqa: BLE001 - whatever it is, the page is begun and must be ended
                page = fault(error)
            yield page.partition(MARK)[2]

        return StreamingResponse(parts(), 200, headers, "text/html; charset=utf-8")
