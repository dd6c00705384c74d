"""Frames made ready and matched: the words that a row wants after its verb, tried on a clause."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import PatternRow, Reader, Value
from rememo.extract.phrases import closes, items
from rememo.text.wordlists import word_set

BEFORE_VERB = frozenset((
    "companion", "itself", "itself_thing", "off_itself", "new_phone", "new_email", "moved", "first_day", "verb_itself",
    "partner_itself", "widowed", "condition_itself", "student_over", "on_call",
))  # fmt: skip
"""Readers of what stands before the verb; they need no word at their place."""
_BARRIERS = word_set(", ; - ( ) and but because so while when where if until though although . ! on with that")
_ENDS = word_set(", ; . ! - ( and but because so again now though although when while after before anymore lol btw too")
_DEGREES = word_set(
    "little fluent basic native conversational decent good broken passable mild severe chronic bad strict fluently well natively",
    "professionally competitively badly mostly committed lifelong fully",
)
_CAPITAL = frozenset({"go", "r", "c"})
"""Listed words that are others, too, when they are written small."""
_LONGEST_TERM = 3
TOPICS: Mapping[str, frozenset[str]] = {
    "work": word_set("job jobs work working company role position career employer firm team startup office")
    | lexicon.OCCUPATIONS,
    "moving": word_set("moved relocated move moving anymore relocating"),
}
"""Words of which one shows what a sentence is about."""
_WIDEST_GAP = 6
_NO = -1

Step = Callable[[FactFinder, Clause, int, list[Value]], int]
"""Tries one part of a frame at a word: returns the word after it or ``_NO``, and adds the values it read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A row made ready: its frame as steps (None is a gap), its moods as sets."""

    row: PatternRow
    steps: tuple[Step | None, ...]
    first: frozenset[str] | None
    """The words it can begin with; None when any will do."""
    holds: frozenset[str]
    over: frozenset[str]
    who: frozenset[str]

    def match(self, finder: FactFinder, clause: Clause, at: int) -> tuple[list[Value], int] | None:
        """Return the values that the frame reads from this word on and where it ends, or None when it does not fit."""
        values: list[Value] = []
        end = _follow(self.steps, finder, clause, at, values)
        return None if end == _NO else (values, end)


@dataclass(slots=True)
class PatternTable:
    """All rows, by verb and by thing."""

    by_verb: dict[str, list[Frame]] = field(default_factory=dict[str, list[Frame]])
    by_thing: dict[str, list[Frame]] = field(default_factory=dict[str, list[Frame]])
    passives: set[str] = field(default_factory=set[str])
    """Verbs with rows in the passive."""
    _by_word: dict[tuple[str, str], list[Frame]] = field(default_factory=dict[tuple[str, str], list[Frame]])
    _by_any: dict[str, list[Frame]] = field(default_factory=dict[str, list[Frame]])

    def frames(self, verb: str, word: str) -> Sequence[Frame]:
        """Return the rows of a verb that can go on with this word, in the order of the table."""
        return self._by_word.get((verb, word)) or self._by_any.get(verb, ())

    @classmethod
    def of(cls, rows: Iterable[PatternRow], readers: Mapping[str, Reader]) -> "PatternTable":
        """Make rows ready. Raises KeyError for a frame that names an unknown reader, AttributeError for an unknown list."""
        table = cls()
        for row in rows:
            frame = _ready(row, readers)
            for verb in row.verbs.split():
                table.by_verb.setdefault(verb, []).append(frame)
                if row.passive:
                    table.passives.add(verb)
            for name in row.things.split():
                table.by_thing.setdefault(name.replace("_", " "), []).append(frame)
        table._index()
        return table

    def _index(self) -> None:
        for verb, frames in self.by_verb.items():
            self._by_any[verb] = [frame for frame in frames if frame.first is None]
            for word in {word for frame in frames for word in frame.first or ()}:
                self._by_word[verb, word] = [frame for frame in frames if frame.first is None or word in frame.first]


def _ready(row: PatternRow, readers: Mapping[str, Reader]) -> Frame:
    parts = row.frame.split()
    return Frame(
        row,
        tuple(_step(part, readers) for part in parts),
        _first(parts),
        frozenset(row.holds.split()),
        frozenset(row.over.split()),
        frozenset(row.who.split()),
    )


def _first(parts: Sequence[str]) -> frozenset[str] | None:
    words: set[str] = set()
    for part in parts:
        if part in (".", "$", "...") or part.startswith("<"):
            return None
        if part.startswith("("):
            continue
        words.update(part.strip("[]").split("|"))
        if not part.startswith("["):
            return frozenset(words)
    return None


def _step(part: str, readers: Mapping[str, Reader]) -> Step | None:
    if part == "...":
        return None
    if part == ".":
        return _closing
    if part == "$":
        return _ending
    if part.startswith("("):
        return _said_now if part == "(now)" else _speaking_of(TOPICS[part.strip("(!)")], wanted="!" not in part)
    if part.startswith("<="):
        return _reading(_term(part.strip("<=!>")), kept=not part.endswith("!>"), anywhere=False)
    if part.startswith("<"):
        name = part.strip("<!>")
        if name in BEFORE_VERB:
            return _reading(readers[name], kept=True, anywhere=True)
        return _reading(
            _members(name) if name.isupper() else readers[name], kept=not part.endswith("!>"), anywhere=False
        )
    words = frozenset(part.strip("[]").split("|"))
    return _skipping(words) if part.startswith("[") else _wanting(words)


def _closing(finder: FactFinder, clause: Clause, at: int, _: list[Value]) -> int:
    return at if closes(finder.words, at, clause.end, finder.time_starts) else _NO


def _ending(finder: FactFinder, clause: Clause, at: int, _: list[Value]) -> int:
    words = finder.words
    return at if at >= clause.end or words.low[at] in _ENDS or words.start[at] in finder.time_starts else _NO


def _wanting(choices: frozenset[str]) -> Step:
    def step(finder: FactFinder, clause: Clause, at: int, _: list[Value]) -> int:
        words = finder.words
        fits = at < clause.end and words.low[at] in choices and words.start[at] not in finder.time_starts
        return at + 1 if fits else _NO

    return step


def _speaking_of(topic: frozenset[str], *, wanted: bool) -> Step:
    def step(finder: FactFinder, _clause: Clause, at: int, _: list[Value]) -> int:
        return at if topic.isdisjoint(finder.words.low) != wanted else _NO

    return step


def _said_now(_finder: FactFinder, clause: Clause, at: int, _: list[Value]) -> int:
    return at if "now" in clause.adverbs else _NO


def _skipping(skipped: frozenset[str]) -> Step:
    def step(finder: FactFinder, clause: Clause, at: int, _: list[Value]) -> int:
        low = finder.words.low
        while at < clause.end and low[at] in skipped:
            at += 1
        return at

    return step


def _reading(reader: Reader, *, kept: bool, anywhere: bool) -> Step:
    def step(finder: FactFinder, clause: Clause, at: int, values: list[Value]) -> int:
        read = reader(finder, clause, at) if anywhere or at < clause.end else ()
        if not read:
            return _NO
        if kept:
            values += read
        return read[-1].end

    return step


def _follow(steps: Sequence[Step | None], finder: FactFinder, clause: Clause, at: int, values: list[Value]) -> int:
    for number, step in enumerate(steps):
        if step is None:
            return _leap(steps[number + 1 :], finder, clause, at, values)
        at = step(finder, clause, at, values)
        if at == _NO:
            return _NO
    return at


def _leap(steps: Sequence[Step | None], finder: FactFinder, clause: Clause, at: int, values: list[Value]) -> int:
    """Try the rest of a frame from each of the next words on."""
    words = finder.words
    for start in range(at, min(clause.end, at + _WIDEST_GAP + 1)):
        tried: list[Value] = []
        end = _follow(steps, finder, clause, start, tried)
        if end != _NO:
            values += tried
            return end
        if words.low[start] in _BARRIERS and not finder.within_time(words.start[start]):
            return _NO
    return _NO


def _lists(names: str) -> frozenset[str]:
    lists: list[frozenset[str]] = [getattr(lexicon, name) for name in names.split("+")]
    return frozenset(word for words in lists for word in words)


def _term(names: str) -> Reader:
    """Return a reader of one listed term, whatever follows it."""
    terms = _lists(names)

    def read(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
        words = finder.words
        for end in range(min(at + _LONGEST_TERM, clause.end), at, -1):
            if " ".join(words.low[at:end]) in terms:
                return [Value(text=words.slice(at, end), end=end)]
        return []

    return read


def _members(names: str) -> Reader:
    """Return a reader of listed words: it takes those items of an enumeration that are on one of the lists."""
    terms = _lists(names)

    def read(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
        words = finder.words
        members: list[Value] = []
        for begin, end in items(words, at, clause.end, times=finder.time_starts):
            member = _listed(words.low, begin, end, terms)
            if member is None or (words.low[member[0]] in _CAPITAL and not words.capital(member[0])):
                break
            members.append(Value(text=words.slice(*member), end=end))
        return members

    return read


def _listed(low: Sequence[str], begin: int, end: int, terms: frozenset[str]) -> tuple[int, int] | None:
    """Return where a listed word stands in a phrase that says nothing else but how much."""
    while begin < end and low[begin] in _DEGREES and " ".join(low[begin:end]) not in terms:
        begin += 1
    while end > begin and low[end - 1] in _DEGREES and " ".join(low[begin:end]) not in terms:
        end -= 1
    return (begin, end) if begin < end and " ".join(low[begin:end]) in terms else None
