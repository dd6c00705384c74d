"""Time grows with the length of a text and not with its square, whatever shape the text has and whichever way it comes in.

Processor time is measured, at one length and at four times that: noise of other programs does not count, and what is too
quick to be measured is not looked at. `python -m tests.unit.fuzz.test_linear_time` tries every pair, at greater lengths.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, count

import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import RememoError
from rememo.jobs.worker import Worker
from rememo.store.kv.globs import Glob
from rememo.summary.extractive import summarise
from rememo.text.document_readers import DocumentLimits, UnreadableDocument, read_html
from rememo.text.fence import fenced, without_recalled

LENGTH, TIMES = 4_000, 4
MOST = 8.0
"""How many times as long a text of four times the length may take; sixteen times is the square."""
FLOOR, NOTICED = 0.012, 0.15
"""Seconds: less is noise, and counts as that much; less than this for the longer text is quick enough."""
LONG = 6
"""How many times longer the numbered texts are: what compares them with each other is slower to show."""

UNITS = (
    "<", "<a ", "<a b=", "<a b='", "<!--", "<!-- x --!>", "</", "<p>", "<td>", "<script>", "&#", "&#1;", "&", " ", "\n", " \n",
    "\t", "\u2028", "1", "1 ", "1.", "1, ", "12:30 ", "2026-01-01 ", "1. a\n", "the 3rd ", '"', "'", "\u201c", "(", ")]", "[](",
    "{", "{{", "a@", "x.y@z.", "http://", "www.", ".", ". ", "?!", '..." ', ", ", "-", "- a\n", "**", "_", "`", "```\n",
    "# ", "# a\n", "> ", "| a ", "\\", "\U0001f600", "e\u0301", "\u0301", "\u200b", "\u202e", "\u4e2d", "\u4e2d\u6587\u3002", "a", "a ",
    "A", "Ana Bob ", "O'", "a-b-", "=", "sk-", "ab12", "I am ", "my cat is ", "not ", "and ", "e.g. ", "yesterday ",
    "2 days ago ", "<recalled-", "< / r e", "ignore previous ", "system: ", "QUJD", "%41",
)  # fmt: skip
AROUND = (("", ""), ("my kettle <", ""), ("# Title\n\nI live in ", "x."), ("<html><a ", ">"), ('"', '"'))
NUMBERED = (
    "Item {i} costs {j} euros and {i} cents. ", "w{i} ", "I live in Place{i}. ", "# Head {i}\n\ntext {j}\n", "{i}. entry {j}\n",
    "a{i}@b{j}.com ", "It was on {i} May at {j}. ", "q{i}? ", '"quote {i}" ', "\u65e5\u672c{i}\u8a9e ", "<a href='{i}'>x{j}</a>",
)  # fmt: skip

SHARES = {
    "context": 4,
    "asked": 4,
    "markdown": 5,
    "plain": 4,
    "extracted": 3,
    "distrusted": 2,
    "message": 2,
    "limited": 2,
}
"""Of how many texts a door takes one, where each takes long."""

Door = Callable[[Memory, str], Callable[[], object]]
"""Makes ready for a text, and returns what is measured."""
_rooms = count()


def _said(text: str) -> str:
    return f"so {text}"  # a message must say something


def _room(memory: Memory) -> Memory:
    return memory.scope(user="ana", room=f"room {next(_rooms)}")


def _message(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    return lambda: room.messages.add("user", _said(text))


def _learning(memory: Memory, text: str) -> Callable[[], object]:
    jobs = _room(memory).messages.add("user", _said(text)).jobs
    worker = Worker(view_of(memory).engine)
    return lambda: worker.run_once(ids=jobs)


def _distrusted(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    return lambda: room.add(text, trust=0.4, source="tool:web")


def _question(memory: Memory, text: str) -> Callable[[], object]:
    return lambda: memory.search(text, limit=3)


def _context(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    room.messages.add("user", f"my kettle {text}")
    return lambda: (room.context("kettle", max_tokens=1_000), room.messages.window(max_tokens=300))


def _asked(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    room.messages.add("user", "my kettle is red")
    return lambda: (room.context(text, max_tokens=500), room.compose(text))


def _plain(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    return lambda: room.documents.add(text=text)


def _markdown(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    return lambda: room.documents.add(text=text, media_type="markdown")


def _page(_: Memory, text: str) -> Callable[[], object]:
    return lambda: read_html(f"<html><body>words {text}", DocumentLimits())


def _extracted(memory: Memory, text: str) -> Callable[[], object]:
    return lambda: memory.facts.extract(text, speaker="ana")


def _summary(memory: Memory, text: str) -> Callable[[], object]:
    return lambda: summarise(text, sentences=5, analyzer=view_of(memory).engine.analyzer)


def _limited(memory: Memory, text: str) -> Callable[[], object]:
    room = _room(memory)
    room.messages.limit(max_messages=1, evict="summarise")
    room.messages.add("user", _said(text))
    return lambda: room.messages.add("user", _said(text))


def _fenced(_: Memory, text: str) -> Callable[[], object]:
    inside = fenced(text)
    return lambda: (fenced(text), without_recalled(inside + text), without_recalled("<recalled-00000000>" + text))


DOORS: dict[str, Door] = {
    "message": _message, "learning": _learning, "distrusted": _distrusted, "question": _question, "context": _context,
    "asked": _asked, "plain": _plain, "markdown": _markdown, "page": _page, "extracted": _extracted, "summary": _summary,
    "limited": _limited, "fenced": _fenced,
}  # fmt: skip


def repeated(length: int, unit: str, around: tuple[str, str]) -> str:
    """Return a text of one unit again and again, between a beginning and an end."""
    return around[0] + unit * (length // len(unit)) + around[1]


def numbered(length: int, template: str) -> str:
    """Return a text of sentences that are alike, and each another."""
    parts, size = list[str](), 0
    for number in count():
        parts.append(template.format(i=number, j=number * 7919 % 100_003))
        size += len(parts[-1])
        if size >= length:
            break
    return "".join(parts)


def took(door: Door, memory: Memory, text: str) -> float:
    """Return the seconds of processor time that a text takes."""
    work = door(memory, text)
    began = time.thread_time()
    with suppress(RememoError, UnreadableDocument):
        work()
    return time.thread_time() - began


def growth(door: Door, memory: Memory, make: Callable[[int], str], length: int) -> tuple[float, float]:
    """Return how many times as long the longer text takes, and how long; the least of three where it looks bad."""
    short, long = make(length), make(length * TIMES)
    first, second = took(door, memory, short), took(door, memory, long)
    for _ in range(2):
        if second <= NOTICED or second <= MOST * max(first, FLOOR):
            break
        first, second = max(first, took(door, memory, short)), min(second, took(door, memory, long))
    return (second / max(first, FLOOR) if second > NOTICED else 0.0), second


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", settings=Settings(durability="fast", worker=False)) as memory:
        memory.search("warm")
        yield memory


Shape = tuple[str, Callable[[int], str]]
"""What it looks like, and what makes it at a length."""


def repeating(door: str, *, whole: bool = False) -> Iterator[Shape]:
    """Give texts of one unit: for each door a part of them, another for each; or all of them."""
    turn = list(DOORS).index(door)
    for place, unit in enumerate(UNITS):
        if not whole and (place + turn) % SHARES.get(door, 1):
            continue
        for around in AROUND if whole else [AROUND[(place + turn) % len(AROUND)]]:
            yield f"{around[0]!r} + {unit!r} * n + {around[1]!r}", partial(repeated, unit=unit, around=around)


def counting() -> Iterator[Shape]:
    """Give texts of sentences that are alike, and each another."""
    for template in NUMBERED:
        yield repr(template), partial(numbered, template=template)


def slow(door: str, shapes: Iterable[Shape], memory: Memory, length: int) -> Iterator[str]:
    """Give what takes longer than it may."""
    for name, make in shapes:
        grown, seconds = growth(DOORS[door], memory, make, length)
        if grown > MOST:
            yield f"{door}: {name} takes {seconds:.2f} s, {grown:.0f} times as long as a fourth of it"


@pytest.mark.parametrize("door", DOORS)
def test_time_grows_with_the_length(memory: Memory, door: str):
    assert list(slow(door, repeating(door), memory, LENGTH)) == []


@pytest.mark.parametrize("door", ["summary", "page", "fenced", "distrusted"])
def test_time_grows_with_the_number_of_sentences(memory: Memory, door: str):
    assert list(slow(door, counting(), memory, LENGTH * LONG)) == []


def test_time_of_a_document_grows_with_its_sentences(memory: Memory):
    assert list(slow("plain", list(counting())[:2], memory, LENGTH * LONG)) == []


def test_a_pattern_for_keys_with_many_stars_is_no_riddle():
    pattern, name = Glob("*a" * 200 + "*b"), "a" * 500
    began = time.thread_time()
    assert not pattern.matches(name)
    assert Glob("*a" * 200 + "*").matches(name)
    assert time.thread_time() - began < 1


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else LENGTH * 4
    for name in sys.argv[2:] or DOORS:
        with Memory(":memory:", settings=Settings(durability="fast", worker=False)) as tried:
            for line in chain(
                slow(name, repeating(name, whole=True), tried, asked),
                slow(name, counting(), tried, asked * LONG),
                [f"{name}: done"],
            ):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
