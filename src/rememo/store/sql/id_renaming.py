"""Giving the records of a tenant other ids; fields are encrypted for the id they belong to, so they are re-encrypted."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.erasure import NOTE
from rememo.store.id_renaming import STEP, IdChanges, VersionIdentity
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.sql.dialect import in_steps
from rememo.store.sql.key_value import ENTRY_COLUMNS, to_entry
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession
from rememo.store.sql.version_fields import decode_fields, encode_fields, field_columns, update_fields

_PAGE = 500
_OLDER = "SELECT tenant FROM tenants WHERE older_ids ORDER BY tenant"
_IDS = "SELECT DISTINCT id FROM records WHERE tenant = ?"
_SET_ID = "UPDATE records SET id = ? WHERE tenant = ? AND id = ?"
_DROP_KEYS = "DELETE FROM keys WHERE tenant = ?"
_DROP_JOBS = "DELETE FROM jobs WHERE tenant = ?"
_END = "UPDATE tenants SET older_ids = ? WHERE tenant = ?"
_IDENTITIES = f"""SELECT id, version, kind, agent, "user", room, source, data, metadata FROM records
WHERE tenant = ? AND (id, version) > (?, ?) ORDER BY id, version LIMIT {_PAGE}"""
_TAKEN = "SELECT EXISTS (SELECT 1 FROM records WHERE tenant = ? AND id = ?)"
_KV = "SELECT space, key FROM kv WHERE tenant = ?"
_VALUE = f"SELECT {ENTRY_COLUMNS} FROM kv WHERE tenant = ? AND space = ? AND key = ?"
_SET_VALUE = "UPDATE kv SET value = ? WHERE tenant = ? AND space = ? AND key = ?"
_KEYS = "SELECT scope, key FROM keys WHERE tenant = ?"
_COMMIT = 'SELECT "commit" FROM keys WHERE tenant = ? AND scope = ? AND key = ?'
_SET_COMMIT = 'UPDATE keys SET "commit" = ? WHERE tenant = ? AND scope = ? AND key = ?'
_JOBS = "SELECT id FROM jobs WHERE tenant = ?"
_JOB = "SELECT payload FROM jobs WHERE tenant = ? AND id = ?"
_SET_JOB = "UPDATE jobs SET payload = ? WHERE tenant = ? AND id = ?"

Rewrite = Callable[[SqlSession, str, Any, FieldCodec, IdChanges], None]


class SqlIdRenaming(SqlPart[D, C]):
    """The `IdRenaming` protocol."""

    def older_tenants(self) -> list[str]:
        """Return the tenants whose derived ids are still those of an earlier release, sorted."""
        return [row[0] for row in self._database.rows(_OLDER)]

    def end_renaming(self, tenant: str) -> None:
        """Note that a tenant's derived ids are those of this release."""
        self._database.write(lambda session: session.changed(_END, (False, tenant)), repeatable=True)

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

        def run(session: SqlSession) -> int:
            codec = self._codecs.bump_epoch(session, tenant)
            return sum(self._rename_record(session, tenant, id, codec, renames) for id in ids)

        return self._codecs.write(self._database, run, tenant, repeatable=True)

    def _rename_record(self, session: SqlSession, tenant: str, id: str, codec: FieldCodec, renames: IdChanges) -> int:
        new, changed = renames.ids.get(id, id), 0
        if new != id and session.value(_TAKEN, (tenant, new)):
            return 0
        columns = ", ".join(field_columns(self.dialect))
        versions = session.rows(
            f"SELECT number, version, kind, {columns} FROM records WHERE tenant = ? AND id = ?", (tenant, id)
        )
        update = f"UPDATE records SET id = ?, {update_fields(self.dialect)} WHERE tenant = ? AND number = ?"
        for number, version, kind, *stored in versions:
            fields = decode_fields(codec, stored, id, version)
            rewritten = {name: renames.rewrite(fields[name] or "") for name in ("data", "metadata")}
            if new == id and fields | rewritten == fields:
                continue
            encoded = encode_fields(codec, kind, fields | rewritten, new, version)
            session.execute(update, (new, *encoded, tenant, number))
            changed += 1
        return changed

    def rename_references(self, tenant: str, renames: IdChanges) -> None:
        """Rewrite what else refers to records."""
        marks = f"SELECT erasure, id FROM erased WHERE {self.dialect.erased_of_tenant}"
        for sql, rewrite in (
            (_KV, self._rewrite_value),
            (_KEYS, self._rewrite_commit),
            (_JOBS, self._rewrite_job),
            (marks, self._rewrite_mark),
        ):
            self._rewrite_each(sql, tenant, renames, rewrite)

    def rename_unreadable(self, tenant: str, rename: Callable[[str], str]) -> None:
        """Give the records of a tenant whose keys were dropped other ids, without reading what they hold."""
        ids = [row[0] for row in self._database.rows(_IDS, (tenant,))]

        def run(session: SqlSession) -> None:
            session.execute(self.dialect.bump_epoch, (tenant,))
            for id in ids:
                if (new := rename(id)) != id:
                    session.execute(_SET_ID, (new, tenant, id))
            # What was done under a key, and the jobs that are done, name records too.
            session.execute(_DROP_KEYS, (tenant,))
            session.execute(_DROP_JOBS, (tenant,))

        self._database.write(run, repeatable=True)

    def _rewrite_each(self, sql: str, tenant: str, renames: IdChanges, rewrite: Rewrite) -> None:
        for part in in_steps(self._database.rows(sql, (tenant,)), STEP):

            def run(session: SqlSession, part: Sequence[Any] = part) -> None:
                codec = self._codecs.locked(session, tenant)
                for row in part:
                    rewrite(session, tenant, row, codec, renames)

            self._codecs.write(self._database, run, tenant, repeatable=True)

    def _rewrite_value(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
        stored = session.row(_VALUE + self.dialect.lock, (tenant, *row))
        if stored is None:
            return
        entry = to_entry(stored, row[0], codec)
        value = renames.rewrite(entry.value)
        if value != entry.value:
            encoded = codec.encode(value, FIELD, value_identity(row[0], entry.key), entry.version)
            session.execute(_SET_VALUE, (encoded, tenant, *row))

    def _rewrite_commit(self, session: SqlSession, tenant: str, row: Any, _: FieldCodec, renames: IdChanges) -> None:
        stored: str | None = session.value(_COMMIT + self.dialect.lock, (tenant, *row))
        if stored is not None and (commit := renames.rewrite(stored)) != stored:
            session.execute(_SET_COMMIT, (commit, tenant, *row))

    def _rewrite_job(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
        (id,) = row
        stored: str | None = session.value(_JOB + self.dialect.lock, (tenant, id))
        if stored is not None:
            payload = encode_payload(renames.payload(decode_payload(stored, id, codec)), id, codec)
            session.execute(_SET_JOB, (payload, tenant, id))

    def _rewrite_mark(self, session: SqlSession, tenant: str, row: Any, codec: FieldCodec, renames: IdChanges) -> None:
        erasure, id = row
        where = f"WHERE {self.dialect.erased_of} AND id = ?"
        stored = session.value(f"SELECT note FROM erased {where}{self.dialect.lock}", (tenant, *row))
        if stored is not None:
            new = renames.reference(id)
            note = codec.encode(renames.rewrite(codec.decode(stored, NOTE, id, erasure)), NOTE, new, erasure)
            session.execute(f"UPDATE erased SET id = ?, note = ? {where}", (new, note, tenant, *row))
