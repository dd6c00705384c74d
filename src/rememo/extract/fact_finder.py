"""The state of one extraction: the sentence at hand, its times, whom it is about, and the facts so far."""

import re
from datetime import UTC, datetime, timedelta

from rememo.extract.clauses import Clause
from rememo.extract.extracted_fact import ExtractedFact
from rememo.extract.people import Subject, SubjectReader
from rememo.extract.phrases import after_determiner, phrase_end
from rememo.extract.predicates import EVERY, normalise_object
from rememo.extract.tokens import Words
from rememo.recall.time import Lean, TimeMention, find_times
from rememo.recall.time.relative import ONE
from rememo.recall.time.stretch import shift
from rememo.recall.time.words import NUMBERS
from rememo.text.verbs import ADVERBS

_FOR = re.compile(
    r"\bfor (?:about |over |almost |nearly |around |more than )?(?:the (?:past|last) )?(\w+)(?: and a half)? (day|week|month|year|decade)s?\b",
    re.IGNORECASE,
)
_ALNUM = re.compile(r"[^\W_]")
_LONGEST_DURATION = timedelta(days=36_525)
LONGEST_OBJECT = 120

Span = tuple[datetime | None, datetime | None]
_LONGEST_NUMBER = 3


class FactFinder:
    """Collects facts. Rules call ``add``; everything else answers their questions about the sentence."""

    def __init__(self, text: str, *, speaker: str, at: datetime, addressee: str | None) -> None:
        self.text = text
        self.speaker = speaker
        self.at = at
        self.reader = SubjectReader(speaker, addressee)
        self.facts: list[ExtractedFact] = []
        self.words = Words(text, 0, 0)
        self.limit = 0
        self.conditional = False
        self._times: dict[Lean, list[TimeMention]] = {}
        self.time_starts: frozenset[int] = frozenset()
        self._spans: list[tuple[int, int]] = []

    def begin(self, words: Words, limit: int) -> None:
        """Turn to the next sentence."""
        self.words, self.limit = words, limit
        self.conditional = any(word in ("if", "unless") for word in words.low)
        self._times = {}
        mentions = self.times("past")
        self.time_starts = frozenset(mention.position[0] for mention in mentions)
        self._spans = [mention.position for mention in mentions]
        self.reader.time_ends = frozenset(mention.position[1] for mention in mentions)

    def times(self, lean: Lean) -> list[TimeMention]:
        """Return the times of the sentence, their positions being those in the whole text."""
        if lean not in self._times:
            if not len(self.words):
                return []
            begin, end = self.words.start[0], self.words.end[-1]
            self._times[lean] = find_times(self.text[:end] if begin == 0 else self.text[begin:end], self.at, lean=lean)
            if begin:
                self._times[lean] = [_moved(mention, begin) for mention in self._times[lean]]
        return self._times[lean]

    def times_of(self, clause: Clause, lean: Lean) -> list[TimeMention]:
        """Return the times inside a clause, and one put in front of it ("In May, I moved")."""
        begin = self.words.start[clause.begin] if clause.begin < len(self.words) else 0
        last = self.words.end[clause.end - 1] if clause.end else 0
        return [
            mention
            for mention in self.times(lean)
            if mention.position[1] <= last
            and (begin <= mention.position[0] or self._fronted(mention.position[1], begin))
        ]

    def _fronted(self, end: int, begin: int) -> bool:
        """Tell whether nothing but a comma and adverbs stands between the end of a time and the beginning of a clause."""
        between = self.text[end:begin].replace(",", " ").split() if end <= begin else ["?"]
        return all(word.lower() in ADVERBS for word in between)

    def since(self, clause: Clause, *, change: bool = False) -> Span:
        """Return when a state began and ended. ``change``: the verb is the beginning itself ("moved", "started")."""
        begun: datetime | None = None
        ended: datetime | None = None
        for mention in self.times_of(clause, "past"):
            if mention.recurring:
                continue
            opening = mention.text.split(" ", 1)[0].lower()
            if mention.direction == "after":
                begun = mention.start
            elif mention.direction == "before":
                ended = mention.end if clause.past else None
            elif opening in ("from", "between") and mention.start < self.at:
                begun, ended = mention.start, mention.end
            elif change:
                begun = mention.moment
            elif clause.past and not clause.perfect:
                begun, ended = mention.start, mention.end
        if begun is None and clause.perfect:
            begun = self._duration(clause)
        return begun, ended

    def within_time(self, position: int) -> bool:
        """Tell whether a place in the text is inside a time expression."""
        return any(begin <= position < end for begin, end in self._spans)

    def ahead(self, clause: Clause) -> list[TimeMention]:
        """Return the times of a clause that are still to come, or not yet over."""
        return [
            mention
            for mention in self.times_of(clause, "future")
            if mention.end > self.at and mention.direction == "in" and not mention.recurring
        ]

    def coming(self, clause: Clause) -> Span | None:
        """Return when something that is ahead will be, by the clause's own times: the hour rather than the day."""
        times = [] if self.conditional else self.ahead(clause)
        if not times:
            return None
        time = times[0]
        if len(times) > 1 and time.precision == "day" and times[1].precision in ("hour", "minute"):
            time = times[1] if time.start <= times[1].start < time.end else time
        return time.start, time.end

    def happened(self, clause: Clause) -> list[TimeMention]:
        """Return the times of a clause at which something can have happened."""
        return [
            mention
            for mention in self.times_of(clause, "past")
            if mention.start <= self.at and mention.direction == "in" and not mention.recurring
        ]

    def _duration(self, clause: Clause) -> datetime | None:
        match = _FOR.search(self.text, self.words.start[clause.begin], self.words.end[max(clause.end, 1) - 1])
        if match is None:
            return None
        word = match[1].lower()
        if word.isdecimal():
            count = int(word) if len(word) <= _LONGEST_NUMBER else 0
        else:
            _, count, _ = ONE if word in ("a", "an") else NUMBERS.get(word, (0, 0, 0))
        today = self.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            begun = shift(today, match[2].lower(), -count)
        except (ValueError, OverflowError):
            return None
        return begun if count and today - begun <= _LONGEST_DURATION else None

    def add(
        self,
        clause: Clause,
        predicate: str,
        value: str,
        *,
        subject: str | None = None,
        confidence: float = 0.9,
        when: Span = (None, None),
        ends: bool | None = None,
        kind: str | None = None,
        corrects: str | None = None,
    ) -> None:
        """Note a fact, unless it is about nobody or says nothing."""
        whom = clause.subject.name if subject is None else subject
        if value != EVERY:
            value = normalise_object(value.replace('"', "") if value.count('"') % 2 else value)
        if not whom or not value or len(value) > LONGEST_OBJECT or not (value == EVERY or _ALNUM.search(value)):
            return
        over = clause.ends if ends is None else ends
        begun, ended = when
        if begun is not None and ended is not None and begun >= ended:
            ended = None
        if over and begun is not None and ended is None:
            begun, ended = None, begun
        first = min(clause.begin, len(self.words) - 1)
        last = max(min(clause.end, len(self.words)), first + 1)
        position = (self.words.start[first], self.words.end[last - 1])
        if not clause.subject.speaker:
            confidence = round(confidence - 0.1, 2)
        self.put(
            ExtractedFact(
                subject=whom, predicate=predicate, object=value, confidence=confidence, valid_from=begun, valid_to=ended, ends=over, kind=kind,
                corrects=corrects or self._corrected(clause), wording=self.text[position[0] : position[1]], position=position,
            )
        )  # fmt: skip

    def put(self, fact: ExtractedFact) -> None:
        """Note a finished fact once. What is over in the same breath was only named: "our cat Miso died"."""
        if fact.ends:
            named = (fact.subject, fact.predicate, fact.object)
            self.facts = [
                fact
                for fact in self.facts
                if fact.ends
                or fact.position[0] < self.words.start[0]
                or (fact.subject, fact.predicate, fact.object) != named
            ]
        key = (fact.subject, fact.predicate, fact.object.casefold(), fact.ends)
        if all(key != (fact.subject, fact.predicate, fact.object.casefold(), fact.ends) for fact in self.facts[-12:]):
            self.facts.append(fact)

    def noun_phrase(self, clause: Clause, at: int) -> tuple[int, int]:
        """Return where the noun phrase that begins here begins without its determiner, and the word after it."""
        begin = after_determiner(self.words, at, clause.end)
        return begin, phrase_end(self.words, begin, clause.end, times=self.time_starts)

    def word_from(self, clause: Clause, at: int, position: int) -> int:
        """Return the first word of the clause, from this one on, that begins at or after a place in the text."""
        return next((index for index in range(at, clause.end) if self.words.start[index] >= position), clause.end)

    def any_more(self, clause: Clause) -> bool:
        """Tell whether the clause says "any more" or "anymore"."""
        low = self.words.low[clause.rest : clause.end]
        return "anymore" in low or ("any" in low and "more" in low)

    def own_subject(self, after: int) -> Subject:
        """Return the speaker as a subject that ends before this word."""
        return Subject(after, self.speaker, speaker=True)

    def _corrected(self, clause: Clause) -> str | None:
        """Return what ", not Lisbon" at the end of the clause takes back."""
        low = self.words.low
        for at in range(clause.rest + 1, min(clause.end, len(low)) - 1):
            if low[at] == "not" and low[at - 1] in (",", "and", "-"):
                start = at + 1
                while start < clause.end and low[start] in ("in", "at", "on", "a", "an", "the", "for"):
                    start += 1
                return self.words.slice(start, min(clause.end, start + 4)) or None
        return None


def _moved(mention: TimeMention, by: int) -> TimeMention:
    return TimeMention(
        start=mention.start, end=mention.end, text=mention.text, precision=mention.precision, direction=mention.direction,
        recurring=mention.recurring, moment=mention.moment, position=(mention.position[0] + by, mention.position[1] + by),
    )  # fmt: skip
