"""Time expressions: what they mean, what is none, and that no text can hurt."""

import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.recall.time import EARLIEST, LATEST, TimeMention, find_times
from rememo.recall.time.words import TRIGGERS

AT = datetime(2023, 5, 24, 15, 30, tzinfo=UTC)
"""A Wednesday."""


def only(text: str, **options: object) -> TimeMention:
    found = find_times(text, AT, **options)  # pyright: ignore[reportArgumentType]
    assert len(found) == 1, found
    return found[0]


def days(mention: TimeMention) -> tuple[str, str]:
    return mention.start.date().isoformat(), mention.end.date().isoformat()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did I do yesterday?", "2023-05-23", "2023-05-24"),
        ("the day before yesterday", "2023-05-22", "2023-05-23"),
        ("it is due tomorrow", "2023-05-25", "2023-05-26"),
        ("three days ago", "2023-05-21", "2023-05-22"),
        ("two weeks ago", "2023-05-07", "2023-05-14"),
        ("a couple of months ago", "2023-03-01", "2023-04-01"),
        ("a few years ago", "2019-01-01", "2022-01-01"),
        ("2-3 days ago", "2023-05-21", "2023-05-23"),
        ("a year or two ago", "2021-01-01", "2023-01-01"),
        ("in 3 months", "2023-08-01", "2023-09-01"),
        ("in a week's time", "2023-05-28", "2023-06-04"),
        ("two days from now", "2023-05-26", "2023-05-27"),
        ("last week", "2023-05-15", "2023-05-22"),
        ("last week on Tuesday", "2023-05-16", "2023-05-17"),
        ("Tuesday of next week", "2023-05-30", "2023-05-31"),
        ("the week before last", "2023-05-08", "2023-05-15"),
        ("last month", "2023-04-01", "2023-05-01"),
        ("this year", "2023-01-01", "2024-01-01"),
        ("last weekend", "2023-05-20", "2023-05-22"),
        ("this weekend", "2023-05-27", "2023-05-29"),
        ("last Friday", "2023-05-19", "2023-05-20"),
        ("this Friday", "2023-05-26", "2023-05-27"),
        ("next Friday", "2023-06-02", "2023-06-03"),
        ("last May", "2022-05-01", "2022-06-01"),
        ("last April", "2023-04-01", "2023-05-01"),
        ("May last year", "2022-05-01", "2022-06-01"),
        ("last summer", "2022-06-01", "2022-09-01"),
        ("last winter", "2022-12-01", "2023-03-01"),
        ("the summer of 2019", "2019-06-01", "2019-09-01"),
        ("in 2021", "2021-01-01", "2022-01-01"),
        ("in May 2021", "2021-05-01", "2021-06-01"),
        ("early May", "2023-05-01", "2023-05-11"),
        ("the 1990s", "1990-01-01", "2000-01-01"),
        ("7 May 2023", "2023-05-07", "2023-05-08"),
        ("May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("the 3rd of June", "2022-06-03", "2022-06-04"),
        ("2023-05-07", "2023-05-07", "2023-05-08"),
        ("13/07/2022", "2022-07-13", "2022-07-14"),
        ("07/13/2022", "2022-07-13", "2022-07-14"),
        ("7.5.2023", "2023-05-07", "2023-05-08"),
        ("between January and March", "2023-01-01", "2023-04-01"),
        ("between March and June", "2022-03-01", "2022-07-01"),
        ("from March to June 2021", "2021-03-01", "2021-07-01"),
        ("2019-2021", "2019-01-01", "2022-01-01"),
        ("the past two weeks", "2023-05-10", "2023-05-24"),
        ("a week after Christmas", "2023-01-01", "2023-01-02"),
        ("the weekend after Easter", "2023-04-15", "2023-04-17"),
        ("last Thanksgiving", "2022-11-24", "2022-11-25"),
        ("the week of May 7th", "2023-05-01", "2023-05-08"),
        ("on the 3rd", "2023-05-03", "2023-05-04"),
        ("from the 6th to the 9th of December", "2022-12-06", "2022-12-10"),
        ("last Saturday, May 13th", "2023-05-13", "2023-05-14"),
        ("three times a week", "2023-05-22", "2023-05-29"),
    ],
)
def test_expressions_mean_stretches_of_days(text: str, start: str, end: str) -> None:
    assert days(only(text)) == (start, end)


