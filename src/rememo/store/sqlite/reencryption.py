"""Re-encrypting a tenant's contents by another key while others read and write."""

from collections.abc import Callable, Sequence
from typing import Any

from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.cipher.protocol import StoreCipher
from rememo.store.commits import content_hash
from rememo.store.drafts import Analysis
from rememo.store.erasure import NOTE
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.key_store import SqliteKeyStore
from rememo.store.sqlite.key_value import to_entry
from rememo.store.sqlite.words import MOST_STAGED, index_line, move, remove, stage, tables

_STEP = 100  # a step holds the writer's place for some ten milliseconds
_FIELDS = ("text", "data", "metadata", "source", "quarantine")
_VERSIONS = f"""SELECT number, id, version, kind, agent, user, room, superseded_at IS NULL, speaker, {", ".join(_FIELDS)}
FROM records WHERE number > ? AND tenant = ? ORDER BY number LIMIT ?"""
_UPDATE = """UPDATE records SET text = ?, data = ?, metadata = ?, source = ?, quarantine = ?, speaker = ?, fingerprint = ?, hash = ?
WHERE number = ?"""

# An erasure that was interrupted has noted what it must come back to.
_NOTES = "SELECT erasure, id FROM erased WHERE erasure IN (SELECT number FROM erasures WHERE tenant = ?)"


class SqliteReencryption:
    """The `Reencryption` protocol on a SQLite file."""

    def __init__(self, database: SqliteDatabase, codecs: SqliteCodecs, cipher: StoreCipher, analysis: Analysis) -> None:
        self._database = database
        self._codecs = codecs
        self._analysis = analysis
        self.cipher = cipher

    def tenants(self) -> list[str]:
        """Return the tenants whose contents can be read."""
        return [tenant for tenant in SqliteKeyStore(self._database).tenants() if not self._codecs.is_unreadable(tenant)]

    def reencrypt(self, tenant: str) -> int:
        """Seal everything of a tenant by its newest key, in short steps, and forget the older ones."""
        # Another key may be added meanwhile: then what was done so far is the work of the one who added it.
        newest, count, last = self.cipher.newest_serial(tenant), 0, 0
        while True:
            step: tuple[int, int] = self._database.write(
                lambda connection, last=last: self._step(connection, tenant, last)
            )
            if not step[1]:
                break
            last, count = step[0], count + step[1]
        self._each("SELECT space, key FROM kv WHERE tenant = ?", tenant, self._reencrypt_value)
        self._each("SELECT scope, key FROM keys WHERE tenant = ?", tenant, self._reencrypt_key)
        self._each("SELECT id FROM jobs WHERE tenant = ?", tenant, self._reencrypt_job)
        self._each(_NOTES, tenant, self._reencrypt_note)
        self.cipher.remove_keys_before(tenant, newest)
        return count

    def _step(self, connection: Connection, tenant: str, last: int) -> tuple[int, int]:
        codec = self._codecs.get(tenant)
        rows: list[Any] = connection.execute(_VERSIONS, (last, tenant, _STEP)).fetchall()
        for row in rows:
            self._reencrypt_version(connection, tenant, row, codec)
        if connection.execute("SELECT count(*) FROM staged").get >= MOST_STAGED:
            move(connection)
        # No version changed, so the clock shows nothing: views held ready must start over.
        connection.execute("UPDATE tenants SET epoch = epoch + 1 WHERE tenant = ?", (tenant,))
        return (rows[-1][0] if rows else last), len(rows)

    def _reencrypt_version(self, connection: Connection, tenant: str, row: Any, codec: FieldCodec) -> None:
        number, id, version, kind, agent, user, room, current, speaker, *kept = row
        texts = [codec.decode_optional(one, name, id, version) for name, one in zip(_FIELDS, kept, strict=True)]
        again = [codec.encode_optional(one, name, id, version) for name, one in zip(_FIELDS, texts, strict=True)]
        terms = self._analysis.terms(texts[0] or "")
        connection.execute(
            _UPDATE,
            (
                *again,
                codec.encode_name(codec.decode_name(speaker)),
                codec.blind_fingerprint(self._analysis.fingerprint(terms)),
                content_hash(kind, again[0] or "", again[1] or ""),
                number,
            ),
        )
        for (model,) in connection.execute("SELECT model FROM models").fetchall():
            place = model << 40 | number
            vector = connection.execute("SELECT vector FROM vectors WHERE place = ?", (place,)).get
            if (opened := codec.decode_vector(place, vector)) is not None:
                sealed = codec.encode_vector(opened, place)
                connection.execute("UPDATE vectors SET vector = ? WHERE place = ?", (sealed, place))
        table = tables(tenant)[0 if current else 1]
        scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
        remove(connection, table, number)
        stage(connection, table, number, index_line(scope, terms, codec.blind_index))

    def _each(self, sql: str, tenant: str, reencrypt: Callable[[Connection, str, Any, FieldCodec], None]) -> None:
        """Do something for each of some rows, a few in one transaction; rows that are gone by then are passed over."""
        rows = self._database.rows(sql, (tenant,))
        for start in range(0, len(rows), _STEP):
            part = rows[start : start + _STEP]

            def run(connection: Connection, part: Sequence[Any] = part) -> None:
                codec = self._codecs.get(tenant)
                for row in part:
                    reencrypt(connection, tenant, row, codec)

            self._database.write(run)

    def _reencrypt_value(self, connection: Connection, tenant: str, row: Any, codec: FieldCodec) -> None:
        where = "WHERE tenant = ? AND space = ? AND key = ?"
        held: Any = connection.execute(
            f"SELECT key, value, version, expires_at, sliding FROM kv {where}", (tenant, *row)
        ).get
        if held is not None:
            space = row[0]
            entry = to_entry(held, space, codec)
            value = codec.encode(entry.value, FIELD, value_identity(space, entry.key), entry.version)
            connection.execute(
                f"UPDATE kv SET key = ?, value = ? {where}", (codec.encode_name(entry.key), value, tenant, *row)
            )

    def _reencrypt_key(self, connection: Connection, tenant: str, row: Any, codec: FieldCodec) -> None:
        name = codec.encode_name(codec.decode_name(row[1]))
        connection.execute("UPDATE keys SET key = ? WHERE tenant = ? AND scope = ? AND key = ?", (name, tenant, *row))

    def _reencrypt_job(self, connection: Connection, tenant: str, row: Any, codec: FieldCodec) -> None:
        (id,) = row
        held: Any = connection.execute("SELECT payload, error FROM jobs WHERE tenant = ? AND id = ?", (tenant, id)).get
        if held is not None:
            payload = encode_payload(decode_payload(held[0], id, codec), id, codec)
            error = codec.encode_optional(codec.decode_optional(held[1], "error", id, 0), "error", id, 0)
            connection.execute(
                "UPDATE jobs SET payload = ?, error = ? WHERE tenant = ? AND id = ?", (payload, error, tenant, id)
            )

    def _reencrypt_note(self, connection: Connection, tenant: str, row: Any, codec: FieldCodec) -> None:
        erasure, id = row
        where = "WHERE erasure IN (SELECT number FROM erasures WHERE tenant = ? AND number = ?) AND id = ?"
        held: Any = connection.execute(f"SELECT note FROM erased {where}", (tenant, *row)).get
        if held is not None:
            note = codec.encode(codec.decode(held, NOTE, id, erasure), NOTE, id, erasure)
            connection.execute(f"UPDATE erased SET note = ? {where}", (note, tenant, *row))
