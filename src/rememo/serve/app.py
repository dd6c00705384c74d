"""The application: routes from the operations, health checks, middleware and error handlers."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any, Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememo._version import __version__
from rememo.errors import RememoError
from rememo.memory import Memory
from rememo.model.ids import new_id
from rememo.observe.metrics import Metrics
from rememo.serve.dashboard.routes import add_routes
from rememo.serve.http_errors import HTTP_CODES, RETRY_STATUSES, SECURITY_HEADERS, HttpError, error_body, public_error
from rememo.serve.limits import requesting_as
from rememo.serve.mem0 import routes
from rememo.serve.metrics import RequestMetrics, metrics_endpoint
from rememo.serve.rest.change_stream import ChangeStreams
from rememo.serve.rest.docs_page import DOCS_HEADERS, render_docs
from rememo.serve.rest.openapi import openapi_document
from rememo.serve.rest.routes import JSON, SPECS, Endpoint, make_endpoint
from rememo.serve.rest.transfer import audit_export_endpoint, export_endpoint, import_endpoint
from rememo.serve.service import ServerOptions, Service
from rememo.serve.shared_limits import SharedLimits
from rememo.serve.tracing import TracingMiddleware
from rememo.serve.warmup import Warmup
from rememo.serve.worker_metrics import WorkerMetrics

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SERVER_FAULT: Final = 500
_FORBIDDEN: Final = 403

_log = logging.getLogger("rememo.serve")


def create_app(
    memory: Memory,
    options: ServerOptions | None = None,
    *,
    shared: SharedLimits | None = None,
    workers: WorkerMetrics | None = None,
) -> FastAPI:
    """Return the application that serves a memory; whoever opened the memory closes it.

    Where several workers serve it, `shared` is what they count together, and `workers` are their metrics.
    """
    service = Service(memory, options or ServerOptions(), shared)
    metrics = Metrics(memory)

    contexts: list[AbstractAsyncContextManager[None]] = []
    if workers is not None:
        contexts.append(workers.answering(metrics.render))
    door = None
    if find_spec("mcp") is not None:
        from rememo.serve.mcp.streamable_http import McpEndpoint  # noqa: PLC0415 - the extra may not be installed

        door = McpEndpoint(service)
        contexts.append(door.open())

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncGenerator[None]:
        metrics.start()
        warming: Warmup = app.state.warming
        if service.options.warm:
            warming.start()
        async with AsyncExitStack() as stack:
            for context in contexts:
                await stack.enter_async_context(context)
            yield
        metrics.stop()
        await asyncio.to_thread(service.close)
        await asyncio.to_thread(warming.join)

    app = FastAPI(
        title="Rememo", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        lifespan=life,
    )  # fmt: skip
    app.state.service = service
    app.openapi = openapi_document
    live = ChangeStreams(service)
    for call in SPECS:
        answer = make_endpoint(service, call)
        answer = live.endpoint(answer) if call.operation.method_path == "changes" else answer
        _add_route(app, call.operation.verb, f"/v1{call.operation.path}", answer)
    _add_route(app, "GET", "/v1/export", export_endpoint(service))
    _add_route(app, "POST", "/v1/import", import_endpoint(service))
    _add_route(app, "GET", "/v1/audit:export", audit_export_endpoint(service))

    for verb, path, answer in routes(service):
        _add_route(app, verb, path, answer)

    if door is not None:
        app.router.routes.append(
            ExactRoute("/mcp", door, methods=[])
        )  # every verb: the endpoint answers the others with 405
    for path, endpoint in (
        *_health_endpoints(service),
        ("/metrics", metrics_endpoint(service, metrics, workers)),
    ):
        _add_route(app, "GET", path, endpoint)
    warm = add_routes(service, lambda verb, path, answer: _add_route(app, verb, path, answer))
    app.state.warming = Warmup(memory, warm)
    for kind, handler in (
        (RememoError, _handle_rememo_error),
        (HttpError, _handle_http_error),
        (HTTPException, _handle_routing_error),
    ):
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
        app.add_middleware(TracingMiddleware)
    app.add_middleware(RequestMiddleware, requests=RequestMetrics(metrics), service=service)
    return app


def _health_endpoints(service: Service) -> list[tuple[str, Endpoint]]:
    """Return the routes that say whether the server runs, whether its memory can be read, and what it offers."""

    async def healthz(_: Request) -> Response:
        """Report that the server runs."""
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        """Report whether the memory can be read."""
        await service.check(service.keys.any)
        degraded = await service.check(service.degraded)
        return JSONResponse({"status": "ready", **({"degraded": degraded} if degraded else {})})

    async def openapi(_: Request) -> Response:
        """Return the OpenAPI document."""
        root = service.options.root_path
        return JSONResponse({**openapi_document(), "servers": [{"url": root}]} if root else openapi_document())

    async def docs(_: Request) -> Response:
        """Return the reference of all routes as a page."""
        return HTMLResponse(render_docs(), headers=DOCS_HEADERS)

    return [("/healthz", healthz), ("/readyz", readyz), ("/openapi.json", openapi), ("/docs", docs)]


def _add_route(app: FastAPI, verb: str, path: str, answer: Any) -> None:
    # Plain routes: parameters are parsed by OperationSpec, so there is nothing for FastAPI to look for in each request.
    app.router.routes.append(ExactRoute(path, answer, methods=[verb]))


class ExactRoute(Route):
    """A route for exactly the verbs that it names: GET does not imply HEAD."""

    def __init__(self, path: str, endpoint: Any, *, methods: list[str]) -> None:
        super().__init__(path, endpoint, methods=methods)
        self.methods = set(methods)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request, and put the route into its scope for the metrics."""
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is Match.FULL else child


