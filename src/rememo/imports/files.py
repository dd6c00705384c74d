"""The files that memories come in: JSON read entry by entry, out of archives too, and how far the reading is."""

import json
import os
import zipfile
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
_BLOCK: Final = 1 << 20
_MARK: Final = b"\xef\xbb\xbf"
_DEEPEST: Final = 200


def need(module: str, what: str) -> Any:
    """Import a package that only importing needs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{what} needs the package {module} ({error}): pip install "rememo[import]"') from error


class Place:
    """A file or folder that is read, and how many of its bytes were so far."""

    def __init__(self, path: str | Path, progress: Progress | None = None, bound: Scope | None = None) -> None:
        self.path = Path(path)
        self.bound = bound or Scope()
        """The view that it is read for."""
        if not self.path.exists():
            raise NotFound(f"there is no {self.path}; check its name")
        self._progress = progress
        self._done = 0
        self.size = _size(self.path)

    def read(self, count: int) -> None:
        """Note that so many bytes more were read."""
        self._done = min(self._done + count, self.size)
        if self._progress is not None:
            self._progress(self._done, self.size)

    def file(self) -> Path:
        """Return the path of a file; a folder is refused."""
        if not self.path.is_file():
            raise InvalidInput(f"{self.path} is a folder; name the file in it")
        return self.path

    @property
    def archived(self) -> bool:
        """Whether it is a zip archive, whatever its name says."""
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP

    @contextmanager
    def opened(self, path: Path | None = None) -> Generator[IO[bytes]]:
        """Open it, or a file within the folder, for reading; what is read is counted."""
        with (path or self.file()).open("rb", buffering=0) as raw:
            yield cast("IO[bytes]", BufferedReader(_Counted(cast("RawIOBase", raw), self.read), _BLOCK))

    @contextmanager
    def folder(self) -> Generator["Folder"]:
        """Open it as a folder of files: one on disk, or a zip archive."""
        if not self.archived:
            yield Folder(self, None)
            return
        try:
            with self.opened() as file, zipfile.ZipFile(file) as archive:
                yield Folder(self, archive)
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise InvalidInput(f"{self.path} is a damaged archive: {error}; download it again") from None
        except RuntimeError as error:  # what the standard library says of a password
            raise InvalidInput(f"{self.path} cannot be read: {error}; unpack it first and name the folder") from None


class Folder:
    """The files of an export, packed or not; of a single file, that one."""

    def __init__(self, place: Place, archive: zipfile.ZipFile | None) -> None:
        self._place = place
        self._archive = archive
        self._names: list[str] | None = None

    @property
    def names(self) -> list[str]:
        """The paths of all its files, in order."""
        if self._names is None:
            self._names = sorted(self._found())
        return self._names

    def _found(self) -> Iterator[str]:
        root = self._place.path
        if self._archive is not None:
            yield from (one.filename for one in self._archive.infolist() if not one.is_dir())
        elif root.is_file():
            yield root.name
        else:
            yield from (str(one.relative_to(root)) for one in root.rglob("*") if one.is_file())

    def named(self, start: str, end: str = ".json") -> list[str]:
        """Return the files whose own name starts and ends so: exports of much are written in several."""
        return [one for one in self.names if _name(one).startswith(start) and _name(one).endswith(end)]

    def main(self, start: str) -> list[str]:
        """Return the files of that name, or the one that was named itself, whatever its name is."""
        single = self._archive is None and self._place.path.is_file()
        return self.names if single else self.named(start)

    def size(self, name: str) -> int:
        """Return how long a file is."""
        if self._archive is not None:
            return self._archive.getinfo(name).file_size
        return self._path(name).stat().st_size

    @contextmanager
    def opened(self, name: str) -> Generator[IO[bytes]]:
        """Open one of its files."""
        if self._archive is not None:
            with self._archive.open(name) as file:
                yield file
        else:
            with self._place.opened(self._path(name)) as file:
                yield file

    def _path(self, name: str) -> Path:
        root = self._place.path
        return root if root.is_file() else root / name


class _Counted(RawIOBase):
    def __init__(self, raw: RawIOBase, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._raw = raw
        self._tell = tell

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
        self._tell(count or 0)
        return count


def entries(file: IO[bytes], where: str, *within: str) -> Iterator[Any]:
    """Give the entries of a JSON list one by one, never all at once.

    The list is the whole file, or stands under one of the names `within`; a file that holds one object and no such list
    gives that object.
    """
    ijson = need("ijson", "reading large JSON")
    text = _unmarked(file)
    first = text.peek(1)[:1]
    try:
        if first == b"[":
            yield from ijson.items(ijson.parse(_shallow(ijson, text, where)), "item")
        elif first == b"{":
            yield from _under(ijson, ijson.parse(_shallow(ijson, text, where)), within)
        else:
            raise InvalidInput(f"{where} is not JSON: it begins with {first!r}")
    except ijson.JSONError as error:
        told = str(error).strip().splitlines()[0] if str(error).strip() else "it ends too early"
        raise InvalidInput(f"{where} is damaged: {told}; what came before it was brought in") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where} is damaged: {error}; what came before it was brought in") from None


def _shallow(ijson: Any, file: IO[bytes], where: str) -> Iterator[tuple[str, Any]]:
    """Give what stands in a file, as long as it is nested no deeper than anything that people write.

    The path of a value is made for each: of a hundred thousand brackets, those paths alone are gigabytes.
    """
    depth = 0
    for event, value in ijson.basic_parse(file, use_float=True):
        if event in {"start_map", "start_array"}:
            depth += 1
            if depth > _DEEPEST:
                raise InvalidInput(
                    f"{where} is nested deeper than {_DEEPEST} levels; nothing of that entry was brought in"
                )
        elif event in {"end_map", "end_array"}:
            depth -= 1
        yield event, value


def _under(ijson: Any, events: Iterator[tuple[str, str, Any]], names: tuple[str, ...]) -> Iterator[Any]:
    """Give the entries of the lists under some names of an object; the object itself where it has none of them."""
    whole, seen = ijson.ObjectBuilder(), False
    for prefix, event, value in events:
        if event == "start_array" and prefix in names:
            seen = True
            yield from _list(ijson, events, prefix)
        elif not seen:
            whole.event(event, value)
    if not seen:
        yield whole.value


def _list(ijson: Any, events: Iterator[tuple[str, str, Any]], prefix: str) -> Iterator[Any]:
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


def lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """Give the lines of a JSON Lines file with their numbers; blank ones are passed over, broken ones are None."""
    for number, raw in enumerate(file, 1):
        line = raw.removeprefix(_MARK) if number == 1 else raw
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        yield number, value


def whole(file: IO[bytes], where: str) -> Any:
    """Return a small JSON file as a whole."""
    try:
        return json.loads(file.read().removeprefix(_MARK))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} is not JSON: {error}") from None


def _unmarked(file: IO[bytes]) -> "BufferedReader[Any]":
    """Return a file from its first character on: past a byte order mark and blanks."""
    text = cast("BufferedReader[Any]", file)
    if not isinstance(file, BufferedReader):
        text = BufferedReader(cast("Any", file), _BLOCK)
    if text.peek(len(_MARK)).startswith(_MARK):
        text.read(len(_MARK))
    while (first := text.peek(1)[:1]) and first.isspace():
        text.read(1)
    return text


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
