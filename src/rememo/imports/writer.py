"""Stores what readers yield, in small transactions with idempotency keys."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from operator import attrgetter
from typing import Any, Final, cast

from rememo.adapters.json_values import storable_text as writable
from rememo.engine.view import view_of
from rememo.errors import AlreadyExists, InvalidInput, MissingExtra, NotFound
from rememo.imports.item import AbandonedMessages, ImportItem, ReadResult, Skipped
from rememo.imports.json_values import as_list, as_object, digest
from rememo.memory import BatchView, Memory
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import external_name
from rememo.model.receipt import Receipt
from rememo.model.record import Record

_BATCH: Final = 200
_MAX_BATCH_BYTES: Final = 8 * 1024 * 1024
"""How many bytes of files and images a step holds before it is stored."""
_FOREVER: Final = timedelta(days=36_000)
_MAX_PROBLEMS: Final = 20
_OTHER_LABEL: Final = "it belongs to another {} than the view is bound to"
_EXPIRED: Final = "it has expired"
_REFUSED: Final = "it cannot be stored; see problems"

_values = attrgetter(*(field.name for field in fields(ImportItem)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The report of an import."""

    added: Mapping[str, int]
    """How many are new, by kind."""
    known: Mapping[str, int]
    """How many were imported before, by kind; they were not touched."""
    left_out: Mapping[str, int]
    """How many were skipped, by reason."""
    problems: tuple[str, ...]
    """The first items that could not be stored, with the reason."""
    quarantined: int
    """How many new records are in quarantine; `quarantine.list()` shows them."""
    jobs: int
    """How many jobs wait to learn from the messages."""
    taken_back: int = 0
    """How many messages were deleted here that had been brought in before, and that their source has since put beside the
    path it shows: they were edited, or asked for again."""

    @property
    def total(self) -> int:
        """How much is new."""
        return sum(self.added.values())


