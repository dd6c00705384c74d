"""Giving the records of a file other ids; contents are encrypted for the id they belong to, so they are re-encrypted."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.commits import content_hash
from rememo.store.erasure import NOTE
from rememo.store.id_renaming import STEP, IdChanges, VersionIdentity
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.key_value import to_entry
from rememo.store.sqlite.part import SqlitePart

_PAGE = 500
_FIELDS = ("text", "data", "metadata", "source", "quarantine")
_IDENTITIES = f"""SELECT id, version, kind, agent, user, room, source, data, metadata FROM records
WHERE tenant = ? AND (id, version) > (?, ?) ORDER BY id, version LIMIT {_PAGE}"""
_VERSIONS = f"SELECT number, version, kind, {', '.join(_FIELDS)} FROM records WHERE tenant = ? AND id = ?"
_TAKEN = "SELECT EXISTS (SELECT 1 FROM records WHERE tenant = ? AND id = ?)"
_UPDATE = """UPDATE records SET id = ?, text = ?, data = ?, metadata = ?, source = ?, quarantine = ?, hash = ?
WHERE number = ?"""


class SqliteIdRenaming(SqlitePart):
    """The `Renaming` half of the store."""

    def older_tenants(self) -> list[str]:
        """Return the tenants whose derived ids are still those of an earlier release, sorted."""
        return [row[0] for row in self._database.rows("SELECT tenant FROM tenants WHERE older_ids ORDER BY tenant")]

    def end_renaming(self, tenant: str) -> None:
        """Note that a tenant's derived ids are those of this release."""
        self._database.write(
            lambda connection: connection.execute("UPDATE tenants SET older_ids = 0 WHERE tenant = ?", (tenant,)).get
        )

    def identities(self, tenant: str) -> Iterator[VersionIdentity]:
        """Give every version of a tenant, past ones too, record by record."""
        last, codec = ("", 0), self._codecs.get(tenant)
        while rows := self._database.rows(_IDENTITIES, (tenant, *last)):
            for id, version, kind, agent, user, room, source, data, metadata in rows:
                yield VersionIdentity(
                    id,
                    version,
                    kind,
                    Scope(tenant=tenant, agent=agent, user=user, room=room),
                    codec.decode_optional(source, "source", id, version),
                    codec.decode(data, "data", id, version),
                    codec.decode(metadata, "metadata", id, version),
                )
            last = rows[-1][:2]

    def rename(self, tenant: str, ids: Sequence[str], renames: IdChanges) -> int:
        """Give records their other ids and rewrite what they refer to, all versions of them in one transaction."""

        def run(connection: Connection) -> int:
            codec, changed = self._codecs.get(tenant), 0
            for id in ids:
                changed += _rename(connection, tenant, id, codec, renames)
            # No version began or ended, so the clock shows nothing: views held ready must start over.
            connection.execute("UPDATE tenants SET epoch = epoch + 1 WHERE tenant = ?", (tenant,))
            return changed

        return self._database.write(run)

    def rename_references(self, tenant: str, renames: IdChanges) -> None:
        """Rewrite what else refers to records."""
        self._rewrite_each("SELECT space, key FROM kv WHERE tenant = ?", tenant, renames, _rewrite_value)
        self._rewrite_each("SELECT scope, key FROM keys WHERE tenant = ?", tenant, renames, _rewrite_commit)
        self._rewrite_each("SELECT id FROM jobs WHERE tenant = ?", tenant, renames, _rewrite_job)
        marks = "SELECT erasure, id FROM erased WHERE erasure IN (SELECT number FROM erasures WHERE tenant = ?)"
        self._rewrite_each(marks, tenant, renames, _rewrite_mark)

    def rename_unreadable(self, tenant: str, rename: Callable[[str], str]) -> None:
        """Give the records of a tenant whose keys were dropped other ids, whatever they hold; nobody can open it."""
        ids = [row[0] for row in self._database.rows("SELECT DISTINCT id FROM records WHERE tenant = ?", (tenant,))]

        def run(connection: Connection) -> None:
            renamed = [(new, tenant, id) for id in ids if (new := rename(id)) != id]
            connection.executemany("UPDATE records SET id = ? WHERE tenant = ? AND id = ?", renamed)
            # What was done under a key, and the jobs that are done, name records too.
            connection.execute("DELETE FROM keys WHERE tenant = ?", (tenant,))
            connection.execute("DELETE FROM jobs WHERE tenant = ?", (tenant,))

        self._database.write(run)

    def _rewrite_each(
        self,
        sql: str,
        tenant: str,
        renames: IdChanges,
        rewrite: Callable[[Connection, str, Any, FieldCodec, IdChanges], None],
    ) -> None:
        rows = self._database.rows(sql, (tenant,))
        for start in range(0, len(rows), STEP):
            part = rows[start : start + STEP]

            def run(connection: Connection, part: Sequence[Any] = part) -> None:
                codec = self._codecs.get(tenant)
                for row in part:
                    rewrite(connection, tenant, row, codec, renames)

            self._database.write(run)


