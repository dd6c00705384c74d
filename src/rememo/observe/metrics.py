"""Metrics: operations, durations and the store's health, in Prometheus' format."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from rememo._version import __version__
from rememo.engine.engine import Engine
from rememo.engine.view import view_of
from rememo.errors import RememoError
from rememo.memory import Memory
from rememo.observe import observers
from rememo.runtime.counters import counts

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_STATES: Final = ("waiting", "running", "done", "dead")
_COUNTER_TEXTS: Final = {
    "scope_cache_hits": "Searches whose scope was in the cache.",
    "scope_cache_misses": "Searches that read their scope, or its changes, from the store.",
    "state_cache_hits": "Composed states returned from the cache.",
    "state_cache_misses": "States that were composed.",
    "hook_failures": "Hooks that raised.",
    "quarantined": "Records that a rule quarantined.",
    "tokens": "Tokens that remote models charged for.",
    "model_calls": "Calls to a language model.",
    "model_failures": "Calls to a language model without a usable result.",
    "over_budget": "Calls to a language model refused by the daily budget.",
    "invented": "Statements of a language model that the text does not support; they were dropped.",
    "answers_without_model": "Questions answered with the text of records because the model failed.",
    "rerank_failures": "Searches whose hits kept their order because a reranker failed.",
    "rewrite_failures": "Questions searched for as they stood because the model failed.",
    "searches_without_meaning": "Searches by words only because the embedding endpoint was unavailable.",
}
_inside: ContextVar[bool] = ContextVar("rememo_counted", default=False)


class Metrics:
    """The metrics of a process and of one memory's store; `render()` returns them."""

    def __init__(self, memory: Memory) -> None:
        self.registry = CollectorRegistry()
        self._operations = Counter(
            "rememo_operations", "Calls, by operation and outcome.", ("operation", "outcome"), registry=self.registry
        )
        self._seconds = Histogram(
            "rememo_operation_seconds",
            "Duration of operations.",
            ("operation",),
            buckets=SECONDS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self.registry.register(_StoreCollector(memory))

    def start(self) -> None:
        """Start counting operations."""
        observers.add_observer(self)

    def stop(self) -> None:
        """Stop counting operations."""
        observers.remove_observer(self)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def observe(self, operation: str, _tenant: str | None, /) -> AbstractContextManager[object]:
        """Count an operation; nested operations are part of it."""
        return self._counting(operation)

    @contextmanager
    def _counting(self, operation: str) -> Generator[None]:
        if _inside.get():
            yield
            return
        token, began, outcome = _inside.set(True), time.perf_counter(), "ok"
        try:
            yield
        except BaseException as error:
            outcome = error.code if isinstance(error, RememoError) else "error"
            raise
        finally:
            _inside.reset(token)
            self._seconds.labels(operation).observe(time.perf_counter() - began)
            self._operations.labels(operation, outcome).inc()


class _StoreCollector:
    """Collects the metrics of the store and its servers when they are read."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics."""
        engine: Engine = view_of(self._memory).engine
        yield _gauge("rememo_info", "The version that runs.", [((__version__,), 1.0)], ("version",))
        now = engine.store.health()
        yield _gauge(
            "rememo_jobs", "Jobs of all tenants, by state.", [((state,), now.jobs.get(state, 0)) for state in _STATES],
            ("state",),
        )  # fmt: skip
        weighed = {"data": now.file_bytes, "log": now.log_bytes, "free": now.free_bytes}
        yield _gauge(
            "rememo_store_bytes", "The size of the store in bytes, by part.",
            [((part,), size) for part, size in weighed.items()], ("part",),
        )  # fmt: skip
        if now.disk_bytes is not None:
            yield _gauge("rememo_disk_free_bytes", "Free space on the disk of the store.", [((), now.disk_bytes)])
        yield from _server_metrics(engine)
        counted = counts.read()
        for name, text in _COUNTER_TEXTS.items():
            family = CounterMetricFamily(f"rememo_{name}", text)
            family.add_metric([], counted.get(name, 0))
            yield family


def _server_metrics(engine: Engine) -> Iterator[Metric]:
    """Yield the health of the servers beside the store, if any."""
    if health := engine.health():
        text = "Whether the last call reached a server beside the store."
        yield _gauge("rememo_server_up", text, [((server.name,), float(server.ok)) for server in health], ("server",))
        failures = CounterMetricFamily("rememo_server_failures", "Calls that did not reach it.", labels=("server",))
        for server in health:
            failures.add_metric((server.name,), server.failures)
        yield failures


def _gauge(
    name: str, text: str, samples: Iterable[tuple[tuple[str, ...], float]], labels: tuple[str, ...] = ()
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family
