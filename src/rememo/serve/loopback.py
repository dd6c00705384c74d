"""Whether a request comes from this machine: that is all that a server without keys asks for."""

import ipaddress
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request

_LOOPBACK_NAMES: Final = {"localhost"}
_CLIENT_HEADERS: Final = (
    "x-forwarded-for", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip",
    "fastly-client-ip", "fly-client-ip",
)  # fmt: skip
"""Headers in which proxies name the client that they speak for; what several proxies say stands between commas."""


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine and means it.

    A web page may not send its visitors here by a name, and a proxy on this machine brings requests from elsewhere.
    """
    host = _without_port(request.headers.get("host", ""))
    return (
        request.client is not None
        and is_loopback(request.client.host)
        and is_loopback(host)
        and all(is_loopback(client) for client in clients_behind_proxies(request.headers))
    )


def clients_behind_proxies(headers: Headers) -> Iterator[str]:
    """Give whom proxies say that they speak for; an empty text for a proxy that names nobody."""
    for name in _CLIENT_HEADERS:
        for value in headers.getlist(name):
            yield from (_without_port(client.strip()) for client in value.split(","))
    for value in headers.getlist("forwarded"):
        for hop in value.split(","):
            pairs = (pair.strip().partition("=") for pair in hop.split(";"))
            named = [client for key, _, client in pairs if key.lower() == "for"]
            yield from (_without_port(client.strip('"')) for client in named or [""])
    names_client = any(name in headers for name in (*_CLIENT_HEADERS, "forwarded"))
    # A proxy that says by which name or scheme it was asked speaks for somebody too.
    if "via" in headers or (not names_client and any(name.startswith("x-forwarded-") for name in headers)):
        yield ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, and nothing else can reach it."""
    if host in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hostname(address: str) -> str:
    """Return the host that an address names, or nothing."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # brackets that hold no address
        return ""


def _without_port(host: str) -> str:
    if "]" in host:
        return host[: host.index("]") + 1]
    # More than one colon is an IPv6 address without brackets, as proxies write it.
    return host.partition(":")[0] if host.count(":") == 1 else host
