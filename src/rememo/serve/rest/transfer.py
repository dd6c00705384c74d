"""Taking everything away and bringing it in, as streams."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from rememo.errors import InvalidInput, RememoError
from rememo.memory import Memory
from rememo.serve.faults import HttpFault
from rememo.serve.rest.routes import JSON
from rememo.serve.rest.signature import SCOPE, parted
from rememo.serve.rest.table import Reach, Right
from rememo.serve.service import Service, in_the_name_of, need, too_large, too_slow
from rememo.serve.wire import encode

LINES: Final = "application/x-ndjson"
_SWITCH: Final = {"true": True, "false": False}

Endpoint = Callable[[Request], Awaitable[Response]]


def asked_of(request: Request, *more: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the scope that an address asks for, and the parameters named besides; there may be no others."""
    scope, rest = parted(request.url.query, {})
    for name in rest:
        if name not in more:
            raise InvalidInput(f"there is no parameter {name[:50]!r} here; there are {', '.join((*SCOPE, *more))}")
    return scope, rest


def exporting(service: Service) -> Endpoint:
    """Return what answers `GET /export`."""

    def export(memory: Memory, target: Path, asked: dict[str, str]) -> None:
        plain = _SWITCH.get(asked.get("plain", "false"))
        if plain is None:
            raise InvalidInput("plain must be true or false")
        memory.export(target, plain=plain)

    return _giving(service, export, "rememo.jsonl", "read", "scope", "plain")


def exporting_audit(service: Service) -> Endpoint:
    """Return what answers `GET /audit:export`."""

    def export(memory: Memory, target: Path, _: dict[str, str]) -> None:
        memory.audit.export(target)

    return _giving(service, export, "audit.jsonl", "admin", "tenant")


def _giving(
    service: Service,
    export: Callable[[Memory, Path, dict[str, str]], None],
    name: str,
    right: Right,
    reach: Reach,
    *more: str,
) -> Endpoint:
    async def give(request: Request) -> Response:
        key = await service.admit(request)
        need(key, right, reach)
        scope, rest = asked_of(request, *more)
        folder = tempfile.TemporaryDirectory(prefix="rememo-")
        target = Path(folder.name) / name

        def work() -> None:
            with in_the_name_of(key, request):
                export(service.view(key, scope), target, rest)

        try:
            await service.run(work)
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(target, media_type=LINES, filename=name, background=BackgroundTask(folder.cleanup))

    return give


def importing(service: Service) -> Endpoint:
    """Return what answers `POST /import`."""

    async def import_(request: Request) -> Response:
        key = await service.admit(request)
        need(key, "admin", "tenant")
        scope, _ = asked_of(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != LINES:
            raise HttpFault(415, f"send an export as content-type {LINES}")
        with tempfile.TemporaryDirectory(prefix="rememo-") as folder:
            source = Path(folder) / "import.jsonl"
            await _store(request, source, service)

            def work() -> bytes:
                with in_the_name_of(key, request):
                    return encode(service.view(key, scope).import_(source))

            try:
                return Response(await service.run(work), media_type=JSON)
            except RememoError as error:
                # Where it lay here is nobody's business, and no help.
                raise type(error)(str(error).replace(str(source), "the export")) from None

    return import_


async def _store(request: Request, source: Path, service: Service) -> None:
    size, most, stream = 0, service.most(request, service.options.max_import), request.stream()
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
