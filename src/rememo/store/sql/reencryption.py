"""Re-encrypting a tenant's data with another key while others read and write."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic

from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.cipher.protocol import KeyStore, StoreCipher
from rememo.store.drafts import Analysis
from rememo.store.erasure import NOTE
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.sql.dialect import SqlDialect, in_steps
from rememo.store.sql.key_value import ENTRY_COLUMNS, to_entry
from rememo.store.sql.part import C, D
from rememo.store.sql.session import SqlSession
from rememo.store.sql.version_fields import decode_fields, encode_fields, field_columns, update_fields

_STEP = 100  # a step holds up writers for some ten milliseconds
_VALUE = f"SELECT {ENTRY_COLUMNS} FROM kv WHERE tenant = ? AND space = ? AND key = ?"
_SET_VALUE = "UPDATE kv SET key = ?, value = ? WHERE tenant = ? AND space = ? AND key = ?"
_SET_KEY = "UPDATE keys SET key = ? WHERE tenant = ? AND scope = ? AND key = ?"
_JOB = "SELECT payload, error FROM jobs WHERE tenant = ? AND id = ?"
_SET_JOB = "UPDATE jobs SET payload = ?, error = ? WHERE tenant = ? AND id = ?"


class SqlReencryption(ABC, Generic[D, C]):
    """The `Reencryption` protocol."""

    dialect: ClassVar[SqlDialect]

    def __init__(self, database: D, codecs: C, cipher: StoreCipher, key_store: KeyStore, analysis: Analysis) -> None:
        self._database = database
        self._codecs = codecs
        self._key_store = key_store
        self._analysis = analysis
        self.cipher = cipher

    @abstractmethod
    def _reencrypt_vectors(self, session: Any, tenant: str, numbers: Sequence[int], codec: Any, /) -> None:
        """Encrypt the vectors of versions with the newest key."""

    @abstractmethod
    def _index_words(  # noqa: PLR0917 - a version is that much
        self, session: Any, scope: Scope, number: int, terms: Sequence[str], codec: Any, current: bool, /
    ) -> None:
        """Index the words of a version by the newest key."""

    def _end_step(self, session: Any) -> None:
        """Do what is due at the end of a step."""

    def tenants(self) -> list[str]:
        """Return the tenants whose data can be decrypted."""
        return [tenant for tenant in self._key_store.tenants() if not self._codecs.is_unreadable(tenant)]

    def reencrypt(self, tenant: str) -> int:
        """Encrypt everything of a tenant with its newest key, in short steps, and remove the older ones."""
        # Another key may be added meanwhile: then what was done so far is the work of the one who added it.
        newest, count, last = self.cipher.newest_serial(tenant), 0, 0
        while True:
            step: tuple[int, int] = self._codecs.write(
                self._database, lambda session, last=last: self._step(session, tenant, last), tenant
            )
            if not step[1]:
                break
            last, count = step[0], count + step[1]
        marks = f"SELECT erasure, id FROM erased WHERE {self.dialect.erased_of_tenant}"
        for sql, reencrypt in (
            ("SELECT space, key FROM kv WHERE tenant = ?", self._reencrypt_value),
            ("SELECT scope, key FROM keys WHERE tenant = ?", self._reencrypt_key),
            ("SELECT id FROM jobs WHERE tenant = ?", self._reencrypt_job),
            # An erasure that was interrupted has noted what it must come back to.
            (marks, self._reencrypt_mark),
        ):
            self._each(sql, tenant, reencrypt)
        self.cipher.remove_keys_before(tenant, newest)
        return count

    def _step(self, session: SqlSession, tenant: str, last: int) -> tuple[int, int]:
        codec = self._codecs.bump_epoch(session, tenant)
        columns = ", ".join(field_columns(self.dialect))
        rows = session.rows(
            f'SELECT number, id, version, kind, agent, "user", room, superseded_at IS NULL, speaker, {columns}'
            f" FROM records WHERE tenant = ? AND number > ? ORDER BY number LIMIT {_STEP}",
            (tenant, last),
        )
        for row in rows:
            self._reencrypt_version(session, tenant, row, codec)
        self._reencrypt_vectors(session, tenant, [row[0] for row in rows], codec)
        self._end_step(session)
        return (rows[-1][0] if rows else last), len(rows)

    def _reencrypt_version(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec) -> None:
        number, id, version, kind, agent, user, room, current, speaker, *stored = row
        fields = decode_fields(codec, stored, id, version)
        terms = self._analysis.terms(fields["text"] or "")
        session.execute(
            f"UPDATE records SET speaker = ?, fingerprint = ?, {update_fields(self.dialect)}"
            " WHERE tenant = ? AND number = ?",
            (
                codec.encode_name(codec.decode_name(speaker)),
                codec.blind_fingerprint(self._analysis.fingerprint(terms)),
                *encode_fields(codec, kind, fields, id, version),
                tenant,
                number,
            ),
        )
        scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
        self._index_words(session, scope, number, terms, codec, bool(current))

    def _each(self, sql: str, tenant: str, reencrypt: Callable[[SqlSession, str, Any, FieldCodec], None]) -> None:
        """Do something for each of some rows, a few in one transaction; rows that are gone by then are passed over."""
        for part in in_steps(self._database.rows(sql, (tenant,)), _STEP):

            def run(session: SqlSession, part: Sequence[Any] = part) -> None:
                codec = self._codecs.locked(session, tenant)
                for row in part:
                    reencrypt(session, tenant, row, codec)

            self._codecs.write(self._database, run, tenant)

    def _reencrypt_value(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec) -> None:
        stored = session.row(_VALUE + self.dialect.lock, (tenant, *row))
        if stored is not None:
            space = row[0]
            entry = to_entry(stored, space, codec)
            value = codec.encode(entry.value, FIELD, value_identity(space, entry.key), entry.version)
            session.execute(_SET_VALUE, (codec.encode_name(entry.key), value, tenant, *row))

    def _reencrypt_key(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec) -> None:
        session.execute(_SET_KEY, (codec.encode_name(codec.decode_name(row[1])), tenant, *row))

    def _reencrypt_job(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec) -> None:
        (id,) = row
        stored = session.row(_JOB + self.dialect.lock, (tenant, id))
        if stored is not None:
            payload = encode_payload(decode_payload(stored[0], id, codec), id, codec)
            error = codec.encode_optional(codec.decode_optional(stored[1], "error", id, 0), "error", id, 0)
            session.execute(_SET_JOB, (payload, error, tenant, id))

    def _reencrypt_mark(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec) -> None:
        erasure, id = row
        where = f"WHERE {self.dialect.erased_of} AND id = ?"
        stored = session.value(f"SELECT note FROM erased {where}{self.dialect.lock}", (tenant, *row))
        if stored is not None:
            note = codec.encode(codec.decode(stored, NOTE, id, erasure), NOTE, id, erasure)
            session.execute(f"UPDATE erased SET note = ? {where}", (note, tenant, *row))
