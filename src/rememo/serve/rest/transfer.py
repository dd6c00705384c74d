"""Taking everything away and bringing it in, as streams."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from rememo.errors import InvalidInput
from rememo.model.check import dump_json
from rememo.serve.faults import HttpFault
from rememo.serve.rest.routes import JSON
from rememo.serve.rest.signature import SCOPE
from rememo.serve.service import Service, in_the_name_of, need, too_large
from rememo.serve.wire import to_json

LINES: Final = "application/x-ndjson"


def scope_of(request: Request) -> dict[str, list[str]]:
    """Return the scope that an address asks for, where it may ask for nothing else."""
    asked: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        if name not in SCOPE:
            raise InvalidInput(f"there is no parameter {name[:50]!r} here; there are {', '.join(SCOPE)}")
        asked.setdefault(name, []).append(value)
    return asked


def exporting(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers `GET /export`."""

    async def export(request: Request) -> Response:
        key = await service.admit(request)
        need(key, "read", "scope")
        asked = scope_of(request)
        folder = tempfile.TemporaryDirectory(prefix="rememo-")
        target = Path(folder.name) / "export.jsonl"

        def work() -> None:
            with in_the_name_of(key, request):
                service.view(key, asked).export(target)

        try:
            await service.run(work)
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(
            target, media_type=LINES, filename="rememo.jsonl", background=BackgroundTask(folder.cleanup)
        )

    return export


def importing(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers `POST /import`."""

    async def import_(request: Request) -> Response:
        key = await service.admit(request)
        need(key, "admin", "tenant")
        asked = scope_of(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != LINES:
            raise HttpFault(415, f"send an export as content-type {LINES}")
        with tempfile.TemporaryDirectory(prefix="rememo-") as folder:
            source = Path(folder) / "import.jsonl"
            await _store(request.stream(), source, service)

            def work() -> bytes:
                with in_the_name_of(key, request):
                    return dump_json(to_json(service.view(key, asked).import_(source))).encode()

            return Response(await service.run(work), media_type=JSON)

    return import_


async def _store(stream: AsyncIterator[bytes], source: Path, service: Service) -> None:
    size, most = 0, service.options.max_import
    with source.open("wb") as file:
        async for part in stream:
            size += len(part)
            if size > most:
                raise too_large(most)
            await service.run(lambda part=part: file.write(part))
