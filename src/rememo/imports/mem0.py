"""mem0: what its open-source package keeps on disk, and what its API returns.

- A folder of Qdrant's local mode: `meta.json` and `collection/<name>/storage.sqlite`, whose points are pickled. They are
  read by an unpickler that knows only the shape of a point and calls nothing.
- `history.db`: the changes of every memory, without its owner, and the latest messages of each session.
- JSON: a list of memories, or an object with the list under `results` or `memories`; several pages in a list work too.
- The archive that OpenMemory, its server for one person, writes as a backup: `memories.json` in a zip.
"""

import io
import pickle
from collections.abc import Iterator
from datetime import MAXYEAR, datetime, timedelta
from typing import Any, Final, Self
from urllib.parse import unquote

from rememo.errors import InvalidInput
from rememo.imports.folder import open_folder
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, digest, drop_empty
from rememo.imports.message_times import parse_time
from rememo.imports.source_path import SourcePath, find_first, iter_entries
from rememo.store.sqlite.foreign import ForeignFile, is_sqlite, open_foreign

_LISTS: Final = ("results", "memories")
_STORAGE: Final = "storage.sqlite"
_OWN_FIELDS: Final = (
    "id", "memory", "text", "data", "hash", "user_id", "agent_id", "run_id", "created_at", "updated_at", "metadata",
    "text_lemmatized", "score", "structured_attributes", "expiration_date", "linked_memory_ids", "content",
    "category_ids", "archived_at", "deleted_at",
)  # fmt: skip
_DEFAULTS: Final = (("state", "active"), ("app_id", None))
_OWNER: Final = "user.user_id"
"""The path of the owner's id in OpenMemory's backup; the memories themselves name a row of its database."""
_EMPTY: Final = "a memory without words"
_DELETED: Final = "a memory that mem0 deleted"
_BROKEN: Final = "an entry that is no memory"
_UNREADABLE: Final = "a point of Qdrant's that cannot be read"
_ENTITIES: Final = "a name that mem0 indexed"
_EARLIER: Final = "an earlier wording of a memory"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield every memory as a note; of the history, the messages of sessions too."""
    if source.path.is_dir():
        yield from _folder(source)
    elif is_sqlite(source.path):
        with open_foreign(source.path) as file:
            if "history" in file.tables():
                yield from _history(file, source)
            elif "points" in file.tables():
                yield from _points(file, source)
            else:
                raise InvalidInput(f"{source.path} is a file of SQLite, but none of mem0's; name its history.db")
    else:
        with open_folder(source) as folder:
            files = folder.main_files("memories")
            if not files:
                raise InvalidInput(
                    f"{source.path} has no memories.json; name mem0's own files, or what its API returned"
                )
            for name in files:
                where = f"{source.path}: {name}" if source.is_archive else str(source.path)
                source.peeking = True
                with folder.open(name) as file:
                    owner = as_label(find_first(file, _OWNER, *_LISTS))
                source.peeking = False
                with folder.open(name) as file:
                    for entry in iter_entries(file, where, *_LISTS):
                        yield from _page(as_object(entry), owner)


def _page(values: Json, owner: str | None) -> Iterator[ReadResult]:
    pages = next((as_list(values.get(name)) for name in _LISTS if name in values), [values])
    for entry in pages:
        # Of OpenMemory, `user_id` and `app_id` are rows of its database; of the service, what its users gave.
        yield _memory(as_object(entry) | ({"user_id": owner, "app_id": None} if owner else {}))


def _folder(source: SourcePath) -> Iterator[ReadResult]:
    storages = sorted(source.path.rglob(_STORAGE))
    histories = [path for path in sorted(source.path.rglob("history.db")) if is_sqlite(path)]
    if not storages and not histories:
        raise InvalidInput(f"{source.path} holds neither Qdrant's {_STORAGE} nor a history.db; name mem0's folder")
    for path in storages:
        collection = path.parent.name
        with open_foreign(path) as file:
            if collection.endswith("_entities"):
                count = sum(1 for _ in file.rows("points", ["id"], order=["id"]))
                yield from [Skipped(_ENTITIES, count)] if count else []
            elif collection != "mem0migrations":
                yield from _points(file, source)
    for path in histories:
        with open_foreign(path) as file:
            # The history has no owners: with the memories themselves at hand it adds nothing.
            yield from _history(file, source, memories=not storages)


def _memory(values: Json) -> ReadResult:
    """Return a memory, as the API or a vector's payload has it."""
    text = next(filter(None, (as_text(values.get(name)) for name in ("memory", "data", "text", "content"))), "")
    if not values:
        return Skipped(_BROKEN)
    if values.get("state") == "deleted":
        return Skipped(_DELETED)
    if not text.strip():
        return Skipped(_EMPTY)
    id = as_label(values.get("id")) or digest(values)
    more = {name: value for name, value in values.items() if name not in _OWN_FIELDS and (name, value) not in _DEFAULTS}
    return ImportItem(
        kind="note", origin=("mem0", id), id=id, text=text,
        user=as_label(values.get("user_id")), agent=as_label(values.get("agent_id")), room=as_label(values.get("run_id")),
        at=parse_time(values.get("created_at")), expires_at=_end_of_day(values.get("expiration_date")),
        metadata=drop_empty(as_object(values.get("metadata")) | more),
    )  # fmt: skip


