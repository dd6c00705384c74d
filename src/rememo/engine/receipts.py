"""What callers and hooks are told of a commit."""

from rememo.model.receipt import Change, Outcome, Receipt
from rememo.model.record import LISTED
from rememo.store.writes import Commit


def receipt_of(commit: Commit) -> Receipt:
    """Return what a commit did, for the caller."""
    outcomes: dict[str, Outcome] = {}
    for written in commit.written:
        # What is there because of this commit was not ignored, though it was brought twice: undo must find it.
        if written.id not in outcomes or written.outcome not in ("ignored", "unchanged"):
            outcomes[written.id] = written.outcome
    return Receipt(
        ids=tuple(dict.fromkeys(written.id for written in commit.written)),
        versions={written.id: written.version for written in commit.written},
        outcomes=outcomes,
        recorded_at=commit.recorded_at,
        jobs=commit.jobs,
        status="learning" if commit.jobs else "done",
    )


def changes_of(commit: Commit) -> list[Change]:
    """Return what listeners are told: changes of records that are listed."""
    return [
        Change(
            id=written.id,
            version=written.version,
            outcome=written.outcome,
            kind=written.kind,
            scope=written.scope,
            recorded_at=commit.recorded_at,
        )
        for written in commit.written
        if written.outcome not in ("ignored", "unchanged") and written.kind in LISTED
    ]
