"""Which earlier statement a later one revises. Pure: sentences in, revised sentences out.

A revision needs the same person, the same matter and a sign of change (or another value in the very same frame). What
happened once is history and is not revised; what is so, is planned or is usual is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rememo.learn.extract.wordlists import word_set
from rememo.learn.revise.classes import classes_in
from rememo.learn.revise.sentence import OFTEN, SPECIFIC, Sentence
from rememo.learn.revise.signs import Sign, SignKind

_NUMBER: Final = re.compile(
    SPECIFIC.pattern + r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)\b"
)
_FIGURE: Final = re.compile(r"\d[\w:.,/-]*")
_ARTICLE: Final = re.compile(r"^(?:a|an|the|my|our|in|at|on|called|named)\b")
_INTENT: Final = re.compile(r"\b(?:i'll|we'll|will|try|want|would|could|can|might|should|i'd)\b")
_GENERAL: Final = "trip plan plans appointment subscription membership account job position idea habit thing routine"
"""Words that say what sort of thing is over, and not which."""
_WISHES: Final = word_set("want need know think sens mean understand hope worri")
_FILLERS: Final = word_set("turn actual realli longer anymor")
_NAME: Final = 2
"""Words of a value that may be a name by itself."""
_LITTLE: Final = 4
"""Terms that two statements about the same purpose may say beside it."""
_SHORT: Final = 8
"""Terms of a correction that is nothing but one."""
_SHARED, _MOSTLY = 2, 0.6
"""How many terms a denial must share with what it denies, and what part of all their terms."""
_FRAMED, _FRAMED_AND_SIGNED = 0.75, 0.85
"""How sure another value in the same frame is, alone and with a sign of change."""


@dataclass(frozen=True, slots=True)
class Revised:
    """An earlier sentence that a later one revises."""

    earlier: Sentence
    reason: str
    confidence: float
    old: frozenset[str] = frozenset()
    """The terms of what is over; empty where all of the sentence is."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two statements of one person."""

    later: Sentence
    earlier: Sentence
    recent: bool
    """The earlier was said a moment ago in the same conversation."""

    @property
    def shared(self) -> frozenset[str]:
        return self.later.terms & self.earlier.terms

    @property
    def both_by_self(self) -> bool:
        return self.later.by_self and self.earlier.by_self

    @property
    def same_subject(self) -> bool:
        """Whether both speak of the same person or thing: the speaker, or whom both name."""
        if self.later.by_self:
            return self.earlier.speaks_of_self or len(self.shared) >= _SHARED
        return not self.later.subject.isdisjoint(self.earlier.terms)

    def terms(self, words: str) -> frozenset[str]:
        return frozenset(self.later.terms_of(words))


def wanted_terms(sentence: Sentence) -> frozenset[str]:
    """Return the terms of which an earlier statement must share some to be revised; none when it revises nothing."""
    return sentence.terms if sentence.signs or sentence.frame is not None else frozenset()


def revised(later: Sentence, earlier: Iterable[Sentence], *, recent: bool) -> list[Revised]:
    """Return which of some earlier sentences of the same person a later one revises.

    `recent` says that they were said a moment ago in the same conversation, which a correction may refer to.
    """
    pairs = (_Pair(later, sentence, recent) for sentence in earlier)
    found = (max(_reasons(pair), key=lambda one: one.confidence, default=None) for pair in pairs)
    return [one for one in found if one is not None]


def _reasons(pair: _Pair) -> Iterator[Revised]:
    later, earlier = pair.later, pair.earlier
    if earlier.plain == later.plain or not earlier.terms or earlier.plain.endswith("?"):
        return
    if _same_frame(pair):
        signed = any(sign.kind != "denied" for sign in later.signs)
        yield Revised(earlier, "another value", _FRAMED_AND_SIGNED if signed else _FRAMED)
    for sign in later.signs:
        if _RULES[sign.kind](sign, pair):
            old = pair.terms(sign.old) if sign.kind in ("ended", "replaced") else frozenset[str]()
            reason = sign.kind if sign.kind == "denied" else sign.wording
            yield Revised(earlier, reason, sign.confidence, old)


# ---- another value in the same frame


