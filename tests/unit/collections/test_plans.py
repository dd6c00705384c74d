"""Goals, tasks, actions, thoughts and posts: typed content, told by name when it is wrong."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.collections.recurrence import next_due
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound, VersionConflict
from rememo.testing.clock import START, ManualClock

from .faces import actions, goals, posts, tasks, thoughts

LISBON = ZoneInfo("Europe/Lisbon")
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(), clock=clock) as memory:
        yield memory


def test_goals_are_open_done_or_dropped(memory: Memory):
    collection = goals(memory)
    big = collection.add("Move to Lisbon", priority=3, due=START).id
    part = collection.add("Find a flat", parent=big, priority=9).id
    other = collection.add("Learn to swim", priority=3).id
    assert [goal.id for goal in collection.open()] == [part, big, other]
    assert [goal.id for goal in collection.list(parent=big)] == [part]
    collection.done(part)
    assert collection.done(part).outcome == "unchanged"
    collection.drop(other)
    assert [goal.status for goal in collection.list()] == ["open", "done", "dropped"]
    assert [goal.id for goal in collection.list(status="done")] == [part]
    collection.update(big, text="Move to Porto", due=None, expected_version=1)
    goal = collection.get(big)
    assert (goal.text, goal.due, goal.priority, goal.parent, goal.record.version) == ("Move to Porto", None, 3, None, 2)
    with pytest.raises(VersionConflict):
        collection.update(big, priority=1, expected_version=1)


def test_goals_that_cannot_be_meant(memory: Memory):
    collection = goals(memory)
    big, note = collection.add("big").id, memory.add("a note").id
    part = collection.add("part", parent=big).id
    for parent in ("nobody", note):
        with pytest.raises(NotFound, match="parent"):
            collection.add("lost", parent=parent)
    with pytest.raises(InvalidInput, match="which is a part of it"):
        collection.update(big, parent=part)
    with pytest.raises(InvalidInput, match="which is a part of it"):
        collection.update(big, parent=big)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("priority", {"priority": 11}), ("priority", {"priority": True}), ("status", {"status": "maybe"}),
        ("due", {"due": datetime(2026, 5, 1)}), ("text", {"text": " "}), ("nothing to change", {}),  # noqa: DTZ001
    ]  # fmt: skip
    for field, changes in wrong:
        with pytest.raises(InvalidInput, match=field):
            collection.update(big, **changes)
    assert collection.get(big).record.version == 1
    with pytest.raises(NotFound, match="no goal"):
        collection.get(note)


def test_tasks_are_due_when_they_are(memory: Memory, clock: ManualClock):
    collection = tasks(memory)
    late = collection.add("late", due=START - HOUR).id
    now = collection.add("now", due=START).id
    collection.add("later", due=START + HOUR)
    some = collection.add("some day", priority=9).id
    assert [task.id for task in collection.due()] == [late, now]
    assert [task.text for task in collection.due(START + HOUR)] == ["late", "now", "later"]
    assert [task.text for task in collection.open()] == ["late", "now", "later", "some day"]
    collection.done(late)
    assert collection.done(late).outcome == "unchanged"
    collection.drop(now)
    assert collection.due() == []
    assert collection.get(late).done_at == START
    assert [task.id for task in collection.list(status="open")][-1] == some


def test_a_recurring_task_in_the_past_is_due_once_and_done_moves_it_past_now(memory: Memory):
    collection = tasks(memory)
    id = collection.add("Water the plants", due=START - timedelta(days=10, hours=2), recurrence="daily").id
    (task,) = collection.due()
    assert task.due == START - timedelta(days=10, hours=2), "as it was given, and only once"
    collection.done(id)
    task = collection.get(id)
    assert (task.status, task.times_done) == ("open", 1)
    assert task.due == START + timedelta(hours=22)
    assert collection.due() == []
    collection.done(id)  # early: the next time is done
    assert collection.get(id).due == START + timedelta(hours=46)


def test_recurrence_needs_something_to_count_from(memory: Memory):
    collection = tasks(memory)
    with pytest.raises(InvalidInput, match="recurrence needs a due time"):
        collection.add("Water the plants", recurrence="daily")
    for wrong in ("hourly", 0, -5, timedelta(0), "x", True):
        with pytest.raises(InvalidInput, match="recurrence"):
            collection.add("Water the plants", due=START, recurrence=wrong)
    assert collection.list() == []


def test_two_that_do_the_same_task_at_once_do_it_once(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    collection, other = tasks(memory), tasks(memory)
    id = collection.add("Pay the rent", due=START, recurrence="monthly").id
    revise = view_of(memory).engine.drafts.revise
    once: list[Callable[[], object]] = [lambda: other.done(id)]

    def slow(*arguments: Any) -> Any:
        if once:
            once.pop()()  # the other comes in between reading and writing
        return revise(*arguments)

    monkeypatch.setattr(view_of(memory).engine.drafts, "revise", slow)
    assert collection.done(id).outcome == "unchanged"
    task = collection.get(id)
    assert (task.times_done, task.due) == (1, datetime(2026, 6, 1, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("first", "recurrence", "later"),
    [
        (datetime(2026, 1, 31, 9, tzinfo=UTC), "monthly", ["2026-02-28T09", "2026-03-31T09", "2026-04-30T09"]),
        (datetime(2024, 2, 29, 9, tzinfo=UTC), "yearly", ["2025-02-28T09", "2026-02-28T09", "2027-02-28T09", "2028-02-29T09"]),
        (datetime(2026, 3, 28, 9, tzinfo=LISBON), "daily", ["2026-03-29T08", "2026-03-30T08"]),
        (datetime(2026, 10, 18, 9, tzinfo=LISBON), "weekly", ["2026-10-25T09", "2026-11-01T09"]),
        (datetime(2026, 1, 31, 0, tzinfo=timezone(2 * HOUR)), "monthly", ["2026-02-27T22", "2026-03-30T22"]),
        (datetime(2026, 3, 28, 1, 30, tzinfo=LISBON), "daily", ["2026-03-29T01", "2026-03-30T00"]),
        (datetime(2026, 5, 1, 9, tzinfo=UTC), timedelta(hours=36), ["2026-05-02T21", "2026-05-04T09"]),
    ],
)  # fmt: skip
def test_the_calendar_is_kept(memory: Memory, clock: ManualClock, first: datetime, recurrence: Any, later: list[str]):
    clock.advance((first - START).total_seconds() - 60)
    collection = tasks(memory)
    id = collection.add("again", due=first, recurrence=recurrence).id
    seen: list[str] = []
    for _ in later:
        collection.done(id)
        due = collection.get(id).due
        assert due is not None
        seen.append(due.isoformat()[:13])
    assert seen == later


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(LISBON)),  # noqa: DTZ001 - hypothesis adds it
    st.one_of(st.sampled_from(["daily", "weekly", "monthly", "yearly"]), st.floats(1, 1e8)),
    st.timedeltas(timedelta(days=-400), timedelta(days=30_000)),
)
def test_the_next_time_is_always_later_and_never_one_too_far(first: datetime, recurrence: Any, passed: timedelta):
    start = first.astimezone(UTC)
    after = start + passed
    following = next_due(start, recurrence, after, "Europe/Lisbon")
    assert following is not None
    assert following > max(after, start)
    longest = {"daily": 1.1, "weekly": 7.1, "monthly": 31.1, "yearly": 366.1}
    days = longest[recurrence] if isinstance(recurrence, str) else recurrence / 86_400
    assert following - max(after, start) <= timedelta(days=days, seconds=1)


def test_a_new_due_time_is_what_is_counted_from(memory: Memory, clock: ManualClock):
    collection = tasks(memory)
    id = collection.add("again", due=datetime(2026, 5, 31, 12, tzinfo=UTC), recurrence="monthly").id
    collection.update(id, due=datetime(2026, 5, 15, 12, tzinfo=UTC), text="moved")
    collection.done(id)
    assert collection.get(id).due == datetime(2026, 6, 15, 12, tzinfo=UTC)
    collection.update(id, recurrence=None)
    collection.done(id)
    task = collection.get(id)
    assert (task.status, task.recurrence, task.times_done) == ("done", None, 2)
    with pytest.raises(InvalidInput, match="recurrence needs a due time"):
        collection.update(id, due=None, recurrence="daily")


def test_actions_and_how_they_went(memory: Memory, clock: ManualClock):
    collection = actions(memory)
    assert collection.success_rate() is None
    id = collection.add("weather", parameters={"city": "Lisbon"}, result=[], duration=timedelta(seconds=2)).id
    clock.advance()
    collection.add("weather", error="timed out", duration=30)
    clock.advance()
    collection.add("calendar", result={"free": True})
    action = collection.get(id)
    assert (action.tool, action.parameters, action.result, action.success) == ("weather", {"city": "Lisbon"}, [], True)
    assert (action.duration, action.error, action.at) == (2.0, None, START)
    assert collection.success_rate("weather") == 0.5
    assert collection.success_rate() == pytest.approx(2 / 3)
    assert [action.tool for action in collection.latest(2)] == ["weather", "calendar"]
    assert [action.error for action in collection.list(success=False)] == ["timed out"]
    assert [hit.id for hit in memory.search("Lisbon", kind="action")] == [id]
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("duration", {"duration": -1}), ("success", {"success": "yes"}), ("result", {"result": object()}),
        ("parameters", {"parameters": [1]}),
    ]  # fmt: skip
    for field, value in wrong:
        with pytest.raises(InvalidInput, match=field):
            collection.add("weather", **value)


def test_thoughts_by_step(memory: Memory, clock: ManualClock):
    collection = thoughts(memory)
    for step, text in (("think", "Where is it?"), ("ACT", "look"), ("OBSERVE", "there"), ("FINAL", "It is there.")):
        collection.add(step, text)
        clock.advance()
    assert [thought.step for thought in collection.list()] == ["THINK", "ACT", "OBSERVE", "FINAL"]
    assert [thought.text for thought in collection.latest(1)] == ["It is there."]
    assert [thought.text for thought in collection.latest(step="think")] == ["Where is it?"]
    with pytest.raises(InvalidInput, match="step must be one of THINK, ACT, OBSERVE, FINAL"):
        collection.add("DREAM", "of sheep")
    with pytest.raises(InvalidInput, match="text is empty"):
        collection.add("THINK", "")


@pytest.mark.requirement("post.history")
def test_posts_with_all_that_belongs_to_them(memory: Memory):
    collection = posts(memory)
    receipt = collection.add(
        "Sunset!", type="story", location="Lisbon", prompt="a sunset", image="https://example.org/s.png",
        external_id=("instagram", 99), published_at=START - HOUR,
    )  # fmt: skip
    again = collection.add("Sunset!", external_id=("instagram", "99"))
    assert (again.outcome, again.id) == ("ignored", receipt.id)
    collection.add("Plain", published_at=START - 2 * HOUR)
    post = collection.get(receipt.id)
    assert (post.content, post.type, post.location, post.prompt) == ("Sunset!", "story", "Lisbon", "a sunset")
    assert (post.image, post.external_id) == ("https://example.org/s.png", ("instagram", "99"))
    assert post.published_at == START - HOUR
    assert [post.content for post in collection.list()] == ["Plain", "Sunset!"]
    assert [post.content for post in collection.list(type="story", location="Lisbon")] == ["Sunset!"]
    with pytest.raises(InvalidInput, match="content is empty"):
        collection.add("")


@pytest.mark.requirement("post.recent-locations")
def test_recent_locations_are_distinct_and_newest_first(memory: Memory):
    collection = posts(memory)
    assert collection.recent_locations() == []
    places = ["Rome", "Porto", "Lisbon ", None, "porto", "Faro", "lisbon"]
    for hour, place in enumerate(places):
        collection.add("post", location=place, published_at=START + hour * HOUR)
    assert collection.recent_locations(3) == ["lisbon", "Faro", "porto"]
    assert collection.recent_locations(10) == ["lisbon", "Faro", "porto", "Rome"]
    for wrong in (0, -1):
        with pytest.raises(InvalidInput, match="n must be"):
            collection.recent_locations(wrong)