@pytest.mark.parametrize(
    ("text", "start", "hours"),
    [
        ("this morning", "2023-05-24T05", 7),
        ("last night", "2023-05-23T18", 12),
        ("tonight", "2023-05-24T18", 12),
        ("tomorrow at 5pm", "2023-05-25T17", 1),
        ("on Tuesday at 5", "2023-05-23T17", 1),
        ("at 5pm on Friday", "2023-05-19T17", 1),
        ("yesterday evening", "2023-05-23T17", 7),
    ],
)
def test_times_of_day(text: str, start: str, hours: int) -> None:
    found = only(text)
    assert found.start.isoformat().startswith(start)
    assert found.end - found.start == timedelta(hours=hours)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I may go there, and may I bring her?",
        "We march on, she sat in the sun and they wed",
        "Did April call? June said hello",
        "on the 3rd floor, the second attempt, in my 20s",
        "it cost 2000 dollars for 1999 people",
        "order-4711 at version 3.2023",
        "05/07/2023",
        "the 12th man, one of these days",
        "a second, a minute please",
        "99999 years ago",
        "the Black Friday sale at The Daily Grind, on my daily walk",
    ],
)
def test_what_is_no_time_is_left_alone(text: str) -> None:
    assert find_times(text, AT) == []


def test_bare_names_lean_as_asked() -> None:
    assert days(only("on Friday")) == ("2023-05-19", "2023-05-20")
    assert days(only("on Friday", lean="future")) == ("2023-05-26", "2023-05-27")
    assert days(only("in March", lean="future")) == ("2024-03-01", "2024-04-01")
    assert days(only("June 3", lean="future")) == ("2023-06-03", "2023-06-04")


def test_open_ends_have_a_direction() -> None:
    since, before, after, until = (only(text) for text in ("since April", "before 2020", "after 2020", "until Friday"))
    assert (since.direction, since.start.date(), since.end) == ("after", date(2023, 4, 1), LATEST)
    assert (before.direction, before.start, before.end.date()) == ("before", EARLIEST, date(2020, 1, 1))
    assert (after.direction, after.start.date()) == ("after", date(2021, 1, 1))
    assert (until.direction, until.end.date()) == ("before", date(2023, 5, 20))


def test_anchors_only_the_caller_knows() -> None:
    anchors = {"my birthday": date(1990, 6, 3), "the launch": date(2022, 2, 2)}
    assert days(only("two weeks before my birthday", anchors=anchors)) == ("2022-05-20", "2022-05-21")
    assert days(only("the day after the launch", anchors=anchors)) == ("2022-02-03", "2022-02-04")
    assert find_times("my birthday", AT) == []


def test_recurring_is_marked() -> None:
    assert only("every Monday and Thursday").recurring
    assert only("on Tuesdays").recurring
    assert not only("on Tuesday").recurring


def test_days_are_cut_in_the_zone_of_the_speaker() -> None:
    at = datetime(2023, 5, 24, 1, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
    found = find_times("yesterday", at)[0]
    assert found.start == datetime(2023, 5, 22, 15, tzinfo=UTC)
    assert found.start.tzinfo is UTC


def test_an_hour_the_clocks_skip_keeps_its_length() -> None:
    at = datetime(2023, 3, 27, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    found = find_times("yesterday at 2am", at)[0]
    assert found.end - found.start == timedelta(hours=1)


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        find_times("yesterday", datetime(2023, 5, 24))  # noqa: DTZ001


def test_text_and_position_name_the_words() -> None:
    text = "So, what happened in May 2021 and two weeks ago?"
    assert [mention.text for mention in find_times(text, AT)] == ["in May 2021", "two weeks ago"]


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *sorted(TRIGGERS),
                "the",
                "a",
                "an",
                "in",
                "on",
                "at",
                "of",
                "last",
                "this",
                "next",
                "before",
                "after",
                "since",
                "ago",
                "between",
                "and",
                "from",
                "to",
            ]
        ),
        st.integers(0, 99999).map(str),
        st.sampled_from([",", ".", "-", "/", "'", ":", "th", "st", "pm"]),
    ),
    max_size=14,
)


@settings(max_examples=400)
@given(
    text=st.one_of(st.text(), _PIECES.map(" ".join), _PIECES.map("".join)),
    at=st.datetimes(timezones=st.just(UTC)),
    lean=st.sampled_from(["past", "future"]),
)
def test_any_text_at_any_time(text: str, at: datetime, lean: str) -> None:
    last = 0
    for mention in find_times(text, at, lean=lean):  # pyright: ignore[reportArgumentType]
        assert mention.start < mention.end
        assert mention.start.tzinfo is UTC
        assert mention.end.tzinfo is UTC
        assert mention.text == text[mention.position[0] : mention.position[1]]
        assert last <= mention.position[0] < mention.position[1]
        last = mention.position[1]


@pytest.mark.parametrize(
    "piece",
    ["the day before ", "between May and ", "1-", "9", "from last ", "a few ", "Monday, ", "2 or ", "early ", "at 5 "],
)
def test_long_texts_do_not_hang(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    begun = time.thread_time()  # not what others take of the processor
    find_times(text, AT)
    assert time.thread_time() - begun < 5