def _end_of_day(day: object) -> datetime | None:
    """Return when a memory ends: its last day is over."""
    last = parse_time(day)
    return None if last is None or last.year == MAXYEAR else last + timedelta(days=1)


# ---- Qdrant's local mode


def _points(file: ForeignFile, source: SourcePath) -> Iterator[ReadResult]:
    for (raw,) in file.rows("points", ["point"], order=["id"]):
        source.count_read(len(raw))
        try:
            point = _PointUnpickler(io.BytesIO(raw)).load()
            values = as_object(getattr(point, "payload", None)) | {"id": as_label(getattr(point, "id", None))}
        except Exception:  # noqa: BLE001 - whatever a damaged pickle may raise
            yield Skipped(_UNREADABLE)
            continue
        yield _memory(values)


class _PickledObject:
    """Anything that was pickled: its fields, and nothing it could do."""

    def __new__(cls, *_: object, **__: object) -> Self:
        return object.__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        fields = as_object(state)
        self.__dict__.update(as_object(fields.get("__dict__")) or fields)


class _PointUnpickler(pickle.Unpickler):
    """Reads points without running what a pickle asks for: every class but plain data is a shape."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return what stands for a class."""
        if module_name.startswith("qdrant_client."):
            return _PickledObject
        raise pickle.UnpicklingError(f"a point has no {module_name}.{global_name}")


# ---- history.db


def _history(file: ForeignFile, source: SourcePath, *, memories: bool = True) -> Iterator[ReadResult]:
    if memories:
        yield from _changes(file, source)
    if "messages" in file.tables():
        columns = ["id", "session_scope", "role", "content", "name", "created_at"]
        for id, scope, role, content, name, at in file.rows(
            "messages", columns, order=["session_scope", "created_at", "rowid"]
        ):
            source.count_read(len(content or ""))
            labels = _labels(as_text(scope))
            if not as_text(content).strip() or role not in ("user", "assistant", "system", "tool"):
                yield Skipped(_EMPTY)
                continue
            yield ImportItem(
                kind="message", origin=("mem0", str(id)), role=role, text=content, at=parse_time(at), name=as_label(name),
                user=labels.get("user_id"), agent=labels.get("agent_id"), room=labels.get("run_id") or scope or None,
            )  # fmt: skip


def _changes(file: ForeignFile, source: SourcePath) -> Iterator[ReadResult]:
    """Yield the last version of each memory. The rows of one memory follow each other, in the order of their times."""
    columns = ["memory_id", "new_memory", "event", "created_at", "is_deleted", "actor_id", "role"]
    last: Json = {}
    times = ["memory_id", "updated_at", "created_at", "rowid"]
    for row in file.rows("history", columns, order=times):
        change: Json = dict(zip(columns, row, strict=True))
        source.count_read(len(change["new_memory"] or ""))
        if last and change["memory_id"] != last["memory_id"]:
            yield _last_version(last)
        elif last:
            yield Skipped(_EARLIER)
            change["created_at"] = last["created_at"] or change["created_at"]
        last = change
    if last:
        yield _last_version(last)


def _last_version(change: Json) -> ReadResult:
    if change["is_deleted"] or change["event"] == "DELETE":
        return Skipped(_DELETED)
    more = {name: change[name] for name in ("actor_id", "role")}
    return _memory(
        {"id": change["memory_id"], "memory": change["new_memory"], "created_at": change["created_at"], **more}
    )


def _labels(scope: str) -> dict[str, str]:
    """Return the ids in a session's name, such as `agent_id=a&user_id=b`."""
    parts = (part.partition("=") for part in scope.split("&"))
    return {name: unquote(value) for name, _, value in parts if value}
