"""What a filter means where contents are encrypted: the server cannot tell, so its conditions are tried here."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from rememo.model.filters import Filter
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import Sql, select
from rememo.store.postgres.session import PostgresSession

Build = Callable[[Filter, Sequence[int] | None], Sql]
"""Makes the query for a filter, and for these numbers only if some are given."""


def rows_of(
    session: PostgresSession, filter: Filter, moment: datetime, build: Build, codecs: PostgresCodecs
) -> list[Any]:
    """Return the rows of the query for a filter, in one state of the store."""
    if not filter.conditions or codecs.cipher is None:
        return session.rows(*build(filter, None))
    return session.rows(*build(filter.narrowed(conditions=()), _numbers(session, filter, moment, codecs)))


def read_rows(
    database: PostgresDatabase, filter: Filter, moment: datetime, build: Build, codecs: PostgresCodecs
) -> list[Any]:
    """Return the rows of the query for a filter; a tenant whose keys were dropped raises `KeyMismatch`."""
    codecs.get(filter.scope.tenant)
    if not filter.conditions or codecs.cipher is None:
        return database.rows(*build(filter, None))
    with database.snapshot() as session:
        return rows_of(session, filter, moment, build, codecs)


def _numbers(session: PostgresSession, filter: Filter, moment: datetime, codecs: PostgresCodecs) -> list[int]:
    """Return the numbers of the versions that pass a filter's conditions."""
    tenant = filter.scope.tenant
    columns = sorted({condition.column for condition in filter.conditions})
    query = select(filter.narrowed(conditions=()), moment, f"number, id, version, {', '.join(columns)}")
    numbers: list[int] = []
    for number, id, version, *kept in session.rows(*query):
        fields = {
            column: json.loads(codecs.decode_cached(tenant, id, version, column, encoded))
            for column, encoded in zip(columns, kept, strict=True)
        }
        if all(condition.holds_in(fields[condition.column]) for condition in filter.conditions):
            numbers.append(number)
    return numbers
