"""Exports and imports as streams."""

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, RateLimited, RememoError, Unavailable
from rememo.keep.audit import stream as stream_audit
from rememo.keep.export import stream
from rememo.memory import Memory
from rememo.serve.auth import ApiKey
from rememo.serve.http_errors import HttpError
from rememo.serve.limits import current_requester
from rememo.serve.rest.operations import Reach, Right
from rememo.serve.rest.routes import JSON
from rememo.serve.rest.signature import SCOPE, split_query
from rememo.serve.serializer import encode
from rememo.serve.service import Service, acting_as_key, require_right, too_large, too_slow

NDJSON: Final = "application/x-ndjson"
_CHUNK_BYTES: Final = 256 * 2**10
"""Bytes that are sent in one chunk."""
_log = logging.getLogger("rememo.serve")
_BOOLEANS: Final = {"true": True, "false": False}

Endpoint = Callable[[Request], Awaitable[Response]]


def parse_scope(request: Request, *more: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the scope parameters of a request and those named in `more`; raises `InvalidInput` for others."""
    scope, rest = split_query(request.url.query, {})
    for name in rest:
        if name not in more:
            raise InvalidInput(f"unknown parameter {name[:50]!r}; this route takes {', '.join((*SCOPE, *more))}")
    return scope, rest


def export_endpoint(service: Service) -> Endpoint:
    """Return the endpoint of `GET /export`; quarantined records are included for administrators only."""

    def export(memory: Memory, key: ApiKey, query: dict[str, str]) -> Iterator[str]:
        plain = _BOOLEANS.get(query.get("plain", "false"))
        if plain is None:
            raise InvalidInput("plain must be true or false")
        view = view_of(memory)
        return stream(
            view.engine, view.scope, known_at=view.known_at, plain=plain, quarantined="admin" in key.rights
        )  # fmt: skip

    return _make_export_endpoint(service, export, "rememo.jsonl", "read", "scope", "plain")


def audit_export_endpoint(service: Service) -> Endpoint:
    """Return the endpoint of `GET /audit:export`."""

    def export(memory: Memory, _: ApiKey, __: dict[str, str]) -> Iterator[str]:
        return stream_audit(view_of(memory))

    return _make_export_endpoint(service, export, "audit.jsonl", "admin", "tenant")


def _make_export_endpoint(
    service: Service,
    export: Callable[[Memory, ApiKey, dict[str, str]], Iterator[str]],
    name: str,
    right: Right,
    reach: Reach,
    *more: str,
) -> Endpoint:
    async def give(request: Request) -> Response:
        key = await service.admit(request)
        require_right(key, right, reach)
        scope, rest = parse_scope(request, *more)
        lines: Iterator[str] = iter(())

        def begin() -> bytes:
            nonlocal lines
            with acting_as_key(key, request):
                lines = export(service.view(key, scope), key, rest)
                return _next_chunk(lines)

        def go_on() -> bytes:
            service.reauthenticate(request, key)
            with acting_as_key(key, request):
                return _next_chunk(lines)

        with ExitStack() as stack:
            stack.enter_context(service.exports.place(current_requester()))
            # An error in the first chunk still gets a status of its own.
            first = await service.run(begin)
            return _ExportResponse(request, service, first, go_on, name, stack.pop_all().close)

    return give


def _next_chunk(lines: Iterator[str]) -> bytes:
    """Return the next lines as one chunk; empty at the end."""
    blocks: list[bytes] = []
    size = 0
    for line in lines:
        blocks.append(line.encode())
        size += len(blocks[-1])
        if size >= _CHUNK_BYTES:
            break
    return b"".join(blocks)


class _ExportResponse(Response):
    """Sends an export chunk by chunk; each is read when the one before was taken.

    A client that cannot be sent all of it is disconnected, so that half an export does not pass for a whole one; its last
    line, which is then missing, proves that too.
    """

    def __init__(  # noqa: PLR0917 - made in one place
        self,
        request: Request,
        service: Service,
        first: bytes,
        go_on: Callable[[], bytes],
        name: str,
        leave: Callable[[], None],
    ) -> None:
        super().__init__(media_type=NDJSON, headers={"Content-Disposition": f'attachment; filename="{name}"'})
        self._request = request
        self._service = service
        self._first = first
        self._go_on = go_on
        self._leave = leave
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as all answers
        """Send until the end, or until the time limit."""
        seconds = self._service.options.export_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._send(send)
        except TimeoutError:
            _log.warning("an export was not read within %g seconds and is aborted", seconds)
            raise ClientDisconnect from None
        except RememoError as error:
            _log.warning("an export is aborted: %s", error)
            raise ClientDisconnect from None
        finally:
            self._leave()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        piece = self._first
        while piece:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            if await self._request.is_disconnected():
                raise ClientDisconnect
            piece = await self._read()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self) -> bytes:
        """Return the next chunk; waits while the server is busy."""
        while True:
            try:
                return await self._service.run(self._go_on)
            except (RateLimited, Unavailable):
                if self._service.stopping.is_set():
                    raise
                await asyncio.sleep(self._service.options.poll)


def import_endpoint(service: Service) -> Endpoint:
    """Return the endpoint of `POST /import`."""

    async def import_(request: Request) -> Response:
        key = await service.admit(request)
        require_right(key, "admin", "tenant")
        scope, _ = parse_scope(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != NDJSON:
            raise HttpError(415, f"send an export as content-type {NDJSON}")
        with service.imports.place(current_requester()), tempfile.TemporaryDirectory(prefix="rememo-") as folder:
            source = Path(folder) / "import.jsonl"
            await _save_body(request, source, service)

            def work() -> bytes:
                with acting_as_key(key, request):
                    return encode(service.view(key, scope).import_(source))

            try:
                return Response(await service.run(work), media_type=JSON)
            except RememoError as error:
                # The path of the temporary file is no help to the client.
                raise type(error)(str(error).replace(str(source), "the export")) from None

    return import_


async def _save_body(request: Request, source: Path, service: Service) -> None:
    size, most, stream = 0, service.body_limit(request, service.options.max_import), request.stream()
    seconds = service.options.body_seconds
    with source.open("wb") as file:
        while True:
            try:
                part = await asyncio.wait_for(anext(stream), seconds)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise too_slow(seconds) from None
            size += len(part)
            if size > most:
                raise too_large(most)
            await service.run(lambda part=part: file.write(part))
