"""Which past versions may go: all are kept for a time, then one a day. Pure.

What is kept, always: the first and the last version of each life of a record, the last version begun on each day (UTC), and
every version that was current at a snapshot. The version before one that goes takes over its time, so that the versions of
a record still follow each other without a gap in time; only their numbers have gaps.
"""

from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rememo.store.reports import ThinningResult

_DAY = 86_400_000_000


class PastVersion(NamedTuple):
    """What must be known of a version; times in microseconds."""

    number: int
    recorded_at: int
    superseded_at: int | None
    expires_at: int | None
    deleted: bool


class RecordThinning(NamedTuple):
    """What is to be done to the versions of one record."""

    gone: tuple[int, ...]
    """The numbers of versions to be removed."""
    ends: dict[int, int]
    """The new end of versions that take over the time of others."""


class ThinningBounds(NamedTuple):
    """What may go."""

    keep_from: int | None
    """Versions that ended before are thinned; None thins none."""
    forget_before: int | None
    """Records that ended before go with all their versions; None for none."""
    snapshots: Sequence[int]
    """Moments that must stay as they are, sorted."""
    newest: int
    """The number of the newest version of all: it must stay, or its number would be given again."""


def thin_record(versions: Sequence[PastVersion], bounds: ThinningBounds) -> RecordThinning:
    """Return what may go of a record's versions, oldest first."""
    if bounds.forget_before is not None and _forgotten(versions, bounds, bounds.forget_before):
        return RecordThinning(tuple(version.number for version in versions), {})
    if bounds.keep_from is None or len(versions) < 3:  # noqa: PLR2004 - the first and the last stay
        return RecordThinning((), {})
    gone: list[int] = []
    ends: dict[int, int] = {}
    before, end = versions[0], versions[0].superseded_at
    for version, after in pairwise(versions[1:]):
        if (
            version.superseded_at is not None
            and version.superseded_at < bounds.keep_from
            and version.superseded_at == after.recorded_at
            and end == version.recorded_at
            and not before.deleted
            and not version.deleted
            and before.expires_at is version.expires_at is None
            and version.recorded_at // _DAY == after.recorded_at // _DAY
            and version.number != bounds.newest
            and not _needed(version, bounds.snapshots)
        ):
            gone.append(version.number)
            end = ends[before.number] = version.superseded_at
        else:
            before, end = version, version.superseded_at
    return RecordThinning(tuple(gone), ends)


class ThinningPlan(NamedTuple):
    """What is to be done to the versions of many records."""

    gone: list[int]
    """The numbers of versions to be removed."""
    ends: dict[int, int]
    """The new end of versions that take over the time of others."""
    touched: list[str]
    """The ids of records that lose some."""

    def to_result(self, following: str | None) -> ThinningResult:
        """Return the result of a step that did it, or would do it."""
        touched = tuple(self.touched)
        return ThinningResult(versions=len(self.gone), records=len(touched), ids=touched, following=following)


def plan_thinning(
    histories: Mapping[str, Sequence[PastVersion]], bounds: ThinningBounds, busy: Container[str]
) -> ThinningPlan:
    """Return what may go of records with their versions, oldest first; a job still needs those that are `busy`."""
    plan = ThinningPlan([], {}, [])
    for id, versions in histories.items():
        thinned = thin_record(versions, bounds._replace(forget_before=None) if id in busy else bounds)
        if thinned.gone:
            plan.touched.append(id)
            plan.gone.extend(thinned.gone)
            plan.ends.update(thinned.ends)
    return plan


def _forgotten(versions: Sequence[PastVersion], bounds: ThinningBounds, before: int) -> bool:
    last = versions[-1].superseded_at
    return (
        last is not None
        and last < before
        and not any(version.number == bounds.newest or _needed(version, bounds.snapshots) for version in versions)
    )


def _needed(version: PastVersion, snapshots: Sequence[int]) -> bool:
    """Whether a version was current at a snapshot."""
    place = bisect_left(snapshots, version.recorded_at)
    return place < len(snapshots) and (version.superseded_at is None or snapshots[place] < version.superseded_at)
