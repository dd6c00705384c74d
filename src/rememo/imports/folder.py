"""The files of an export, packed or not, with a limit on what archives may unpack to.

An export is a folder, an archive, or several archives in either, as they were downloaded. Nothing is unpacked to a place that
a name in an archive says, and no link in a folder is followed out of it.
"""

import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, RawIOBase
from operator import itemgetter
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Final, cast

from rememo.errors import InvalidInput
from rememo.imports.json_values import Json, as_object
from rememo.imports.source_path import BLOCK, READ_AHEAD, SourcePath, is_zip, read_json

_MIN_UNPACKED: Final = 512 * 1024 * 1024
_MAX_RATIO: Final = 200
"""How many times its own size an archive may hold: text packs to a tenth, and some of it is read twice."""
_MAX_SMALL_FILE: Final = 16 * 1024 * 1024
_IN_MEMORY: Final = 8 * 1024 * 1024
_COPY_SUFFIX: Final = re.compile(r" ?\(\d+\)(?=\.\w+$)| \d+$")
"""What a computer adds to the name of a second copy: `projects 2`, `conversations-000 (1).zip`."""

_Packed = tuple[zipfile.ZipFile, zipfile.ZipInfo]


@contextmanager
def open_folder(source: SourcePath) -> Generator["Folder"]:
    """Open a source as a folder of files; a damaged archive raises `InvalidInput` with its name."""
    with ExitStack() as stack:
        try:
            yield Folder(source, stack)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise InvalidInput(f"{source.path} is a damaged archive: {error}; download it again") from None
        except RuntimeError as error:  # what the standard library says of a password
            raise InvalidInput(f"{source.path} cannot be read: {error}; unpack it first and name the folder") from None


class Folder:
    """The files of an export; of a single file, that one."""

    def __init__(self, source: SourcePath, stack: ExitStack) -> None:
        self._source = source
        self._stack = stack
        self._rest = max(_MIN_UNPACKED, source.size * _MAX_RATIO)
        self._opened: set[str] = set()
        self.archives: set[str] = set()
        """The names of the archives that lie in it."""
        self._files: dict[str, Path | _Packed] = dict(sorted(self._list_files(), key=itemgetter(0)))

    @property
    def names(self) -> list[str]:
        """The paths of all its files, in order."""
        return list(self._files)

    @property
    def is_single_file(self) -> bool:
        """Whether it is one file, which was named itself."""
        return self._source.path.is_file() and not self._source.is_archive

    @property
    def unread_count(self) -> int:
        """Return how many files were never opened."""
        return len(self._files) - len(self._opened)

    def main_files(self, start: str) -> list[str]:
        """Return the files of that name, or the one that was named itself, whatever its name is."""
        return self.names if self.is_single_file else self.json_files(start, within=True)

    def json_files(self, start: str, *, within: bool = False) -> list[str]:
        """Return the JSON files whose own name starts so, or that lie in a folder of that name.

        Exports of much are written in several files, or in one for each entry.
        """
        return [
            name
            for name in self._files
            if base_name(name).endswith(".json")
            and (base_name(name).startswith(start) or (within and _COPY_SUFFIX.sub("", _parent_name(name)) == start))
        ]

    def size(self, name: str) -> int:
        """Return how long a file is."""
        file = self._files[name]
        return file.stat().st_size if isinstance(file, Path) else file[1].file_size

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        """Open one of its files."""
        self._opened.add(name)
        file = self._files[name]
        if isinstance(file, Path):
            with self._source.open(file) as raw:
                yield raw
            return
        archive, info = file
        with archive.open(info) as packed:
            yield self._limited(packed)

    def read_small(self, name: str) -> Json:
        """Return the object that a small JSON file holds; an empty one for anything else."""
        if self.size(name) > _MAX_SMALL_FILE:
            return {}
        with self.open(name) as file:
            return as_object(read_json(file, f"{self._source.path}: {name}"))

    def read(self, name: str) -> bytes:
        """Return all of a file."""
        with self.open(name) as file:
            return file.read()

    # ---- what there is

    def _list_files(self) -> Iterator[tuple[str, "Path | _Packed"]]:
        root = self._source.path
        if self._source.is_archive:
            yield from self._within("", self._stack.enter_context(self._source.open()), deeper=True)
        elif root.is_file():
            yield root.name, root
        else:
            home = root.resolve()
            for path in root.rglob("*"):
                if not path.is_file() or not path.resolve().is_relative_to(home) or _is_macos_metadata(str(path)):
                    continue
                if path.parent == root and path.suffix.lower() == ".zip" and is_zip(path):
                    file = self._stack.enter_context(self._source.open(path))
                    yield from self._within(self._archive(path.name), file, deeper=False)
                else:
                    yield path.relative_to(root).as_posix(), path

    def _archive(self, name: str) -> str:
        self.archives.add(_COPY_SUFFIX.sub("", name))
        return f"{name}/"

    def _within(self, prefix: str, file: IO[bytes], *, deeper: bool) -> Iterator[tuple[str, _Packed]]:
        try:
            archive = self._stack.enter_context(zipfile.ZipFile(file))
        except zipfile.BadZipFile as error:
            raise zipfile.BadZipFile(f"{prefix.rstrip('/')}: {error}" if prefix else str(error)) from None
        for info in archive.infolist():
            name = info.filename.replace("\\", "/")
            if info.is_dir() or _is_macos_metadata(name):
                continue
            if deeper and name.lower().endswith(".zip"):
                # Its directory stands at its end: it cannot be read as it comes.
                copy = self._stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - the stack closes it
                with archive.open(info) as packed:
                    copyfileobj(self._limited(packed), copy, BLOCK)
                yield from self._within(self._archive(name), cast("IO[bytes]", copy), deeper=False)
            else:
                yield prefix + name, (archive, info)

    def _limited(self, packed: IO[bytes]) -> IO[bytes]:
        return cast("IO[bytes]", BufferedReader(_UnpackedFile(packed, self._unpacked), READ_AHEAD))

    def _unpacked(self, count: int) -> None:
        self._rest -= count
        if self._rest < 0:
            raise InvalidInput(
                f"{self._source.path} holds more than {_MAX_RATIO} times its own size, which no export does;"
                " if it is one all the same, unpack it and name the folder"
            )


class _UnpackedFile(RawIOBase):
    """A file that comes out of an archive, counted."""

    def __init__(self, raw: IO[bytes], on_read: Callable[[int], None]) -> None:
        super().__init__()
        self._raw = raw
        self._on_read = on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        read = self._raw.read(len(buffer))
        self._on_read(len(read))
        buffer[: len(read)] = read
        return len(read)


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def _parent_name(path: str) -> str:
    return base_name(path.rpartition("/")[0])


def _is_macos_metadata(path: str) -> bool:
    return base_name(path).startswith("._") or "__MACOSX/" in path
