"""Giving the records of a tenant other ids; contents are encrypted for the id they belong to, so they are re-encrypted."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rememo.model.scope import Scope
from rememo.store.cipher.payloads import decode_payload, encode_payload
from rememo.store.commits import content_hash
from rememo.store.erasure import NOTE
from rememo.store.id_renaming import STEP, IdChanges, VersionIdentity
from rememo.store.kv.protocol import FIELD, value_identity
from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.key_value import to_entry
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import Session

_PAGE = 500
_FIELDS = ("data", "metadata", "source", "quarantine")
_OLDER = "SELECT tenant FROM tenants WHERE older_ids ORDER BY tenant"
_END = "UPDATE tenants SET older_ids = false WHERE tenant = %s"
_IDS = "SELECT DISTINCT id FROM records WHERE tenant = %s"
_SET_ID = "UPDATE records SET id = %s WHERE tenant = %s AND id = %s"
_DROP_KEYS = "DELETE FROM keys WHERE tenant = %s"
_DROP_JOBS = "DELETE FROM jobs WHERE tenant = %s"
# No version began or ended, so the clock shows nothing: views held ready must start over.
_TURN = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s RETURNING sealed_by"
_IDENTITIES = f"""SELECT id, version, kind, agent, "user", room, source, data, metadata FROM records
WHERE tenant = %s AND (id, version) > (%s, %s) ORDER BY id, version LIMIT {_PAGE}"""
_VERSIONS = f"""SELECT number, version, kind, text, packed, {", ".join(_FIELDS)} FROM records
WHERE tenant = %s AND id = %s"""
_TAKEN = "SELECT EXISTS (SELECT 1 FROM records WHERE tenant = %s AND id = %s)"
_UPDATE = """UPDATE records SET id = %s, text = %s, packed = %s, data = %s, metadata = %s, source = %s, quarantine = %s,
  hash = %s WHERE tenant = %s AND number = %s"""
_KV = "SELECT space, key FROM kv WHERE tenant = %s"
_VALUE = """SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = %s AND space = %s AND key = %s FOR UPDATE"""
_SET_VALUE = "UPDATE kv SET value = %s WHERE tenant = %s AND space = %s AND key = %s"
_KEYS = "SELECT scope, key FROM keys WHERE tenant = %s"
_COMMIT = "SELECT commit FROM keys WHERE tenant = %s AND scope = %s AND key = %s FOR UPDATE"
_SET_COMMIT = "UPDATE keys SET commit = %s WHERE tenant = %s AND scope = %s AND key = %s"
_JOBS = "SELECT id FROM jobs WHERE tenant = %s"
_JOB = "SELECT payload FROM jobs WHERE tenant = %s AND id = %s FOR UPDATE"
_SET_JOB = "UPDATE jobs SET payload = %s WHERE tenant = %s AND id = %s"
_MARKS = "SELECT erasure, id FROM erased WHERE tenant = %s"
_ERASED = "SELECT note FROM erased WHERE tenant = %s AND erasure = %s AND id = %s FOR UPDATE"
_SET_ERASED = "UPDATE erased SET id = %s, note = %s WHERE tenant = %s AND erasure = %s AND id = %s"


class PostgresIdRenaming(PostgresPart):
    """The `Renaming` half of the store."""

    def older_tenants(self) -> list[str]:
        """Return the tenants whose derived ids are still those of an earlier release, sorted."""
        return [row[0] for row in self._database.rows(_OLDER)]

    def end_renaming(self, tenant: str) -> None:
        """Note that a tenant's derived ids are those of this release."""
        self._database.write(lambda session: session.execute(_END, (tenant,)), repeatable=True)

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

        def run(session: Session) -> int:
            codec, changed = self._codecs.at_serial(tenant, session.value(_TURN, (tenant,)) or 0), 0
            for id in ids:
                changed += _rename(session, tenant, id, codec, renames)
            return changed

        return self._codecs.write(self._database, run, tenant, repeatable=True)

    def rename_references(self, tenant: str, renames: IdChanges) -> None:
        """Rewrite what else refers to records."""
        for sql, rewrite in (
            (_KV, _rewrite_value),
            (_KEYS, _rewrite_commit),
            (_JOBS, _rewrite_job),
            (_MARKS, _rewrite_mark),
        ):
            self._rewrite_each(sql, tenant, renames, rewrite)

    def rename_unreadable(self, tenant: str, rename: Callable[[str], str]) -> None:
        """Give the records of a tenant whose keys were dropped other ids, whatever they hold; nobody can open it."""
        ids = [row[0] for row in self._database.rows(_IDS, (tenant,))]

        def run(session: Session) -> None:
            session.execute(_TURN, (tenant,))
            for id in ids:
                if (new := rename(id)) != id:
                    session.execute(_SET_ID, (new, tenant, id))
            # What was done under a key, and the jobs that are done, name records too.
            session.execute(_DROP_KEYS, (tenant,))
            session.execute(_DROP_JOBS, (tenant,))

        self._database.write(run, repeatable=True)

    def _rewrite_each(
        self,
        sql: str,
        tenant: str,
        renames: IdChanges,
        rewrite: Callable[[Session, str, Any, PostgresCodec, IdChanges], None],
    ) -> None:
        rows = self._database.rows(sql, (tenant,))
        for start in range(0, len(rows), STEP):
            part = rows[start : start + STEP]

            def run(session: Session, part: Sequence[Any] = part) -> None:
                codec = self._codecs.locked(session, tenant)
                for row in part:
                    rewrite(session, tenant, row, codec, renames)

            self._codecs.write(self._database, run, tenant, repeatable=True)


