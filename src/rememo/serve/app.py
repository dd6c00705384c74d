"""The application: routes from the table, health, and what every answer has alike."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememo._version import __version__
from rememo.errors import RememoError
from rememo.memory import Memory
from rememo.model.ids import new_id
from rememo.observe.metrics import Metrics
from rememo.serve.dashboard.mount import mount
from rememo.serve.faults import HTTP_CODES, RETRY, SAFE_HEADERS, STATUS, HttpFault, fault_body
from rememo.serve.limits import asking_as
from rememo.serve.mem0 import routes
from rememo.serve.metrics import Requests, telling
from rememo.serve.rest.live import Live
from rememo.serve.rest.openapi import document
from rememo.serve.rest.routes import CALLS, JSON, endpoint
from rememo.serve.rest.transfer import exporting, exporting_audit, importing
from rememo.serve.service import Options, Service
from rememo.serve.tracing import Traced
from rememo.serve.warming import Warming

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SERVER_FAULT: Final = 500
_REFUSED: Final = 403

_log = logging.getLogger("rememo.serve")


def create_app(memory: Memory, options: Options | None = None) -> FastAPI:
    """Return the application that serves a memory; whoever opened the memory closes it."""
    service = Service(memory, options or Options())
    metrics = Metrics(memory)

    door = None
    if find_spec("mcp") is not None:
        from rememo.serve.mcp.web import Door  # noqa: PLC0415 - the extra may not be installed

        door = Door(service)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncGenerator[None]:
        metrics.start()
        warming: Warming = app.state.warming
        if service.options.warm:
            warming.start()
        async with nullcontext() if door is None else door.open():
            yield
        metrics.stop()
        await asyncio.to_thread(service.close)
        await asyncio.to_thread(warming.join)

    app = FastAPI(
        title="Rememo", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        lifespan=life,
    )  # fmt: skip
    app.state.service = service
    app.openapi = document
    live = Live(service)
    for call in CALLS:
        answer = endpoint(service, call)
        answer = live.endpoint(answer) if call.operation.calls == "changes" else answer
        _add(app, call.operation.verb, f"/v1{call.operation.path}", answer)
    _add(app, "GET", "/v1/export", exporting(service))
    _add(app, "POST", "/v1/import", importing(service))
    _add(app, "GET", "/v1/audit:export", exporting_audit(service))

    for verb, path, answer in routes(service):
        _add(app, verb, path, answer)

    async def healthz(_: Request) -> Response:
        """Say that the server runs."""
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        """Say whether the memory can be read."""
        await service.run(service.keys.any)
        degraded = await service.run(service.degraded)
        return JSONResponse({"status": "ready", **({"degraded": degraded} if degraded else {})})

    async def openapi(_: Request) -> Response:
        """Describe all of it."""
        root = service.options.root_path
        return JSONResponse({**document(), "servers": [{"url": root}]} if root else document())

    if door is not None:
        app.router.routes.append(Exact("/mcp", door, methods=[]))  # every verb: what is not for it is told there
    for path, told in (
        ("/healthz", healthz),
        ("/readyz", readyz),
        ("/openapi.json", openapi),
        ("/metrics", telling(service, metrics)),
    ):
        _add(app, "GET", path, told)
    warm = mount(service, lambda verb, path, answer: _add(app, verb, path, answer))
    app.state.warming = Warming(memory, warm)
    for kind, handler in ((RememoError, _ours), (HttpFault, _http), (HTTPException, _routing)):
        app.add_exception_handler(kind, handler)
    if service.options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Request-Id"],
            expose_headers=["ETag", "X-Request-Id", "Retry-After"],
        )
    if service.options.traces:
        app.add_middleware(Traced)
    app.add_middleware(Envelope, requests=Requests(metrics), service=service)
    return app


def _add(app: FastAPI, verb: str, path: str, answer: Any) -> None:
    # Plain routes: what is asked is read by the table, so there is nothing for FastAPI to look for in each request.
    app.router.routes.append(Exact(path, answer, methods=[verb]))


class Exact(Route):
    """A route for the verbs that it names: it does not answer HEAD because it answers GET."""

    def __init__(self, path: str, endpoint: Any, *, methods: list[str]) -> None:
        super().__init__(path, endpoint, methods=methods)
        self.methods = set(methods)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Say whether a request is for it; whoever counts requests finds the route with them."""
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is Match.FULL else child


