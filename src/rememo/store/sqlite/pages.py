"""A SQLite file read page by page without SQLite, for files that SQLite gives up on.

By the published file format: a page is a node of a tree of rows or of an index; rows that are longer than a page go on
in a chain of others. The log beside the file is laid over it as far as it was committed. Nothing is ever written.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rememo.errors import Corrupt, StorageError
from rememo.runtime.closing import Closing

TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02

_MAGIC = b"SQLite format 3\0"
_USUAL_PAGE = 4096
_LOG_HEADER, _FRAME_HEADER = 32, 24
_LOG_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
_WORD = 0xFFFFFFFF
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_LONGEST_VARINT = 9


class Unreadable(Exception):
    """Bytes that are not what the format asks for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, or one entry of an index."""

    number: int | None
    """Its row number; an index and a table without them has none."""
    values: tuple[Any, ...]


class Pages(Closing):
    """The pages of a file under its log. Close it after use."""

    def __init__(self, path: str) -> None:
        try:
            with Path(path).open("rb") as file:
                self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is empty"
            raise StorageError(f"{path} cannot be read: {reason}") from error
        log = Path(path + "-wal")
        self._log = log.read_bytes() if log.is_file() else b""
        self._newer, length, self.size = _committed(self._log)
        self.size = self.size or _USUAL_PAGE
        self.count = length or 1
        header = self.page(1)
        self.header_readable = header[:16] == _MAGIC
        reserved = 0
        if self.header_readable:
            size = int.from_bytes(header[16:18], "big")
            self.size, reserved = (65_536 if size == 1 else size), header[20]
        if self.size < 512 or self.size & (self.size - 1):  # noqa: PLR2004 - by the format
            self._file.close()
            raise Corrupt(
                f"the header of {path} names pages of {self.size} bytes, which cannot be; nothing can be read"
            )
        self.usable = self.size - reserved
        self.count = length or -(-len(self._file) // self.size)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def page(self, number: int) -> bytes:
        """Return a page's bytes, counted from 1; what the file has lost is zeros."""
        if not 1 <= number <= self.count:
            raise Unreadable(f"there is no page {number}")
        if number in self._newer:
            start = self._newer[number]
            return self._log[start : start + self.size]
        start = (number - 1) * self.size
        return self._file[start : start + self.size].ljust(self.size, b"\0")

    def application(self) -> int:
        """Return which program's file it says to be."""
        return int.from_bytes(self.page(1)[68:72], "big")

    def kind(self, number: int) -> int:
        """Return what kind of node a page is, 0 for none."""
        page = self.page(number)
        kind = page[100 if number == 1 else 0]
        return kind if kind in (TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER) else 0

    def free(self) -> set[int]:
        """Return the pages that hold nothing any more, as far as their list can be read."""
        pages: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36], "big") if self.header_readable else 0
        while 1 < trunk <= self.count and trunk not in pages:
            page = self.page(trunk)
            pages.add(trunk)
            following, length = struct.unpack(">II", page[:8])
            if length > self.usable // 4 - 2:
                break
            pages.update(struct.unpack(f">{length}I", page[8 : 8 + 4 * length]))
            trunk = following
        return pages

    def children(self, number: int) -> list[int]:
        """Return the pages below an inner node."""
        page = self.page(number)
        start = 100 if number == 1 else 0
        below = [int.from_bytes(page[cell : cell + 4], "big") for cell in self._cells(page, start)]
        return [*below, int.from_bytes(page[start + 8 : start + 12], "big")]

    def rows(self, number: int) -> Iterator[Row | None]:
        """Give what a node holds, None for each row that cannot be read."""
        page = self.page(number)
        start = 100 if number == 1 else 0
        kind = page[start]
        if kind == TABLE_INNER:
            return
        for cell in self._cells(page, start):
            try:
                yield self._row(page, cell + (4 if kind == INDEX_INNER else 0), numbered=kind == TABLE_LEAF)
            except (Unreadable, UnicodeDecodeError, IndexError, struct.error):
                yield None

    def _cells(self, page: bytes, start: int) -> list[int]:
        length = int.from_bytes(page[start + 3 : start + 5], "big")
        first = start + (12 if page[start] in (TABLE_INNER, INDEX_INNER) else 8)
        if first + 2 * length > self.usable:
            return []
        return [cell for (cell,) in struct.iter_unpack(">H", page[first : first + 2 * length]) if cell < self.usable]

    def _row(self, page: bytes, cell: int, *, numbered: bool) -> Row:
        length, cell = _varint(page, cell)
        number: int | None = None
        if numbered:
            number, cell = _varint(page, cell)
            number -= (number >> 63) << 64
        return Row(number, _values(self._payload(page, cell, length, numbered=numbered)))

    def _payload(self, page: bytes, cell: int, length: int, *, numbered: bool) -> bytes:
        if length > self.count * self.size:
            raise Unreadable(f"a row of {length} bytes")
        most = self.usable - 35 if numbered else (self.usable - 12) * 64 // 255 - 23
        if length <= most:
            return page[cell : cell + length]
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (self.usable - 4)
        local = local if local <= most else least
        parts = [page[cell : cell + local]]
        following = int.from_bytes(page[cell + local : cell + local + 4], "big")
        missing = length - local
        while missing > 0:
            more = self.page(following)
            parts.append(more[4 : 4 + min(missing, self.usable - 4)])
            missing -= self.usable - 4
            following = int.from_bytes(more[:4], "big")
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length and where it ends."""
    value = 0
    for place in range(_LONGEST_VARINT):
        byte = data[at + place]
        if place == _LONGEST_VARINT - 1:
            return value << 8 | byte, at + _LONGEST_VARINT
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says whether it goes on
            return value, at + place + 1
    raise Unreadable("a number without an end")


def _values(payload: bytes) -> tuple[Any, ...]:
    """Return the values of a row."""
    end, at = _varint(payload, 0)
    place = end
    values: list[Any] = []
    while at < end:
        code = payload[at]
        if code < 0x80:  # noqa: PLR2004 - nearly always it is one byte
            at += 1
        else:
            code, at = _varint(payload, at)
        if code == 0:
            values.append(None)
            continue
        value, place = _value(payload, place, code)
        values.append(value)
    if at != end or place != len(payload):
        raise Unreadable("a row that is longer or shorter than it says")
    return tuple(values)


def _value(payload: bytes, place: int, code: int) -> tuple[Any, int]:
    if code in (8, 9):
        return code - 8, place
    if code in _INTEGERS:
        end = place + _INTEGERS[code]
        return int.from_bytes(payload[place:end], "big", signed=True), end
    if code == 7:  # noqa: PLR2004 - a real number, by the format
        return struct.unpack(">d", payload[place : place + 8])[0], place + 8
    if code < 12:  # noqa: PLR2004 - not used by the format
        raise Unreadable(f"a value of the kind {code}")
    end = place + (code - 12) // 2
    if end > len(payload):
        raise Unreadable("a value beyond the end of its row")
    return (payload[place:end].decode() if code % 2 else payload[place:end]), end


def _committed(log: bytes) -> tuple[dict[int, int], int, int]:
    """Return where in a log the newest committed state of each page begins, how many pages the file has, and their size.

    All of it is nothing when the log tells nothing.
    """
    if len(log) < _LOG_HEADER:
        return {}, 0, 0
    magic, _, size, _, *salts = struct.unpack(">6I", log[:24])
    order = _LOG_ORDERS.get(magic)
    if order is None:
        return {}, 0, 0
    sums = _checksum(log[:24], (0, 0), order)
    if sums != struct.unpack(">2I", log[24:32]):
        return {}, 0, 0
    newest: dict[int, int] = {}
    waiting: dict[int, int] = {}
    length = 0
    for start in range(_LOG_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number, commit, *frame_salts = struct.unpack(">4I", log[start : start + 16])
        body = start + _FRAME_HEADER
        sums = _checksum(log[start : start + 8] + log[body : body + size], sums, order)
        # From the first frame that does not fit on, the rest is of an older round, or was never finished.
        if frame_salts != salts or sums != struct.unpack(">2I", log[start + 16 : start + 24]):
            break
        waiting[number] = body
        if commit:
            newest |= waiting
            waiting.clear()
            length = commit
    return newest, length, size if newest else 0


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second
