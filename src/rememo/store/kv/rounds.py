"""Going through all entries of a tenant while its keys change."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rememo.store.contents import Contents
from rememo.store.kv.protocol import Entry

C = TypeVar("C", bound=Contents)


def rounds(contents: Callable[[], Contents]) -> Iterator[None]:
    """Say how often to go through entries in the order of their names, so that each is met at least once.

    An entry that is sealed anew gets another name, which may stand where the reader has been. That happens once for a key: who
    was missed in one round for it has its place in the next.
    """
    gone_through = -1
    while True:
        before = contents()
        yield
        if contents().serial != before.serial:
            continue
        if not before.changing or gone_through == before.serial:
            return
        gone_through = before.serial


def entries(
    contents: Callable[[], C],
    pages: Callable[[], Iterable[list[Any]]],
    read: Callable[[Any, str, C], Entry],
) -> Iterator[tuple[str, Entry]]:
    """Give each entry once with its namespace, out of pages of rows that begin with it."""
    given = set[tuple[str, str]]()
    for _ in rounds(contents):
        for rows in pages():
            kept = contents()
            for space, *row in rows:
                entry = read(row, space, kept)
                if kept.sealed:
                    if (space, entry.key) in given:
                        continue
                    given.add((space, entry.key))
                yield space, entry
