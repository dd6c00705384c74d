"""Export: everything of a scope as JSON Lines, streamed; `import_file` brings it back without a loss.

The first line is a header with the format version, the last a footer with the number of lines and their checksum. In
between, each line is one object: a version of a record, a snapshot, a key-value entry or a job. The lines of an encrypted
memory are encrypted with a key of their own, which stands in the header wrapped by the master key; its footer proves them.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from rememo._version import __version__
from rememo.engine.engine import Engine
from rememo.files import new_file, open_new_text
from rememo.keep.batches import iterate_jobs
from rememo.keep.export_cipher import ExportCipher
from rememo.keep.id_translation import IdTranslation
from rememo.model.check import dump_json
from rememo.model.derived_ids import PLAIN_IDS
from rememo.model.job import Job
from rememo.model.scope import Scope
from rememo.settings import PRIVATE
from rememo.store.kv.protocol import EMBED_CACHE
from rememo.store.versions import StoredVersion

FORMAT = "rememo-export"
FORMAT_VERSION = 1
IDS = "derived"
"""What the header says of files whose derived ids have the form they have now; earlier ones say nothing."""
_TOLD_EVERY = 500
HEADER_LINE = 1
"""The number of the header's line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """The counts of what an export wrote or an import stored."""

    versions: int = 0
    snapshots: int = 0
    keys: int = 0
    jobs: int = 0


