"""Addresses: what of a `redis://…` address is for the server, and what is for Rememo."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from rememo.errors import InvalidInput

SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")
_SECURE = ("rediss", "valkeys")
_PORT = 6379
_PREFIX = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_EXAMPLE = "redis://localhost:6379/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """Where a Redis server is."""

    arguments: dict[str, Any] = field(repr=False)
    """What the driver is given; a password may be among it."""
    shown: str
    """What messages may show: no password."""
    prefix: str = "rememo"
    """What all names begin with; `?prefix=…` in the address."""


def is_redis(url: str) -> bool:
    """Tell whether an address is that of a Redis server."""
    return url.partition("://")[0] in SCHEMES and "://" in url


def parse_address(url: str) -> RedisAddress:
    """Return the parts of an address; one that cannot be meant raises `InvalidInput`, which never tells a password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # What the library says may hold a part of the password.
        raise InvalidInput(
            f"this is not an address of a Redis server; write {_EXAMPLE}, with odd signs of a password as %40"
        ) from None
    if parts.scheme not in SCHEMES:
        raise InvalidInput(f"a Redis server's address begins with redis://, not {parts.scheme!r}; write {_EXAMPLE}")
    if parts.fragment or "\x00" in url:
        raise InvalidInput("the address has a # or a NUL in it; write them as %23, or leave them out")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    prefix = given.pop("prefix", "rememo")
    if not _PREFIX.fullmatch(prefix):
        raise InvalidInput(f"prefix must be letters, digits, dots and dashes, such as rememo, not {prefix!r}")
    arguments: dict[str, Any] = {"socket_timeout": _seconds(given.pop("timeout", "2"))}
    arguments["socket_connect_timeout"] = arguments["socket_timeout"]
    place, number, where = _where(parts, port, given)
    if not (number.isascii() and number.isdecimal()):
        raise InvalidInput(f"the address names the database {number!r}; it has a number, such as 0: {_EXAMPLE}")
    if given:
        raise InvalidInput(
            f"a Redis address knows no {min(given)!r}; it may have prefix, timeout, db and {', '.join(_TLS)}"
        )
    arguments |= {"db": int(number), **where}
    if parts.username:
        arguments["username"] = unquote(parts.username)
    if parts.password:
        arguments["password"] = unquote(parts.password)
    return RedisAddress(arguments=arguments, shown=f"{place}/{int(number)}", prefix=prefix)


def _where(parts: SplitResult, port: int | None, given: dict[str, str]) -> tuple[str, str, dict[str, Any]]:
    """Return how a server is shown, the number of its database, and what the driver finds it by."""
    path = unquote(parts.path)
    if parts.scheme == "unix":
        if not path.startswith("/") or parts.hostname:
            raise InvalidInput("a unix:// address needs the socket's whole path: unix:///run/redis/redis.sock")
        return f"unix://{path}", given.pop("db", "0"), {"unix_socket_path": path}
    if not parts.hostname:
        raise InvalidInput(f"the address names no host; write {_EXAMPLE}")
    where: dict[str, Any] = {"host": parts.hostname, "port": port or _PORT}
    if parts.scheme in _SECURE:
        where |= {"ssl": True, **{name: given.pop(name) for name in _TLS if name in given}}
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORT}", given.pop("db", "") or path.strip("/") or "0", where


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:  # noqa: PLR2004 - ten minutes
        raise InvalidInput(f"timeout must be seconds from above 0 to 600, not {text!r}")
    return seconds
