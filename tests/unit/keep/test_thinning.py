"""Whatever is thinned: snapshots and the last of each day stay as they were, and time has no gap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.store.thinning import PastVersion, ThinningBounds, thin_record

DAY = 86_400_000_000


@st.composite
def histories(draw: st.DrawFn) -> list[PastVersion]:
    """Versions of one record: changed, deleted and made anew, or expired in between."""
    moment, versions = draw(st.integers(0, DAY)), list[PastVersion]()
    for number in range(1, draw(st.integers(1, 12)) + 1):
        began = moment
        moment += draw(st.sampled_from([1, 1_000, DAY // 10, DAY // 3, DAY, 3 * DAY]))
        deleted = draw(st.integers(0, 5)) == 0
        expires = began + 10 if draw(st.integers(0, 6)) == 0 else None
        versions.append(PastVersion(number, began, moment, expires, deleted))
        if deleted:
            moment += draw(st.integers(0, DAY))
    if draw(st.booleans()):
        versions[-1] = versions[-1]._replace(superseded_at=None, deleted=False)
    return versions


def at(versions: list[PastVersion], moment: int) -> int | None:
    """Return which version was current at a moment."""
    for version in versions:
        if version.recorded_at <= moment and (version.superseded_at is None or moment < version.superseded_at):
            return version.number if version.expires_at is None or moment < version.expires_at else None
    return None


@pytest.mark.requirement("integrity.versions")
@given(histories(), st.lists(st.integers(0, 30 * DAY), max_size=4), st.integers(0, 30 * DAY), st.booleans())
def test_what_must_stay_stays(versions: list[PastVersion], snapshots: list[int], keep_from: int, forget: bool):
    bounds = ThinningBounds(keep_from, keep_from if forget else None, sorted(snapshots), 0)
    plan = thin_record(versions, bounds)
    left = [
        version._replace(superseded_at=plan.ends.get(version.number, version.superseded_at))
        for version in versions
        if version.number not in plan.gone
    ]
    for moment in snapshots:
        assert at(left, moment) == at(versions, moment)
    if not left:
        last = versions[-1].superseded_at
        assert forget
        assert last is not None
        assert last < keep_from
        return
    assert left[0].number == versions[0].number
    assert left[-1] == versions[-1]
    for version in left:
        if version.superseded_at is None or version.superseded_at >= keep_from:
            assert version in versions
    moments = sorted(
        {version.recorded_at for version in versions} | {version.superseded_at or 0 for version in versions}
    )
    for moment in moments:
        was, now = at(versions, moment), at(left, moment)
        # Never a version from later, never nothing where there was something, never something where there was nothing.
        assert (was is None) == (now is None)
        assert now is None or was is None or now <= was
    days = {version.recorded_at // DAY: version.number for version in versions}
    assert set(days.values()) <= {version.number for version in left}
    again = thin_record(left, bounds)
    assert again.gone == ()


def test_the_newest_of_all_keeps_its_number():
    versions = [PastVersion(3, 0, 5, None, True)]
    assert thin_record(versions, ThinningBounds(None, 10, [], 3)).gone == ()
    assert thin_record(versions, ThinningBounds(None, 10, [], 4)).gone == (3,)
