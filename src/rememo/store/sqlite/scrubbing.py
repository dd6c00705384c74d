"""The bytes of the file itself: read and cleaned past SQLite's own reading, without disturbing its locks.

When SQLite moves rows from page to page, it may leave a copy in the part of a page that is not in use, even where what is
deleted is overwritten. Nothing reads that part, so it can be filled with zeros while the file stands still.
"""

from collections.abc import Iterator
from typing import Any, Protocol, cast

import apsw

from rememo.store.sqlite.database import SqliteDatabase

_READ = 256  # pages at once
_BATCH = 500  # pages cleaned while others wait
_TREES = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}
"""The kinds of pages that hold rows, with the length of their head."""
_MOST_PAGES = 1 << 24
"""Beyond, the first byte of other pages may look like such a kind."""
_FIRST_HEAD = 100


class _File(Protocol):
    """What is used of SQLite's way to a file. Python's own would drop the locks of this process when it is closed."""

    def xFileSize(self) -> int: ...  # noqa: N802 - SQLite's names
    def xRead(self, amount: int, offset: int) -> bytes: ...  # noqa: N802
    def xWrite(self, data: bytes, offset: int) -> None: ...  # noqa: N802
    def xSync(self, flags: int) -> None: ...  # noqa: N802
    def xClose(self) -> None: ...  # noqa: N802


def read_bytes(path: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Give the bytes of a database's file, part by part."""
    file = _open(path, apsw.SQLITE_OPEN_READONLY)
    try:
        end = file.xFileSize()
        for start in range(0, end, size):
            yield file.xRead(min(size, end - start), start)
    finally:
        file.xClose()


def scrub(database: SqliteDatabase, tenant: str, seconds: float) -> bool:
    """Fill what is not in use of every page with zeros; False when others were at work all the time that was given."""
    if database.in_memory:
        return True
    page_size: int = database.value("PRAGMA page_size")
    unclean = [number for number, page in _pages(database.path, page_size) if _unused(page, number)]
    for start in range(0, len(unclean), _BATCH):
        with database.standing_still(seconds) as connection:
            if connection is None:
                return False
            _clean(database.path, page_size, unclean[start : start + _BATCH])
            # Others hold pages as they were; a commit makes them read anew before they write.
            connection.execute(
                "INSERT INTO tenants (tenant, epoch) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET epoch = epoch + 1",
                (tenant,),
            )
    return True


def _clean(path: str, page_size: int, numbers: list[int]) -> None:
    file = _open(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        end = file.xFileSize()
        for number in numbers:
            place = (number - 1) * page_size
            if place + page_size > end:
                continue
            # Read again: it may have changed since it was found.
            gap = _unused(file.xRead(page_size, place), number)
            if gap is not None:
                first, until = gap
                file.xWrite(bytes(until - first), place + first)
        file.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        file.xClose()


def _pages(path: str, page_size: int) -> Iterator[tuple[int, bytes]]:
    number = 0
    for part in read_bytes(path, page_size * _READ):
        for start in range(0, len(part), page_size):
            number += 1
            if number >= _MOST_PAGES:
                return
            yield number, part[start : start + page_size]


def _unused(page: bytes, number: int) -> tuple[int, int] | None:
    """Return the part of a page that is not in use, if anything stands there."""
    head = _FIRST_HEAD if number == 1 else 0
    length = _TREES.get(page[head], 0)
    if not length:
        return None
    cells = int.from_bytes(page[head + 3 : head + 5], "big")
    until = int.from_bytes(page[head + 5 : head + 7], "big") or 1 << 16
    first = head + length + 2 * cells
    if first >= until or until > len(page) or not any(page[first:until]):
        return None
    places = [int.from_bytes(page[at : at + 2], "big") for at in range(head + length, first, 2)]
    return (first, until) if all(until <= place < len(page) for place in places) else None


def _open(path: str, mode: int) -> _File:
    flags = [apsw.SQLITE_OPEN_MAIN_DB | mode, 0]
    return cast("_File", cast("Any", apsw).VFSFile("", path, flags))
