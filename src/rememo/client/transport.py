"""Transport: sends the call of a method as an HTTP request, and returns its value or raises its error."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import create_model

from rememo.client.pending_batch import PendingBatch
from rememo.client.request_encoding import adapt_arguments, locate_arguments, select_arguments, to_json_text
from rememo.errors import Closed, InvalidInput, JobFailed, MissingExtra, RememoError, Unavailable
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS, Scope
from rememo.serve.http_errors import error_from_response
from rememo.serve.rest.overrides import LONGEST_WAIT
from rememo.serve.rest.registry import operation_specs
from rememo.serve.rest.signature import OperationSpec
from rememo.serve.serializer import decode

if TYPE_CHECKING:
    import httpx

JSON: Final = "application/json"
_FIRST_ERROR_STATUS: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """A connection to a server with a scope, and optionally a time."""

    http: "httpx.Client"
    scope: Scope
    pool: str | None = None
    as_of: tuple[str, ...] = ()
    batch: PendingBatch | None = None
    """The batch that writes are added to, while its block is open."""

    def at(self, moment: str | datetime) -> "Transport":
        """Return the transport of a view of the past."""
        return replace(self, as_of=(*self.as_of, moment.isoformat() if isinstance(moment, datetime) else moment))

    @property
    def open_batch(self) -> PendingBatch | None:
        """The batch that writes are added to, None when there is none or its block has ended."""
        return self.batch if self.batch is not None and self.batch.open else None

    def call(self, call: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method on the server, or add it to the open batch."""
        if self.open_batch is not None:
            waiting = self.open_batch.add(self, call, arguments)
            if waiting is not None:
                return waiting
        return self.ask(call, arguments)

    def ask(self, call: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method on the server."""
        spec = operation_specs()[call]
        path, query, headers, body = locate_arguments(
            spec, select_arguments(spec, adapt_arguments(call, arguments, self.scope))
        )
        has_body = bool(spec.parameters_in("body")) or bool(body)
        response = self.send(
            spec.operation.verb,
            path,
            query=[*self._scope_query(), *query] if call != "archive.list" else self._query_with_labels(arguments),
            headers=headers,
            content=to_json_text(body) if has_body else None,
        )
        value = _decode_response(spec, response.content)
        return replace(value, follow=self._follow) if isinstance(value, Receipt) else value

    def send(
        self,
        verb: str,
        path: str,
        *,
        query: list[tuple[str, str]] | None = None,
        headers: Mapping[str, bytes] | None = None,
        content: Any = None,
        kind: str = JSON,
    ) -> "httpx.Response":
        """Send a request and return its response; error responses are raised as exceptions."""
        params: Any = self._scope_query() if query is None else query
        all_headers: Any = dict(headers or {}) | ({} if content is None else {"Content-Type": kind.encode()})
        with self._translate_errors():
            response = self.http.request(verb, f"/v1{path}", params=params, headers=all_headers, content=content)
        if response.status_code >= _FIRST_ERROR_STATUS:
            raise _error_of_response(response)
        return response

    @contextmanager
    def stream(
        self, path: str, query: list[tuple[str, str]] | None = None, headers: Mapping[str, str] | None = None
    ) -> "Generator[httpx.Response]":
        """Open a streamed response for the block."""
        params: Any = [*self._scope_query(), *(query or [])]
        with (
            self._translate_errors(),
            self.http.stream("GET", f"/v1{path}", params=params, headers=dict(headers or {})) as response,
        ):
            if response.status_code >= _FIRST_ERROR_STATUS:
                raise _error_of_response(response)
            yield response

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        import httpx  # noqa: PLC0415 - the extra may not be installed

        if self.http.is_closed:
            raise Closed("this client was closed; open it again with Client(url)")
        try:
            yield
        except httpx.HTTPError as error:
            raise Unavailable(f"the server at {self.http.base_url} cannot be reached: {error}") from error
        except UnicodeEncodeError:
            raise InvalidInput("headers and URLs must be text that can be encoded as UTF-8") from None

    def _scope_query(self) -> list[tuple[str, str]]:
        pairs = [("tenant", self.scope.tenant)]
        pairs += [(name, value) for name in LABELS if (value := getattr(self.scope, name)) is not None]
        if self.pool is not None:
            pairs.append(("pool", self.pool))
        return [*pairs, *(("as_of", moment) for moment in self.as_of)]

    def _query_with_labels(self, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Narrow the scope by labels that are arguments."""
        return replace(self, scope=self.scope.narrow(**arguments))._scope_query()  # noqa: SLF001 - its own

    def _follow(self, receipt: Receipt, timeout: float) -> Receipt:
        """Wait on the server, in requests of limited length."""
        remaining = timeout
        while True:
            wait_seconds = min(remaining, LONGEST_WAIT)
            try:
                self.ask("wait", {"jobs": receipt.jobs, "timeout": wait_seconds})
            except JobFailed as error:
                remaining -= wait_seconds
                if remaining <= 0 or "not done after" not in str(error):
                    raise
            else:
                return replace(receipt, status="done")


def _decode_response(spec: OperationSpec, content: bytes) -> Any:
    """Return the decoded value of a response."""
    wrapper_key = spec.wrapper_key
    if wrapper_key is None:
        return decode(spec.returns, content)
    return getattr(decode(_wrapper_model(wrapper_key, spec.returns), content), wrapper_key)


@cache
def _wrapper_model(wrapper_key: str, returns: Any) -> Any:
    fields: dict[str, Any] = {wrapper_key: (returns, ...)}
    return create_model("Wrapping", **fields)


class RemoteCollection:
    """What a server offers under one name."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _call(self, call: str, arguments: Mapping[str, Any]) -> Any:
        """Call a method on the server with the local variables of the method that stands for it."""
        return self._transport.call(call, {name: value for name, value in arguments.items() if name != "self"})


def open_http_client(url: str, key: str | None, timeout: float) -> "httpx.Client":
    """Return the HTTP client of a server."""
    try:
        import httpx  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError:
        raise MissingExtra('the client needs httpx: pip install "rememo[client]"') from None
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"a server's URL must start with http:// or https://, not {url!r}")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    # Loading CA certificates takes longer than opening a memory; plain HTTP needs none.
    sealed = url.startswith("https://")
    return httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout + LONGEST_WAIT, verify=sealed)


def _error_of_response(response: "httpx.Response") -> RememoError:
    try:
        body = json.loads(response.read())
    except ValueError:
        body = None
    return error_from_response(response.status_code, body)
