"""Service: a memory being served. Requests are authenticated first, then run on a bounded number of threads."""

import asyncio
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

from starlette.requests import Request

from rememo.engine.audit import ActorContext, acting
from rememo.engine.view import view_of
from rememo.errors import Forbidden, InvalidInput, Unauthorised
from rememo.memory import Memory, walled
from rememo.model.check import check_label
from rememo.model.scope import LABELS, Scope
from rememo.serve.auth import ALL_TENANTS, RESERVED, RIGHTS, ApiKey, ApiKeys
from rememo.serve.http_errors import HttpError
from rememo.serve.limits import (
    SERVER,
    ConcurrencyLimit,
    ConnectionLimit,
    FairThreadPool,
    RateLimit,
    Requester,
    VerifiedKeys,
    current_requester,
)
from rememo.serve.loopback import clients_behind_proxies, hostname, is_local, is_loopback
from rememo.serve.rest.operations import Reach, Right
from rememo.serve.rest.signature import parse_time_or_snapshot
from rememo.serve.shared_limits import SharedLimits
from rememo.store.patience import Caller, calling_as

T = TypeVar("T")

_ANONYMOUS: Final = ApiKey(
    id="open", name="", tenant=ALL_TENANTS, rights=RIGHTS, created_at=datetime(1970, 1, 1, tzinfo=UTC)
)
"""The key of local requests to a server without keys."""
_UNVERIFIED: Final = "\x00"
"""The tenant that unverified requests count against; no label can have this value."""
_DIGITS: Final = 20
_ROOT_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a memory is served."""

    rate: float | None = None
    """Requests per second of one key; None for no limit."""
    max_body: int = 16 * 2**20
    """The largest body, in bytes."""
    max_import: int = 4 * 2**30
    """The largest import, in bytes."""
    max_head: int = 64 * 2**10
    """The largest head of a request, address and headers together, in bytes."""
    head_seconds: float = 15.0
    """Seconds that the head of a request may take to arrive."""
    body_seconds: float = 60.0
    """Seconds that a body may take to arrive; for an import, each chunk of it."""
    connections: int = 1_000
    """Open connections at most."""
    threads: int = 4
    """Calls that run concurrently."""
    queue: int = 128
    """Calls that wait for a thread; further ones are refused with 503."""
    traces: bool = False
    """Whether to make OpenTelemetry spans of requests and operations."""
    streams: int = 100
    """Concurrent change streams; further ones are refused with 503. A key may have a quarter of them, a tenant half."""
    transfers: int = 16
    """Concurrent exports; a key may have a quarter of them, a tenant half. Imports, which need space on the disk, may be a
    quarter of this, one for each key."""
    export_seconds: float = 3_600.0
    """Seconds that an export may take, however slowly it is read."""
    poll: float = 0.2
    """Seconds between checks for writes of other processes while a change stream is open."""
    heartbeat: float = 15.0
    """Seconds without a change after which a stream sends a keep-alive comment."""
    stall: float = 30.0
    """Seconds that a stream may be unread before it is closed; other responses may be unread three times as long."""
    origins: Sequence[str] = ()
    """Allowed origins of browser requests (CORS)."""
    warm: bool = False
    """Whether to warm the caches of the first search when the server starts."""
    root_path: str = ""
    """The path prefix under which a proxy publishes the server, such as `/memory`; the proxy may strip it or not."""

    def __post_init__(self) -> None:
        """Raise `InvalidInput` for values out of range."""
        for name, least in (
            ("max_body", 1),
            ("max_import", 1),
            ("threads", 1),
            ("queue", 0),
            ("streams", 0),
            ("transfers", 0),
            ("max_head", 1_024),
            ("connections", 1),
        ):
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} must be {least} or more, not {getattr(self, name)!r}")
        for name in ("poll", "heartbeat", "stall", "head_seconds", "body_seconds", "export_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name} must be seconds above zero, not {getattr(self, name)!r}")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise InvalidInput(f"rate must be above zero, not {self.rate!r}")
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise InvalidInput(
                f"root_path must be a path such as '/memory', without an end slash, not {self.root_path!r}"
            )


class Service:
    """Authentication, limits and views of one served memory."""

    def __init__(self, memory: Memory, options: ServerOptions, shared: SharedLimits | None = None) -> None:
        self.memory = memory
        self.options = options
        self.keys = ApiKeys(memory)
        self.rate = RateLimit(options.rate, buckets=shared and shared.buckets)
        self.connections = ConnectionLimit(options.connections, shared and shared.connections)
        self.secret = secrets.token_bytes(32) if shared is None else shared.secret
        """A secret of all workers of this server, as long as it runs."""
        self.stopping = asyncio.Event()
        """Set when the server is about to stop: open streams end."""
        streams, transfers = options.streams, options.transfers
        self.streams = ConcurrencyLimit(
            "streams", streams, of_key=streams // 4, of_tenant=streams // 2, places=shared and shared.streams
        )
        self.exports = ConcurrencyLimit(
            "exports", transfers, of_key=transfers // 4, of_tenant=transfers // 2, places=shared and shared.exports
        )
        # An import lies on the disk until it is in.
        self.imports = ConcurrencyLimit(
            "imports", transfers // 4, of_key=1, of_tenant=transfers // 8, places=shared and shared.imports
        )
        self._verified = VerifiedKeys()
        self._threads = FairThreadPool(options.threads, options.queue)
        # Calls that only wait for jobs have threads of their own, and block no others.
        self._waiting = FairThreadPool(options.threads, options.queue)
        # Whoever asks whether the server is well gets an answer however much it has to do.
        self._checks = FairThreadPool(1, options.queue)

    async def run(self, call: Callable[[], T], *, waits: bool = False, asker: Requester | None = None) -> T:
        """Run a call on a thread, queued under the requester of this context.

        Raises `Unavailable` when the queue is full, `RateLimited` when it is full of the requester's calls.
        """
        threads = self._waiting if waits else self._threads
        return await threads.run(partial(_call_as, "request", call), asker or current_requester())

    async def check(self, call: Callable[[], T]) -> T:
        """Run a call that checks on the memory, which waits for no other calls but such."""
        return await self._checks.run(partial(_call_as, "check", call), current_requester())

    def begin(self, request: Request) -> Requester:
        """Return the requester that a request counts against: its verified key, else its address."""
        verified = self._verified.find(_credentials(request))
        if verified is None:
            return Requester(_UNVERIFIED, request.client.host if request.client else "")
        tenant, key = verified
        return Requester(_tenant_of(request, tenant), key)

    def is_verified(self, request: Request) -> bool:
        """Whether the credentials of a request were verified before; they are checked again all the same."""
        return self._verified.find(_credentials(request)) is not None

    def mark_verified(self, request: Request, key: ApiKey) -> None:
        """Count a request, and later ones with the same credentials, against its key."""
        if (requester := current_requester()) is not SERVER:
            requester.tenant, requester.key = _tenant_of(request, key.tenant), key.id
        self._verified.add(_credentials(request), (key.tenant, key.id))

    def degraded(self) -> list[str]:
        """Return the names of unavailable parts, `kv` or `embedder`; names only, since the route needs no key."""
        engine = view_of(self.memory).engine
        engine.model.follow()
        return sorted({part.name for part in engine.health() if not part.ok})

    def close(self) -> None:
        """Finish running calls, and accept no more."""
        for threads in (self._threads, self._waiting, self._checks):
            threads.close()

    async def admit(self, request: Request) -> ApiKey:
        """Authenticate a request and count it; raises `Unauthorised` or `RateLimited`."""
        return await self.run(lambda: self.authenticate(request))

    def authenticate(self, request: Request) -> ApiKey:
        """Authenticate a request and count it, on the calling thread."""
        authorization = request.headers.get("authorization")
        scheme, _, text = (authorization or "").partition(" ")
        # Clients of mem0 always send a key, so a server without keys accepts any of theirs.
        is_open = (authorization is None or scheme.lower() == "token") and is_local(request) and not self.keys.any()
        if authorization is not None and not is_open:
            if scheme.lower() not in ("bearer", "token"):
                raise Unauthorised("send the key as `Authorization: Bearer rememo_…`")
            key = self.keys.check(text.strip())
        elif not is_open:
            if any(True for _ in clients_behind_proxies(request.headers)) and not self.keys.any():
                raise Unauthorised(
                    "this came through a proxy, and a server without keys answers this machine only; make a key with"
                    " `rememo keys add` and send it as `Authorization: Bearer rememo_…`"
                )
            raise Unauthorised("this server needs a key: send it as `Authorization: Bearer rememo_…`")
        else:
            # A page's simple requests, such as a form, are sent without a preflight; a key it cannot know.
            self.check_origin(request)
            key = _ANONYMOUS
        request.state.key = key.id
        request.state.reach = key.scope
        request.state.body_limit = key.max_body
        self.mark_verified(request, key)
        self.rate.take(key.id, key.rate)
        if key.max_body is not None and _declared_size(request) > key.max_body:
            raise too_large(key.max_body)
        return key

    async def audit_refusal(self, request: Request) -> None:
        """Append an audit entry for a request that was forbidden to a key, where auditing is on.

        Requests without a valid key are not audited: anybody could fill the trail.
        """
        reach: Scope | None = getattr(request.state, "reach", None)
        if reach is None or view_of(self.memory).engine.audit is None:
            return
        # By its route, not by its path: audit entries stay, and a path may name a person.
        route = f"{request.method} {getattr(request.scope.get('route'), 'path', '')}"

        def note() -> None:
            with acting_as_key(request.state.key, request):
                walled(self.memory, reach).audit.denied(route, reason="forbidden")

        await self.run(note)

    def check_origin(self, request: Request) -> None:
        """Refuse requests of web pages whose origin is not allowed: a visitor's browser runs on this machine."""
        origin = request.headers.get("origin")
        if origin is None or origin in self.options.origins:
            return
        host, there = hostname(f"//{request.headers.get('host', '')}"), hostname(origin)
        if not (is_loopback(host) and is_loopback(there)):
            raise Forbidden(f"origin {origin[:200]!r} is not allowed; `rememo serve --origin` allows it")

    def body_limit(self, request: Request, limit: int) -> int:
        """Return the size limit of a request's body: the smaller of the server's and the key's."""
        return min(limit, getattr(request.state, "body_limit", None) or limit)

    def reauthenticate(self, request: Request, key: ApiKey) -> None:
        """Raise `Unauthorised` when the key of a long-running request is no longer valid."""
        authorization = request.headers.get("authorization")
        if authorization is not None:
            self.keys.check(authorization.partition(" ")[2].strip())
        elif key.id != _ANONYMOUS.id or self.keys.any():
            raise Unauthorised("this server needs a key now: send it as `Authorization: Bearer rememo_…`")

    async def body(self, request: Request, *, most: int | None = None) -> bytes:
        """Return the body of a request; raises `HttpError` as soon as it is too large or too slow."""
        limit = self.body_limit(request, most or self.options.max_body)
        parts: list[bytes] = []
        size = 0
        if (declared := _declared_size(request)) > limit:
            raise too_large(limit)
        if not declared and "transfer-encoding" not in request.headers:
            return b""
        try:
            async with asyncio.timeout(self.options.body_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > limit:
                        raise too_large(limit)
                    parts.append(part)
        except TimeoutError:
            raise too_slow(self.options.body_seconds) from None
        return b"".join(parts)

    def view(self, key: ApiKey, route: dict[str, list[str]]) -> Memory:
        """Return the view of a key, narrowed by the scope parameters of a request; never wider than the key."""
        query = {name: values[0] for name, values in route.items() if name != "as_of"}
        tenant = check_label(query.get("tenant", key.scope.tenant), "tenant")
        if key.tenant not in (ALL_TENANTS, tenant) or tenant == RESERVED:
            raise Forbidden(f"key {key.id} has no access to tenant {tenant!r}")
        reach: Scope = replace(key.scope, tenant=tenant)
        labels = {name: query[name] for name in LABELS if name in query}
        for name, value in labels.items():
            bound = getattr(reach, name)
            if bound is not None and bound != value:
                raise Forbidden(f"key {key.id} is bound to {name} {bound!r}, and has no access to {value!r}")
        memory = walled(self.memory, reach).scope(**labels)
        if "pool" in query:
            if key.is_bound:
                raise Forbidden(f"key {key.id} is bound to labels and has no access to pools")
            memory = memory.pool(query["pool"])
        for as_of in route.get("as_of", ()):
            memory = memory.as_of(parse_time_or_snapshot(as_of))
        return memory


def _call_as(caller: Caller, call: Callable[[], T]) -> T:
    with calling_as(caller):
        return call()


def require_right(key: ApiKey, right: Right, reach: Reach) -> None:
    """Raise `Forbidden` when a key lacks a right, or its scope is smaller than an operation's reach."""
    if right not in key.rights:
        raise Forbidden(f"key {key.id} lacks the right {right!r}; it has {', '.join(key.rights)}")
    if reach == "room" and (key.agent is not None or key.user is not None):
        raise Forbidden(f"key {key.id} is bound to an agent or a user, and this operation covers the whole room")
    if reach in ("tenant", "store") and key.is_bound:
        raise Forbidden(f"key {key.id} is bound to labels, and this operation covers the whole tenant")
    if reach == "store" and key.tenant != ALL_TENANTS:
        raise Forbidden(f"key {key.id} is for one tenant, and this operation covers all tenants")


def acting_as_key(key: ApiKey | str, request: Request) -> ActorContext:
    """Return the context in which audit entries name a key (or its id), the request and the client's address."""
    address = request.client.host if request.client else "unknown"
    id = key if isinstance(key, str) else key.id
    return acting(actor=f"key:{id}", session=request.state.id, address=address)


def too_large(limit: int) -> HttpError:
    """Return the error of a body that is too large."""
    return HttpError(413, f"the body is larger than the {limit:,} bytes allowed here")


def too_slow(seconds: float) -> HttpError:
    """Return the error of a body that does not arrive in time."""
    return HttpError(408, f"the body did not arrive within {seconds:g} seconds; send it faster, or in smaller parts")


def _credentials(request: Request) -> str:
    """Return the credentials of a request: its authorization header and its cookies."""
    return f"{request.headers.get('authorization', '')}\n{request.headers.get('cookie', '')}"


def _tenant_of(request: Request, tenant: str) -> str:
    """Return the tenant that a request counts against: for a key of all tenants the one it names, so that none waits for another."""
    return request.query_params.get("tenant", Scope().tenant) if tenant == ALL_TENANTS else tenant


def _declared_size(request: Request) -> int:
    length = request.headers.get("content-length", "0")
    return int(length) if length.isdecimal() and len(length) <= _DIGITS else 0
