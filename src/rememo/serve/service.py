"""Service: a memory being served. Who asks is known first, then what is asked runs on a bounded number of threads."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from starlette.requests import Request

from rememo.engine.audit import ActorContext, acting
from rememo.errors import Forbidden, InvalidInput, Unauthorised
from rememo.memory import Memory, walled
from rememo.model.check import check_label
from rememo.model.scope import LABELS, Scope
from rememo.serve.auth import ALL_TENANTS, RESERVED, RIGHTS, ApiKey, ApiKeys
from rememo.serve.http_errors import HttpError
from rememo.serve.limits import (
    SERVER,
    ConcurrencyLimit,
    FairThreadPool,
    RateLimit,
    Requester,
    VerifiedKeys,
    current_requester,
)
from rememo.serve.loopback import clients_behind_proxies, hostname, is_local, is_loopback
from rememo.serve.rest.operations import Reach, Right
from rememo.serve.rest.signature import parse_moment

T = TypeVar("T")

_ANONYMOUS: Final = ApiKey(
    id="open", name="", tenant=ALL_TENANTS, rights=RIGHTS, created_at=datetime(1970, 1, 1, tzinfo=UTC)
)
"""Who asks where there are no keys: whoever is on this machine."""
_UNPROVEN: Final = "\x00"
"""The tenant of those who have not proven a key yet; no label is like this."""
_DIGITS: Final = 20
_ROOT_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a memory is served."""

    rate: float | None = None
    """Requests a second under one key; None for any number."""
    max_body: int = 16 * 2**20
    """The largest body, in bytes."""
    max_import: int = 4 * 2**30
    """The largest export that can be brought in, in bytes."""
    max_head: int = 64 * 2**10
    """The largest head of a request, address and headers together, in bytes."""
    head_seconds: float = 15.0
    """Seconds that the head of a request may take to arrive."""
    body_seconds: float = 60.0
    """Seconds that a body may take to arrive; of an export that is brought in, each piece of it."""
    connections: int = 1_000
    """Lines that may be open at once."""
    threads: int = 4
    """Calls that run at once."""
    queue: int = 128
    """Calls that wait for a thread; one more is told to come back."""
    traces: bool = False
    """Whether to make spans, of requests and of what they do."""
    streams: int = 100
    """Followers of changes at once; one more is told to come back. A key may have a quarter of them, a tenant half."""
    transfers: int = 16
    """Exports at once; a key may have a quarter of them, a tenant half. Of imports, which need space on the disk, a quarter
    of this, one for each key."""
    export_seconds: float = 3_600.0
    """Seconds that an export may take, however slowly it is read."""
    poll: float = 0.2
    """How often to look whether another process has written, in seconds, while somebody follows."""
    heartbeat: float = 15.0
    """Seconds without a change after which a follower is told that the line is open."""
    stall: float = 30.0
    """Seconds that a follower may leave unread what it is sent; any other answer is given up after three times as long."""
    origins: Sequence[str] = ()
    """Web pages that may ask from a browser."""
    warm: bool = False
    """Whether to read what the first search needs when the server starts, before anybody asks."""
    root_path: str = ""
    """The path below which a proxy shows the server, such as `/memory`; whether the proxy passes it on does not matter."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
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
    """What every route works with."""

    def __init__(self, memory: Memory, options: ServerOptions) -> None:
        self.memory = memory
        self.options = options
        self.keys = ApiKeys(memory)
        self.rate = RateLimit(options.rate)
        self.stopping = asyncio.Event()
        """Set when the server is about to stop: whoever would stay for ever leaves."""
        self.streams = ConcurrencyLimit(
            "streams", options.streams, of_key=options.streams // 4, of_tenant=options.streams // 2
        )
        transfers = options.transfers
        self.exports = ConcurrencyLimit("exports", transfers, of_key=transfers // 4, of_tenant=transfers // 2)
        # An import lies on the disk until it is in.
        self.imports = ConcurrencyLimit("imports", transfers // 4, of_key=1, of_tenant=transfers // 8)
        self._proven = VerifiedKeys()
        self._threads = FairThreadPool(options.threads, options.queue)
        # Those who only wait for jobs keep nobody from a thread who has something to do.
        self._waiting = FairThreadPool(options.threads, options.queue)

    async def run(self, call: Callable[[], T], *, waits: bool = False, asker: Requester | None = None) -> T:
        """Run a call on a thread, in the turn of whoever asks in this context.

        Raises `Unavailable` when too many wait already, `RateLimited` when they are the asker's own.
        """
        return await (self._waiting if waits else self._threads).run(call, asker or current_requester())

    def begin(self, request: Request) -> Requester:
        """Return who a request is counted for: the key that it has proven before, else wherever it comes from."""
        known = self._proven.find(_credentials(request))
        return Requester(*known) if known else Requester(_UNPROVEN, request.client.host if request.client else "")

    def is_verified(self, request: Request) -> bool:
        """Whether the key of a request has proven itself here before; it is checked again all the same."""
        return self._proven.find(_credentials(request)) is not None

    def mark_verified(self, request: Request, key: ApiKey) -> None:
        """Count a request for its key from now on, and those that come with the same credentials."""
        if (asker := current_requester()) is not SERVER:
            asker.tenant, asker.key = key.tenant, key.id
        self._proven.add(_credentials(request), (key.tenant, key.id))

    def degraded(self) -> list[str]:
        """Return what the memory goes on without: `kv` or `embedder`, by name only, since anybody may ask for it."""
        engine = self.memory._engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
        engine.model.follow()
        return sorted({part.name for part in engine.health() if not part.ok})

    def close(self) -> None:
        """End what is under way, and take no more."""
        self._threads.close()
        self._waiting.close()

    async def admit(self, request: Request) -> ApiKey:
        """Return the key of a request, and count the request; raises `Unauthorised` or `RateLimited`."""
        return await self.run(lambda: self.authenticate(request))

    def authenticate(self, request: Request) -> ApiKey:
        """Do what `admit` does, on a thread that works already."""
        given = request.headers.get("authorization")
        scheme, _, text = (given or "").partition(" ")
        # Clients of mem0 send a key wherever they ask, so on a server without keys any of theirs will do.
        is_open = (given is None or scheme.lower() == "token") and is_local(request) and not self.keys.any()
        if given is not None and not is_open:
            if scheme.lower() not in ("bearer", "token"):
                raise Unauthorised("send the key as `Authorization: Bearer rememo_…`")
            key = self.keys.check(text.strip())
        elif not is_open:
            if any(True for _ in clients_behind_proxies(request.headers)) and not self.keys.any():
                raise Unauthorised(
                    "this came through a proxy, and a server without keys answers this machine only; make a key with"
                    " `rememo keys add` and send it as `Authorization: Bearer rememo_…`"
                )
            raise Unauthorised("this server wants a key: send it as `Authorization: Bearer rememo_…`")
        else:
            # A page's simple requests, such as a form, are sent without asking first; a key it cannot know.
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
        """Note in the audit trail, where it is on, that a key was refused what it asked for.

        Who has no key is not noted there: anybody could fill it.
        """
        reach: Scope | None = getattr(request.state, "reach", None)
        if reach is None or self.memory._engine.audit is None:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
            return
        # By its route, not by its path: what is noted stays, and a path may name somebody.
        asked = f"{request.method} {getattr(request.scope.get('route'), 'path', '')}"

        def note() -> None:
            with acting_as_key(request.state.key, request):
                walled(self.memory, reach).audit.denied(asked, reason="forbidden")

        await self.run(note)

    def check_origin(self, request: Request) -> None:
        """Refuse what a web page sends that nobody allowed: its visitors are on this machine, and it is not."""
        origin = request.headers.get("origin")
        if origin is None or origin in self.options.origins:
            return
        host, there = hostname(f"//{request.headers.get('host', '')}"), hostname(origin)
        if not (is_loopback(host) and is_loopback(there)):
            raise Forbidden(f"web pages of {origin[:200]!r} may not ask here; `rememo serve --origin` allows them")

    def body_limit(self, request: Request, limit: int) -> int:
        """Return the largest body that a request may have: what the server allows, or its key if that is less."""
        return min(limit, getattr(request.state, "body_limit", None) or limit)

    def reauthenticate(self, request: Request, key: ApiKey) -> None:
        """Raise `Unauthorised` when the key of a request that lasts is not good any more."""
        given = request.headers.get("authorization")
        if given is not None:
            self.keys.check(given.partition(" ")[2].strip())
        elif key.id != _ANONYMOUS.id or self.keys.any():
            raise Unauthorised("this server wants a key now: send it as `Authorization: Bearer rememo_…`")

    async def body(self, request: Request, *, most: int | None = None) -> bytes:
        """Return the body of a request; one that is too large is not read to its end."""
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

    def view(self, key: ApiKey, asked: dict[str, list[str]]) -> Memory:
        """Return the view that a key has, narrowed by what an address asks for; never wider than the key."""
        words = {name: values[0] for name, values in asked.items() if name != "as_of"}
        tenant = check_label(words.get("tenant", key.scope.tenant), "tenant")
        if key.tenant not in (ALL_TENANTS, tenant) or tenant == RESERVED:
            raise Forbidden(f"key {key.id} does not reach tenant {tenant!r}")
        reach: Scope = replace(key.scope, tenant=tenant)
        labels = {name: words[name] for name in LABELS if name in words}
        for name, value in labels.items():
            held = getattr(reach, name)
            if held is not None and held != value:
                raise Forbidden(f"key {key.id} reaches {name} {held!r} only, not {value!r}")
        memory = walled(self.memory, reach).scope(**labels)
        if "pool" in words:
            if key.is_bound:
                raise Forbidden(f"key {key.id} is bound to labels and reaches no pools")
            memory = memory.pool(words["pool"])
        for moment in asked.get("as_of", ()):
            memory = memory.as_of(parse_moment(moment))
        return memory


def require_right(key: ApiKey, right: Right, reach: Reach) -> None:
    """Refuse what a key has not the right to do, or what reaches further than the key."""
    if right not in key.rights:
        raise Forbidden(f"key {key.id} has no right to {right}; it may {', '.join(key.rights)}")
    if reach == "room" and (key.agent is not None or key.user is not None):
        raise Forbidden(f"key {key.id} is bound to an agent or a user, and this concerns all who speak in a room")
    if reach in ("tenant", "store") and key.is_bound:
        raise Forbidden(f"key {key.id} is bound to labels, and this concerns the whole tenant")
    if reach == "store" and key.tenant != ALL_TENANTS:
        raise Forbidden(f"key {key.id} reaches one tenant, and this concerns them all")


def acting_as_key(key: ApiKey | str, request: Request) -> ActorContext:
    """Return what says in the audit trail which key (or its id) asked, and from where."""
    address = request.client.host if request.client else "unknown"
    id = key if isinstance(key, str) else key.id
    return acting(actor=f"key:{id}", session=request.state.id, address=address)


def too_large(limit: int) -> HttpError:
    """Return the fault of a body that is too large."""
    return HttpError(413, f"the body is larger than the {limit:,} bytes allowed here")


def too_slow(seconds: float) -> HttpError:
    """Return the fault of a body that does not come."""
    return HttpError(408, f"the body did not arrive within {seconds:g} seconds; send it faster, or in smaller parts")


def _credentials(request: Request) -> str:
    """Return what a request proves itself by, on the routes and on the pages."""
    return f"{request.headers.get('authorization', '')}\n{request.headers.get('cookie', '')}"


def _declared_size(request: Request) -> int:
    length = request.headers.get("content-length", "0")
    return int(length) if length.isdecimal() and len(length) <= _DIGITS else 0
