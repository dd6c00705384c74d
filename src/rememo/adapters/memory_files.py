"""The files of Claude's memory tool (`memory_20250818`), kept as records; no SDK is needed here.

A file is a note, so search finds it; a directory is state. Each has its path in its data and an id that is made of it and
of the view's labels, so that two who create one file at once create one. Every answer and every error is the sentence
that Anthropic's own implementation over a file system gives.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from rememo.adapters.memory_holder import MemoryHolder, derived_id
from rememo.adapters.memory_lines import excerpt, format_directory, format_file, insert_lines, replace_once
from rememo.adapters.memory_paths import ROOT, parent_directories, resolve_path
from rememo.adapters.paging import list_latest
from rememo.adapters.retries import retry_conflicts
from rememo.adapters.threads import in_thread
from rememo.errors import AlreadyExists, InvalidInput, NotFound
from rememo.memory import BatchView, Memory
from rememo.model.check import dump_json
from rememo.model.receipt import Receipt
from rememo.model.record import Record

_NAMESPACE = UUID("a1c5e1de-9b54-4f0e-8a3b-5f0c3b7a2d41")
_MARK = {"memory_tool": {"$in": ["file", "directory"]}}
_MOST_UNDONE = 100
_FIELDS: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}


COMMANDS = frozenset(_FIELDS)


class MemoryFiles(MemoryHolder):
    """A tree of files below `/memories`, one for each scope; every change is a version, and can be undone."""

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Open the tree of a memory's view, or of a memory at a path or address."""
        super().__init__(memory)
        bound = self._memory.bound
        self._tree = dump_json([bound.agent, bound.user, bound.room])
        self._receipts: deque[Receipt] = deque(maxlen=_MOST_UNDONE)

    def run(self, command: Mapping[str, Any]) -> str:
        """Execute a model's command, such as `{"command": "view", "path": "/memories"}`; the answer is for the model.

        What cannot be done raises `InvalidInput`, whose message is for the model too.
        """
        name = command.get("command")
        if not isinstance(name, str) or name not in COMMANDS:
            raise InvalidInput(f"Unknown command: {name}")
        for field, kind in _FIELDS[name].items():
            value = command.get(field)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise InvalidInput(f"The command {name} needs `{field}`, {'a number' if kind is int else 'a text'}")
        arguments = {field: command[field] for field in _FIELDS[name]}
        if name == "view":
            return self.view(command["path"], command.get("view_range"))
        return cast("str", getattr(self, name)(**arguments))

    arun = in_thread(run)

    def result(self, tool_use_id: str, command: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `tool_result` block that answers a `tool_use` block of the Messages API."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_use_id}
        try:
            return {**block, "content": self.run(command)}
        except InvalidInput as error:
            return {**block, "content": str(error), "is_error": True}

    # ---- the commands

    def view(self, path: str, view_range: object = None) -> str:
        """Return the numbered lines of a file, all or some, or a directory's listing, two levels deep."""
        full_path = resolve_path(path)
        record = self._find(full_path)
        if record is not None and not _is_directory(record):
            return format_file(path, record.text, view_range)
        below = self._below(full_path)
        if record is None and not below and full_path != ROOT:
            raise InvalidInput(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {file: None if _is_directory(record) else len(record.text.encode()) for file, record in below.items()}
        return format_directory(path, {file.removeprefix(f"{full_path}/"): size for file, size in sizes.items()})

    def create(self, path: str, file_text: str) -> str:
        """Create a file, and the directories above it; one that is there raises `InvalidInput`."""
        full_path = resolve_path(path)
        if self._exists(full_path):
            raise InvalidInput(f"File {path} already exists")
        try:
            with self._memory.batch() as batch:
                self._make_parents(batch, full_path)
                self._put(batch, full_path, file_text)
        except AlreadyExists:
            raise InvalidInput(f"File {path} already exists") from None
        return self._describe_change(batch.receipt, f"File created successfully at: {path}")

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that stands once in a file; returns the lines around the change."""
        text, at = self._edit(path, lambda text: replace_once(path, text, old_str, new_str))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            f"{excerpt(text, at)}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text after a line of a file; after line 0 is before the first."""
        self._edit(path, lambda text: (insert_lines(text, insert_line, insert_text), 0))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """End a file, or a directory with all that is in it."""
        full_path = resolve_path(path)
        if full_path == ROOT:
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself")
        return self._describe_change(
            self._change(lambda batch: self._remove(batch, full_path, path)), f"Successfully deleted {path}"
        )

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a directory to where nothing is, and make the directories above that."""
        old, new = resolve_path(old_path), resolve_path(new_path)
        if old == ROOT:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")

        def move(batch: BatchView) -> None:
            if self._exists(new):
                raise InvalidInput(f"The destination {new_path} already exists")
            for old_file, record in self._remove(batch, old, old_path).items():
                if new.startswith(f"{old}/"):
                    raise InvalidInput(f"Cannot move {old_path} into itself")
                self._put(batch, new + old_file.removeprefix(old), record.text, moved=record)
            self._make_parents(batch, new)

        return self._describe_change(self._change(move), f"Successfully renamed {old_path} to {new_path}")

    # ---- what is not a command

    def undo(self) -> Receipt:
        """Undo the last change made by this object that was not undone yet.

        A file that was changed since by another raises `VersionConflict`.
        """
        if not self._receipts:
            raise NotFound("there is no change to take back that was made here; history() shows a file's versions")
        undone = self._memory.undo(self._receipts[-1])
        self._receipts.pop()
        # Undoing makes versions too; what was done before is to be found on them, and can be undone next.
        for index, receipt in enumerate(self._receipts):
            versions = {id: undone.versions.get(id, version) for id, version in receipt.versions.items()}
            self._receipts[index] = replace(receipt, versions=versions)
        return undone

    def history(self, path: str) -> list[Record]:
        """Return the versions of a file, oldest first, also those under names that it had before."""
        record = self._find(resolve_path(path))
        if record is None:
            raise NotFound(f"there is no file {path!r}; memory.as_of() shows what was there before")
        versions: list[Record] = []
        step: tuple[str, int] | None = (record.id, record.version)
        while step is not None:
            id, last = step
            life = [version for version in self._memory.history(id) if version.version <= last]
            ends = [index for index, version in enumerate(life[:-1]) if version.deleted]
            life = life[ends[-1] + 1 :] if ends else life
            versions = [*life, *versions]
            moved = life[0].data.get("moved")
            step = None if moved is None else (moved["id"], moved["version"])
        return versions

    def clear(self) -> str:
        """End all files and directories of this tree."""
        receipt = self._change(lambda batch: [batch.delete(record.id) for record in self._below(ROOT).values()])
        return self._describe_change(receipt, "All memory cleared")

    # ---- inside

    def _id(self, full_path: str) -> str:
        return derived_id(self._memory, str(uuid5(_NAMESPACE, dump_json([self._tree, full_path]))))

    def _find(self, full_path: str) -> Record | None:
        try:
            return self._memory.get(self._id(full_path))
        except NotFound:
            return None

    def _below(self, full_path: str) -> dict[str, Record]:
        """Return what is in a directory and in those below it, by path."""
        records = (record for record in list_latest(self._memory, metadata=_MARK) if record.data["tree"] == self._tree)
        return {path: record for record in records if (path := str(record.data["path"])).startswith(f"{full_path}/")}

    def _exists(self, full_path: str) -> bool:
        return full_path == ROOT or self._find(full_path) is not None or bool(self._below(full_path))

    def _make_parents(self, batch: BatchView, full_path: str) -> None:
        for parent in parent_directories(full_path):
            record = self._find(parent)
            if record is None:
                self._put(batch, parent, None)
            elif not _is_directory(record):
                raise InvalidInput(f"The path {parent} is not a directory.")

    def _put(self, batch: BatchView, full_path: str, text: str | None, *, moved: Record | None = None) -> None:
        """Add a file, or a directory for which there is no text."""
        directory = text is None or (moved is not None and _is_directory(moved))
        data: dict[str, Any] = {"path": full_path, "tree": self._tree}
        if moved is not None:
            data["moved"] = {"id": moved.id, "version": moved.version}
        batch.add(
            text or "",
            kind="state" if directory else "note",
            id=self._id(full_path),
            data=data,
            metadata={"memory_tool": "directory" if directory else "file"},
            # Somebody else may have made the directory meanwhile; a file is an error then.
            on_conflict="ignore" if directory and moved is None else "error",
            pinned=moved is not None and moved.pinned,
            importance=None if moved is None else moved.importance,
        )

    def _remove(self, batch: BatchView, full_path: str, path: str) -> dict[str, Record]:
        """Delete what stands at a place, as it was read; returns it by path."""
        record = self._find(full_path)
        removed = {} if record is None else {full_path: record}
        if record is None or _is_directory(record):
            removed |= self._below(full_path)
        if not removed:
            raise InvalidInput(f"The path {path} does not exist")
        for existing in removed.values():
            batch.delete(existing.id, expected_version=existing.version)
        return removed

    def _change(self, gather: Callable[[BatchView], object]) -> Receipt | None:
        """Make a batch of what is gathered; once more where another writer was faster."""

        def write() -> Receipt | None:
            with self._memory.batch() as batch:
                gather(batch)
            return batch.receipt

        return retry_conflicts(write, "the files")

    def _edit(self, path: str, change: Callable[[str], tuple[str, int]]) -> tuple[str, int]:
        full_path = resolve_path(path)

        def write() -> tuple[str, int]:
            record = self._find(full_path)
            if record is None and not self._exists(full_path):
                raise InvalidInput(f"The path {path} does not exist. Please provide a valid path.")
            if record is None or _is_directory(record):
                raise InvalidInput(f"The path {path} is not a file.")
            edited = change(record.text)
            self._receipts.append(self._memory.update(record.id, text=edited[0], expected_version=record.version))
            return edited

        return retry_conflicts(write, f"the file {path}")

    def _describe_change(self, receipt: Receipt | None, answer: str) -> str:
        if receipt is not None and receipt.ids:
            self._receipts.append(receipt)
        return answer


def _is_directory(record: Record) -> bool:
    return record.metadata.get("memory_tool") == "directory"
