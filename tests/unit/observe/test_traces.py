import asyncio
import inspect
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from rememo import AsyncMemory, Memory, Settings, observe
from rememo.errors import NotFound
from rememo.observe.observers import WORK
from rememo.public_operations import public_operations

pytestmark = pytest.mark.requirement("observe.traces")


@pytest.fixture
def provider() -> TracerProvider:
    return TracerProvider()


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = observe.trace(provider)
    yield exporter
    tracing.stop()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(worker=False)) as memory:
        yield memory


def named(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_an_operation_is_a_span_with_its_time_and_tenant(spans: InMemorySpanExporter, memory: Memory):
    chat = memory.scope(tenant=None, user="ana", room="one")
    chat.messages.add("user", "my cat is called Miso")
    chat.search("cat")
    chat.kv.set("a", 1)
    found = named(spans)
    assert {"rememo.messages.add", "rememo.search", "rememo.kv.set"} <= found.keys()
    span = found["rememo.search"]
    assert span.attributes is not None
    assert span.attributes["rememo.operation"] == "search"
    assert span.attributes["rememo.tenant"] == "default"
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time > span.start_time


def test_nothing_that_was_said_stands_in_a_span(spans: InMemorySpanExporter, memory: Memory):
    chat = memory.scope(user="ana-secret", room="room-secret")
    chat.messages.add("user", "text-secret", metadata={"k": "meta-secret"})
    chat.search("query-secret")
    with pytest.raises(NotFound):
        chat.update("id-secret", text="x")
    assert "secret" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_a_failure_is_told_by_its_code(spans: InMemorySpanExporter, memory: Memory):
    with pytest.raises(NotFound):
        memory.delete("nobody")
    span = named(spans)["rememo.delete"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "not_found"


def test_what_an_operation_calls_is_within_it(provider: TracerProvider, spans: InMemorySpanExporter, memory: Memory):
    with provider.get_tracer("program").start_as_current_span("turn") as turn:
        memory.add("a note")
    (span,) = [span for span in spans.get_finished_spans() if span.name == "rememo.add"]
    assert span.parent is not None
    assert span.parent.span_id == turn.get_span_context().span_id


def test_async_operations_belong_to_the_task_that_called(provider: TracerProvider, spans: InMemorySpanExporter):
    async def turn() -> int:
        async with AsyncMemory(":memory:", embedder=None) as memory:
            with provider.get_tracer("program").start_as_current_span("turn") as span:
                await memory.add("a note")
                return span.get_span_context().span_id

    id = asyncio.run(turn())
    parent = named(spans)["rememo.add"].parent
    assert parent is not None
    assert parent.span_id == id


def test_later_work_is_a_span_too(spans: InMemorySpanExporter, memory: Memory):
    memory.scope(user="ana").messages.add("user", "I live in Lisbon.").wait()
    assert "rememo.jobs.work" in named(spans)


def test_while_nobody_watches_the_methods_are_their_own(provider: TracerProvider):
    operations = [*public_operations(), WORK]
    before = {(owner, name): inspect.getattr_static(owner, name) for owner, name, _ in operations}
    first, second = observe.trace(provider), observe.trace(provider)
    assert Memory.search is not before[Memory, "search"]
    first.stop()
    assert Memory.search is not before[Memory, "search"]
    second.stop()
    assert {(owner, name): inspect.getattr_static(owner, name) for owner, name, _ in operations} == before
