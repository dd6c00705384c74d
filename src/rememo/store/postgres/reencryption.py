"""Re-encrypting a tenant's contents by another key while others read and write."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rememo.model.scope import Scope
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.cipher.protocol import StoreCipher
from rememo.store.commits import content_hash
from rememo.store.drafts import Analysis
from rememo.store.erasure import NOTE
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.key_store import PostgresKeyStore
from rememo.store.postgres.key_value import to_entry
from rememo.store.postgres.session import Session
from rememo.store.postgres.tenant_guard import guard_tenants
from rememo.store.postgres.vectors import from_wire, to_wire
from rememo.store.postgres.words import index_terms

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


@guard_tenants(store_wide=frozenset(("tenants",)))
class PostgresReencryption:
    """The `Reencryption` protocol on a schema of a PostgreSQL database."""

    def __init__(
        self, database: PostgresDatabase, codecs: PostgresCodecs, cipher: StoreCipher, analysis: Analysis
    ) -> None:
        self._database = database
        self._codecs = codecs
        self._analysis = analysis
        self.cipher = cipher

    def tenants(self) -> list[str]:
        """Return the tenants whose contents can be read."""
        return [
            tenant for tenant in PostgresKeyStore(self._database).tenants() if not self._codecs.is_unreadable(tenant)
        ]

    def reencrypt(self, tenant: str) -> int:
        """Seal everything of a tenant by its newest key, in short steps, and forget the older ones."""
        # Another key may be added meanwhile: then what was done so far is the work of the one who added it.
        newest, count, last = self.cipher.newest_serial(tenant), 0, 0
        while True:
            step: tuple[int, int] = self._codecs.write(
                self._database, lambda session, last=last: self._step(session, tenant, last), tenant
            )
            if not step[1]:
                break
            last, count = step[0], count + step[1]
        for sql, reencrypt in (
            (_KV, _reencrypt_value),
            (_KEYS, _reencrypt_key),
            (_JOBS, _reencrypt_job),
            (_NOTES, _reencrypt_note),
        ):
            self._each(sql, tenant, reencrypt)
        self.cipher.remove_keys_before(tenant, newest)
        return count

    def _step(self, session: Session, tenant: str, last: int) -> tuple[int, int]:
        codec = self._codecs.at_serial(tenant, session.value(_TURN, (tenant,)) or 0)
        rows = session.rows(_VERSIONS, (tenant, last))
        for row in rows:
            self._reencrypt_version(session, tenant, row, codec)
        for model, number, kept in session.rows(_VECTORS, (tenant, [row[0] for row in rows])):
            opened = np.frombuffer(from_wire(model, [(number, kept)], codec)[number], np.float32)
            session.execute(_SET_VECTOR, (to_wire(opened, model, number, codec), tenant, model, number))
        return (rows[-1][0] if rows else last), len(rows)

    def _reencrypt_version(self, session: Session, tenant: str, row: Any, codec: PostgresCodec) -> None:
        number, id, version, kind, agent, user, room, speaker, text, packed, *kept = row
        said = codec.decode_text(text, packed, id, version)
        again, packed_again = codec.encode_text(said, id, version)
        fields = [
            codec.encode_optional(codec.decode_optional(one, name, id, version), name, id, version)
            for name, one in zip(_FIELDS, kept, strict=True)
        ]
        terms = self._analysis.terms(said)
        digest = content_hash(kind, again if packed_again is None else packed_again, fields[0] or "")
        name, mark = (
            codec.encode_name(codec.decode_name(speaker)),
            codec.blind_fingerprint(self._analysis.fingerprint(terms)),
        )
        session.execute(_UPDATE, (again, packed_again, *fields, name, mark, digest, tenant, number))
        scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
        session.execute(_WORDS, (index_terms(scope, terms, codec.blind_index), tenant, number))

    def _each(self, sql: str, tenant: str, reencrypt: Callable[[Session, str, Any, PostgresCodec], None]) -> None:
        """Do something for each of some rows, a few in one transaction; rows that are gone by then are passed over."""
        rows = self._database.rows(sql, (tenant,))
        for start in range(0, len(rows), _STEP):
            part = rows[start : start + _STEP]

            def run(session: Session, part: Sequence[Any] = part) -> None:
                codec = self._codecs.locked(session, tenant)
                for row in part:
                    reencrypt(session, tenant, row, codec)

            self._codecs.write(self._database, run, tenant)


def _reencrypt_value(session: Session, tenant: str, row: Any, codec: PostgresCodec) -> None:
    held = session.row(_VALUE, (tenant, *row))
    if held is not None:
        space = row[0]
        one = to_entry(held, space, codec)
        value = codec.encode(one.value, FIELD, value_identity(space, one.key), one.version)
        session.execute(_SET_VALUE, (codec.encode_name(one.key), value, tenant, *row))


def _reencrypt_key(session: Session, tenant: str, row: Any, codec: PostgresCodec) -> None:
    session.execute(_SET_KEY, (codec.encode_name(codec.decode_name(row[1])), tenant, *row))


def _reencrypt_job(session: Session, tenant: str, row: Any, codec: PostgresCodec) -> None:
    (id,) = row
    held = session.row(_JOB, (tenant, id))
    if held is not None:
        payload = encode_payload(decode_payload(held[0], id, codec), id, codec)
        error = codec.encode_optional(codec.decode_optional(held[1], "error", id, 0), "error", id, 0)
        session.execute(_SET_JOB, (payload, error, tenant, id))


def _reencrypt_note(session: Session, tenant: str, row: Any, codec: PostgresCodec) -> None:
    erasure, id = row
    held = session.row(_NOTE, (tenant, *row))
    if held is not None:
        note = codec.decode(held[0], NOTE, id, erasure)
        session.execute(_SET_NOTE, (codec.encode(note, NOTE, id, erasure), tenant, *row))
