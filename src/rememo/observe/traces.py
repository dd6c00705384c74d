"""Traces: a span for every operation, through the OpenTelemetry API; the program configures the exporter."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from rememo._version import __version__
from rememo.errors import MissingExtra, RememoError
from rememo.observe import observers

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

_PREFIX: Final = "rememo."


class OperationTracing:
    """Makes a span of every operation until it is stopped."""

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer

    def observe(self, operation: str, tenant: str | None, /) -> AbstractContextManager[object]:
        """Return the span of an operation."""
        return self._span(operation, tenant)

    def stop(self) -> None:
        """Stop making spans."""
        observers.remove_observer(self)

    @contextmanager
    def _span(self, operation: str, tenant: str | None) -> Generator[None]:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - the extra is there, or nobody traces

        attributes = {"rememo.operation": operation} | ({} if tenant is None else {"rememo.tenant": tenant})
        with self._tracer.start_as_current_span(
            _PREFIX + operation, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                # The kind only: a message may quote what was given.
                kind = error.code if isinstance(error, RememoError) else type(error).__name__
                span.set_attribute("error.type", kind)
                span.set_status(Status(StatusCode.ERROR, kind))
                raise


def trace(provider: "TracerProvider | None" = None) -> OperationTracing:
    """Make a span of every operation of all memories in this process from now on, until `stop()` of what is returned.

    Spans go to `provider`, or to the one the program has set. They are named `rememo.search`, `rememo.messages.add` and
    so on, tell the tenant, and on failure the error's code; never a text. Raises `MissingExtra` without OpenTelemetry.
    """
    try:
        from opentelemetry.trace import get_tracer  # noqa: PLC0415 - the extra may not be installed
    except ImportError:
        raise MissingExtra('tracing needs opentelemetry-api: pip install "rememo[otel]"') from None
    tracing = OperationTracing(get_tracer("rememo", __version__, provider))
    observers.add_observer(tracing)
    return tracing
