"""Streamed pages: a slow page is sent in two parts, its header at once and its content when it is ready.

A page starts streaming after it has validated its query: an error before that still gets its own status, and a page that
is ready quickly is sent whole.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import Response, StreamingResponse

WAIT_SECONDS: Final = 0.05
"""Seconds to wait for a page before its header is sent."""
MARK: Final = b"<!--main-->"
"""The end of the header in every page; content is escaped, so that it cannot contain this mark."""


class StreamedPage:
    """A page that is rendered on another thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._header: asyncio.Future[bytes] = self._loop.create_future()

    def tell(self, top: bytes) -> None:
        """Provide the header, from the rendering thread."""

        def set_header() -> None:
            if not self._header.done():
                self._header.set_result(top)

        self._loop.call_soon_threadsafe(set_header)

    async def answer(
        self, making: Awaitable[Response], fault: Callable[[Exception], bytes], headers: dict[str, str]
    ) -> Response:
        """Return the page, whole if it is ready soon; errors are then raised, later they are rendered into the page."""
        rendering = asyncio.ensure_future(making)
        # Retrieve the exception even if the client has left.
        rendering.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({rendering, self._header}, return_when=asyncio.FIRST_COMPLETED)
        if not rendering.done():
            await asyncio.wait({rendering}, timeout=WAIT_SECONDS)
        if rendering.done() or not self._header.done():
            return await rendering
        top = self._header.result()

        async def parts() -> AsyncIterator[bytes]:
            yield top
            try:
                page = bytes((await rendering).body)
            except Exception as error:  # noqa: BLE001 - the response has started and must be completed
                page = fault(error)
            yield page.partition(MARK)[2]

        return StreamingResponse(parts(), 200, headers, "text/html; charset=utf-8")
