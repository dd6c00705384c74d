"""What every report of a measurement has: JSON values, and tables of aligned columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(ABC):
    """The results of one measurement."""

    @abstractmethod
    def table(self) -> str:
        """Return it as a table."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def align(lines: Sequence[Sequence[str]], *, names: int) -> str:
    """Return lines of cells as a table: the first `names` columns begin alike, the others end alike."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
