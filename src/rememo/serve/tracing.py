"""Tracing middleware: each request is a span under the trace of its client."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememo._version import __version__

_SERVER_FAULT: Final = 500


class TracingMiddleware:
    """Starts a span for each request, under the trace of its `traceparent` header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        # The extra is there: whoever serves with traces has begun tracing before.
        from opentelemetry import propagate  # noqa: PLC0415
        from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer  # noqa: PLC0415

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        tracer = get_tracer("rememo.serve", __version__)
        method: str = scope["method"]
        with tracer.start_as_current_span(
            method, context=propagate.extract(carried), kind=SpanKind.SERVER, record_exception=False
        ) as span:

            async def looking(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = getattr(scope.get("route"), "path", "none")
                    span.update_name(f"{method} {route}")
                    span.set_attributes(
                        {
                            "http.request.method": method,
                            "http.route": route,
                            "http.response.status_code": message["status"],
                        }
                    )
                    if message["status"] >= _SERVER_FAULT:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await self._app(scope, receive, looking)
