"""Translate derived ids from one store to another: each store derives them with keys of its own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rememo.engine.engine import Engine
from rememo.model.check import dump_json
from rememo.model.derived_ids import IdCipher, translate_ids
from rememo.model.job import Job
from rememo.model.record import Record
from rememo.store.kv.protocol import Entry
from rememo.store.versions import StoredVersion

Rewrite = Callable[[str], str]
"""Returns a JSON text with other ids in it."""


class IdTranslation:
    """Replaces the ids of one store by those of another wherever they are referenced; texts stay unchanged."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite

    @classmethod
    def between(cls, source: IdCipher, target: IdCipher) -> "IdTranslation":
        """Return the translation from one tenant's ids to another's."""
        return cls(lambda text: translate_ids(text, source, target))

    def translate_versions(self, versions: Iterator[StoredVersion]) -> Iterator[StoredVersion]:
        """Yield versions with the ids of the other store."""
        return (replace(version, record=self.translate_record(version.record)) for version in versions)

    def translate_record(self, record: Record) -> Record:
        """Return a version with the ids of the other store."""
        id, data, metadata = self._translate_json([record.id, record.data, record.metadata])
        return replace(record, id=id, data=data, metadata=metadata)

    def translate_entry(self, entry: Entry) -> Entry:
        """Return a key-value entry with the ids of the other store."""
        return replace(entry, value=self._rewrite(entry.value))

    def translate_job(self, job: Job) -> Job:
        """Return a job with the ids of the other store."""
        return replace(job, payload=self._translate_json(dict(job.payload)))

    def translate_line(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return the line of an export with the ids of the other store."""
        if "record" in line:
            record = line["record"]
            names = [name for name in ("id", "data", "metadata") if name in record]
            parts = self._translate_json([record[name] for name in names])
            return line | {"record": record | dict(zip(names, parts, strict=True))}
        if "kv" in line:
            return line | {"kv": line["kv"] | {"value": self._rewrite(line["kv"]["value"])}}
        if "job" in line:
            return line | {"job": line["job"] | {"payload": self._translate_json(line["job"]["payload"])}}
        return line

    def _translate_json(self, value: Any) -> Any:
        """Return a JSON value with the ids of the other store."""
        before = dump_json(value)
        after = self._rewrite(before)
        return value if after == before else json.loads(after)


def translation_between(source: Engine, target: Engine, tenant: str) -> IdTranslation | None:
    """Return the translation of a tenant's ids from one engine to another; None where they are the same.

    A tenant that is new in an encrypted store takes over how ids are derived, so that they stay what they were.
    """
    if source.reencryption is not None and target.reencryption is not None:
        key = source.reencryption.cipher.id_key(tenant)
        target.reencryption.cipher.adopt_id_key(tenant, key)
        if target.reencryption.cipher.id_key(tenant) == key:
            return None
    elif source.reencryption is target.reencryption:
        return None
    return IdTranslation.between(source.ids.cipher(tenant), target.ids.cipher(tenant))