def _same_frame(pair: _Pair) -> bool:
    """Tell whether both give a value to the same thing, and not the same one: "The wifi password is …"."""
    later, earlier = pair.later, pair.earlier
    if later.frame is None or earlier.frame is None or later.frame[0] != earlier.frame[0]:
        return False
    new, old = later.frame[1], earlier.frame[1]
    if _figures(new) == _figures(old) and pair.terms(new) & pair.terms(old) - later.frame[0]:
        return False  # it says more of the same
    if (SPECIFIC.search(new) and SPECIFIC.search(old)) or (_is_name(later.text, new) and _is_name(earlier.text, old)):
        return True
    return any(sign.kind != "denied" for sign in later.signs) and _names_something(new) and _names_something(old)


def _figures(value: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(value)) | frozenset(SPECIFIC.findall(value))


def _is_name(text: str, value: str) -> bool:
    """Tell whether a value is written like a name in its text."""
    at = text.lower().rfind(value.split(maxsplit=1)[0].rstrip(",.!"))
    return at > 0 and text[at].isupper()


def _names_something(value: str) -> bool:
    """Tell whether a value names something, and does not merely describe."""
    return bool(SPECIFIC.search(value) or _ARTICLE.match(value)) or len(value.split()) <= _NAME


# ---- signs


def _ends_it(sign: Sign, pair: _Pair) -> bool:
    """Tell whether what is over is what the earlier sentence says is so."""
    earlier = pair.earlier
    old = pair.terms(sign.old) - pair.terms(" ".join(OFTEN))
    old = old - pair.terms(_GENERAL) or old
    if not old or not old <= earlier.terms or earlier.negated or earlier.happened or not pair.same_subject:
        return False
    if (
        sign.kind == "replaced"
        and sign.loose
        and (_INTENT.search(pair.later.plain) or not pair.later.by_self or not pair.shared - old)
    ):
        return False  # "instead of X" alone says little about what X was for
    return not any(one.kind in ("ended", "replaced") for one in earlier.signs)


def _moves_it(sign: Sign, pair: _Pair) -> bool:
    """Tell whether what has another value now is what the earlier sentence gives a value to."""
    earlier, topic = pair.earlier, pair.terms(sign.topic)
    if topic.isdisjoint(earlier.terms):
        return False
    if earlier.frame is not None and (topic <= earlier.frame[0] or earlier.frame[0] <= topic):
        return True
    return topic <= earlier.terms and not earlier.happened and earlier.specific and pair.later.specific


def _switches_from_it(sign: Sign, pair: _Pair) -> bool:
    """Tell whether what one has switched to is of the class of what the earlier sentence says is used or usual."""
    earlier = pair.earlier
    if classes_in(sign.new).isdisjoint(classes_in(earlier.plain)) or not pair.both_by_self:
        return False
    return not earlier.happened and not earlier.negated and len(earlier.terms) <= _SHORT


def _corrects_it(sign: Sign, pair: _Pair) -> bool:
    """Tell whether the earlier sentence, said a moment ago, has the value that was wrong."""
    if not pair.recent:
        return False
    if sign.old:
        old = pair.terms(sign.old)
        return bool(old) and old <= pair.earlier.terms
    figures = _NUMBER.search(pair.later.plain) and _NUMBER.search(pair.earlier.plain)
    return bool(figures) and len(pair.later.terms) <= _SHORT


def _denies_it(_sign: Sign, pair: _Pair) -> bool:
    """Tell whether the later sentence is the earlier one with the opposite sign."""
    if pair.earlier.negated or pair.earlier.happened or pair.later.happened or not pair.both_by_self:
        return False
    either = (pair.later.terms | pair.earlier.terms) - _FILLERS
    shared = pair.shared - _FILLERS
    return either.isdisjoint(_WISHES) and len(shared) >= _SHARED and len(shared) >= _MOSTLY * len(either)


def _takes_its_place(_sign: Sign, pair: _Pair) -> bool:
    """Tell whether what is so now is done for the same purpose, at the same place or with the same thing as before."""
    later, earlier = pair.later, pair.earlier
    if earlier.happened or earlier.negated or later.negated or not pair.both_by_self:
        return False
    purpose = {term for _, noun in later.complements & earlier.complements for term in pair.terms(noun)}
    new, old = later.terms - purpose, earlier.terms - purpose
    # Both must say something else of it, and no more than that.
    return bool(purpose and new and old) and new.isdisjoint(old) and max(len(new), len(old)) <= _LITTLE


_RULES: Final[Mapping[SignKind, Callable[[Sign, _Pair], bool]]] = {
    "ended": _ends_it,
    "replaced": _ends_it,
    "moved": _moves_it,
    "switched": _switches_from_it,
    "corrected": _corrects_it,
    "denied": _denies_it,
    "now": _takes_its_place,
}
