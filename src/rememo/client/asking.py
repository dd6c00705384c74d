"""Asking a server: the call of a method becomes a request, and its answer a value or an exception."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from pydantic import create_model

from rememo.context.chat import image_url
from rememo.errors import Closed, InvalidInput, JobFailed, MissingExtra, RememoError, Unavailable
from rememo.model.fact import Conflict
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS, Scope
from rememo.serve.faults import raised
from rememo.serve.rest.adapted import LONGEST_WAIT
from rememo.serve.rest.signature import HEADERS, Call, Parameter
from rememo.serve.rest.table import OPERATIONS
from rememo.serve.wire import decode, to_json

if TYPE_CHECKING:
    import httpx

_FAULT: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A server, seen through a scope and perhaps at a moment."""

    web: "httpx.Client"
    scope: Scope
    pool: str | None = None
    as_of: tuple[str, ...] = ()

    def at(self, moment: str | datetime) -> "Asking":
        """Ask about the past."""
        return replace(self, as_of=(*self.as_of, moment.isoformat() if isinstance(moment, datetime) else moment))

    def call(self, calls: str, given: Mapping[str, Any]) -> Any:
        """Call a method over there."""
        known = _calls()[calls]
        if calls == "facts.resolve" and isinstance(given["conflict"], Conflict):
            given = {"facts": [fact.id for fact in given["conflict"].facts], "keep": given["keep"]}
        request: dict[str, Any] = {
            "query": list(self._where()),
            "headers": {},
            "path": known.operation.path,
            "body": {},
        }
        for one in known.parameters:
            value = given[one.name]
            if not one.required and _is_default(value, known.defaults[one.name]):
                continue
            _put(request, one, value)
        unserved = known.operation.without
        for name in unserved:
            if name in given and not _is_default(given[name], known.defaults[name]):
                raise InvalidInput(f"{name}= cannot be used over HTTP")
        has_body = bool(known.placed("body"))
        answer = self.send(
            known.operation.verb,
            request["path"],
            query=request["query"],
            headers=request["headers"],
            content=_text(request["body"]) if has_body else None,
        )
        found = _read(known, answer.content)
        return replace(found, follow=self._follow) if isinstance(found, Receipt) else found

    def send(
        self,
        verb: str,
        path: str,
        *,
        query: list[tuple[str, str]] | None = None,
        headers: dict[str, str] | None = None,
        content: Any = None,
        kind: str = "application/json",
    ) -> "httpx.Response":
        """Send a request and return its answer; an error over there is raised here."""
        import httpx  # noqa: PLC0415 - the extra may not be installed

        where: Any = self._where() if query is None else query
        told = dict(headers or {}) | ({} if content is None else {"Content-Type": kind})
        try:
            answer = self.web.request(
                verb,
                f"/v1{path}",
                params=where,
                headers=told,
                content=content,
            )
        except httpx.HTTPError as error:
            raise Unavailable(f"the server at {self.web.base_url} cannot be asked: {error}") from error
        except RuntimeError as error:  # what a closed client says
            raise Closed("this client was closed; make another") from error
        except UnicodeEncodeError:
            raise InvalidInput("what goes into a header or an address must be text that can be encoded") from None
        if answer.status_code >= _FAULT:
            raise _fault(answer)
        return answer

    def _where(self) -> list[tuple[str, str]]:
        found = [("tenant", self.scope.tenant)]
        found += [(name, value) for name in LABELS if (value := getattr(self.scope, name)) is not None]
        if self.pool is not None:
            found.append(("pool", self.pool))
        return [*found, *(("as_of", one) for one in self.as_of)]

    def _follow(self, receipt: Receipt, timeout: float) -> Receipt:
        """Wait over there, in pieces."""
        left = timeout
        while True:
            piece = min(left, LONGEST_WAIT)
            try:
                self.call("wait", {"jobs": receipt.jobs, "timeout": piece})
            except JobFailed as error:
                left -= piece
                if left <= 0 or "not done after" not in str(error):
                    raise
            else:
                return replace(receipt, status="done")


@cache
def _calls() -> dict[str, Call]:
    return {one.calls: Call(one) for one in OPERATIONS}


def _read(known: Call, content: bytes) -> Any:
    """Return the value that an answer holds, read in one go."""
    under = known.wrapped
    if under is None:
        return decode(known.returns, content)
    return getattr(decode(_wrapping(under, known.returns), content), under)


@cache
def _wrapping(under: str, returns: Any) -> Any:
    fields: dict[str, Any] = {under: (returns, ...)}
    return create_model("Wrapping", **fields)


def open_web(url: str, key: str | None, timeout: float) -> "httpx.Client":
    """Return what speaks to a server."""
    try:
        import httpx  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError:
        raise MissingExtra('the client needs httpx: pip install "rememo[client]"') from None
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"the address of a server begins with http:// or https://, not {url!r}")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout + LONGEST_WAIT)


def _fault(answer: "httpx.Response") -> RememoError:
    try:
        body = json.loads(answer.read())
    except ValueError:
        body = None
    return raised(answer.status_code, body)


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    plain = isinstance(default, str | int | float) or default == ()
    return plain and type(value) is type(default) and bool(value == default)


def _put(request: dict[str, Any], one: Parameter, value: Any) -> None:
    if one.place == "path":
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{one.name} must be text that is not empty, not {value!r}")
        try:
            request["path"] = request["path"].replace(f"{{{one.name}}}", quote(value, safe=""))
        except UnicodeEncodeError:
            raise InvalidInput(f"{one.name} contains a lone surrogate; decode the text properly first") from None
    elif one.place == "header":
        request["headers"][HEADERS[one.name]] = value if one.name == "key" else f'"{value}"'
    elif one.place == "body":
        request["body"][one.name] = _sent(one.name, value)
    elif one.as_json:
        request["query"].append((one.name, _text(_sent(one.name, value)).decode()))
    else:
        sent = _sent(one.name, value)
        many = cast("list[Any]", sent) if isinstance(sent, list) else [sent]
        many = many or [""]  # how an empty list is told
        request["query"] += [(one.name, part if isinstance(part, str) else json.dumps(part)) for part in many]


def _sent(name: str, value: Any) -> Any:
    """Return an argument as JSON values; whole records are named by their ids or told by their texts."""
    if name in ("image", "images"):
        many = not isinstance(value, str | bytes | Path)
        return [image_url(one) for one in value] if many else image_url(value)
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    record = getattr(value, "record", None)
    if name == "keep" and record is not None:
        return value.id
    if name == "message" and not isinstance(value, str):
        return value.text if record is None else record.text
    try:
        return to_json(value)
    except TypeError as error:
        raise InvalidInput(f"{name} cannot be sent: {error}") from None


def _text(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {error}") from None
