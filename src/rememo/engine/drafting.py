"""Drafts: what is to be written, validated, redacted, guarded, analysed and embedded once, here."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from rememo.engine.embedding_model import ActiveEmbedder, EmbeddingModelTracker
from rememo.errors import EmbeddingMismatch, InvalidInput
from rememo.model.check import check_label, check_object, check_text, check_unit, check_version, dump_json
from rememo.model.data_schemas import check_data
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.ids import new_id, new_ids
from rememo.model.job import NewJob
from rememo.model.receipt import OnConflict
from rememo.model.record import Record, check_kind
from rememo.model.scope import Scope
from rememo.model.times import to_seconds, to_utc
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.recall.embed.protocol import RemoteEmbedder, Vector
from rememo.safety.guard import Guard, IncomingRecord, hold_whole_documents
from rememo.safety.redaction import redact, redact_fields
from rememo.safety.trust import FULL, default_trust
from rememo.settings import Settings, trust_table
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Revise

EMBED = "embed"
_NOTHING: Final[Mapping[str, int]] = {}


class _Failed(Enum):
    """A vector that is still owed."""

    FAILED = 0


FAILED: Final = _Failed.FAILED

_log = logging.getLogger("rememo.engine")


class DraftBuilder:
    """Makes writes of a caller's fields; thread-safe."""

    def __init__(
        self,
        settings: Settings,
        analyzer: Analyzer,
        model: EmbeddingModelTracker,
        guard: Guard,
        now: Callable[[], datetime],
    ) -> None:
        self.settings = settings
        self._analyzer = analyzer
        self._model = model
        self._guard = guard
        self._now = now
        self._trust = trust_table(settings.trust)

    def put(self, scope: Scope, fields: Mapping[str, Any]) -> Put:
        """Return the write of `Memory.add`'s arguments."""
        return self.puts(scope, [fields])[0]

    def puts(self, scope: Scope, items: Sequence[Mapping[str, Any]]) -> list[Put]:
        """Return the writes of several records, embedded together."""
        texts = [check_text(item["text"], "text", max_bytes=self.settings.max_text_bytes) for item in items]
        if self.settings.redact:
            items = [redact_fields(item, self.settings.redact) for item in items]
            texts = [item["text"] for item in items]
        model = self._model.active
        to_embed = [text for text, item in zip(texts, items, strict=True) if item.get("embedding") is None]
        vectors = self._embed(model, to_embed)
        writes: list[Put] = []
        ids = iter(new_ids(len(items)))
        for fields in items:
            own_id = fields.get("id")
            on_conflict: OnConflict = fields.get("on_conflict", "error")
            if on_conflict not in ("error", "ignore", "replace"):
                raise InvalidInput(f'on_conflict must be "error", "ignore" or "replace", not {on_conflict!r}')
            own = fields.get("embedding")
            vector, by = (next(vectors), model.number) if own is None else self.check_vector(own, "embedding")
            id = next(ids) if own_id is None else _check_new_id(own_id)
            draft = self._draft(scope, id, fields, vector, by)
            writes.append(Put(draft=draft, on_conflict=on_conflict, fresh=own_id is None))
        hold_whole_documents([write.draft for write in writes], items)
        return writes

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Return a text without what the settings say is not to be stored, and how much was taken out, by kind."""
        return redact(text, self.settings.redact) if self.settings.redact else (text, Counter())

    def _draft(
        self, scope: Scope, id: str, fields: Mapping[str, Any], vector: Vector | _Failed | None, by: int | None
    ) -> Draft:
        """Return checked content for one version; a failed embedding becomes a job that tries again.

        `by` is the number of the model that was asked for the vector; None where none was.
        """
        settings, get = self.settings, fields.get
        text: str = fields["text"]
        data, metadata, kind = get("data"), get("metadata"), check_kind(get("kind", "note"))
        if data is not None:
            data = check_object(data, "data", max_bytes=settings.max_data_bytes, max_depth=settings.max_depth)
            check_data(kind, {} if get("examined") else data)
        if metadata is not None:
            metadata = check_object(
                metadata, "metadata", max_bytes=settings.max_metadata_bytes, max_depth=settings.max_depth
            )
        valid_from, valid_to, expires_at, ttl = get("valid_from"), get("valid_to"), get("expires_at"), get("ttl")
        if valid_from is not None or valid_to is not None:
            valid_from, valid_to = _time(valid_from, "valid_from"), _time(valid_to, "valid_to")
            if valid_from is not None and valid_to is not None and valid_from > valid_to:
                raise InvalidInput("valid_from is later than valid_to; swap them")
        if ttl is not None:
            expires_at = self._now() + timedelta(seconds=to_seconds(ttl, "ttl"))
        pinned = get("pinned", False)
        if not isinstance(pinned, bool):
            raise InvalidInput(f"pinned must be True or False, not {pinned!r}")
        occurred_at, importance, source, trust = get("occurred_at"), get("importance"), get("source"), get("trust")
        if source is not None:
            check_label(source, "source")
        role = data.get("role") if data else None
        if trust is None:
            trust = default_trust(self._trust, kind=kind, role=role, source=source)
        else:
            trust = check_unit(trust, "trust")
        terms = self._analyzer.terms(text)
        jobs: tuple[NewJob, ...] = get("jobs", ())
        quarantine: str | None = get("quarantine")
        if quarantine is None and (trust < FULL or self._guard.of_trusted) and not get("examined"):
            quarantine = self._guard.examine(
                IncomingRecord(
                    text=text, kind=kind, role=role, source=source, trust=trust, scope=scope, data=data or {}
                )
            )
        if quarantine is not None:
            jobs = tuple(job for job in jobs if job.task == EMBED)
        if vector is FAILED:
            vector, by = None, None
            jobs = (*jobs, NewJob(id=new_id(), task=EMBED, payload={}))
        return Draft(
            id=id,
            kind=kind,
            text=text,
            scope=scope,
            data=dump_json(data) if data else "{}",
            metadata=dump_json(metadata) if metadata else "{}",
            occurred_at=None if occurred_at is None else to_utc(occurred_at, "occurred_at"),
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=None if expires_at is None else to_utc(expires_at, "expires_at"),
            pinned=pinned,
            importance=None if importance is None else check_unit(importance, "importance"),
            source=source,
            trust=trust,
            quarantine=quarantine,
            speaker=_speaker(scope, data) if data else scope.user,
            terms=terms,
            fingerprint=fingerprint(terms),
            asks=asks(text),
            vector=vector,
            embedded_by=by,
            jobs=jobs,
            redacted=get("redacted") or _NOTHING,
        )

    def revise(self, record: Record, changes: Mapping[str, Any]) -> Revise:
        """Return the write that changes some fields of a record's current version."""
        return Revise(draft=self.redraft(record, changes), expected=record.version)

    def redraft(self, record: Record, changes: Mapping[str, Any]) -> Draft:
        """Return the content of a version with some fields changed; the same text keeps its vector, whosever it is."""
        names = (
            "text", "kind", "data", "metadata", "occurred_at", "valid_from", "valid_to", "expires_at", "pinned",
            "importance", "source", "trust", "quarantine",
        )  # fmt: skip
        if "text" in changes:
            check_text(changes["text"], "text", max_bytes=self.settings.max_text_bytes)
        if self.settings.redact and changes:
            changes = redact_fields(changes, self.settings.redact)
        fields = {name: getattr(record, name) for name in names} | dict(changes)
        # The same words were looked at when they came in, and perhaps released since.
        fields["examined"] = fields["text"] == record.text and fields["data"] == record.data
        own = fields.get("embedding")
        if own is not None:
            return self._draft(record.scope, record.id, fields, *self.check_vector(own, "embedding"))
        if fields["text"] != record.text:
            model = self._model.active
            [vector] = self._embed(model, [fields["text"]])
            return self._draft(record.scope, record.id, fields, vector, model.number)
        draft = self._draft(record.scope, record.id, fields, None, None)
        draft.vector_of = record.version
        return draft

    def _embed(self, model: ActiveEmbedder, texts: Sequence[str]) -> Iterator[Vector | _Failed | None]:
        """Give the vector of each text: None for one without content, `FAILED` for all when the model fails."""
        embedder = model.embedder
        if embedder is None or not any(texts):  # nothing said has no vector, and wakes no model
            return iter([None] * len(texts))
        if isinstance(embedder, RemoteEmbedder):  # no write waits for a network: jobs fetch these
            return iter([FAILED if text.strip() else None for text in texts])
        try:
            return iter(embedder.embed(texts))
        except EmbeddingMismatch:
            raise
        except Exception as error:  # noqa: BLE001 - a model may fail in any way; the records must not be lost for it
            _log.warning("embedding by %s failed, jobs will try again: %s", embedder.name, error)
            return iter([FAILED] * len(texts))

    def check_vector(self, value: object, field: str) -> tuple[NDArray[np.float32], int]:
        """Return a caller's vector at unit length with the number of its model; a wrong dimension, NaN or all zeros is an error.

        It is taken to be of the model that the store has in use: whether this process has it does not matter.
        """
        try:
            wide = np.asarray(
                value if isinstance(value, np.ndarray) else list(cast("Iterable[float]", value)), np.float64
            )
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(f"{field} must be a list of numbers") from None
        if not self._model.active.chosen:
            raise EmbeddingMismatch(
                f"{field} cannot be used: this memory was opened with embedder=None and keeps no vectors"
            )
        number = self._model_of_vector(wide.shape, field)
        largest = float(np.abs(wide).max())
        if not 0 < largest < float("inf"):
            raise InvalidInput(f"{field} holds NaN, infinity or nothing but zeros")
        scaled = wide / largest  # so that the squares of very large and very small numbers stay numbers
        return (scaled / np.linalg.norm(scaled)).astype(np.float32), number

    def _model_of_vector(self, shape: tuple[int, ...], field: str) -> int:
        active = self._model.active
        if active.embedder is not None and active.number is not None and shape == (active.embedder.dimension,):
            return active.number
        active = self._model.follow()
        if active.embedder is not None and active.number is not None:
            name, dimension, number = active.embedder.name, active.embedder.dimension, active.number
        else:
            missing = active.missing
            assert missing is not None  # noqa: S101 - a model that was in use here is there, or another one
            name, dimension, number = missing
        if shape != (dimension,):
            raise EmbeddingMismatch(f"{field} has the shape {shape}, but {name} has vectors of {dimension} numbers")
        return number

    def check_stored(self, record: Record) -> None:
        """Refuse a version from elsewhere that this memory could not have written."""
        settings = self.settings
        check_label(record.id, "id")
        check_version(record.version, "version")
        check_kind(record.kind)
        check_text(record.text, "text", max_bytes=settings.max_text_bytes)
        check_object(record.data, "data", max_bytes=settings.max_data_bytes, max_depth=settings.max_depth)
        check_object(record.metadata, "metadata", max_bytes=settings.max_metadata_bytes, max_depth=settings.max_depth)
        check_data(record.kind, record.data)
        check_unit(record.trust, "trust")
        if record.quarantine is not None:
            check_text(record.quarantine, "quarantine", max_bytes=settings.max_metadata_bytes)
        for name in ("created_at", "recorded_at"):
            to_utc(getattr(record, name), name)
        for name in ("agent", "user", "room"):
            if getattr(record.scope, name) is not None:
                check_label(getattr(record.scope, name), name)
        if record.importance is not None:
            check_unit(record.importance, "importance")
        if record.source is not None:
            check_label(record.source, "source")
        if not isinstance(record.pinned, bool) or not isinstance(record.deleted, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - it came from a file
            raise InvalidInput("pinned and deleted must be true or false")


def _check_new_id(id: object) -> str:
    """Return an id that a record may be created under: any label, but those of derived ids only if it was derived."""
    label = check_label(id, "id")
    if is_derived(label) and not isinstance(label, DerivedId):
        raise InvalidInput(
            f"id {label!r} has the form of ids that are derived from what a record says, which nobody can give by hand;"
            " leave the id out or choose another"
        )
    return str(label)


def _speaker(scope: Scope, data: Mapping[str, Any]) -> str | None:
    """Return who said it: the name it carries, else the agent for what an assistant said, else the user."""
    name, role = data.get("name"), data.get("role")
    if isinstance(name, str) and name:
        return name
    if role == "assistant":
        return scope.agent or "assistant"
    return scope.user if role in (None, "user") else None


def _time(value: object, field: str) -> datetime | None:
    return None if value is None else to_utc(value, field)
