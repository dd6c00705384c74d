r"""Prompt-injection detection: what instruction-like text looks like, however it is written. Pure functions over a text.

A text is read as it would be understood: invisible characters out, letters of other alphabets that only look Latin made
Latin, digits in words read as letters, base64 and percent signs decoded. Strong signs suffice alone; weak ones must
stand close together. Every pattern is bounded: a text takes no longer than its length warrants.
"""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

from rememo.safety.injection_patterns import (
    FOREIGN,
    INSTRUCTING,
    OVERRIDING,
    PROMPTING,
    ROLES,
    TRIGGERS,
    WEAK,
    InjectionPattern,
)

_INVISIBLE: Final = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u0334-\u0338\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]"
)
_TAGS: Final = re.compile(r"[\U000e0020-\U000e007e]{3,}")
_FLAG: Final = "\U0001f3f4"
_BIDI: Final = re.compile(r"[\u202d\u202e]")
_DIGIT_IN_WORD: Final = re.compile(r"[013457@$](?<=[a-z].)[a-z]")
_LETTERS_APART: Final = re.compile(r"[ ._-][a-z][ ._-][a-z][ ._-][a-z][ ._-]")
_LEET: Final = re.compile(r"\b(?=[a-z0-9@$]{0,30}[a-z])(?=[a-z0-9@$]{0,30}[013457@$])[a-z0-9@$]{3,30}\b")
_LEET_LETTERS: Final = str.maketrans("013457@$", "oieastas")
_APART: Final = re.compile(r"(?:\b[a-z][ ._-]){5,60}[a-z]\b")
_BETWEEN: Final = re.compile(r"[ ._-]")
_LOOKALIKES: Final = str.maketrans("асеорхуіѕԁһкмтвнјӏαεοριτκνυ", "aceopxyisdhkmtbhjlaeopitkvu")
_MIXED: Final = re.compile(r"(?=\w{0,30}[a-z])(?=\w{0,30}[\u0370-\u052f])\w{3,30}")
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{32,4000}={0,2}(?![A-Za-z0-9+/=])")
_MOST_DECODED: Final = 20
_MOST_COMMENTS, _LONGEST_COMMENT = 1_000, 4_000
_UNSEEN: Final = re.compile(
    r"<[a-z]{1,10}\b(?=[^<>]{0,300}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0\b"
    r"|color\s*:\s*(?:white|#fff(?:fff)?)\b|\shidden\b))[^<>]{0,300}>([^<]{1,4000})"
)
_IMAGE: Final = re.compile(r"!\[[^\]\n]{0,200}\]\(\s*https?://[^)\s]{1,300}[?&/][^)\n]{0,100}[{<\[]")
_QUOTED: Final = re.compile("[\"'\u201c\u2018\u00ab\u201e`]")
_SPOKEN_OF: Final = re.compile(
    r"\b(?:prompt injections?|injections?|jailbreaks?|attack(?:s|ers?)?|such as|for example|e\.g\.|phrases?|so-called|researchers?)\b"
)
_NEAR: Final = 300
_ENOUGH, _ENOUGH_HIDDEN = 3, 1
_MOST_QUOTED, _MOST_SIGNS = 100, 200


def tells_to_override(text: str) -> bool:
    """Whether a plain text tells its reader to drop what it was told; one that quotes such words to speak of them does not."""
    return any(_occurs(pattern, text) for pattern in OVERRIDING) or any(_occurs(pattern, text) for pattern in FOREIGN)


def asks_for_prompt(text: str) -> bool:
    """Whether a plain text asks for the instructions that its reader was given."""
    return any(_occurs(pattern, text) for pattern in PROMPTING)


def gives_orders(text: str) -> bool:
    """Whether a plain text speaks to an assistant, or gives it orders behind its user's back."""
    return any(_occurs(pattern, text) for pattern in INSTRUCTING) or _weight(text) >= _ENOUGH


def has_role_marks(text: str) -> bool:
    """Whether a text, as it was given, has the marks by which a model tells who speaks."""
    return any(True for pattern in ROLES for _ in pattern.find(text, 1))


def has_leaking_image(text: str) -> bool:
    """Whether a text has an image whose address is to be filled in by its reader."""
    return "![" in text and _IMAGE.search(text) is not None


