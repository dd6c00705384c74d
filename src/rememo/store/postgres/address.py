"""Addresses: what of a `postgresql://…` address is for the server, and what is for Rememo."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from rememo.errors import InvalidInput

SCHEMES = ("postgresql", "postgres")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_MOST_CONNECTIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a store is on a server."""

    conninfo: str
    """What the driver is given."""
    shown: str
    """What messages may show: no password."""
    schema: str = "rememo"
    """The schema that Rememo's tables are in; `?schema=…` in the address."""
    pool_size: int = 10
    """How many connections a process opens at the most; `?pool_size=…` in the address."""
    options: str = ""
    """Settings for each session that stood in the address."""


def parse_address(url: str) -> Address:
    """Return the parts of an address; one that cannot be meant raises `InvalidInput`."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(f"this is not an address of a PostgreSQL server: {error}") from None
    if parts.fragment or "\x00" in url:
        raise InvalidInput("the address has a # or a NUL in it; write them as %23, or leave them out")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = given.pop("schema", "rememo")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(f"schema must be a small-letter name such as rememo, not {schema!r}")
    size = given.pop("pool_size", "10")
    if not size.isdecimal() or not 1 <= int(size) <= _MOST_CONNECTIONS:
        raise InvalidInput(f"pool_size must be a whole number from 1 to {_MOST_CONNECTIONS:,}, not {size!r}")
    options = given.pop("options", "")
    host = given.get("host") or parts.hostname or ""
    database = parts.path.removeprefix("/")
    return Address(
        conninfo=urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(given, quote_via=quote), "")),
        shown=f"postgresql://{host}{f':{parts.port}' if parts.port else ''}/{database}"
        + ("" if schema == "rememo" else f"?schema={schema}"),
        schema=schema,
        pool_size=int(size),
        options=options,
    )
