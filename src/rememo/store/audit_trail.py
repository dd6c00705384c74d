"""The rows of an audit trail: their columns, and reading them page by page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rememo.model.audit import NewAuditEntry
from rememo.store.audit_chain import AuditRow
from rememo.store.cipher.codec import FieldCodec

AUDIT_COLUMNS = (
    'number, at, operation, detail, actor, session, address, agent, "user", room, ids, flags, salt, gone, hash'
)
REDACTED_COLUMNS = ("actor", "session", "address", "agent", "user", "room", "ids", "flags", "salt", "gone")
"""The columns that change when halves of a line are taken out."""
_HIGHEST = 2**63 - 1


def mask_key_names(note: NewAuditEntry, codec: FieldCodec) -> NewAuditEntry:
    """Return a note that names keys as they are stored: what is encrypted there must not be read in the audit trail."""
    if not codec.encrypted:
        return note
    return replace(note, ids=tuple(codec.mask_name(id) for id in note.ids))


def read_pages(lines_from: Callable[[int], list[AuditRow]], start: int = 1) -> Iterator[list[AuditRow]]:
    """Give the lines from a number on, page by page."""
    while lines := lines_from(start):
        yield lines
        # A forged line may have the highest number there is, and no store can be asked for what comes after it.
        if lines[-1].number >= _HIGHEST:
            return
        start = lines[-1].number + 1


def to_ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Return sorted numbers as ranges of first and last."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
