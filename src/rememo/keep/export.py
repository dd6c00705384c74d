"""Export and import: everything of a scope as JSON Lines, streamed, and back without a loss.

The first line is a header with the format version, the last a footer with the number of lines and their checksum. In
between, each line is one object: a version of a record, a snapshot, a key-value entry or a job.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

from rememo._version import __version__
from rememo.engine.engine import Engine
from rememo.errors import AlreadyExists, InvalidInput
from rememo.model.check import dump_json
from rememo.model.job import Job
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.store.kv.protocol import Entry
from rememo.store.protocol import Stored

FORMAT = "rememo-export"
FORMAT_VERSION = 1
_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """What an export wrote or an import brought in."""

    versions: int = 0
    snapshots: int = 0
    keys: int = 0
    jobs: int = 0


def export(engine: Engine, scope: Scope, path: str | Path) -> Transferred:
    """Write a scope to a new file; key-value entries, snapshots and jobs belong to a whole tenant only."""
    target = Path(path)
    if target.exists():
        raise AlreadyExists(f"{target} is there already; choose another file for the export")
    part = target.with_name(target.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            counts = _write(engine, scope, file)
        part.rename(target)
    except OSError as error:
        raise InvalidInput(f"the export {target} could not be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return counts


def _write(engine: Engine, scope: Scope, file: IO[str]) -> Transferred:
    digest, counts = hashlib.sha256(), _no_counts()

    def put(value: dict[str, Any], counted: str | None = None) -> None:
        text = dump_json(value) + "\n"
        digest.update(text.encode())
        file.write(text)
        if counted:
            counts[counted] += 1

    model = engine.store.model()
    put(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rememo": __version__,
            "exported_at": engine.now().isoformat(),
            "scope": asdict(scope),
            "model": None if model is None else {"name": model[0], "dimension": model[1]},
            "settings": asdict(engine.settings),
        }
    )
    for stored in engine.store.dump(scope):
        put(_version_line(stored), "versions")
    if scope == Scope(tenant=scope.tenant):
        for name, at in engine.store.snapshots(scope.tenant).items():
            put({"snapshot": name, "at": at.isoformat()}, "snapshots")
        for space, entry in engine.kv.dump(scope.tenant, engine.now()):
            line = asdict(entry) | {"expires_at": None if entry.expires_at is None else entry.expires_at.isoformat()}
            put({"kv": line, "space": space}, "keys")
        for job in engine.store.jobs(scope.tenant):
            put({"job": _job_line(job)}, "jobs")
    file.write(dump_json({"end": counts, "sha256": digest.hexdigest()}) + "\n")
    return Transferred(**counts)


def import_file(engine: Engine, scope: Scope, path: str | Path) -> Transferred:
    """Bring an export in; what is there already is passed over, so repeating it is harmless.

    The whole file is checked first: a foreign or damaged one, or one that contradicts a record here, changes nothing.
    """
    source = Path(path)
    for lines in _chunks(_lines(source)):
        versions = [_stored(line, scope) for line in lines if "record" in line]
        if clashing := engine.store.clashes(versions):
            raise AlreadyExists(
                f"{len(clashing)} records are here already with another content, the first is {clashing[0]!r};"
                " import into another tenant or file"
            )
    counts = _no_counts()
    whole = scope == Scope(tenant=scope.tenant)
    ours = _same_model(source, engine)
    for lines in _chunks(_lines(source)):
        versions = [_stored(line, scope) for line in lines if "record" in line]
        counts["versions"] += engine.store.load(versions if ours else _embedded_anew(versions, engine))
        if not whole:
            continue
        snapshots = {line["snapshot"]: to_utc(line["at"], "at") for line in lines if "snapshot" in line}
        counts["snapshots"] += engine.store.load_snapshots(scope.tenant, snapshots) if snapshots else 0
        jobs = [_job(line["job"], scope.tenant) for line in lines if "job" in line]
        counts["jobs"] += engine.store.load_jobs(jobs) if jobs else 0
        for line in lines:
            if "kv" in line:
                counts["keys"] += engine.kv.load(scope.tenant, line["space"], _entry(line["kv"]))
    return Transferred(**counts)


def _no_counts() -> dict[str, int]:
    return {"versions": 0, "snapshots": 0, "keys": 0, "jobs": 0}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Give every line between header and footer; anything out of order raises before the end is reached."""
    digest, seen, ended = hashlib.sha256(), 0, False
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _parsed(path, number, raw)
                if ended:
                    raise InvalidInput(f"{path} goes on after its end, at line {number}; it was damaged")
                if number == 1:
                    _check_header(path, line)
                elif "end" in line:
                    if line.get("sha256") != digest.hexdigest():
                        raise InvalidInput(f"{path} is damaged: its checksum does not fit; nothing was imported")
                    ended = True
                    continue
                else:
                    seen += 1
                    yield line
                digest.update(raw)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    if not ended:
        raise InvalidInput(f"{path} ends too early after {seen} entries: it was cut off; nothing was imported")


