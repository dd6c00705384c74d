import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from rememo import Memory, observe
from rememo.serve.auth import ApiKeys

from .conftest import Serve

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana.json"


def samples(web: httpx.Client, **headers: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = web.get("/metrics", headers=headers)
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def counted(told: dict[tuple[str, tuple[tuple[str, str], ...]], float], name: str, **labels: str) -> float:
    return told.get((name, tuple(sorted(labels.items()))), 0.0)


def wait_for(reached: Callable[[], bool]) -> None:
    """Wait for a state."""
    ends = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.01)


@pytest.mark.requirement("observe.metrics")
def test_operations_and_requests_are_counted(web: httpx.Client):
    web.post("/v1/records", json={"text": "a note"}).raise_for_status()
    assert web.get("/v1/records/nobody").status_code == 404
    assert web.get("/v1/no/such/route/at/all").status_code == 404
    told = samples(web)
    assert counted(told, "rememo_operations_total", operation="add", outcome="ok") == 1
    assert counted(told, "rememo_operation_seconds_count", operation="add") == 1
    assert counted(told, "rememo_http_requests_total", method="POST", route="/v1/records", status="201") == 1
    assert counted(told, "rememo_http_requests_total", method="none", route="none", status="404") == 1
    assert counted(told, "rememo_http_under_way") == 1  # the one that asks
    assert not [name for name, labels in told if "such" in str(labels)]


@pytest.mark.requirement("observe.metrics")
def test_the_condition_of_the_store_is_told(web: httpx.Client, memory: Memory):
    calls: list[object] = []

    @memory.hooks.on_change
    def _(change: object) -> None:
        calls.append(change)
        raise ValueError("foreign code")

    before = samples(web)
    web.post("/v1/messages", json={"role": "user", "content": "I live in Lisbon."}).raise_for_status()
    # What is learned changes the memory too, calls the hook again and empties the cache.
    wait_for(lambda: not memory.jobs.list("waiting") and not memory.jobs.list("running"))
    failures = counted(before, "rememo_hook_failures_total")
    wait_for(lambda: counted(samples(web), "rememo_hook_failures_total") == failures + len(calls))
    assert calls
    memory.search("Lisbon")
    memory.search("Lisbon")
    told = samples(web)
    assert counted(told, "rememo_scope_cache_hits_total") > counted(before, "rememo_scope_cache_hits_total")
    assert sum(counted(told, "rememo_jobs", state=state) for state in ("waiting", "running", "done")) >= 1
    assert counted(told, "rememo_jobs", state="dead") == 0


def test_only_a_key_that_reaches_every_tenant_may_read_them(serve: Serve, keys: ApiKeys):
    _, text = keys.add(name="one", tenant="t", rights=("read", "write", "admin"))
    _, all_of_them = keys.add(name="all", tenant="*", rights=("read",))
    with httpx.Client(base_url=serve(), trust_env=False) as web:
        assert web.get("/metrics").status_code == 401
        assert web.get("/metrics", headers={"Authorization": f"Bearer {text}"}).status_code == 403
        assert samples(web, Authorization=f"Bearer {all_of_them}")


@pytest.mark.requirement("observe.metrics")
def test_the_dashboard_asks_only_for_what_is_there(web: httpx.Client):
    asked = set(re.findall(r"(?:rememo|process)_[a-z_]+", json.dumps(json.loads(DASHBOARD.read_text())["panels"])))
    web.post("/v1/records", json={"text": "a note"}).raise_for_status()
    told = {name for name, _ in samples(web)}
    assert asked - told <= {"rememo_disk_free_bytes"}  # this memory is in no file


@pytest.mark.requirement("observe.traces")
def test_a_request_continues_the_trace_of_whoever_asks(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    tracing = observe.trace(provider)
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with httpx.Client(base_url=serve(traces=True), trust_env=False) as web:
        web.post(
            "/v1/records", json={"text": "x"}, headers={"traceparent": f"00-{trace}-{parent}-01"}
        ).raise_for_status()
    tracing.stop()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    request, add = spans["POST /v1/records"], spans["rememo.add"]
    assert request.parent is not None
    assert add.parent is not None
    own = request.get_span_context()
    assert own is not None
    assert (request.parent.span_id, own.trace_id) == (int(parent, 16), int(trace, 16))
    assert add.parent.span_id == own.span_id
