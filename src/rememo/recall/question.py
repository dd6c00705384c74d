"""Understanding a question: its terms, its names, its times, and what it does not say in words."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, timedelta
from typing import Final

from rememo.recall.analyze import Analyzer
from rememo.recall.names import meant_persons, named_speakers
from rememo.recall.stopwords import ASKING, TOPICLESS
from rememo.recall.time import TimeMention, find_times
from rememo.recall.types import Mode, Question, TimeWindow

THRESHOLD: Final = 0.58
"""How sure an answer must be. On LoCoMo, 91 % of the questions that memory answers lie above, and 19 % of those about
another conversation."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LATEST_STATE = re.compile(
    r"\b(?:now|nowadays|currently|current|latest|newest|most recent|most recently|these days|any ?more|at the moment"
    r"|up to date)\b",
    re.IGNORECASE,
)


def understand(
    text: str,
    *,
    analyzer: Analyzer,
    at: datetime,
    speakers: tuple[str, ...] = (),
    asker: str | None = None,
    addressee: str | None = None,
    anchors: Mapping[str, date] | None = None,
    mode: Mode = "hybrid",
    limit: int = 10,
    threshold: float = 0.0,
) -> Question:
    """Read a question.

    `speakers` are the labels of the timeline that will be ranked. `asker` is the user who asks, `addressee` the agent
    that is asked; `anchors` are days that only the asker's life names ("my birthday"). Taken out of the words are speakers' names, because they lift what those speakers said, and words about
    remembering ("remind", "mentioned"); unless nothing would be left.
    """
    named = named_speakers(text, speakers)
    left_out = {word for words in named.values() for word in words}
    asking = ASKING.get(analyzer.language, frozenset())
    content = analyzer.content(text)
    left_out |= {word for word in content if word.casefold() in asking}
    terms = analyzer.query(text)
    terms_left_out = {term for word in left_out for term in analyzer.terms(word)}
    mentions = find_times(text, at, anchors=anchors)
    numbers = {label: number for number, label in enumerate(speakers)}
    meant_numbers = {
        numbers[label] for label in meant_persons(text, asker=asker, addressee=addressee) if label in numbers
    }
    return Question(
        text=text,
        terms=tuple(term for term in terms if term not in terms_left_out) or tuple(terms),
        meaning=" ".join(word for word in content if word not in left_out) or text,
        at=_milliseconds(at),
        speakers=tuple(sorted(meant_numbers | set(named))),
        windows=tuple(_window(mention) for mention in mentions if not mention.recurring),
        wants_recent=bool(_LATEST_STATE.search(text)),
        # Somebody must be asked about, or a time, or the talking itself: "the who" is looked up by its words.
        unspecific=bool(left_out or mentions or meant_persons(text, asker=asker, addressee=None))
        and _names_no_topic(text, analyzer, mentions, left_out),
        mode=mode,
        limit=limit,
        threshold=threshold,
    )


def _names_no_topic(text: str, analyzer: Analyzer, mentions: Sequence[TimeMention], left_out: AbstractSet[str]) -> bool:
    """Tell whether nothing is left of a question beside times, known words, and words that ask for anything."""
    for mention in reversed(mentions):
        start, end = mention.position
        text = f"{text[:start]} {text[end:]}"
    topicless = TOPICLESS.get(analyzer.language, frozenset())
    words = analyzer.content(text, never_empty=False)
    return all(word in left_out or word.casefold() in topicless for word in words)


def _window(mention: TimeMention) -> TimeWindow:
    return TimeWindow(start=_milliseconds(mention.start), end=_milliseconds(mention.end), text=mention.text)


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MILLISECOND
