"""Typed values: any type, exact copies, one change at a time, and a past like every record's."""

import asyncio
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from typing_extensions import TypedDict

from rememo import AsyncMemory, Memory, Settings
from rememo.errors import InvalidInput, NotFound, ReadOnly, TypeMismatch, VersionConflict
from rememo.recall.embed.protocol import Vector
from rememo.testing.clock import ManualClock
from rememo.working.typed import Typed

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Mood(Enum):
    CALM = "calm"
    BUSY = "busy"


class Place(BaseModel):
    city: str
    since: date


@dataclass
class Session:
    user: str = "ana"
    turns: int = 0
    tags: set[str] = field(default_factory=set[str])
    place: Place | None = None
    mood: Mood = Mood.CALM


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    at: datetime
    parts: tuple[int, ...] = ()
    secret: str = Field(default="", exclude=True)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)


class Point2(BaseModel):
    left: int = 0


class Point3(BaseModel):
    x: int = 0


class Point(NamedTuple):
    x: int
    y: float


class Song(TypedDict):
    title: str
    seconds: int


@dataclass(eq=False)
class Odd:
    """Compares by identity, as classes do."""

    number: int = 0


class Opaque:
    pass


# ---- any type


@pytest.mark.requirement("typed.generic")
@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        (None, 0, 41),
        (None, "", "héllo 猫"),
        (None, 0.5, 2.25),
        (None, False, True),
        (None, [], [1, "two", None, [3]]),
        (None, {}, {"a": {"b": [1]}}),
        (None, set[str](), {"x", "y"}),
        (None, NOON, NOON + timedelta(days=1)),
        (None, Mood.CALM, Mood.BUSY),
        (None, Session(), Session("bo", 3, {"a"}, Place(city="Porto", since=date(2026, 1, 1)), Mood.BUSY)),
        (None, Place(city="", since=date(2026, 1, 1)), Place(city="Rome", since=date(2025, 1, 1))),
        (None, Strict(at=NOON), Strict(at=NOON, parts=(1, 2))),
        (None, Point(0, 0.0), Point(1, 2.5)),
        (None, Decimal("0.10"), Decimal("1.25")),
        (None, Odd(), Odd(3)),
        (None, timedelta(), timedelta(hours=1, microseconds=5)),
        (list[int], [], [1, 2]),
        (dict[int, list[datetime]], {}, {3: [NOON]}),
        (tuple[int, str], (0, ""), (1, "a")),
        (frozenset[Mood], frozenset[Mood](), frozenset({Mood.BUSY})),
        (deque[int], deque[int](), deque([1, 2])),
        (list[Session], [], [Session(), Session("bo")]),
        (Session | None, None, Session("cy")),
        (Song, {"title": "", "seconds": 0}, {"title": "Fado", "seconds": 180}),
        (dict[str, UUID | Path], {}, {"id": UUID(int=1), "path": Path("/a/b")}),
        (bytes, b"", b"plain"),
    ],
)
def test_a_value_of_any_type_comes_back_equal(tmp_path: Path, kind: Any, default: Any, value: Any):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as memory:
        box = memory.typed("box", default, type=kind)
        assert same(box.get(), default)
        assert box.version == 0
        assert memory.count() == 0
        box.set(value)
        assert same(box.get(), value)
    with Memory(path, embedder=None) as memory:
        stored = memory.typed("box", default, type=kind).get()
        assert same(stored, value)
        assert type(stored) is type(value)


def same(first: Any, other: Any) -> bool:
    if isinstance(first, Odd):
        return first.number == other.number
    if isinstance(first, Strict):  # each has a lock of its own
        return bool(first.model_dump() == other.model_dump())
    return bool(first == other)


@pytest.mark.requirement("typed.generic")
def test_the_type_is_known_to_the_checker(memory: Memory):
    session: Typed[Session] = memory.typed("s", Session())
    numbers: Typed[list[int]] = memory.typed("n", [], type=list[int])
    maybe: Typed[Session | None] = memory.typed("m", None, type=Session | None)
    assert session.get().turns + sum(numbers.get()) == 0
    assert maybe.get() is None
    assert numbers.update(lambda held: [*held, 1]) == [1]
    with pytest.raises(InvalidInput, match="cannot be inferred from None"):
        memory.typed("m", None)
    with pytest.raises(InvalidInput, match="Opaque, which pydantic cannot check"):
        memory.typed("o", Opaque())
    with pytest.raises(InvalidInput, match=r"pydantic cannot check: .*Nowhere"):
        memory.typed("o", [], type=list["Nowhere"])  # pyright: ignore[reportUndefinedVariable, reportUnknownArgumentType] # noqa: F821 - meant
    with pytest.raises(InvalidInput, match=r"typed value 'x' must be list\[int\]: 0: Input should be a valid integer"):
        memory.typed("x", ["a"], type=list[int])  # pyright: ignore[reportArgumentType] - that is the test