def export(
    engine: Engine,
    scope: Scope,
    path: str | Path,
    *,
    known_at: datetime | None = None,
    plain: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Transferred:
    """Write a scope to a new file, as it is or as it was known; of an encrypted memory encrypted, unless asked for `plain`.

    Key-value entries, snapshots and jobs belong to a whole tenant only, and to the present. `progress` is told now and
    then how many versions are written.
    """
    with new_file(path, "the export") as part:
        lines = _ExportLines(engine, scope, known_at, None if plain else _new_cipher(engine))
        with open_new_text(part, engine.settings.file_permissions) as file:
            for place, line in enumerate(lines):
                file.write(line)
                if progress is not None and place % _TOLD_EVERY == 0:
                    progress(lines.written.versions)
        counts = lines.written
        if engine.audit is not None:
            # Before the file is there: what cannot be noted is not taken away.
            engine.audit.record("export", scope, asdict(counts))
    return counts


def stream(
    engine: Engine, scope: Scope, *, known_at: datetime | None = None, plain: bool = False, quarantined: bool = True
) -> Iterator[str]:
    """Give the lines of an export as they are read, of the state that there is when the first is asked for.

    Nothing is held up while somebody takes their time over it. Without `quarantined`, what waits in quarantine is left out,
    and so is every version that did. What is noted in the audit trail is noted before the first line and before the last.
    """
    lines = _ExportLines(engine, scope, known_at, None if plain else _new_cipher(engine), quarantined=quarantined)
    if engine.audit is not None:
        engine.audit.record("export", scope, {"outcome": "begun"})
    for line in lines:
        if lines.ended and engine.audit is not None:
            engine.audit.record("export", scope, {"outcome": "complete", **asdict(lines.written)})
        yield line


def write_versions(engine: Engine, scope: Scope, file: IO[str], ids: Sequence[str]) -> int:
    """Write all versions of some records as an export; returns how many. Encrypted, where the memory is."""
    lines = _ExportLines(engine, scope, None, _new_cipher(engine), ids=ids)
    file.writelines(lines)
    return lines.written.versions


class _ExportLines:
    """The lines of an export, each ended, in their order; to be gone through once."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        known_at: datetime | None,
        cipher: ExportCipher | None,
        *,
        ids: Sequence[str] | None = None,
        quarantined: bool = True,
    ) -> None:
        self.engine = engine
        self._scope = scope
        self._known_at = known_at
        self._cipher = cipher
        self._ids = ids
        self._quarantined = quarantined
        self._counts = zero_counts()
        self.ended = False
        """Whether the line given last is the footer."""

    @property
    def written(self) -> Transferred:
        """What has been given so far."""
        return Transferred(**self._counts)

    def __iter__(self) -> Iterator[str]:
        """Give header, entries and footer."""
        digest, cipher = hashlib.sha256(), self._cipher
        for number, (value, counted) in enumerate(self._iterate_values(), 1):
            text = dump_json(value)
            if cipher is not None and counted:
                text = dump_json({"sealed": cipher.encrypt(text, number)})
            if counted:
                self._counts[counted] += 1
            digest.update(f"{text}\n".encode())
            yield f"{text}\n"
        self.ended = True
        proof = {} if cipher is None else {"proof": cipher.encrypt(digest.hexdigest(), 0)}
        yield dump_json({"end": self._counts, "sha256": digest.hexdigest(), **proof}) + "\n"

    def _iterate_values(self) -> Iterator[tuple[dict[str, Any], str | None]]:
        """Give every line before the footer as JSON values, and as what it is counted."""
        engine, scope = self.engine, self._scope
        yield self._make_header(), None
        # Whoever reads a plain export of an encrypted memory must not be able to tell what it holds later.
        plainly = self._cipher is None and engine.reencryption is not None
        translation = IdTranslation.between(engine.ids.cipher(scope.tenant), PLAIN_IDS) if plainly else None
        versions = engine.store.dump(scope, self._known_at, ids=self._ids)
        for stored in versions if translation is None else translation.translate_versions(versions):
            if self._quarantined or stored.record.quarantine is None:
                yield _version_to_json(stored), "versions"
        if scope != Scope(tenant=scope.tenant) or self._known_at is not None or self._ids is not None:
            return
        for name, at in engine.store.snapshots(scope.tenant).items():
            yield {"snapshot": name, "at": at.isoformat()}, "snapshots"
        for space, kept in engine.kv.dump(scope.tenant, engine.now()):
            if space == EMBED_CACHE:
                continue
            entry = kept if translation is None else translation.translate_entry(kept)
            line = asdict(entry) | {"expires_at": None if entry.expires_at is None else entry.expires_at.isoformat()}
            yield {"kv": line, "space": space}, "keys"
        for job in iterate_jobs(engine.store, scope.tenant):
            yield {"job": _job_to_json(job if translation is None else translation.translate_job(job))}, "jobs"

    def _make_header(self) -> dict[str, Any]:
        engine, model = self.engine, self.engine.store.model()
        # What follows an address as its query may be a credential, and a server's may have a password in it.
        settings = engine.settings.but(archive=engine.settings.archive.split("?")[0], **dict.fromkeys(PRIVATE, ""))
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rememo": __version__,
            "exported_at": engine.now().isoformat(),
            "scope": asdict(self._scope),
            "model": None if model is None else {"name": model.name, "dimension": model.dimension},
            "settings": asdict(settings),
            "ids": IDS,
            **self._encryption_header(),
        }

    def _encryption_header(self) -> dict[str, Any]:
        """Return what opens an encrypted export with the master key."""
        cipher = self._cipher
        if cipher is None:
            return {}
        return {"sealed": cipher.header(), "id_key": _encrypted_id_key(self.engine, self._scope.tenant, cipher)}


def _encrypted_id_key(engine: Engine, tenant: str, cipher: ExportCipher) -> str | None:
    """Return the key that a tenant's ids are derived by, encrypted as the lines are: a new store goes on with it."""
    if engine.reencryption is None:
        return None
    return cipher.encrypt(b64encode(engine.reencryption.cipher.id_key(tenant)).decode(), HEADER_LINE)


def zero_counts() -> dict[str, int]:
    """Return the counts of a transfer before anything is counted."""
    return {"versions": 0, "snapshots": 0, "keys": 0, "jobs": 0}


def _new_cipher(engine: Engine) -> ExportCipher | None:
    return None if engine.encryption is None else ExportCipher.new(engine.encryption)


def _version_to_json(stored: StoredVersion) -> dict[str, Any]:
    line: dict[str, Any] = {"record": stored.record.to_dict(), "speaker": stored.speaker}
    if stored.vector is not None:
        line["vector"] = b64encode(stored.vector.tobytes()).decode()
    return line


def _job_to_json(job: Job) -> dict[str, Any]:
    times = {name: getattr(job, name) for name in ("due_at", "created_at", "leased_until")}
    return asdict(job) | {name: None if at is None else at.isoformat() for name, at in times.items()}
