"""One request of a mem0 client: who asks, what for, and an error that both they and we can read."""

import json
import logging
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
from rememo.serve.http_errors import HTTP_CODES, RETRY_STATUSES, STATUS, HttpError
from rememo.serve.rest.operations import Right
from rememo.serve.rest.routes import JSON, path_parameters, require_json
from rememo.serve.service import Service, acting_as_key, require_right
from rememo.serve.validation_errors import describe_errors
from rememo.serve.write_only import strip_mem0_contents

_SERVER_FAULT: Final = 500
_NOT_IMPLEMENTED: Final = 501
_UNAUTHORISED: Final = 401
_IGNORED_FIELDS: Final = {"source", "rerank", "async_mode", "output_format", "version"}
"""What changes nothing here: who asks, and how the hosted service goes about it."""

_log = logging.getLogger("rememo.serve")


class RequestBody(BaseModel):
    """What a body may hold; anything else that asks for something is refused, never passed over."""

    model_config = ConfigDict(extra="allow", strict=True)


B = TypeVar("B", bound=RequestBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0Request:
    """A request, read."""

    service: Service
    key: ApiKey
    path: Mapping[str, str]
    query: Mapping[str, str]
    raw: bytes
    base: str
    """The address of the route."""

    def view(self, labels: Mapping[str, str] | None = None) -> Memory:
        """Return what the key reaches, narrowed by labels; `Forbidden` when they lie beyond it."""
        return self.service.view(self.key, {name: [value] for name, value in (labels or {}).items()})

    def body(self, model: type[B]) -> B:
        """Return the body, checked."""
        try:
            body = model.model_validate_json(self.raw or b"{}")
        except ValidationError as error:
            raise InvalidInput(f"the body cannot be used: {describe_errors(error)}") from None
        for name, value in (body.model_extra or {}).items():
            if name not in _IGNORED_FIELDS and value is not None and value is not False:
                raise InvalidInput(f"{name[:50]} cannot be used here; docs/mem0.md tells what can")
        return body

    def allow_query(self, *names: str) -> None:
        """Refuse what an address asks beyond these names."""
        for name in self.query:
            if name not in names and name not in _IGNORED_FIELDS:
                raise InvalidInput(f"there is no parameter {name[:50]!r} here; there are {', '.join(names) or 'none'}")


@dataclass(frozen=True, slots=True)
class DeferredResponse:
    """An answer that is better after a while."""

    wait: Callable[[], object]
    """Waits; it may fail, or take too long."""
    then: Callable[[bool], Any]
    """Gives the answer; told whether the waiting came to its end."""


Handler = Callable[[Mem0Request], Any]
Endpoint = Callable[[Request], Awaitable[Response]]


def make_endpoint(service: Service, right: Right, work: Handler) -> Endpoint:
    """Return what answers the requests of a route."""

    async def answer(request: Request) -> Response:
        try:
            key = await service.admit(request)
            require_right(key, right, "scope")
            raw = await service.body(request)
            require_json(request, raw)
            asked = Mem0Request(
                service=service, key=key, path=path_parameters(request), query=_query_parameters(request), raw=raw,
                base=str(request.url.replace(query="")),
            )  # fmt: skip

            def named(call: Callable[[], Any]) -> Any:
                with acting_as_key(key, request):
                    return call()

            value = await service.run(lambda: named(lambda: work(asked)))
            if isinstance(value, DeferredResponse):
                later, done = value, True
                try:
                    await service.run(later.wait, waits=True)
                except (JobFailed, Unavailable):
                    done = False  # what was written is written: the answer says so, and what is still to come
                value = await service.run(lambda: named(lambda: later.then(done)))
            shown = value if right == "read" or "read" in key.rights else strip_mem0_contents(value)
            return Response(dump_json(shown).encode(), media_type=JSON)
        except RememoError as error:
            return _handle_error(error)
        except HttpError as error:
            return _error_response(error.status, error.code, str(error))

    return answer


def not_supported(service: Service, what: str) -> Endpoint:
    """Return what says to those with a key that something is the hosted service's alone."""

    async def answer(request: Request) -> Response:
        try:
            await service.admit(request)
        except RememoError as error:
            return _handle_error(error)
        return _error_response(
            _NOT_IMPLEMENTED, HTTP_CODES[_NOT_IMPLEMENTED], f"{what}; docs/mem0.md tells what to use instead"
        )

    return answer


def _query_parameters(request: Request) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in parameters:
            raise InvalidInput(f"{name[:50]} stands in the address twice")
        parameters[name] = value
    return parameters


def _handle_error(error: RememoError) -> Response:
    status, message = STATUS[error.code], str(error)
    if status == _SERVER_FAULT:
        _log.error("%s: %s", error.code, error)
        message = "the server could not do this; its log says why, by the request's id"
    return _error_response(status, error.code, message, error.detail)


def _error_response(status: int, code: str, message: str, detail: Any = None) -> Response:
    """Return an error with `detail`, where their clients look for it, beside the shape that all our errors have."""
    headers = (
        {"Retry-After": "1"}
        if status in RETRY_STATUSES
        else {"WWW-Authenticate": "Token"}
        if status == _UNAUTHORISED
        else {}
    )
    body = {"detail": message, "error": {"code": code, "message": message, "detail": detail}}
    return Response(json.dumps(body).encode(), status, headers, JSON)
