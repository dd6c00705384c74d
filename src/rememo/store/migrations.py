"""Migrations of any store: numbered SQL files that are never changed once they are out.

A living store is used by old and new releases at once while they are rolled out. So a change is made in two phases, each a
step of its own, which its first lines tell (`-- phase: expand` unless told otherwise, `-- phase: contract`):

- An *expand* step only adds what the last release does not notice: tables, columns that may be null or have a default,
  indexes. Whoever opens the store takes it. The last release goes on working, and may still open the store.
- A *contract* step takes away what only older releases needed. It is taken by `rememo migrate --contract` when none of them
  runs any more, and they refuse the store from then on. The release that brings it works before and after it. One with
  `-- taken: at once` is taken by whoever opens the store, for what the releases before must not touch any more.

`-- transaction: none` lets the statements of a step run one by one, for what cannot be in a transaction (`CREATE INDEX
CONCURRENTLY`); each must then do no harm when it is run twice.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Literal

from rememo.errors import IncompatibleStore

Phase = Literal["expand", "contract"]
Recorded = Mapping[int, tuple[str, str]]
"""What a store has seen: the hash and the phase of each step by its number."""

_HEADER = re.compile(r"^-- (phase|transaction|taken): ([\w ]+)$", re.MULTILINE)


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

    @property
    def phase(self) -> Phase:
        """Whether it only adds, or takes away what older releases need."""
        return "contract" if dict(_HEADER.findall(self.sql)).get("phase") == "contract" else "expand"

    @property
    def at_once(self) -> bool:
        """Whether everybody who opens the store takes it: one that only adds, or that shuts older releases out at once."""
        return self.phase == "expand" or dict(_HEADER.findall(self.sql)).get("taken") == "at once"

    @property
    def one_by_one(self) -> tuple[str, ...]:
        """Its statements, where they cannot be in one transaction; else nothing."""
        if dict(_HEADER.findall(self.sql)).get("transaction") != "none":
            return ()
        return tuple(statement.strip() for statement in re.split(r";[ \t]*(?:\n|$)", self.sql) if statement.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOptions:
    """What `rememo migrate` is asked for beside the steps that every opening takes."""

    contract: bool = False
    row_level_security: bool = False
    grant: str | None = None
    """A role that is to read and write."""
    citus: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """What is to be done to a store, or was."""

    place: str
    steps: tuple[Migration, ...] = ()
    waiting: tuple[Migration, ...] = ()
    """Contract steps that are left until they are asked for."""
    statements: tuple[str, ...] = ()
    """What is to be done beside the steps."""
    notes: tuple[str, ...] = ()
    """What somebody else has to see to."""


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """Return the steps of a folder in order."""
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    steps = [Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files]
    return tuple(sorted(steps, key=lambda step: step.number))


def outstanding(
    steps: Sequence[Migration], recorded: Recorded, place: str, *, contract: bool
) -> tuple[tuple[Migration, ...], tuple[Migration, ...]]:
    """Return the steps that are to be taken now, and those that wait until they are asked for.

    A store that took a step away from this release, or was made by other steps, is refused. In a new store nothing waits:
    no older release has it open.
    """
    known = {step.number: step for step in steps}
    newest = max((number for number, (_, phase) in recorded.items() if phase == "contract"), default=0)
    if newest > steps[-1].number:
        raise newer_store_error(newest, steps, place)
    for number, (hash, _) in recorded.items():
        if (number in known and known[number].hash != hash) or (number not in known and number < steps[-1].number):
            raise IncompatibleStore(
                f"{place} was made by a changed migration {number}; use the release it was made with, or export it with"
                " that one and import the file into a new memory"
            )
    left = [step for step in steps if step.number not in recorded]
    now = tuple(step for step in left if contract or not recorded or step.at_once)
    return now, tuple(step for step in left if step not in now)


def unreleased_store_error(place: str) -> IncompatibleStore:
    """Return the error of a store that was made before the first release, when migrations still changed."""
    return IncompatibleStore(
        f"{place} was made by an unreleased version of Rememo; nothing was changed: export it with that version"
        " (`rememo export`), and import the file into a new memory"
    )


def newer_store_error(newest: int, steps: Sequence[Migration], place: str) -> IncompatibleStore:
    """Return the error of a store that this release does not understand."""
    return IncompatibleStore(
        f"{place} was written by a newer Rememo (schema {newest}, this one knows {steps[-1].number}); upgrade rememo"
    )


def required_migration(recorded: Recorded) -> int:
    """Return the newest step that a release must know to use a store that has seen these."""
    first = min(recorded, default=0)
    return max((number for number, (_, phase) in recorded.items() if phase == "contract"), default=first)
