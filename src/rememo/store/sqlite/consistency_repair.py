"""Making whole what was recovered of a damaged file: what belongs together stays, and its words are indexed anew."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rememo.errors import Corrupt
from rememo.model.check import dump_json
from rememo.model.ids import new_id
from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.drafts import Analysis
from rememo.store.sql.key_value import to_entry
from rememo.store.sql.verify import Readable
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.pages import Pages
from rememo.store.sqlite.words import index_line, tables

_MOST_NAMED = 1_000
_NUMBER_BITS = 40


@dataclass(slots=True)
class ConsistencyRepair:
    """Drops recovered rows that contradict others, within one transaction of the new file."""

    pages: Pages
    connection: Connection
    analysis: Analysis
    readable: Readable
    damaged_rows: int = 0
    lost: list[str] = field(default_factory=list[str])
    lost_versions: int = 0

    def run(self, version_pages: Iterable[int]) -> None:
        """Drop what does not belong together, name what is lost, and index what is left."""
        self._drop_unopened()
        self._drop_contradictions()
        for page in version_pages:
            self._name_lost(page)
        self._index_words()

    def _drop_unopened(self) -> None:
        """Drop what does not open where it stands: it was damaged, or another row's."""
        run = self.connection.execute
        for place, vector, tenant in run(
            f"SELECT place, vector, tenant FROM vectors JOIN records ON number = place & {(1 << _NUMBER_BITS) - 1}"
        ):
            if not _opens(
                self.readable(tenant), lambda kept, place=place, vector=vector: kept.decode_vector(place, vector)
            ):
                run("DELETE FROM vectors WHERE place = ?", (place,))
        for tenant, space, *row in run("SELECT tenant, space, key, value, version, expires_at, sliding FROM kv"):
            if not _opens(self.readable(tenant), lambda kept, row=row, space=space: to_entry(row, space, kept)):
                self.damaged_rows += 1
                run("DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ?", (tenant, space, row[0]))
        for tenant, scope, key in run("SELECT tenant, scope, key FROM keys"):
            if not _opens(self.readable(tenant), lambda kept, key=key: kept.decode_name(key)):
                run("DELETE FROM keys WHERE tenant = ? AND scope = ? AND key = ?", (tenant, scope, key))
        for tenant, id, error in run("SELECT tenant, id, error FROM jobs WHERE error IS NOT NULL"):
            if not _opens(self.readable(tenant), lambda kept, id=id, error=error: kept.decode(error, "error", id, 0)):
                run("UPDATE jobs SET error = NULL WHERE tenant = ? AND id = ?", (tenant, id))
        columns = "number, tenant, id, version, speaker, text, data, metadata, source, quarantine"
        for number, tenant, id, version, speaker, *row in run(f"SELECT {columns} FROM records"):
            names = ("text", "data", "metadata", "source", "quarantine")
            fields = [field for field in zip(names, row, strict=True) if field[1] is not None]
            if not _opens(
                self.readable(tenant),
                lambda kept, fields=fields, id=id, version=version, speaker=speaker: [
                    kept.decode_name(speaker),
                    *(kept.decode(value, name, id, version) for name, value in fields),
                ],
            ):
                self.damaged_rows += 1
                run("DELETE FROM records WHERE number = ?", (number,))

    def _drop_contradictions(self) -> None:
        """Drop what contradicts what is there: remains of older states, and what belonged to lost versions."""
        run = self.connection.execute
        run("DELETE FROM records WHERE superseded_at < recorded_at")
        run(
            "DELETE FROM records WHERE superseded_at IS NULL AND EXISTS (SELECT 1 FROM records AS newer"
            " WHERE newer.tenant = records.tenant AND newer.id = records.id AND newer.version > records.version)"
        )
        # A history with a hole in it is no history: what lies before the hole goes too, and is named as lost.
        for tenant, id in run(
            "SELECT tenant, id FROM records GROUP BY tenant, id HAVING max(version) - min(version) + 1 != count(*)"
        ).fetchall():
            versions = [
                row[0]
                for row in run(
                    "SELECT version FROM records WHERE tenant = ? AND id = ? ORDER BY version DESC", (tenant, id)
                )
            ]
            first = next(version for version in versions if version - 1 not in versions)
            run("DELETE FROM records WHERE tenant = ? AND id = ? AND version < ?", (tenant, id, first))
        run(f"DELETE FROM vectors WHERE place & {(1 << _NUMBER_BITS) - 1} NOT IN (SELECT number FROM records)")
        run(
            "DELETE FROM jobs WHERE json_extract(payload, '$.record') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records"
            " WHERE records.tenant = jobs.tenant AND records.id = json_extract(payload, '$.record'))"
        )
        self._request_vectors()
        # Everything counts as loaded: the numbers of what is left need not follow its times.
        run(
            # Whether ids are those of an earlier release is not known any more: looking costs little where they are not.
            "INSERT INTO tenants (tenant, clock, epoch, loaded, older_ids)"
            " SELECT tenant, max(at), 1, (SELECT ifnull(max(number), 0) FROM records), 1 FROM"
            " (SELECT tenant, max(recorded_at, ifnull(superseded_at, 0)) AS at FROM records"
            "  UNION ALL SELECT tenant, at FROM snapshots UNION ALL SELECT tenant, at FROM audit) GROUP BY tenant"
        )
        # What is left of an audit trail ends with its last line; a line that is lost shows when it is verified.
        run(
            "UPDATE tenants SET (audited, audit_hash) = (last.number, last.hash) FROM"
            " (SELECT tenant, max(number) AS number, hash FROM audit GROUP BY tenant) AS last"
            " WHERE last.tenant = tenants.tenant"
        )

    def _request_vectors(self) -> None:
        """Let jobs make the vectors that were lost."""
        run = self.connection.execute
        lost = run(
            "SELECT tenant, id, version, recorded_at FROM records, models WHERE current AND length > 0"
            f" AND NOT EXISTS (SELECT 1 FROM vectors WHERE place = model << {_NUMBER_BITS} | number)"
            " AND tenant NOT IN (SELECT tenant FROM vault WHERE wrapped = x'') AND NOT EXISTS (SELECT 1 FROM jobs"
            "  WHERE jobs.tenant = records.tenant AND task = 'embed' AND state IN ('waiting', 'running')"
            "  AND payload ->> '$.record' = records.id AND payload ->> '$.version' = records.version)"
        ).fetchall()
        for tenant, id, version, at in lost:
            run(
                "INSERT INTO jobs (tenant, id, task, payload, state, due_at, created_at)"
                " VALUES (?, ?, 'embed', ?, 'waiting', ?, ?)",
                (tenant, new_id(), dump_json({"record": id, "version": version}), at, at),
            )

    def _name_lost(self, page: int) -> None:
        """Name the versions that an index knows and that are not there."""
        for row in self.pages.rows(page):
            if row is None or [type(value) for value in row.values] != [str, str, int, int]:
                continue
            tenant, id, version, _ = row.values
            there = "SELECT 1 FROM records WHERE tenant = ? AND id = ? AND version = ?"
            if not self.connection.execute(there, (tenant, id, version)).get:
                self.lost_versions += 1
                if len(self.lost) < _MOST_NAMED:
                    self.lost.append(f"{tenant}/{id} version {version}")

    def _index_words(self) -> None:
        columns = "number, tenant, id, version, agent, user, room, superseded_at IS NULL, text"
        last, run = -1, self.connection.execute
        while rows := run(
            f"SELECT {columns} FROM records WHERE number > ? ORDER BY number LIMIT 500", (last,)
        ).fetchall():
            for number, tenant, id, version, agent, user, room, current, text in rows:
                table, codec = tables(tenant)[0 if current else 1], self.readable(tenant)
                scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
                words = index_line(scope, [])  # all there is of what nobody can read any more
                if codec is not None:
                    terms = self.analysis.terms(codec.decode(text, "text", id, version))
                    words, mark = (
                        index_line(scope, terms, codec.blind_index),
                        codec.blind_fingerprint(self.analysis.fingerprint(terms)),
                    )
                    run("UPDATE records SET length = ?, fingerprint = ? WHERE number = ?", (len(terms), mark, number))
                run(f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)", (number, words))
            last = rows[-1][0]


def _opens(codec: FieldCodec | None, run: Callable[[FieldCodec], object]) -> bool:
    """Return whether something decrypts; what was encrypted under dropped keys (no codec) is left as it is."""
    try:
        if codec is not None:
            run(codec)
    except Corrupt:
        return False
    return True
