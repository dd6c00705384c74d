"""Sealing a tenant's contents by another key while others read and write."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rememo.model.scope import Scope
from rememo.store.commits import content_hash
from rememo.store.erasing import NOTE
from rememo.store.kv.postgres import to_entry
from rememo.store.kv.protocol import FIELD, identity
from rememo.store.payloads import keep_payload, read_payload
from rememo.store.postgres.database import Database
from rememo.store.postgres.reach import walled
from rememo.store.postgres.safe import ServerContents, ServerSafe
from rememo.store.postgres.session import Session
from rememo.store.postgres.vault import PostgresVault
from rememo.store.postgres.vectors import from_wire, to_wire
from rememo.store.postgres.words import entry
from rememo.store.protocol import Analysis
from rememo.store.seal import Seal

_STEP = 100
# No version changed, so the clock shows nothing: views held ready must start over.
_TURN = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s RETURNING sealed_by"
_FIELDS = ("data", "metadata", "source", "quarantine")
_VERSIONS = f"""SELECT number, id, version, kind, agent, "user", room, speaker, text, packed, {", ".join(_FIELDS)}
FROM records WHERE tenant = %s AND number > %s ORDER BY number LIMIT {_STEP}"""
_UPDATE = """UPDATE records SET text = %s, packed = %s, data = %s, metadata = %s, source = %s, quarantine = %s, speaker = %s,
  fingerprint = %s, hash = %s WHERE tenant = %s AND number = %s"""
_WORDS = "UPDATE words SET terms = %s WHERE tenant = %s AND number = %s"
_VECTORS = "SELECT model, number, sealed FROM vectors WHERE tenant = %s AND number = ANY(%s::bigint[])"
_SET_VECTOR = "UPDATE vectors SET sealed = %s WHERE tenant = %s AND model = %s AND number = %s"
_KV = "SELECT space, key FROM kv WHERE tenant = %s"
_VALUE = """SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = %s AND space = %s AND key = %s FOR UPDATE"""
_SET_VALUE = "UPDATE kv SET key = %s, value = %s WHERE tenant = %s AND space = %s AND key = %s"
_KEYS = "SELECT scope, key FROM keys WHERE tenant = %s"
_SET_KEY = "UPDATE keys SET key = %s WHERE tenant = %s AND scope = %s AND key = %s"
_JOBS = "SELECT id FROM jobs WHERE tenant = %s"
_JOB = "SELECT payload, error FROM jobs WHERE tenant = %s AND id = %s FOR UPDATE"
_SET_JOB = "UPDATE jobs SET payload = %s, error = %s WHERE tenant = %s AND id = %s"
_NOTES = "SELECT erasure, id FROM erased WHERE tenant = %s"
_NOTE = "SELECT note FROM erased WHERE tenant = %s AND erasure = %s AND id = %s FOR UPDATE"
_SET_NOTE = "UPDATE erased SET note = %s WHERE tenant = %s AND erasure = %s AND id = %s"


@walled(store_wide=frozenset(("tenants",)))
class PostgresSealing:
    """The `Sealing` protocol on a schema of a PostgreSQL database."""

    def __init__(self, database: Database, safe: ServerSafe, seal: Seal, analysis: Analysis) -> None:
        self._database = database
        self._safe = safe
        self._analysis = analysis
        self.seal = seal

    def tenants(self) -> list[str]:
        """Return the tenants whose contents can be read."""
        return [tenant for tenant in PostgresVault(self._database).tenants() if not self._safe.lost(tenant)]

    def reseal(self, tenant: str) -> int:
        """Seal everything of a tenant by its newest key, in short steps, and forget the older ones."""
        # Another key may be added meanwhile: then what was done so far is the work of the one who added it.
        newest, count, last = self.seal.newest(tenant), 0, 0
        while True:
            step: tuple[int, int] = self._safe.write(
                self._database, lambda session, last=last: self._step(session, tenant, last), tenant
            )
            if not step[1]:
                break
            last, count = step[0], count + step[1]
        for sql, reseal in (
            (_KV, _reseal_value),
            (_KEYS, _reseal_key),
            (_JOBS, _reseal_job),
            (_NOTES, _reseal_note),
        ):
            self._each(sql, tenant, reseal)
        self.seal.retire(tenant, newest)
        return count

    def _step(self, session: Session, tenant: str, last: int) -> tuple[int, int]:
        contents = self._safe.in_step(tenant, session.value(_TURN, (tenant,)) or 0)
        rows = session.rows(_VERSIONS, (tenant, last))
        for row in rows:
            self._reseal_version(session, tenant, row, contents)
        for model, number, kept in session.rows(_VECTORS, (tenant, [row[0] for row in rows])):
            opened = np.frombuffer(from_wire(model, [(number, kept)], contents)[number], np.float32)
            session.execute(_SET_VECTOR, (to_wire(opened, model, number, contents), tenant, model, number))
        return (rows[-1][0] if rows else last), len(rows)

    def _reseal_version(self, session: Session, tenant: str, row: Any, contents: ServerContents) -> None:
        number, id, version, kind, agent, user, room, speaker, text, packed, *kept = row
        said = contents.get_text(text, packed, id, version)
        again, packed_again = contents.put_text(said, id, version)
        fields = [
            contents.put_optional(contents.get_optional(one, name, id, version), name, id, version)
            for name, one in zip(_FIELDS, kept, strict=True)
        ]
        terms = self._analysis.terms(said)
        digest = content_hash(kind, again if packed_again is None else packed_again, fields[0] or "")
        name, mark = contents.put_name(contents.get_name(speaker)), contents.mark(self._analysis.fingerprint(terms))
        session.execute(_UPDATE, (again, packed_again, *fields, name, mark, digest, tenant, number))
        scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
        session.execute(_WORDS, (entry(scope, terms, contents.veil), tenant, number))

    def _each(self, sql: str, tenant: str, reseal: Callable[[Session, str, Any, ServerContents], None]) -> None:
        """Do something for each of some rows, a few in one transaction; rows that are gone by then are passed over."""
        rows = self._database.rows(sql, (tenant,))
        for start in range(0, len(rows), _STEP):
            part = rows[start : start + _STEP]

            def run(session: Session, part: Sequence[Any] = part) -> None:
                contents = self._safe.held(session, tenant)
                for row in part:
                    reseal(session, tenant, row, contents)

            self._safe.write(self._database, run, tenant)


def _reseal_value(session: Session, tenant: str, row: Any, contents: ServerContents) -> None:
    held = session.row(_VALUE, (tenant, *row))
    if held is not None:
        space = row[0]
        one = to_entry(held, space, contents)
        value = contents.put(one.value, FIELD, identity(space, one.key), one.version)
        session.execute(_SET_VALUE, (contents.put_name(one.key), value, tenant, *row))


def _reseal_key(session: Session, tenant: str, row: Any, contents: ServerContents) -> None:
    session.execute(_SET_KEY, (contents.put_name(contents.get_name(row[1])), tenant, *row))


def _reseal_job(session: Session, tenant: str, row: Any, contents: ServerContents) -> None:
    (id,) = row
    held = session.row(_JOB, (tenant, id))
    if held is not None:
        payload = keep_payload(read_payload(held[0], id, contents), id, contents)
        error = contents.put_optional(contents.get_optional(held[1], "error", id, 0), "error", id, 0)
        session.execute(_SET_JOB, (payload, error, tenant, id))


def _reseal_note(session: Session, tenant: str, row: Any, contents: ServerContents) -> None:
    erasure, id = row
    held = session.row(_NOTE, (tenant, *row))
    if held is not None:
        note = contents.get(held[0], NOTE, id, erasure)
        session.execute(_SET_NOTE, (contents.put(note, NOTE, id, erasure), tenant, *row))
