"""HTTP errors: one JSON shape, and one table of codes and statuses for server and client."""

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from rememo import errors
from rememo.errors import RememoError

_CLASSES: Final = {
    value.code: value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, RememoError)
}
STATUS: Final[Mapping[str, int]] = {
    "error": 500,
    "invalid_input": 400,
    "invalid_filter": 400,
    "invalid_step": 400,
    "embedding_mismatch": 400,
    "model_changed": 409,
    "unauthorised": 401,
    "forbidden": 403,
    "not_found": 404,
    "already_exists": 409,
    "version_conflict": 409,
    "paused": 409,
    "type_mismatch": 409,
    "read_only": 409,
    "read_only_store": 409,
    "job_failed": 409,
    "rate_limited": 429,
    "over_budget": 429,
    "storage": 500,
    "commit_unknown": 500,
    "corrupt": 500,
    "incompatible_store": 500,
    "key_mismatch": 500,
    "missing_extra": 501,
    "closed": 503,
    "busy": 503,
    "unavailable": 503,
    "archive": 503,
    "embedding_failed": 503,
    "model_failed": 503,
    "disk_full": 507,
}
"""The status of every error's code."""
HTTP_CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    404: "no_such_route",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    414: "address_too_long",
    415: "unsupported_media_type",
    431: "headers_too_large",
    501: "not_served",
}
"""The error codes of malformed HTTP requests."""
SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response: no sniffing, framing, referrer or caching."""
PRECONDITION_FAILED: Final = 412
"""A `version_conflict` where the version was given by `If-Match`."""
RETRY_STATUSES: Final = frozenset({429, 503})
"""Statuses with a `Retry-After` header."""


_SERVER_FAULT: Final = 500
_LOGGED: Final = "internal error; the server's log has the cause under the request's id"
STORE_MESSAGES: Final[Mapping[str, str]] = {
    "busy": "the store is held by another writer, has too much to do or cannot be reached for now; retry later",
    "disk_full": "there is no room left in the store; nothing was changed",
    "read_only_store": "the store can only be read; nothing was changed",
    "commit_unknown": (
        "the store was lost during this write: it may have been done or not; look for it before you repeat it, or give such"
        " writes an idempotency key"
    ),
}
"""What clients are told where the error itself names the store's file or server."""
_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")

_log = logging.getLogger("rememo.serve")


def public_error(error: RememoError) -> tuple[int, str]:
    """Return the status of an error and what a client is told; what names addresses of this side goes to the log."""
    status, text = STATUS[error.code], str(error)
    if status < _SERVER_FAULT and error.code not in STORE_MESSAGES:
        return status, text
    message = STORE_MESSAGES.get(error.code, _LOGGED if status == _SERVER_FAULT else _ADDRESS.sub("(address)", text))
    if message != text:
        _log.error("%s: %s", error.code, text)
    return status, message


class HttpError(Exception):
    """A malformed HTTP request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = HTTP_CODES[status]


def error_body(code: str, message: str, detail: Any = None) -> bytes:
    """Return the JSON body of an error; characters that cannot be encoded are escaped."""
    return json.dumps({"error": {"code": code, "message": message, "detail": detail}}).encode()


def error_from_response(status: int, body: object) -> RememoError:
    """Return the exception of an error response."""
    body_error: Any = body.get("error") if isinstance(body, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    if not isinstance(body_error, Mapping):
        return RememoError(f"the server answered {status} without an error body; is it a Rememo server?")
    error: Mapping[str, Any] = body_error  # pyright: ignore[reportUnknownVariableType] - JSON
    kind = _CLASSES.get(str(error.get("code")), RememoError)
    raised = kind(str(error.get("message")))
    raised.detail = error.get("detail")
    return raised
