"""The streamable HTTP transport at `/mcp`: the same keys and the same tenant isolation as REST.

It is stateless: every request is authenticated by its key, so a revocation is effective with the next request.
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rememo.errors import RememoError, StorageError
from rememo.model.scope import LABELS
from rememo.serve.auth import ApiKey
from rememo.serve.http_errors import HTTP_CODES, STATUS, error_body
from rememo.serve.limits import Requester
from rememo.serve.mcp.server import INTERNAL_MESSAGE, Context, build_server, source_of
from rememo.serve.mcp.tool import Right, ToolCaller
from rememo.serve.rest.transfer import parse_scope
from rememo.serve.service import Service, acting_as_key

if TYPE_CHECKING:
    from rememo.memory import Memory

T = TypeVar("T")

PATH: Final = "/mcp"
_METHOD_NOT_ALLOWED: Final = 405
_SERVER_FAULT: Final = 500
_log = logging.getLogger("rememo.serve.mcp")


class KeyedAccess:
    """Access by API keys."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def caller(self, ctx: Context) -> ToolCaller:
        """Return the caller with the rights and labels of its key."""
        request = _request(ctx)
        key, scope = _admitted_request(request)
        rights = cast("frozenset[Right]", frozenset(key.rights) & {"read", "write"})
        if "as_of" in scope:
            rights = rights - {"write"}
        bound = {name for name in LABELS if getattr(key, name) is not None or name in scope}
        return ToolCaller(source=source_of(ctx), rights=rights, bound=frozenset(bound))

    async def call(self, ctx: Context, work: "Callable[[Memory], T]") -> T:
        """Run a function with the key's view."""
        request = _request(ctx)
        key, scope = _admitted_request(request)

        def run() -> T:
            try:
                with acting_as_key(key, request):
                    return work(self._service.view(key, scope))
            except StorageError as error:
                if STATUS[error.code] != _SERVER_FAULT:
                    raise
                # The cause of an internal error is logged, not sent to the client.
                _log.error("%s: %s", error.code, error)
                raise RememoError(INTERNAL_MESSAGE) from None

        # The SDK runs handlers in a context of its own, without the requester.
        return await self._service.run(run, asker=Requester(key.tenant, key.id))


class McpEndpoint:
    """The ASGI endpoint of `/mcp`: authenticates a request, and passes it to the SDK."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sessions = StreamableHTTPSessionManager(
            build_server(KeyedAccess(service)),
            json_response=True,
            stateless=True,
            max_request_body_size=service.options.max_body,
        )

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Accept requests while the context is open."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if request.method != "POST":
            message = f"{PATH} takes POST only: it is stateless and has no event stream"
            refused = error_body(HTTP_CODES[_METHOD_NOT_ALLOWED], message)
            await Response(refused, _METHOD_NOT_ALLOWED, {"Allow": "POST"}, "application/json")(scope, receive, send)
            return
        self._service.check_origin(request)
        scope["state"]["mcp"] = await self._service.run(lambda: self._admit(request))
        body = await self._service.body(request)
        await self._sessions.handle_request(scope, _replay_body(body, receive), send)

    def _admit(self, request: Request) -> tuple[ApiKey, dict[str, list[str]]]:
        """Return the key and the scope of a request; raises before the protocol starts when the key has no access."""
        key, (scope, _) = self._service.authenticate(request), parse_scope(request)
        self._service.view(key, scope)
        return key, scope


def _request(ctx: Context) -> Request:
    return cast("Request", ctx.request)


def _admitted_request(request: Request) -> tuple[ApiKey, dict[str, list[str]]]:
    return request.scope["state"]["mcp"]


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that replays a body that was read already, and then continues."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