def _ours(_: Request, error: Exception) -> Response:
    code = getattr(error, "code", "error")
    status = STATUS[code]
    # What went wrong inside is for the log, not for whoever asks.
    said = (
        str(error) if status != _SERVER_FAULT else "the server could not do this; its log says why, by the request's id"
    )
    if status == _SERVER_FAULT:
        _log.error("%s: %s", code, error)
    return Response(fault_body(code, said, getattr(error, "detail", None)), status, _again(status), JSON)


def _http(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, HttpFault) else _SERVER_FAULT
    return Response(fault_body(HTTP_CODES[status], str(error)), status, media_type=JSON)


def _routing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else _SERVER_FAULT
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    said = {
        404: "there is no such route; GET /openapi.json lists them",
        405: f"{request.method} is not for this route; GET /openapi.json says what is",
    }.get(status, "the request cannot be read")
    return Response(fault_body(HTTP_CODES.get(status, "invalid_input"), said), status, headers, JSON)


def _again(status: int) -> dict[str, str]:
    return {"Retry-After": "1"} if status in RETRY else {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004


class Envelope:
    """Around everything: the request's id, headers that every answer has, one line in the log, and no bare failure.

    Routes are found by the path as it was sent: an encoded slash is part of an id. The log tells method, path, status,
    time and the key's id; never a query, a body, or a key.
    """

    def __init__(self, app: ASGIApp, requests: Requests, service: Service) -> None:
        self._app = app
        self._service = service
        self._root = service.options.root_path
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        scope["path"] = self._below(raw.partition(b"?")[0].decode("latin-1"))
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        state = scope.setdefault("state", {})
        state["id"] = given if _REQUEST_ID.fullmatch(given) else new_id()
        began, status = time.perf_counter(), 0
        self._requests.begin()

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == _REFUSED:
                    await self._note(Request(scope))
                said = {name for name, _ in message["headers"]}
                ours = [one for one in SAFE_HEADERS if one[0] not in said]
                message["headers"] = [*message["headers"], *ours, (b"x-request-id", state["id"].encode())]
            await send(message)

        try:
            with asking_as(self._service.begin(Request(scope))):
                await self._app(scope, receive, answering)
        except ClientDisconnect:
            status = status or 499
        except Exception:
            _log.exception("request %s failed", state["id"])
            if status:
                raise  # half an answer is out: the connection is cut
            said = "something went wrong inside the server; its log says what, by the request's id"
            await Response(fault_body("error", said), _SERVER_FAULT, media_type=JSON)(scope, receive, answering)
        finally:
            seconds, key = time.perf_counter() - began, state.get("key", "-")
            self._requests.end(scope, status, seconds)
            _log.info(
                "%s %s %s %d %.1f ms key %s", state["id"], scope["method"], scope["path"], status, seconds * 1e3, key,
                extra={
                    "request": state["id"], "method": scope["method"], "path": scope["path"], "status": status,
                    "milliseconds": round(seconds * 1e3, 1), "key": key,
                },
            )  # fmt: skip

    async def _note(self, request: Request) -> None:
        try:
            await self._service.refused(request)
        except RememoError as error:  # it is refused all the same
            _log.error("request %s was refused, and that could not be noted: %s", request.state.id, error)

    def _below(self, path: str) -> str:
        """Return a path without what a proxy put before it, if it did."""
        root = self._root
        return path[len(root) :] or "/" if root and f"{path}/".startswith(f"{root}/") else path