@pytest.mark.requirement("typed.generic")
@pytest.mark.parametrize(
    ("kind", "default", "value", "says"),
    [
        (None, 0, "5", "must be int: Input should be a valid integer"),
        (None, 0, None, "must be int"),
        (None, Session(), {"user": "ana"}, "must be Session"),
        (None, 0, 2**63, "beyond 64 bits"),
        (None, 0.0, float("nan"), "is nan, which JSON cannot hold"),
        (None, [], [float("inf")], r"would come back as \[None\]"),
        (None, [], [NOON], "would come back as .*type=list"),
        (None, {}, {1: "a"}, "would come back as"),
        (None, [], [Session()], "would come back as"),
        (None, [], [Opaque()], "cannot be stored"),
        (None, [], [lambda: 0], "cannot be stored"),
        (None, b"", b"\xff", "cannot be stored"),
        (None, "", "a\x00b", "NUL"),
        (None, "", "\ud800", "surrogate|must be str"),
        (None, Session(), Session(turns="many"), "cannot be stored"),  # pyright: ignore[reportArgumentType] - meant
        (list[Any], [], [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]], "nested too deeply"),
        (None, "", "x" * 2_000_000, "bytes"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_changes_nothing(
    memory: Memory, kind: Any, default: Any, value: Any, says: str
):
    box = memory.typed("box", default, type=kind)
    box.set(default)
    for attempt in (lambda: box.set(value), lambda: box.update(lambda _: value)):
        with pytest.raises(InvalidInput, match=says):
            attempt()
    assert box.version == 1
    assert box.get() == default


def test_a_value_that_holds_itself_is_refused(memory: Memory):
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(InvalidInput, match="box"):
        memory.typed("box", [], type=list[Any]).set(ring)


def test_one_who_forgets_to_return_is_told(memory: Memory):
    box = memory.typed("box", [1], type=list[int])
    with pytest.raises(InvalidInput) as caught:
        box.update(lambda held: held.append(2))  # pyright: ignore[reportArgumentType] - that is the test
    assert "must return the new value" in caught.value.__notes__[0]


@pytest.mark.requirement("typed.generic")
def test_a_stored_value_that_fits_no_more_names_the_way_out(memory: Memory):
    memory.typed("place", "Porto").set("Lisbon")

    def migrate(old: Any) -> Place:
        return Place(city=old, since=date(2026, 1, 1))

    blank = Place(city="", since=date(2026, 1, 1))
    box = memory.typed("place", blank)
    for read in (box.get, lambda: box.update(lambda held: held), lambda: box.history()[0].value):
        with pytest.raises(TypeMismatch, match=r'stored as "Lisbon", which is not Place: .*migrate='):
            read()
    assert memory.typed("place", "").get() == "Lisbon"

    moved = memory.typed("place", blank, migrate=migrate)
    assert moved.get().city == "Lisbon"
    assert moved.version == 1  # reading writes nothing
    assert moved.update(lambda held: held.model_copy(update={"city": "Faro"})).city == "Faro"
    assert box.get().city == "Faro"
    assert [version.value.city for version in moved.history()] == ["Lisbon", "Faro"]
    with pytest.raises(TypeMismatch):
        box.undo()
    assert moved.version == 2
    assert moved.undo().city == "Lisbon"

    with pytest.raises(TypeMismatch, match="failed for version 3: ZeroDivisionError") as caught:
        memory.typed("place", blank, migrate=lambda _: 1 / 0).get()  # pyright: ignore[reportArgumentType] - meant
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(TypeMismatch, match=r"migrate= of .* did not give Place"):
        memory.typed("place", blank, migrate=lambda _: 7).get()  # pyright: ignore[reportArgumentType] - meant


class Colours(BaseModel):
    """What was stored: by names that the next one has not."""

    colour: str = "white"
    parts: list[Point2] = []


class Colors(BaseModel):
    color: str = "white"
    parts: list[Point3] = []


@pytest.mark.requirement("typed.generic")
def test_a_renamed_field_is_migrated_though_everything_has_a_default(memory: Memory):
    memory.typed("paint", Colours()).set(Colours(colour="red"))
    seen: list[Any] = []

    def migrate(old: Any) -> Colors:
        seen.append(old)
        return Colors(color=old["colour"])

    box = memory.typed("paint", Colors(), migrate=migrate)
    assert box.get().color == "red"
    assert seen == [{"colour": "red", "parts": []}]
    assert [version.value.color for version in box.history()] == ["red"]
    assert box.update(lambda held: held.model_copy(update={"color": held.color + "dish"})).color == "reddish"
    seen.clear()
    assert box.get().color == "reddish"
    assert seen == [], "what the type itself stored needs no change"


def test_a_field_that_was_renamed_inside_is_migrated(memory: Memory):
    memory.typed("paint", Colours()).set(Colours(parts=[Point2(left=1), Point2(left=2)]))

    def migrate(old: Any) -> Any:
        return {"color": old["colour"], "parts": [{"x": part["left"]} for part in old["parts"]]}

    assert [part.x for part in memory.typed("paint", Colors(), migrate=migrate).get().parts] == [1, 2]


def test_a_field_that_is_new_lets_a_value_be_migrated(memory: Memory):
    @dataclass
    class Whole:
        name: str = ""

    @dataclass
    class Parted:
        name: str = ""
        surname: str = ""

    memory.typed("who", Whole()).set(Whole(name="Ana Lopes"))
    box = memory.typed("who", Parted(), migrate=lambda old: Parted(*old["name"].split()))
    assert box.get() == Parted("Ana", "Lopes")
    assert memory.typed("who", Parted()).get() == Parted("Ana Lopes"), "without migrate= pydantic decides"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Session, Session(tags={"a", "b"}, place=Place(city="Porto", since=date(2026, 1, 1)))),
        (dict[str, Any], {"free": {"keys": [1, {"a": None}]}}),
        (list[Point], [Point(1, 2.0)]),
        (dict[Mood, list[Place]], {Mood.CALM: [Place(city="Faro", since=date(2026, 1, 1))]}),
        (Session | None, None),
    ],
)
def test_what_a_type_stored_is_not_migrated(memory: Memory, kind: Any, value: Any):
    memory.typed("box", value, type=kind).set(value)
    assert memory.typed("box", value, type=kind, migrate=lambda _: 1 / 0).get() == value


