"""Route endpoints: parse the request, call the method, send the response."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, cast
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, VersionConflict
from rememo.memory import Memory
from rememo.model.check import check_offset
from rememo.model.record import Record
from rememo.model.times import to_utc
from rememo.serve.http_errors import PRECONDITION_FAILED, HttpError, error_body
from rememo.serve.rest.overrides import OVERRIDES
from rememo.serve.rest.registry import operation_specs
from rememo.serve.rest.signature import OperationSpec, ParsedRequest
from rememo.serve.serializer import encode
from rememo.serve.service import Service, acting_as_key, require_right
from rememo.serve.write_only import strip_contents

JSON: Final = "application/json"
_SMALL: Final = 64 * 2**10
_DIGITS: Final = 8
SPECS: Final = tuple(operation_specs().values())

Endpoint = Callable[[Request], Awaitable[Response]]


def make_endpoint(service: Service, call: OperationSpec) -> Endpoint:
    """Return the endpoint of a route."""
    operation = call.operation

    async def answer(request: Request) -> Response:
        # A small body is read before the key is checked, so that all the rest needs a thread only once. An unverified
        # client is authenticated first, so that the request counts against its key.
        key = None if _is_small(request) and service.is_verified(request) else await service.admit(request)
        body = await service.body(request)
        matched = False

        def work() -> tuple[bytes, int | None]:
            nonlocal matched
            who = key or service.authenticate(request)
            require_right(who, operation.right, operation.reach)
            require_json(request, body)
            parsed = call.arguments(
                path=path_parameters(request), query=request.url.query, headers=request.headers, body=body
            )  # fmt: skip
            if operation.sets is not None and operation.sets in parsed.arguments:
                require_right(who, "write", operation.also if operation.also != "scope" else operation.reach)
            if any(parsed.arguments.get(name) for name in operation.guarded):
                require_right(who, "admin", operation.reach)
            matched = parsed.if_match
            with acting_as_key(who, request):
                may_read = operation.shows_answer or "read" in who.rights
                return _call_method(call, service.view(who, parsed.scope), parsed, may_read=may_read)

        try:
            content, version = await service.run(work, waits=operation.method_path == "wait")
        except VersionConflict as error:
            if not matched:
                raise
            return Response(error_body(error.code, str(error)), PRECONDITION_FAILED, media_type=JSON)
        tag = {} if version is None else {"ETag": f'"{version}"'}
        return Response(content, operation.status, tag, JSON)

    return answer


def _is_small(request: Request) -> bool:
    """Whether a request declares a small body, or none."""
    length = request.headers.get("content-length", "" if "transfer-encoding" in request.headers else "0")
    return length.isdecimal() and len(length) < _DIGITS and int(length) <= _SMALL


def require_json(request: Request, body: bytes) -> None:
    """Raise `HttpError` for a body without a JSON content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != JSON and not kind.endswith("+json"):
        raise HttpError(415, f"send JSON as content-type {JSON}, not {kind[:100] or 'nothing'!r}")


def path_parameters(request: Request) -> dict[str, str]:
    """Return the path parameters, decoded one by one: an id may contain a slash."""
    try:
        return {name: unquote(value, errors="strict") for name, value in request.path_params.items()}
    except UnicodeDecodeError:
        raise InvalidInput("the path is not UTF-8") from None


def _call_method(
    call: OperationSpec, memory: Memory, parsed: ParsedRequest, *, may_read: bool
) -> tuple[bytes, int | None]:
    arguments, method_path = dict(parsed.arguments), call.operation.method_path
    if call.pages:
        _apply_cursor(parsed.cursor, arguments)
    face, _, name = method_path.rpartition(".")
    if method_path in OVERRIDES:
        result = OVERRIDES[method_path](memory, **arguments)
    else:
        result = getattr(attrgetter(face)(memory) if face else memory, name)(**arguments)
    under = call.wrapper_key
    value: Any = result if may_read else strip_contents(result)
    if under == "items":
        value = {"items": value, "next": _next_cursor(call, memory, arguments, len(cast("list[Any]", result)))}
    elif under is not None:
        value = {under: value}
    return encode(value), _record_version(result)


def _record_version(result: object) -> int | None:
    record = result if isinstance(result, Record) else getattr(result, "record", None)
    return record.version if isinstance(record, Record) else None


# ---- pages


def _apply_cursor(cursor: str | None, arguments: dict[str, Any]) -> None:
    """Set the offset and time of a cursor; all pages show the state at the time of the first."""
    if cursor is None:
        return
    if "offset" in arguments:
        raise InvalidInput("give cursor or offset, not both")
    try:
        offset, known_at = json.loads(urlsafe_b64decode(cursor.encode()))
        arguments["offset"] = check_offset(offset)
        if known_at is not None and "known_at" not in arguments:
            arguments["known_at"] = to_utc(known_at, "cursor")
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput("invalid cursor; start again without one") from None


def _next_cursor(call: OperationSpec, memory: Memory, arguments: dict[str, Any], count: int) -> str | None:
    if not call.pages:
        return None
    defaults = {parameter.name: parameter.default for parameter in call.parameters}
    limit = arguments.get("limit", defaults["limit"])
    if limit is None or count < limit:
        return None
    offset = arguments.get("offset", 0) + limit
    known_at: datetime | None = arguments.get("known_at")
    if known_at is None and call.is_time_fixed:
        # After the page was read: a record that came in between may be shown twice, and none is skipped.
        known_at = view_of(memory).engine.now()
    return urlsafe_b64encode(json.dumps([offset, known_at and known_at.isoformat()]).encode()).decode()
