"""Going through all entries of a tenant while its keys change."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rememo.store.cipher.codec import FieldCodec
from rememo.store.kv.protocol import Entry

C = TypeVar("C", bound=FieldCodec)


def rounds(codec: Callable[[], FieldCodec]) -> Iterator[None]:
    """Count the rounds through entries in the order of their names, so that each is met at least once.

    An entry that is re-encrypted gets another name, which may stand where the reader has been. That happens once for a key: who
    was missed in one round for it has its place in the next.
    """
    gone_through = -1
    while True:
        before = codec()
        yield
        if codec().serial != before.serial:
            continue
        if not before.rotating or gone_through == before.serial:
            return
        gone_through = before.serial


def entries(
    codec: Callable[[], C],
    pages: Callable[[], Iterable[list[Any]]],
    read: Callable[[Any, str, C], Entry],
) -> Iterator[tuple[str, Entry]]:
    """Give each entry once with its namespace, out of pages of rows that begin with it."""
    given = set[tuple[str, str]]()
    for _ in rounds(codec):
        for rows in pages():
            kept = codec()
            for space, *row in rows:
                entry = read(row, space, kept)
                if kept.encrypted:
                    if (space, entry.key) in given:
                        continue
                    given.add((space, entry.key))
                yield space, entry