# ---- copies and changes


@pytest.mark.requirement("typed.thread-safe")
def test_what_is_read_is_a_copy(memory: Memory):
    given = Session()
    box = memory.typed("s", given)
    given.tags.add("changed later")
    box.get().tags.add("changed too")
    assert box.get().tags == set()
    stored = Session(tags={"a"})
    box.set(stored)
    for held in (stored, box.get(), box.update(lambda held: held), box.history()[0].value):
        held.tags.add("b")
        assert box.get().tags == {"a"}


@pytest.mark.requirement("typed.thread-safe")
def test_nothing_comes_between_two_updates(tmp_path: Path):
    path, settings = tmp_path / "m.db", Settings(durability="fast")
    with Memory(path, embedder=None, settings=settings) as first, Memory(path, embedder=None, settings=settings) as two:
        shared = first.typed("counter", 0)

        def count(box: Typed[int]) -> None:
            for _ in range(40):
                box.update(lambda held: held + 1)

        threads = [threading.Thread(target=count, args=(box,)) for box in (shared, shared, two.typed("counter", 0))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert shared.get() == 120
        assert shared.version == 120


def test_an_update_that_changes_nothing_or_raises_writes_nothing(memory: Memory):
    box = memory.typed("n", 1)
    box.set(1)
    assert box.update(lambda held: held) == 1
    with pytest.raises(ZeroDivisionError):
        box.update(lambda held: held // 0)
    assert box.version == 1


def test_an_expected_version(memory: Memory):
    box = memory.typed("n", 0)
    assert box.set(1, expected_version=0).versions == {box.id: 1}
    for wrong in (0, 2):
        with pytest.raises(VersionConflict, match=f"at version 1, not {wrong}"):
            box.set(2, expected_version=wrong)
    box.set(2, expected_version=1)
    assert (box.get(), box.version) == (2, 2)
    with pytest.raises(InvalidInput, match="expected_version"):
        box.set(3, expected_version=-1)
    box.clear()
    with pytest.raises(VersionConflict, match="at version 0, not 2"):
        box.set(3, expected_version=2)


def test_a_value_belongs_to_exactly_one_scope(memory: Memory):
    memory.typed("n", 0).set(1)
    ana = memory.scope(user="ana")
    assert ana.typed("n", 0).get() == 0
    ana.typed("n", 0).set(2)
    memory.scope(room="ana").typed("n", 0).set(3)
    assert [memory.typed("n", 0).get(), ana.typed("n", 0).get()] == [1, 2]
    assert memory.count(kind="state") == 3
    assert memory.scope(tenant="other").typed("n", 0).get() == 0
    [record] = ana.list(kind="state")
    assert record.data == {"name": "n", "value": 2}
    assert record.text == ""
    with pytest.raises(InvalidInput, match="name is empty"):
        memory.typed("", 0)


def test_writes_may_be_part_of_a_batch_but_not_updates(memory: Memory):
    with memory.batch() as batch:
        batch.add("a note")
        batch.typed("n", 0).set(5)
        for refused in (batch.typed("n", 0).undo, lambda: batch.typed("n", 0).update(lambda held: held)):
            with pytest.raises(InvalidInput, match="cannot be part of a batch"):
                refused()
        assert memory.typed("n", 0).get() == 0
    assert memory.typed("n", 0).get() == 5


# ---- time


def test_versions_views_of_the_past_and_undo(memory: Memory, clock: ManualClock):
    box = memory.typed("n", 0)
    assert box.history() == []
    with pytest.raises(NotFound, match="nothing to undo"):
        box.undo()
    times: list[datetime] = []
    for number in (1, 2, 3):
        receipt = box.set(number)
        assert receipt.recorded_at is not None
        times.append(receipt.recorded_at)
        clock.advance(60)
    assert [(version.record.version, version.value) for version in box.history()] == [(1, 1), (2, 2), (3, 3)]
    assert [box.get(known_at=time) for time in times] == [1, 2, 3]
    past = memory.as_of(times[1]).typed("n", 0)
    assert (past.get(), past.version, len(past.history())) == (2, 2, 2)
    for write in (lambda: past.set(9), lambda: past.update(lambda _: 9), past.undo, past.clear):
        with pytest.raises(ReadOnly):
            write()

    assert [box.undo(), box.undo(), box.get()] == [2, 1, 1]
    box.set(7)
    assert [box.undo(), box.undo()] == [1, 0]
    assert box.version == 0
    with pytest.raises(NotFound, match="nothing to undo"):
        box.undo()

    memory.rollback(times[2])
    assert box.get() == 3
    memory.undo(box.set(4))
    assert box.get() == 3
    assert box.clear()
    assert not box.clear()
    assert box.get() == 0
    box.set(8)
    assert box.undo() == 0  # before it there was nothing, whatever was there earlier


def test_export_and_import_carry_values(memory: Memory, tmp_path: Path):
    box = memory.scope(user="ana").typed("s", Session())
    box.set(Session(tags={"a"}))
    box.set(Session(tags={"b"}))
    memory.export(tmp_path / "export.jsonl")
    with Memory(":memory:", embedder=None, tenant="other") as other:
        other.import_(tmp_path / "export.jsonl")
        typed = other.scope(user="ana").typed("s", Session())
        assert [version.value.tags for version in typed.history()] == [{"a"}, {"b"}]
        assert typed.undo().tags == {"a"}
        assert other.verify().faults == ()


def test_a_record_that_was_overwritten_is_named(memory: Memory):
    box = memory.typed("n", 0)
    box.set(1)
    memory.update(box.id, data={})
    with pytest.raises(TypeMismatch, match="holds no value"):
        box.get()
    box.set(2)
    assert box.get() == 2


# ---- hooks and cost


def test_hooks_are_told_of_the_new_value(memory: Memory):
    box, other = memory.typed("n", 0), memory.typed("m", 0)
    seen: list[int] = []

    @box.on_change
    def notify(value: int) -> None:
        seen.append(value)

    box.set(1)
    other.set(9)
    memory.typed("n", 0).update(lambda held: held + 1)
    box.undo()
    box.clear()
    assert seen == [1, 2, 1, 0]
    memory.typed("n", 0).off_change(notify)
    box.set(5)
    assert len(seen) == 4

    @box.on_change
    def failing(value: int) -> None:
        raise RuntimeError(value)

    box.set(6)
    assert box.get() == 6
    assert memory.hooks.failures == 1
    assert failing is not None


class _NeverAsked:
    name = "never"
    dimension = 8

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        raise AssertionError(texts)


def test_a_value_wakes_no_model():
    with Memory(":memory:", embedder=_NeverAsked()) as memory:
        box = memory.typed("n", 0)
        assert box.set(1).jobs == ()
        box.update(lambda held: held + 1)
        assert memory.stats().vectors == 0


def test_pydantic_is_imported_by_those_who_use_it():
    code = "import sys, rememo; rememo.Memory(':memory:', embedder=None).close(); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_async_twin(tmp_path: Path):
    async def run() -> None:
        async with AsyncMemory(tmp_path / "m.db", embedder=None) as memory:
            box = await memory.typed("s", Session())
            seen: list[int] = []
            box.on_change(lambda value: seen.append(value.turns))
            assert (await box.get()).turns == 0
            await box.set(Session(turns=1))

            def more(held: Session) -> Session:
                held.turns += 1
                return held

            await asyncio.gather(*(box.update(more) for _ in range(10)))
            assert (await box.get()).turns == 11
            assert await box.version == 11
            assert max(seen) == 11
            assert (await box.undo()).turns == 10
            assert len(await box.history()) == 12
            assert box.name == "s"

    asyncio.run(run())