def _handle_rememo_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, RememoError):
        raise error
    status, message = public_error(error)
    return Response(error_body(error.code, message, error.detail), status, _retry_headers(status), JSON)


def _handle_http_error(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, HttpError) else _SERVER_FAULT
    return Response(error_body(HTTP_CODES[status], str(error)), status, media_type=JSON)


def _handle_routing_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else _SERVER_FAULT
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = {
        404: "no such route; GET /docs and /openapi.json list the routes",
        405: f"method {request.method} is not allowed for this route; GET /openapi.json lists the allowed ones",
    }.get(status, "the request cannot be read")
    return Response(error_body(HTTP_CODES.get(status, "invalid_input"), message), status, headers, JSON)


def _retry_headers(status: int) -> dict[str, str]:
    return {"Retry-After": "1"} if status in RETRY_STATUSES else {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004


class RequestMiddleware:
    """Outermost middleware: request id, security headers, one log line per request, and a JSON error for any exception.

    Routes are matched by the raw path: an encoded slash is part of an id. The log has method, path, status, time and the
    key's id; never a query, a body, or a key.
    """

    def __init__(self, app: ASGIApp, requests: RequestMetrics, service: Service) -> None:
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
        sent_id = headers.get(b"x-request-id", b"").decode("latin-1")
        state = scope.setdefault("state", {})
        state["id"] = sent_id if _REQUEST_ID.fullmatch(sent_id) else new_id()
        began, status = time.perf_counter(), 0
        self._requests.begin()

        async def answering(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == _FORBIDDEN:
                    await self._note(Request(scope))
                sent = {name for name, _ in message["headers"]}
                missing = [header for header in SECURITY_HEADERS if header[0] not in sent]
                message["headers"] = [*message["headers"], *missing, (b"x-request-id", state["id"].encode())]
            await send(message)

        try:
            with requesting_as(self._service.begin(Request(scope))):
                await self._app(scope, receive, answering)
        except ClientDisconnect:
            status = status or 499
        except Exception:
            _log.exception("request %s failed", state["id"])
            if status:
                raise  # part of the response is sent: the connection is cut
            text = "internal error; the server's log has the cause under the request's id"
            await Response(error_body("error", text), _SERVER_FAULT, media_type=JSON)(scope, receive, answering)
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
            await self._service.audit_refusal(request)
        except RememoError as error:  # it is refused all the same
            _log.error("request %s was refused, and the audit entry failed: %s", request.state.id, error)

    def _below(self, path: str) -> str:
        """Return a path without the prefix of the root path."""
        root = self._root
        return path[len(root) :] or "/" if root and f"{path}/".startswith(f"{root}/") else path
