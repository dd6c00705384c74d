"""The path that is imported from: JSON read entry by entry, with progress."""

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Final, cast

from rememo.errors import InvalidInput, MissingExtra, NotFound
from rememo.model.scope import Scope

Progress = Callable[[int, int], None]
_ZIP: Final = b"PK\x03\x04"
BLOCK: Final = 1 << 20
READ_AHEAD: Final = 1 << 15
"""How far reading, and with it the progress, is ahead of what is stored."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MAX_DEPTH: Final = 200
_MAX_ENTRY: Final = 128 * 1024 * 1024
"""How much one entry or line may hold: it is in memory as a whole."""


def import_reader(module: str, what: str) -> Any:
    """Return an optional package of the `import` extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{what} needs the package {module} ({error}): pip install "rememo[import]"') from error


class SourcePath:
    """The file or folder to import, and how many of its bytes were read so far."""

    def __init__(self, path: str | Path, progress: Progress | None = None, bound: Scope | None = None) -> None:
        self.path = Path(path)
        self.bound = bound or Scope()
        """The scope of the view that is imported into."""
        if not self.path.exists():
            raise NotFound(f"there is no {self.path}; check its name")
        self._progress = progress
        self._done = 0
        self.peeking = False
        """Whether the bytes read now are read again, and counted then."""
        self.size = _total_size(self.path)

    def count_read(self, count: int) -> None:
        """Add to the count of bytes read and report progress."""
        if not self.peeking:
            self._done = min(self._done + count, self.size)
        if self._progress is not None:
            self._progress(self._done, self.size)

    def file(self) -> Path:
        """Return the path of a file; a folder is refused."""
        if not self.path.is_file():
            raise InvalidInput(f"{self.path} is a folder; name the file in it")
        return self.path

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip archive, whatever its name says."""
        return self.path.is_file() and is_zip(self.path)

    @contextmanager
    def open(self, path: Path | None = None) -> Generator[IO[bytes]]:
        """Open it, or a file within the folder, for reading; what is read is counted."""
        with (path or self.file()).open("rb", buffering=0) as raw:
            yield cast("IO[bytes]", BufferedReader(_CountedFile(cast("RawIOBase", raw), self.count_read), READ_AHEAD))


class _CountedFile(RawIOBase):
    def __init__(self, raw: RawIOBase, on_read: Callable[[int], None]) -> None:
        super().__init__()
        self._raw = raw
        self._on_read = on_read

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any, /) -> int | None:
        count = cast("Any", self._raw).readinto(buffer)
        self._on_read(count or 0)
        return count


def iter_entries(file: IO[bytes], where: str, *within: str) -> Iterator[Any]:
    """Yield the entries of a JSON list one by one, never all at once.

    The list is the whole file, or stands under one of the names `within`; a file that holds one object and no such list
    gives that object.
    """
    ijson = import_reader("ijson", "reading large JSON")
    text = _skip_byte_order_mark(file)
    first = text.peek(1)[:1]
    portion = _LimitedReader(text, where)
    try:
        events = ijson.parse(_limit_depth(ijson, portion, where))
        if first == b"[":
            items: Iterator[Any] = ijson.items(events, "item")
        elif first == b"{":
            items = _iter_lists(ijson, events, within)
        else:
            raise InvalidInput(f"{where} is not JSON: it begins with {first!r}")
        for item in items:
            portion.count = 0
            yield item
    except ijson.JSONError as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else "it ends too early"
        raise InvalidInput(f"{where} is damaged: {reason}; what came before it was imported") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is damaged: {error}; what came before it was imported") from None


def find_first(file: IO[bytes], path: str, *before: str) -> Any:
    """Return the value at a path of a JSON object, as `user.id`; None where a list under one of some names comes first."""
    ijson = import_reader("ijson", "reading large JSON")
    try:
        for at, event, value in ijson.parse(
            _limit_depth(ijson, _LimitedReader(_skip_byte_order_mark(file), path), path)
        ):
            if at == path:
                return value
            if event == "start_array" and at in ("", *before):
                return None
    except (ijson.JSONError, UnicodeDecodeError, InvalidInput):
        return None  # reading the whole file reports it
    return None


class _LimitedReader:
    """A file that is read entry by entry, none of which may be larger than memory should hold."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self._file = file
        self._where = where
        self.count = 0
        """How much was read since the last entry."""

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self.count += len(block)
        if self.count > _MAX_ENTRY:
            raise InvalidInput(
                f"{self._where} has an entry of more than {_MAX_ENTRY >> 20} MB; what came before it was imported"
            )
        return block


def _limit_depth(ijson: Any, file: _LimitedReader, where: str) -> Iterator[tuple[str, Any]]:
    """Yield parser events; a file that is nested too deeply raises `InvalidInput`.

    The path of a value is made for each: of a hundred thousand brackets, those paths alone are gigabytes.
    """
    depth = 0
    for event, value in ijson.basic_parse(file, use_float=True):
        if event in {"start_map", "start_array"}:
            depth += 1
            if depth > _MAX_DEPTH:
                raise InvalidInput(
                    f"{where} is nested deeper than {_MAX_DEPTH} levels; nothing of that entry was imported"
                )
        elif event in {"end_map", "end_array"}:
            depth -= 1
        yield event, value


def _iter_lists(ijson: Any, events: Iterator[tuple[str, str, Any]], names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the entries of the lists under some names of an object; the object itself where it has none of them."""
    builder, seen = ijson.ObjectBuilder(), False
    for prefix, event, value in events:
        if event == "start_array" and prefix in names:
            seen = True
            yield from _iter_list(ijson, events, prefix)
        elif not seen:
            builder.event(event, value)
    if not seen:
        yield builder.value


def _iter_list(ijson: Any, events: Iterator[tuple[str, str, Any]], prefix: str) -> Iterator[Any]:
    builder, depth = None, 0
    for at, event, value in events:
        if at == prefix and event == "end_array":
            return
        builder = builder or ijson.ObjectBuilder()
        builder.event(event, value)
        depth += event.startswith("start_")
        depth -= event.startswith("end_")
        if depth == 0:
            yield builder.value
            builder = None


def iter_json_lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """Yield the lines of a JSON Lines file with their numbers; blank ones are passed over, broken ones are None."""
    number = 0
    while raw := file.readline(_MAX_ENTRY):
        number += 1
        line, ended = (
            (raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw),
            len(raw) < _MAX_ENTRY or raw.endswith(b"\n"),
        )
        if ended and not line.strip():
            continue
        try:
            value = json.loads(line) if ended else None
        except (ValueError, RecursionError):
            value = None
        while not ended:  # too long to hold
            more = file.readline(_MAX_ENTRY)
            ended = not more or more.endswith(b"\n")
        yield number, value


def read_json(file: IO[bytes], where: str) -> Any:
    """Return a small JSON file as a whole."""
    try:
        return json.loads(file.read().removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} is not JSON: {error}") from None


def _skip_byte_order_mark(file: IO[bytes]) -> "BufferedReader[Any]":
    """Return a file from its first character on: past a byte order mark and blanks."""
    text = cast("BufferedReader[Any]", file)
    if not isinstance(file, BufferedReader):
        text = BufferedReader(cast("Any", file), BLOCK)
    if text.peek(len(_BYTE_ORDER_MARK)).startswith(_BYTE_ORDER_MARK):
        text.read(len(_BYTE_ORDER_MARK))
    while (first := text.peek(1)[:1]) and first.isspace():
        text.read(1)
    return text


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip archive, whatever its name says."""
    with path.open("rb") as file:
        return file.read(len(_ZIP)) == _ZIP


def _total_size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
