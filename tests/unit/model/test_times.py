"""Times and durations."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.model.times import from_micros, now, to_micros, to_seconds, to_utc


def test_the_clock_is_aware_utc():
    assert now().tzinfo is UTC


@given(moment=st.datetimes(timezones=st.just(UTC)))
def test_microseconds_are_exact_both_ways(moment: datetime):
    assert from_micros(to_micros(moment)) == moment


def test_any_zone_becomes_utc():
    eastern = timezone(timedelta(hours=-5))
    assert to_utc(datetime(2026, 5, 1, 7, tzinfo=eastern), "at") == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert to_utc("2026-05-01T07:00:00-05:00", "at").tzinfo is UTC
    assert to_utc("2026-05-01T12:00:00Z", "at") == datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 5, 1),  # noqa: DTZ001 - the fault shown
        "2026-05-01",
        "2026-05-01T12:00:00",
        "yesterday",
        "",
        1_700_000_000,
        None,
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_what_is_no_moment_is_refused_by_name(value: Any):
    with pytest.raises(InvalidInput, match="occurred_at"):
        to_utc(value, "occurred_at")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1, 1.0),
        (0.25, 0.25),
        ("500ms", 0.5),
        ("90s", 90.0),
        ("15 m", 900.0),
        ("1.5h", 5400.0),
        ("7D", 604_800.0),
        ("1w", 604_800.0),
    ],
)
def test_durations(value: Any, seconds: float):
    assert to_seconds(value, "ttl") == seconds
    assert to_seconds(timedelta(seconds=seconds), "ttl") == seconds


@pytest.mark.parametrize(
    "value",
    [0, -1, True, None, "", "5", "5 parsecs", "1h30m", float("nan"), float("inf"), 1e12, 10**400, timedelta.max],
)
def test_what_is_no_duration_is_refused_by_name(value: Any):
    with pytest.raises(InvalidInput, match="ttl"):
        to_seconds(value, "ttl")
