"""What is served, counted: requests by route and status, what they took, and how many are under way."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from rememo.observe.metrics import CONTENT_TYPE, SECONDS, Metrics
from rememo.serve.rest.routes import Endpoint
from rememo.serve.service import Service, require_right

_UNMATCHED: Final = "none"
"""The route of a request that no route is for: its path is the asker's own words, and there may be any number."""


class RequestMetrics:
    """Counts requests into the metrics of a process."""

    def __init__(self, metrics: Metrics) -> None:
        self._requests = Counter(
            "rememo_http_requests", "Requests, by method, route and status.", ("method", "route", "status"),
            registry=metrics.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "rememo_http_seconds", "What requests took.", ("route",), buckets=SECONDS, registry=metrics.registry
        )
        self._under_way = Gauge("rememo_http_under_way", "Requests that are being answered.", registry=metrics.registry)

    def begin(self) -> None:
        """Count a request that has come."""
        self._under_way.inc()

    def end(self, scope: Scope, status: int, seconds: float) -> None:
        """Count what became of it."""
        self._under_way.dec()
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        # Nobody may make names here: a method is one that a route has, or none.
        method = scope["method"] if route != _UNMATCHED else _UNMATCHED
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


def metrics_endpoint(service: Service, metrics: Metrics) -> Endpoint:
    """Return what answers `/metrics`: it tells of all tenants, so it needs a key that reaches them all."""

    async def answer(request: Request) -> Response:
        require_right(await service.admit(request), "read", "store")
        return Response(await service.run(metrics.render), media_type=CONTENT_TYPE)

    return answer
