"""Migrations of any store: numbered SQL files that are never changed once they are out."""

import hashlib
from dataclasses import dataclass
from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def hash(self) -> str:
        """What tells whether the step was changed after it was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Return the steps of a folder in order."""
    found = [one for one in folder.iterdir() if one.name.endswith(".sql")]
    steps = [Migration(int(one.name[:4]), one.name.removesuffix(".sql"), one.read_text("utf-8")) for one in found]
    return tuple(sorted(steps, key=lambda step: step.number))
