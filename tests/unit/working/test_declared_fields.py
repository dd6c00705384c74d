"""Subclasses of a workbench: declared fields with types, stored when they are assigned."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from rememo import Memory, Settings, Working
from rememo.errors import InvalidInput, NotFound, ReadOnly, TypeMismatch

ROOT = Path(__file__).parents[3]


@dataclass
class Note:
    text: str
    at: datetime
    tags: set[str] = field(default_factory=set[str])


class Customer(BaseModel):
    id: str
    vip: bool = False


class SupportCase(Working):
    """The support case of the docs, and more types."""

    statuses: ClassVar[tuple[str, ...]] = ("open", "resolved")
    ticket: str = ""
    status: Literal["open", "resolved"] = "open"
    level: Annotated[int, Field(ge=1, le=5)] = 1
    tags: list[str] = []  # noqa: RUF012 - as users write it; each read gives a copy
    notes: list[Note] = Field(default_factory=list[Note])
    customer: Customer | None = None
    opened: datetime
    _cache: int = 0

    def escalate(self, reason: str) -> int:
        self.notes = [*self.notes, Note(reason, datetime(2026, 5, 1, tzinfo=UTC), {"escalated"})]
        return self.change("level", lambda level: level + 1)


class PaidCase(SupportCase):
    price: float = 0.0


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(learn=False)) as memory:
        yield memory


@pytest.mark.requirement("working.custom")
def test_a_support_case(memory: Memory):
    case = SupportCase(memory.scope(room="case-7"))
    assert (case.ticket, case.status, case.level, case.tags, case.notes, case.customer) == ("", "open", 1, [], [], None)
    with pytest.raises(NotFound, match=r"SupportCase.opened was never set"):
        _ = case.opened
    case.ticket = "T-7"
    case.opened = datetime(2026, 5, 1, 9, tzinfo=UTC)
    case.customer = Customer(id="alice", vip=True)
    case.tags = [*case.tags, "late"]
    assert case.escalate("no answer") == 2
    case.messages.add("user", "Where is my parcel?")
    # Another face of the same scope, in another view, has it all, with its types.
    again = SupportCase(memory.scope(room="case-7"))
    assert (again.ticket, again.level, again.tags) == ("T-7", 2, ["late"])
    assert again.customer == Customer(id="alice", vip=True)
    assert again.notes == [Note("no answer", datetime(2026, 5, 1, tzinfo=UTC), {"escalated"})]
    assert again.opened == datetime(2026, 5, 1, 9, tzinfo=UTC)
    assert again.stats().messages.count == 1
    # They are values of the context, and go where it goes.
    assert again.context.get("level") == 2
    with Memory(":memory:", embedder=None) as other:
        other.working.import_(case.export())
        assert SupportCase(other).notes == case.notes
    assert SupportCase(memory.scope(room="case-8")).ticket == ""
    assert case.statuses == ("open", "resolved")


def test_what_is_read_is_a_copy(memory: Memory):
    case = SupportCase(memory)
    case.tags.append("lost")
    assert case.tags == []
    case.tags = given = ["a"]
    given.append("b")
    case.tags.append("c")
    assert case.tags == ["a"]


def test_fields_have_a_past_and_can_be_undone(memory: Memory):
    case = SupportCase(memory)
    case.level = 2
    moment = memory.snapshot("then")
    case.level = 3
    assert SupportCase(memory.as_of(moment)).level == 2
    with pytest.raises(ReadOnly):
        SupportCase(memory.as_of(moment)).level = 4
    memory.rollback("then")
    assert case.level == 2
    with memory.batch() as batch:
        inside = SupportCase(batch)
        inside.level, inside.ticket = 5, "T-9"
    assert (case.level, case.ticket) == (5, "T-9")


def test_a_subclass_of_a_subclass(memory: Memory):
    case = PaidCase(memory)
    case.price = 3
    assert case.escalate("why") == 2
    assert (case.price, PaidCase(memory).level) == (3.0, 2)
    assert SupportCase(memory).level == 2


def test_what_a_class_may_have_beside_fields(memory: Memory):
    class Case(SupportCase):
        level = 3  # another default
        colour = "red"  # no field: it has no annotation

        @property
        def title(self) -> str:
            return f"{self.ticket}: {self.status}"

        def hits(self) -> int:
            self._cache += 1  # private names are the object's own, and not kept
            return self._cache

        @title.setter
        def title(self, value: str) -> None:
            self.ticket = value

    case = Case(memory)
    assert (case.level, SupportCase(memory).level, case.colour) == (3, 1, "red")
    assert case.escalate("so") == 4
    assert Case(memory).level == SupportCase(memory).level == 4
    case.title = "T-1"
    assert (case.title, case.hits(), case.hits(), Case(memory).hits()) == ("T-1: open", 1, 2, 1)
    for name in ("colour", "messages", "escalate"):
        with pytest.raises((InvalidInput, AttributeError)):
            setattr(case, name, "blue")


def test_values_that_do_not_fit(memory: Memory):
    case = SupportCase(memory)
    wrong: list[tuple[str, Any, str]] = [
        ("ticket", 7, "SupportCase.ticket must be str"), ("level", "2", "integer"), ("level", 9, "less than or equal"),
        ("status", "lost", "'open' or 'resolved'"), ("tags", "late", "list"), ("tags", [1], "0: Input should be a valid"),
        ("customer", {"vip": True}, "id: Field required"), ("opened", "yesterday", "datetime"),
    ]  # fmt: skip
    for name, value, message in wrong:
        with pytest.raises(InvalidInput, match=message):
            setattr(case, name, value)
        with pytest.raises(InvalidInput, match=message):
            case.context.set(name, value)
    with pytest.raises(InvalidInput, match="less than or equal"):
        case.change("level", lambda level: level + 9)
    with pytest.raises(InvalidInput, match="no field 'mood'"):
        case.change("mood", str)
    with pytest.raises(InvalidInput, match="no field 'tikcet', so it would not be kept"):
        case.tikcet = "T-7"  # pyright: ignore[reportAttributeAccessIssue] - a slip
    assert case.context.all() == {}
    with pytest.raises(ZeroDivisionError):
        case.change("level", lambda level: level // 0)
    # What was kept under another type is told, not guessed at.
    memory.working.context.set("level", "many")
    with pytest.raises(TypeMismatch, match=r"SupportCase\.level is stored as \"many\".*read it by context.get"):
        _ = case.level
    case.level = 3
    assert case.level == 3


def test_classes_that_cannot_be(memory: Memory):
    with pytest.raises(InvalidInput, match="'messages'"):
        type("Clash", (Working,), {"__annotations__": {"messages": str}})

    class Lazy(Working):
        ref: "SupportCase | Missing" = None  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportAssignmentType] - meant
        odd: Memory | None = None
        ratio: float = 1.0

    with pytest.raises(InvalidInput, match=r"type of Lazy.ref cannot be checked.*Missing"):
        Lazy(memory).ref = None

    class Odd(Working):
        odd: Memory | None = None
        ratio: float = 1.0
        wrong: int = "one"  # pyright: ignore[reportAssignmentType] - meant

    bench = Odd(memory)
    with pytest.raises(InvalidInput, match=r"Odd.odd cannot be of the type .*Memory"):
        bench.odd = None
    for ratio in (float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match=r"Odd.ratio"):
            bench.ratio = ratio
    with pytest.raises(InvalidInput, match=r"Odd.wrong must be int"):
        _ = bench.wrong


def test_changes_by_many_processes_are_all_there(tmp_path: Path):
    script = textwrap.dedent("""
        import sys
        from rememo import Memory, Working

        class Counter(Working):
            count: int = 0

        with Memory(sys.argv[1], embedder=None) as memory:
            counter = Counter(memory.scope(room="r"))
            for _ in range(50):
                counter.change("count", lambda count: count + 1)
    """)
    command = [sys.executable, "-c", script, str(tmp_path / "a.db")]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(100) for process in processes] == [0] * 4
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        assert memory.scope(room="r").working.context.get("count") == 200


def test_those_without_fields_do_not_wait_for_the_checker():
    code = "import sys, rememo; m = rememo.Memory(':memory:', embedder=None); m.working.think('a'); print('pydantic' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout == "False\n"
