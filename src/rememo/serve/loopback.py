"""Whether a request comes from this machine: the only requests that a server without keys answers."""

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
"""Headers in which proxies name their client; entries of several proxies are separated by commas."""


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine, is addressed to it, and was not forwarded for a remote client.

    The Host header is checked against DNS rebinding, and forwarding headers against proxies on this machine.
    """
    host = _without_port(request.headers.get("host", ""))
    return (
        request.client is not None
        and is_loopback(request.client.host)
        and is_loopback(host)
        and all(is_loopback(client) for client in clients_behind_proxies(request.headers))
    )


def clients_behind_proxies(headers: Headers) -> Iterator[str]:
    """Yield the clients that forwarding headers name; an empty text for a proxy that names none."""
    for name in _CLIENT_HEADERS:
        for value in headers.getlist(name):
            yield from (_without_port(client.strip()) for client in value.split(","))
    for value in headers.getlist("forwarded"):
        for hop in value.split(","):
            pairs = (pair.strip().partition("=") for pair in hop.split(";"))
            named = [client for key, _, client in pairs if key.lower() == "for"]
            yield from (_without_port(client.strip('"')) for client in named or [""])
    names_client = any(name in headers for name in (*_CLIENT_HEADERS, "forwarded"))
    # A proxy that forwards only the host or scheme forwards for a client too.
    if "via" in headers or (not names_client and any(name.startswith("x-forwarded-") for name in headers)):
        yield ""


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address or name."""
    if host in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hostname(address: str) -> str:
    """Return the host of a URL, or an empty text."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # brackets that hold no address
        return ""


def _without_port(host: str) -> str:
    if "]" in host:
        return host[: host.index("]") + 1]
    # More than one colon is an IPv6 address without brackets, as proxies write it.
    return host.partition(":")[0] if host.count(":") == 1 else host
