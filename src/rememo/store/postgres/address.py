"""Addresses: what of a `postgresql://…` address is for the server, and what is for Rememo."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from rememo.errors import InvalidInput

SCHEMES = ("postgresql", "postgres")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NAME = re.compile(r"[a-z_]{1,40}")
_MOST_CONNECTIONS = 1_000
_MOST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """Where a store is on a server."""

    conninfo: str = field(repr=False)
    """What the driver is given; the password is in it."""
    shown: str
    """What messages may show: no password."""
    schema: str = "rememo"
    """The schema that Rememo's tables are in; `?schema=…` in the address."""
    pool_size: int = 10
    """How many connections a process opens at the most; `?pool_size=…` in the address."""
    options: str = ""
    """Settings for each session that stood in the address."""
    named: frozenset[str] = frozenset()
    """What the address says of the connection itself: for the rest there are defaults."""


def parse_address(url: str) -> PostgresAddress:
    """Return the parts of an address; one that cannot be meant raises `InvalidInput`, and never shows a password."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidInput(f"this is not an address of a PostgreSQL server: {error}") from None
    if parts.fragment or "\x00" in url:
        raise InvalidInput("the address has a # or a NUL in it; write them as %23, or leave them out")
    if parts.netloc.count("@") > 1:
        raise InvalidInput("the address has an @ in its user or password; write it as %40")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = given.pop("schema", "rememo")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(f"schema must be a small-letter name such as rememo, not {schema!r}")
    size = given.pop("pool_size", "10")
    if not size.isdecimal() or not 1 <= int(size) <= _MOST_CONNECTIONS:
        raise InvalidInput(f"pool_size must be a whole number from 1 to {_MOST_CONNECTIONS:,}, not {size!r}")
    options = given.pop("options", "")
    _check_names(given)
    query = urlencode(given, quote_via=quote)
    conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
    known = None
    # What the driver says of one that it cannot read quotes it, with the password: it is not handed on.
    with suppress(psycopg.Error):
        known = conninfo_to_dict(conninfo)
    if known is None:
        raise InvalidInput(
            "this is not an address of a PostgreSQL server; it is postgresql://user:password@host:port/database,"
            " with : / ? # @ and % in the user or the password written as %3A %2F %3F %23 %40 and %25"
        )
    hosts = _hosts(str(known.get("host") or ""), str(known.get("port") or ""))
    return PostgresAddress(
        conninfo=conninfo,
        shown=f"postgresql://{hosts}/{known.get('dbname') or ''}" + ("" if schema == "rememo" else f"?schema={schema}"),
        schema=schema,
        pool_size=int(size),
        options=options,
        named=frozenset(known),
    )


def _check_names(given: dict[str, str]) -> None:
    keywords = {option.keyword.decode() for option in Conninfo.get_defaults()}
    for name in given:
        if name not in keywords:
            # A name that is none may be the end of a password.
            shown_name = f" {name!r}" if _NAME.fullmatch(name) else ""
            raise InvalidInput(
                f"the address has something behind its ? that PostgreSQL does not know{shown_name}; see libpq's keywords"
            )


def _hosts(hosts: str, ports: str) -> str:
    """Return the servers of an address as they are shown: several, where one takes over from another."""
    numbers = ports.split(",") if ports else []
    for port in numbers:
        if port and not (port.isdecimal() and 1 <= int(port) <= _MOST_PORT):
            raise InvalidInput(f"the port in the address of a PostgreSQL server must be a number up to {_MOST_PORT:,}")
    names = hosts.split(",")
    if len(numbers) == 1:
        numbers *= len(names)
    if len(numbers) not in (0, len(names)):
        raise InvalidInput("the address of a PostgreSQL server has more ports than hosts, or fewer")
    return ",".join(
        (f"[{name}]" if ":" in name else name) + (f":{port}" if port else "")
        for name, port in zip(names, numbers or [""] * len(names), strict=True)
    )