def _rename(session: Session, tenant: str, id: str, codec: PostgresCodec, renames: IdChanges) -> int:
    new, changed = renames.ids.get(id, id), 0
    if new != id and session.value(_TAKEN, (tenant, new)):
        return 0
    for number, version, kind, text, packed, *kept in session.rows(_VERSIONS, (tenant, id)):
        fields = {name: codec.decode_optional(one, name, id, version) for name, one in zip(_FIELDS, kept, strict=True)}
        data, metadata = (renames.rewrite(fields[name] or "") for name in ("data", "metadata"))
        if new == id and (data, metadata) == (fields["data"], fields["metadata"]):
            continue
        fields |= {"data": data, "metadata": metadata}
        said, packed_again = codec.encode_text(codec.decode_text(text, packed, id, version), new, version)
        again = [codec.encode_optional(one, name, new, version) for name, one in fields.items()]
        digest = content_hash(kind, said if packed_again is None else packed_again, again[0] or "")
        session.execute(_UPDATE, (new, said, packed_again, *again, digest, tenant, number))
        changed += 1
    return changed


def _rewrite_value(session: Session, tenant: str, row: Any, codec: PostgresCodec, renames: IdChanges) -> None:
    held = session.row(_VALUE, (tenant, *row))
    if held is None:
        return
    entry = to_entry(held, row[0], codec)
    value = renames.rewrite(entry.value)
    if value != entry.value:
        kept = codec.encode(value, FIELD, value_identity(row[0], entry.key), entry.version)
        session.execute(_SET_VALUE, (kept, tenant, *row))


def _rewrite_commit(session: Session, tenant: str, row: Any, _: PostgresCodec, renames: IdChanges) -> None:
    held: str | None = session.value(_COMMIT, (tenant, *row))
    if held is not None and (commit := renames.rewrite(held)) != held:
        session.execute(_SET_COMMIT, (commit, tenant, *row))


def _rewrite_job(session: Session, tenant: str, row: Any, codec: PostgresCodec, renames: IdChanges) -> None:
    (id,) = row
    held: str | None = session.value(_JOB, (tenant, id))
    if held is not None:
        payload = encode_payload(renames.payload(decode_payload(held, id, codec)), id, codec)
        session.execute(_SET_JOB, (payload, tenant, id))


def _rewrite_mark(session: Session, tenant: str, row: Any, codec: PostgresCodec, renames: IdChanges) -> None:
    erasure, id = row
    held = session.row(_ERASED, (tenant, *row))
    if held is not None:
        new = renames.reference(id)
        note = codec.encode(renames.rewrite(codec.decode(held[0], NOTE, id, erasure)), NOTE, new, erasure)
        session.execute(_SET_ERASED, (new, note, tenant, *row))