class ImportWriter:
    """Stores import items in a view, and counts the outcomes."""

    def __init__(self, memory: Memory, source: str, *, learn: bool) -> None:
        self._memory = memory
        self.engine = view_of(memory).engine
        self._source = source
        self._learn = learn
        self._added: Counter[str] = Counter()
        self._known: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._problems: list[str] = []
        self._quarantined = 0
        self._jobs = 0
        self._taken_back = 0

    def write(self, results: Iterable[ReadResult]) -> ImportReport:
        """Store all results; each step is one transaction under its own idempotency key, so that none is done twice."""
        for step in self._steps(results):
            self._store(step)
        return ImportReport(
            added=dict(self._added),
            known=dict(self._known),
            left_out=dict(self._left.most_common()),
            problems=tuple(self._problems),
            quarantined=self._quarantined,
            jobs=self._jobs,
            taken_back=self._taken_back,
        )

    def _steps(self, results: Iterable[ReadResult]) -> Iterator[list[ImportItem]]:
        """Yield items in steps. A step ends with a conversation, so that one that grew does not shift the others."""
        step: list[ImportItem] = []
        weight = 0
        for result in results:
            if isinstance(result, Skipped):
                self._left[result.reason] += result.count
                continue
            if isinstance(result, AbandonedMessages):
                if step:
                    yield step
                    step, weight = [], 0
                self._delete_abandoned(result)
                continue
            item = self._apply_labels(result)
            if item is None:
                continue
            if step and (len(step) >= _BATCH or weight > _MAX_BATCH_BYTES or item.room != step[-1].room):
                yield step
                step, weight = [], 0
            step.append(item)
            weight += len(item.content or b"") + sum(map(len, item.images))
        if step:
            yield step

    def _delete_abandoned(self, abandoned: AbandonedMessages) -> None:
        """Delete messages that were imported before they were abandoned: among the others they would state what was never said."""
        ids = [self._message_id(origin) for origin in abandoned.origins]
        for start in range(0, len(ids), _BATCH):
            for record in self._memory.list(kind="message", ids=ids[start : start + _BATCH], limit=_BATCH):
                if record.source == self._source:
                    self._memory.delete(record.id, key=_deletion_key(record))
                    self._taken_back += 1

    def _restored(self, step: list[ImportItem]) -> list[ImportItem]:
        """Return the items of a repeated step that an import deleted as abandoned since: not what somebody else deleted."""
        messages = {self._id(item): item for item in step if item.kind == "message"}
        if not messages:
            return []
        existing = {record.id for record in self._memory.list(kind="message", ids=messages, limit=len(messages))}
        again: list[ImportItem] = []
        for id in messages.keys() - existing:
            try:
                last = self._memory.history(id)[-1]
            except NotFound:
                continue
            if self.engine.first_receipt(self._memory.bound, _deletion_key(last)) is not None:
                again.append(messages[id])
        return [item for item in step if item in again]

    def _apply_labels(self, item: ImportItem) -> ImportItem | None:
        """Return an item with the labels of the view; None for one that belongs to another scope or has expired."""
        for name in ("user", "agent", "room"):
            bound, own = getattr(self._memory.bound, name), getattr(item, name)
            if bound is not None and own is not None and bound != own:
                self._left[_OTHER_LABEL.format(name)] += 1
                return None
        if item.expires_at is not None and item.expires_at <= self.engine.now():
            self._left[_EXPIRED] += 1
            return None
        return replace(
            item, text=writable(item.text), metadata=_storable(item.metadata), tool_calls=_storable(item.tool_calls),
            title=_storable(item.title), name=_storable(item.name),
        )  # fmt: skip

    def _store(self, step: list[ImportItem]) -> None:
        key = f"import:{self._source}:{digest([_values(item) for item in step])}"
        # Asked before anything is embedded again.
        first = self.engine.first_receipt(self._memory.bound, key)
        if first is None:
            self._write(step, key)
            return
        again = self._restored(step)
        self._count_known([item for item in step if item not in again], {*first.ids})
        if again:
            self._write(again, None)

    def _write(self, step: list[ImportItem], key: str | None) -> None:
        waiting: dict[str, tuple[str, str]] = {}
        try:
            with self._memory.batch(key=key) as batch:
                for item in step:
                    self._add(batch, item, waiting)
        except AlreadyExists as error:
            raise AlreadyExists(
                f"{error}. It was imported before under other labels: import with the same user, room and agent as then"
            ) from None
        self._count(batch.receipt, dict(waiting.values()))

    def _count_known(self, step: list[ImportItem], stored: set[str]) -> None:
        """Count the items of a step that was imported before."""
        for item in step:
            if item.kind == "document" or self._id(item) in stored:
                self._known[item.kind] += 1
            else:
                self._count_refused(item, "it could not be stored when it was first read")

    def _id(self, item: ImportItem) -> str:
        """Return the id of the record that an item is or will be."""
        if item.kind == "message":
            return self._message_id(item.origin)
        if item.kind == "document":
            # Only to know it again within a step.
            return digest([item.user, item.agent, item.room, item.text, item.content])
        if item.id is not None and not item.derived:
            return item.id
        return self._derive(item.id or f"{self._source}:{digest(item.origin)[:32]}")

    def _message_id(self, origin: tuple[str, str]) -> DerivedId:
        return self._derive(external_name("message", origin))

    def _derive(self, name: str) -> DerivedId:
        return self.engine.ids.derive(self._memory.bound.tenant, name)

    def _add(self, batch: BatchView, item: ImportItem, waiting: dict[str, tuple[str, str]]) -> None:
        """Add an item to a batch, once; a refused one is counted with its reason."""
        id = self._id(item)
        if id in waiting:
            self._known[item.kind] += 1  # the source has it twice
            return
        try:
            receipt = self._add_item(self._view(batch, item), item)
        except (InvalidInput, MissingExtra) as error:
            self._count_refused(item, str(error))
            return
        if receipt.status == "pending":
            waiting[id] = receipt.ids[0], item.kind
        else:
            self._known[item.kind] += 1  # a document whose content is there

    def _add_item(self, view: Memory, item: ImportItem) -> Receipt:
        if item.kind == "message":
            return view.messages.add(
                item.role, item.text, external_id=item.origin, name=item.name, at=item.at,
                tool_calls=list(item.tool_calls) or None, tool_call_id=item.tool_call_id,
                images=list(item.images) or None, data=item.data or None, metadata=item.metadata or None,
                source=self._source, learn=self._learn,
            )  # fmt: skip
        if item.kind == "document":
            return view.documents.add(
                title=item.title, text=item.text if item.content is None else None, data=item.content,
                source=self._source, metadata=item.metadata or None,
            )  # fmt: skip
        return view.add(
            item.text, kind=item.kind, id=self._id(item), on_conflict="ignore", data=item.data or None,
            metadata=item.metadata or None, occurred_at=item.at, pinned=item.pinned, source=self._source,
            ttl=self._remaining_ttl(item), learn=self._learn,
        )  # fmt: skip

    def _remaining_ttl(self, item: ImportItem) -> timedelta | None:
        """Return the remaining time to live of a note; None for ever, also where it ends in another century."""
        rest = None if item.expires_at is None else item.expires_at - self.engine.now()
        return None if rest is None or rest > _FOREVER else rest

    def _view(self, memory: Memory, item: ImportItem) -> Memory:
        bound = memory.bound
        labels: dict[str, Any] = {
            name: getattr(item, name) for name in ("user", "agent", "room") if getattr(bound, name) is None
        }
        return memory.scope(**labels)

    def _count_refused(self, item: ImportItem, why: str) -> None:
        self._left[_REFUSED] += 1
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(f"{item.kind} {item.origin[1]} of {item.origin[0]}: {why}")

    def _count(self, receipt: Receipt | None, kinds: Mapping[str, str]) -> None:
        """Count what a step did to the records whose kinds are given by id."""
        if receipt is None:
            return
        for id, kind in kinds.items():
            (self._added if receipt.outcomes[id] == "added" else self._known)[kind] += 1
        self._quarantined += len(receipt.quarantined)
        self._jobs += len(receipt.jobs)


def _deletion_key(record: Record) -> str:
    """Return the idempotency key of deleting a version as abandoned."""
    return f"import:beside:{record.id}:{record.recorded_at.isoformat()}"


def _storable(value: Any) -> Any:
    """Return a value whose texts a record can store."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, dict):
        return {name: _storable(item) for name, item in as_object(cast("object", value)).items()}
    if isinstance(value, list | tuple):
        items = map(_storable, as_list(cast("object", value)))
        return tuple(items) if isinstance(value, tuple) else list(items)
    return value