def hides_words(text: str) -> bool:
    """Whether a text hides words from a person who looks at it: as tags of Unicode, turned round, or unseen on a page."""
    if not text.isascii():
        if _BIDI.search(text):
            return True
        for match in _TAGS.finditer(text):
            if text[match.start() - 1 : match.start()] != _FLAG:
                return True
    if "<" not in text:
        return False
    low = text.lower()
    unseen = islice(_UNSEEN.finditer(low), _MOST_COMMENTS) if "style" in low or "hidden" in low else ()
    parts = [*_comments(low), *(match[1] for match in unseen)]
    return any(signs(part) or _weight(plain(part)) >= _ENOUGH_HIDDEN for part in parts)


def _comments(text: str) -> Iterator[str]:
    """Give what stands in HTML comments; one that is not closed goes on to the end."""
    place = text.find("<!--")
    for _ in range(_MOST_COMMENTS):
        if place < 0:
            return
        end = text.find("-->", place + 4)
        yield text[place + 4 : len(text) if end < 0 else end][:_LONGEST_COMMENT]
        place = -1 if end < 0 else text.find("<!--", end)


def signs(text: str) -> frozenset[str]:
    """Return what a text does by its words, however they are written: `override`, `prompt`, `instructions`."""
    signs_found: set[str] = set()
    for reading in readings(text):
        if not any(map(reading.__contains__, TRIGGERS)):
            continue
        signs_found |= {name for name, matches in _RULES.items() if name not in signs_found and matches(reading)}
    return frozenset(signs_found)


def readings(text: str) -> Iterator[str]:
    """Give the ways in which a text may be read: plainly, with digits as letters, with letters put together."""
    flat = plain(text)
    yield flat
    if _DIGIT_IN_WORD.search(flat):
        yield _LEET.sub(lambda match: match[0].translate(_LEET_LETTERS), flat)
    if _LETTERS_APART.search(flat):
        yield _APART.sub(lambda match: _BETWEEN.sub("", match[0]), flat)


def plain(text: str) -> str:
    """Return a text as it is understood: lower case, one blank between words, nothing invisible, letters as they look."""
    if not text.isascii():
        text = _TAGS.sub(lambda match: "".join(chr(ord(character) - 0xE0000) for character in match[0]), text)
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).replace("\u2019", "'")
    text = text.lower()
    if not text.isascii():
        text = _MIXED.sub(lambda match: match[0].translate(_LOOKALIKES), text)
    return " ".join(text.split())


def decoded(text: str) -> Iterator[str]:
    """Give what is encoded in a text, as far as it is words: base64 and percent signs."""
    for match in islice(_BASE64.finditer(text), _MOST_DECODED):
        body = match[0].rstrip("=")
        if len(body) % 4 == 1:
            continue
        words = b64decode(body + "=" * (-len(body) % 4)).decode("utf-8", "replace")
        if " " in words and words.isprintable() and "\ufffd" not in words:
            yield words
    if text.count("%20") > 1:
        yield unquote(text)


_RULES: Final = {"override": tells_to_override, "prompt": asks_for_prompt, "instructions": gives_orders}


def _occurs(pattern: InjectionPattern, text: str) -> bool:
    return any(not _spoken_of(text, match) for match in pattern.find(text, _MOST_QUOTED))


def _spoken_of(text: str, match: re.Match[str]) -> bool:
    """Whether words stand in quotation marks, in a text that speaks of attacks or gives examples."""
    before = text[max(0, match.start() - 40) : match.start()]
    after = text[match.end() : match.end() + 80]
    quoted = _QUOTED.search(before) is not None and _QUOTED.search(after) is not None
    return quoted and _SPOKEN_OF.search(text[max(0, match.start() - _NEAR) : match.end() + _NEAR]) is not None


def _weight(text: str) -> int:
    """Return the greatest weight of weak signs, each counted once, that stand close together."""
    places = sorted(
        (match.start(), name, weight)
        for name, (weight, pattern) in WEAK.items()
        for match in pattern.find(text, _MOST_SIGNS)
    )
    most, first = 0, 0
    for last, (place, _, _) in enumerate(places):
        while place - places[first][0] > _NEAR:
            first += 1
        most = max(most, sum({name: weight for _, name, weight in places[first : last + 1][-50:]}.values()))
    return most
