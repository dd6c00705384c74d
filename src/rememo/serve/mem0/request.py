"""Requests of mem0 clients: authentication, parsing, and errors in a shape that both their clients and ours read."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from rememo.errors import InvalidInput, JobFailed, RememoError, Unavailable
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.serve.auth import ApiKey
from rememo.serve.http_errors import HTTP_CODES, RETRY_STATUSES, HttpError, public_error
from rememo.serve.rest.operations import Right
from rememo.serve.rest.routes import JSON, path_parameters, require_json
from rememo.serve.service import Service, acting_as_key, require_right
from rememo.serve.validation_errors import describe_errors
from rememo.serve.write_only import strip_mem0_contents

MOST_ITEMS: Final = 1_000
"""The most messages or memories that one request may hold."""
_SERVER_FAULT: Final = 500
_NOT_IMPLEMENTED: Final = 501
_UNAUTHORISED: Final = 401
_IGNORED_FIELDS: Final = {"source", "rerank", "async_mode", "output_format", "version"}
"""Fields without an effect here: client names and internals of the hosted service."""


class RequestBody(BaseModel):
    """A request body; unknown fields with a value are refused, never ignored."""

    model_config = ConfigDict(extra="allow", strict=True)


B = TypeVar("B", bound=RequestBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0Request:
    """A parsed request."""

    service: Service
    key: ApiKey
    path: Mapping[str, str]
    query: Mapping[str, str]
    raw: bytes
    base: str
    """The address of the route."""

    def view(self, labels: Mapping[str, str] | None = None) -> Memory:
        """Return the key's view, narrowed by labels; raises `Forbidden` when they are outside its scope."""
        return self.service.view(self.key, {name: [value] for name, value in (labels or {}).items()})

    def body(self, model: type[B]) -> B:
        """Return the validated body."""
        try:
            body = model.model_validate_json(self.raw or b"{}")
        except ValidationError as error:
            raise InvalidInput(f"the body is invalid: {describe_errors(error)}") from None
        for name, value in (body.model_extra or {}).items():
            if name not in _IGNORED_FIELDS and value is not None and value is not False:
                raise InvalidInput(f"{name[:50]} is not supported; docs/mem0.md lists what is")
        return body

    def allow_query(self, *names: str) -> None:
        """Raise `InvalidInput` for query parameters other than these."""
        for name in self.query:
            if name not in names and name not in _IGNORED_FIELDS:
                raise InvalidInput(f"unknown parameter {name[:50]!r}; this route takes {', '.join(names) or 'none'}")


@dataclass(frozen=True, slots=True)
class DeferredResponse:
    """A response that is worth a short wait."""

    wait: Callable[[], object]
    """Waits; may raise `JobFailed` or `Unavailable`."""
    then: Callable[[bool], Any]
    """Returns the response; its argument says whether the wait succeeded."""


Handler = Callable[[Mem0Request], Any]
Endpoint = Callable[[Request], Awaitable[Response]]


def make_endpoint(service: Service, right: Right, work: Handler) -> Endpoint:
    """Return the endpoint of a route."""

    async def answer(request: Request) -> Response:
        try:
            key = await service.admit(request)
            require_right(key, right, "scope")
            raw = await service.body(request)
            require_json(request, raw)
            mem0_request = Mem0Request(
                service=service, key=key, path=path_parameters(request), query=_query_parameters(request), raw=raw,
                base=str(request.url.replace(query="")),
            )  # fmt: skip

            def named(call: Callable[[], Any]) -> Any:
                with acting_as_key(key, request):
                    return call()

            value = await service.run(lambda: named(lambda: work(mem0_request)))
            if isinstance(value, DeferredResponse):
                later, in_time = value, True
                try:
                    await service.run(later.wait, waits=True)
                except (JobFailed, Unavailable):
                    in_time = False  # the write is stored: the response says so, and what is still pending
                value = await service.run(lambda: named(lambda: later.then(in_time)))
            visible = value if right == "read" or "read" in key.rights else strip_mem0_contents(value)
            return Response(dump_json(visible).encode(), media_type=JSON)
        except RememoError as error:
            return _handle_error(error)
        except HttpError as error:
            return _error_response(error.status, error.code, str(error))

    return answer


def not_supported(service: Service, what: str) -> Endpoint:
    """Return an endpoint that answers 501 to requests with a valid key."""

    async def answer(request: Request) -> Response:
        try:
            await service.admit(request)
        except RememoError as error:
            return _handle_error(error)
        return _error_response(
            _NOT_IMPLEMENTED, HTTP_CODES[_NOT_IMPLEMENTED], f"{what}; docs/mem0.md says what to use instead"
        )

    return answer


def _query_parameters(request: Request) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in parameters:
            raise InvalidInput(f"{name[:50]} is given twice in the query")
        parameters[name] = value
    return parameters


def _handle_error(error: RememoError) -> Response:
    status, message = public_error(error)
    return _error_response(status, error.code, message, error.detail)


def _error_response(status: int, code: str, message: str, detail: Any = None) -> Response:
    """Return an error response with `detail`, which mem0's clients read, beside our own error object."""
    headers = (
        {"Retry-After": "1"}
        if status in RETRY_STATUSES
        else {"WWW-Authenticate": "Token"}
        if status == _UNAUTHORISED
        else {}
    )
    body = {"detail": message, "error": {"code": code, "message": message, "detail": detail}}
    return Response(json.dumps(body).encode(), status, headers, JSON)
