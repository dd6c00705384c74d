"""Sentences as revisions compare them: what each is about, what it gives a value to, and whether it tells what is so."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final

from rememo.learn.revise.signals import TELLING, SignalKind, ended_words, find_signals
from rememo.learn.revise.values import Values, find_values
from rememo.recall.subjects import other_subject, speaks_of_others
from rememo.recall.topics import find_topics
from rememo.text.fence import without_recalled
from rememo.text.prose import own_sentences
from rememo.text.verbs import FORMS
from rememo.text.wordlists import word_set

Terms = Callable[[str], Sequence[str]]

_REMEMBERED, _LONGEST_REMEMBERED = 512, 2_000
"""Texts whose sentences are kept, since what was compared lately will be compared again; and their longest."""
_MOST_SENTENCES: Final = 40
_LONGEST_SENTENCE: Final = 400
_QUOTES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\n": " "})
_FRAME: Final = re.compile(
    r"^(?:(?:so|and|but|also|oh|ok|okay|hey|hi|fyi|btw|note|remember|update|reminder|actually),? )*"
    r"(?P<subject>(?:my|our|the|his|her|their|[a-z][\w-]+'s) (?:[\w&'-]+ ){0,6}?[\w&'-]+)"
    r" (?:is|are|will be|should be|=|has been|have been|was) (?:now |actually |currently |still |at |on |in |due )*(?P<value>.+)$"
)
_ADDRESS: Final = re.compile(
    r"^\W*(?:hey|hi|hello|thanks|thank you|thx|wow|congrats|sorry|bye|good (?:morning|evening|night))\b[^,.!?:\n]{0,30}(?:[,.!?:]\s*|$)",
    re.IGNORECASE,
)
"""How somebody is spoken to before something is said: "Hey Gina, "."""
_NAMING: Final = ("called", "named")
_NEGATED: Final = re.compile(r"n't\b|\b(?:not|never|no longer|without)\b")
_OWN: Final = re.compile(
    r"^(?:(?:so|and|but|also|oh|ok|okay|hey|hi|hello|well|yes|no|yeah|fyi|btw|update|actually|honestly|lately|recently|now|currently|today"
    r"|big news|good news|bad news|turns out|it turns out|unfortunately|sadly|finally|sorry|just)[,:!.]* (?:that )?)*"
    r"(?:i|we|i'm|i've|i'll|i'd|we're|we've|we'll|my|our)\b"
)
_NAMED_SUBJECT: Final = re.compile(
    r"^\W*(?!(?:We|It|This|That|There|You|He|She|They|The|My|Our|What|Who)\b)(?P<name>[A-Z][a-z]+)(?:'s)?(?: (?:has|is|was|had|got|moved|quit|made|changed|took|switched|started|left|sold|bought|lives|works|just))\b"
)
_TELLS: Final = re.compile(r"(?:so |and |but |hi,? |hey,? )*(?:i|we|i'm|i've|we're|we've|my|our)\b")
_ASKS: Final = re.compile(
    r"(?:so |and |but )?(?:what|how|where|who|when|which|why|is|are|do|does|can|could|should|any|will|would|safe|ideas?|tips?|or)\b",
    re.IGNORECASE,
)
_UNREAL: Final = re.compile(
    r"\b(?:if|would|could|might|may (?=be\b|have\b|go\b|get\b|move\b|take\b|not\b|still\b|as well\b|\w+ to\b)|want to|wanted to|wants to|thinking (?:of|about)|considering|maybe|perhaps|hope to|hoping|wish|dream(?:s|ing)? of"
    r"|tempted|someday|one day|should i|toying|wondering|almost|nearly|considered)\b"
)
_CONDITIONAL: Final = re.compile(
    r"\bif (?:i|we|they|he|she)\b|\b(?:would|might|i'd|we'd) (?:\w+ )?(?:sell|quit|move|switch|leave|stop|change|miss|cancel)\b"
)
_SUBJECT_VERB: Final = re.compile(
    r"\b(?:i|we|he|she|they|it)(?: (?:also|just|always|usually|really|often|mostly|still|normally|now|only|never))? ([a-z']+)"
)
_PAST_BE: Final = re.compile(r"\b(?:was|were|had|did|didn't|used to|wasn't|weren't)\b")
_PAST_VERBS: Final = word_set("was were had did didn't")
_NAME: Final = re.compile(
    r"(?<![.!?] )(?<!^)\b[A-Z][\w-]+|^\W*[A-Z][a-z]+(?='s\b| (?:and I|is|has|was|moved|quit|left|got|no longer)\b)"
)


@dataclass(frozen=True)
class Sentence:
    """One sentence as it is compared."""

    text: str
    """As it stands in its record."""
    terms_of: Terms = field(repr=False, compare=False)

    @cached_property
    def plain(self) -> str:
        """In the form that patterns are tried on."""
        return " ".join(self.text.translate(_QUOTES).lower().split()).rstrip(".!")

    @cached_property
    def _without_address(self) -> str:
        """Without the one who is spoken to."""
        return _ADDRESS.sub("", self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        """As they are indexed."""
        return frozenset(self.terms_of(self._without_address))

    @cached_property
    def names(self) -> frozenset[str]:
        """The terms that are written like names."""
        return frozenset(self.terms_of(" ".join(_NAME.findall(self._without_address))))

    @cached_property
    def signals(self) -> dict[SignalKind, str]:
        """The signals of change in it."""
        return find_signals(self.plain)

    @cached_property
    def tells_change(self) -> bool:
        """Whether it has a signal that tells a change of something."""
        return not TELLING.isdisjoint(self.signals)

    @cached_property
    def ended(self) -> frozenset[str]:
        """The terms around its signals of an end."""
        return frozenset(self.terms_of(ended_words(self.plain)))

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics of its words."""
        return find_topics(self.plain)

    @cached_property
    def values(self) -> Values:
        """The values in it that exclude others of their type."""
        return find_values(self.plain)

    @cached_property
    def frame(self) -> tuple[frozenset[str], frozenset[str]] | None:
        """What a plain "X is Y" is about, and the terms of Y."""
        match = _FRAME.match(self.plain)
        if match is None:
            return None
        subject = frozenset(self.terms_of(match["subject"]))
        if match["value"].startswith(_NAMING):
            subject |= {_NAMING[0]}  # what something is called is another matter than what it is
        return (subject, frozenset(self.terms_of(match["value"]))) if subject else None

    @cached_property
    def by_self(self) -> bool:
        """Whether it is the speaker who does or is something: no request and no word about others."""
        return bool(_OWN.match(self.plain)) and not self.of_others

    @cached_property
    def of_others(self) -> bool:
        """Whether it is about somebody whom the speaker knows."""
        return speaks_of_others(self.plain)

    @cached_property
    def of_kin(self) -> frozenset[str]:
        """The terms of its subject where that is a relative, a friend or the like."""
        return frozenset(self.terms_of(other_subject(self.plain)))

    @cached_property
    def other_subject(self) -> frozenset[str]:
        """The terms of its subject where that is another person than the speaker."""
        if self.of_kin:
            return self.of_kin
        named = _NAMED_SUBJECT.match(self.text)
        return frozenset(self.terms_of(named["name"])) if named is not None else frozenset()

    @cached_property
    def unreal(self) -> bool:
        """Whether it is a wish, a condition or a thought."""
        return bool(_UNREAL.search(self.plain))

    @cached_property
    def conditional(self) -> bool:
        """Whether it tells what would be so."""
        return bool(_CONDITIONAL.search(self.plain))

    @cached_property
    def negated(self) -> bool:
        """Whether it says that something is not so."""
        return bool(_NEGATED.search(self.plain))

    @cached_property
    def happened(self) -> bool:
        """Whether it tells what happened once, and not what is so, is usual or is planned."""
        match = _SUBJECT_VERB.search(self.plain)
        if match is None:
            return bool(_PAST_BE.search(self.plain))
        form = FORMS.get(match[1])
        if form is not None:
            return form[1] == "past"
        return match[1] in _PAST_VERBS or match[1].endswith("ed")


def sentences_of(text: str, terms_of: Terms) -> tuple[Sentence, ...]:
    """Return the sentences of a text that state something."""
    own_text = without_recalled(text)
    return (_remembered if len(own_text) <= _LONGEST_REMEMBERED else _split)(own_text, terms_of)


def forget_sentences() -> None:
    """Let go of the texts that were compared lately; an erasure leaves none of them in memory."""
    _remembered.cache_clear()


def _split(text: str, terms_of: Terms) -> tuple[Sentence, ...]:
    places = islice(own_sentences(text), _MOST_SENTENCES)
    statements = [_stated(text[begin:end].strip()) for begin, end in places if end - begin <= _LONGEST_SENTENCE]
    return tuple(Sentence(sentence, terms_of) for sentence in statements if sentence)


def _stated(sentence: str) -> str:
    """Return what a sentence states: of a question what is told before it, "We deploy with Jenkins, how do I …?"."""
    if not sentence.endswith("?"):
        return sentence
    statement, comma, question = sentence.rpartition(", ")
    return statement if comma and _ASKS.match(question) and _TELLS.match(statement.lower()) else ""


_remembered: Final = lru_cache(_REMEMBERED)(_split)
