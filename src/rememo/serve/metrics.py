"""Request metrics: requests by route and status, durations, and how many are in progress."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from rememo.observe.metrics import CONTENT_TYPE, SECONDS, Metrics
from rememo.serve.rest.routes import Endpoint
from rememo.serve.service import Service, require_right
from rememo.serve.worker_metrics import WorkerMetrics

_UNMATCHED: Final = "none"
"""The route label of unmatched requests: their paths are arbitrary and would be unbounded label values."""


class RequestMetrics:
    """The request counters of a process."""

    def __init__(self, metrics: Metrics) -> None:
        self._requests = Counter(
            "rememo_http_requests", "Requests, by method, route and status.", ("method", "route", "status"),
            registry=metrics.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "rememo_http_seconds", "Duration of requests.", ("route",), buckets=SECONDS, registry=metrics.registry
        )
        self._under_way = Gauge("rememo_http_under_way", "Requests in progress.", registry=metrics.registry)

    def begin(self) -> None:
        """Count a request as in progress."""
        self._under_way.inc()

    def end(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a finished request."""
        self._under_way.dec()
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        # Methods of unmatched requests are arbitrary too, and not used as label values.
        method = scope["method"] if route != _UNMATCHED else _UNMATCHED
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


def metrics_endpoint(service: Service, metrics: Metrics, workers: WorkerMetrics | None = None) -> Endpoint:
    """Return the endpoint of `/metrics`; its numbers are of all tenants and workers, so it needs a key for all tenants."""

    def render() -> bytes:
        own = metrics.render()
        return own if workers is None else workers.render(own)

    async def answer(request: Request) -> Response:
        require_right(await service.admit(request), "read", "store")
        return Response(await service.run(render), media_type=CONTENT_TYPE)

    return answer