def _parsed(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        raise InvalidInput(f"{path} is not a Rememo export: line {number} is not a JSON object; nothing was imported")
    return line  # pyright: ignore[reportUnknownVariableType] - JSON


def _check_header(path: Path, line: dict[str, Any]) -> None:
    if line.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a Rememo export: its first line names no format; nothing was imported")
    version = line.get("version")
    if version != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} has export format {version!r}, this Rememo reads {FORMAT_VERSION}; upgrade rememo, nothing was imported"
        )


def _chunks(lines: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _version_line(stored: Stored) -> dict[str, Any]:
    line: dict[str, Any] = {"record": stored.record.to_dict(), "speaker": stored.speaker}
    if stored.vector is not None:
        line["vector"] = b64encode(stored.vector.tobytes()).decode()
    return line


def _same_model(path: Path, engine: Engine) -> bool:
    with path.open("rb") as file:
        model = json.loads(file.readline()).get("model")
    ours = engine.embedder
    return ours is not None and model == {"name": ours.name, "dimension": ours.dimension}


def _embedded_anew(versions: list[Stored], engine: Engine) -> list[Stored]:
    """Vectors of another model mean nothing here."""
    if engine.embedder is None:
        return [replace(one, vector=None) for one in versions]
    vectors = engine.embedder.embed([one.record.text for one in versions])
    return [replace(one, vector=vector) for one, vector in zip(versions, vectors, strict=True)]


def _stored(line: dict[str, Any], scope: Scope) -> Stored:
    record = Record.from_dict(line["record"])
    record = replace(record, scope=replace(record.scope, tenant=scope.tenant))
    if not scope.contains(record.scope):
        raise InvalidInput(f"record {record.id!r} of the export lies outside this view's scope; nothing was imported")
    vector = np.frombuffer(b64decode(line["vector"]), np.float32) if "vector" in line else None
    return Stored(record=record, speaker=line.get("speaker"), vector=vector)


def _job_line(job: Job) -> dict[str, Any]:
    times = {name: getattr(job, name) for name in ("due_at", "created_at", "leased_until")}
    return asdict(job) | {name: None if at is None else at.isoformat() for name, at in times.items()}


def _job(line: dict[str, Any], tenant: str) -> Job:
    times: dict[str, datetime] = {name: to_utc(line[name], name) for name in ("due_at", "created_at")}
    # A lease is a promise of a worker elsewhere; here the job waits for one.
    state = "waiting" if line["state"] == "running" else line["state"]
    fields: dict[str, Any] = line | times | {"tenant": tenant, "leased_until": None, "state": state}
    return Job(**fields)


def _entry(line: dict[str, Any]) -> Entry:
    ends = line["expires_at"]
    fields: dict[str, Any] = line | {"expires_at": None if ends is None else to_utc(ends, "expires_at")}
    return Entry(**fields)