def _rename(connection: Connection, tenant: str, id: str, codec: FieldCodec, renames: IdChanges) -> int:
    new, changed = renames.ids.get(id, id), 0
    if new != id and connection.execute(_TAKEN, (tenant, new)).get:
        return 0
    for number, version, kind, *kept in connection.execute(_VERSIONS, (tenant, id)).fetchall():
        fields = {name: codec.decode_optional(one, name, id, version) for name, one in zip(_FIELDS, kept, strict=True)}
        data, metadata = (renames.rewrite(fields[name] or "") for name in ("data", "metadata"))
        if new == id and (data, metadata) == (fields["data"], fields["metadata"]):
            continue
        fields |= {"data": data, "metadata": metadata}
        again = [codec.encode_optional(one, name, new, version) for name, one in fields.items()]
        digest = content_hash(kind, again[0] or "", again[1] or "")
        connection.execute(_UPDATE, (new, *again, digest, number))
        changed += 1
    return changed


def _rewrite_value(connection: Connection, tenant: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
    where = "WHERE tenant = ? AND space = ? AND key = ?"
    sql = f"SELECT key, value, version, expires_at, sliding FROM kv {where}"
    held: Any = connection.execute(sql, (tenant, *row)).get
    if held is None:
        return
    entry = to_entry(held, row[0], codec)
    value = renames.rewrite(entry.value)
    if value != entry.value:
        kept = codec.encode(value, FIELD, value_identity(row[0], entry.key), entry.version)
        connection.execute(f"UPDATE kv SET value = ? {where}", (kept, tenant, *row))


def _rewrite_commit(connection: Connection, tenant: str, row: Any, _: FieldCodec, renames: IdChanges) -> None:
    where = "WHERE tenant = ? AND scope = ? AND key = ?"
    held: str | None = connection.execute(f'SELECT "commit" FROM keys {where}', (tenant, *row)).get
    if held is not None and (commit := renames.rewrite(held)) != held:
        connection.execute(f'UPDATE keys SET "commit" = ? {where}', (commit, tenant, *row))


def _rewrite_job(connection: Connection, tenant: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
    (id,) = row
    held: str | None = connection.execute("SELECT payload FROM jobs WHERE tenant = ? AND id = ?", (tenant, id)).get
    if held is not None:
        payload = encode_payload(renames.payload(decode_payload(held, id, codec)), id, codec)
        connection.execute("UPDATE jobs SET payload = ? WHERE tenant = ? AND id = ?", (payload, tenant, id))


def _rewrite_mark(connection: Connection, _: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
    erasure, id = row
    held: Any = connection.execute("SELECT note FROM erased WHERE erasure = ? AND id = ?", row).get
    if held is None:
        return
    new = renames.reference(id)
    note = codec.encode(renames.rewrite(codec.decode(held, NOTE, id, erasure)), NOTE, new, erasure)
    connection.execute("UPDATE erased SET id = ?, note = ? WHERE erasure = ? AND id = ?", (new, note, *row))
