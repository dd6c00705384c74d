"""Words that are not the speaker's own: texts pasted for an assistant to work on, letters, quoted messages."""

import re
from collections.abc import Iterator

_LEAD = (
    r"(?:^|(?<=[.!?\n])[ \t]{0,3})(?:\W{0,3}(?:please|pls|hey|hi|ok|okay|so|now|and|also|first|next|then|just|can you|could you|would you|will you|"
    r"can u|i need you to|i want you to|i'd like you to|help me(?: to)?|i need help (?:to|with)|kindly)\b[ ,]{0,3}){0,6}"
)
_WORKING = (
    r"(?:translate|proof-?read|re-?write|re-?phrase|paraphrase|summari[sz]e|re-?word|polish|shorten|spell-?check|correct|improve|edit|fix|"
    r"analy[sz]e|complete|continue|extend|expand|format|check|review|rate|reply|respond|answer|read|explain|classify|evaluate|grade|critique|"
    r"convert|turn|make|give|write|draft|create|generate|simplify|tell me|say|act|pretend|describe|identify|extract|list|find)"
)
_TEXTS = (
    r"(?:e-?mails?|messages?|letters?|essays?|texts?|paragraphs?|bio|chat|reviews?|articles?|transcript|quotes?|caption|examples?|sentences?|"
    r"draft|cover letter|job description|prompt|story|poem|lyrics|passage|statements?|conversation|dialogue|resume|cv|abstract|excerpt|profile)"
)
_OWN_MATTER = re.compile(
    r"\bmy (?:week|day|month|year|weekend|situation|life|details|preferences|trip|plans?|news|notes|profile)\W*$",
    re.IGNORECASE,
)
_REQUEST = re.compile(rf"{_LEAD}{_WORKING}\b[^:.!?\n]{{0,120}}:", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(rf"\b{_TEXTS}\b[^.!?\n:]{{0,30}}:(?=\s)", re.IGNORECASE)
_REWORKING = r"(?:translate|proof-?read|re-?write|re-?phrase|paraphrase|summari[sz]e|re-?word|polish|shorten|spell-?check|correct|edit|critique|grade)"
_POINTING = re.compile(
    rf"{_LEAD}(?:{_REWORKING}\b[^.!?:\n]{{0,40}}\b(?:this|these|the following|below|above)\b|"
    rf"{_WORKING}\b[^.!?:\n]{{0,30}}\b(?:my|the|this|these|following) {_TEXTS}\b)[^.!?:\n]{{0,120}}(?:[.!?\n]|$)|"
    r"^[^.!?\n]{0,80}\b(?:which of these|correct english|passive voice|grammar)\b[^.!?:\n]{0,80}(?:[.!?\n]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(r"\bdear (?:hiring|sir|madam|mr|mrs|ms|dr|prof)\b", re.IGNORECASE)
_SIGNED = re.compile(r"\b(?:sincerely|best regards|kind regards|yours (?:truly|faithfully|sincerely))\b", re.IGNORECASE)
_OWN_AGAIN = re.compile(
    r"(?:^|(?<=[.!?\n]))\s*(?:also|by the way|btw|fyi|ps|p\.s|for context|oh and|separately|on another note|other than that)\b",
    re.IGNORECASE | re.MULTILINE,
)
_MY = 4
"""Characters before a word in which "my" may stand."""
_CONTACT = re.compile(r"\s*(?:\+?\d[\d\s().-]{4,18}\d|[\w.+-]{1,64}@[\w-]{1,64}\.)")
_STEMS = (
    "translat", "proof", "writ", "phras", "summar", "word", "polish", "short", "spell", "correct", "edit", "critique", "grad", "mail",
    "message", "letter", "essay", "text", "paragraph", "bio", "chat", "review", "article", "transcript", "quot", "caption", "example",
    "sentence", "draft", "description", "prompt", "story", "poem", "lyrics", "passage", "statement", "conversation", "dialog", "resume",
    "cv", "abstract", "excerpt", "profile", "which of these", "passive", "grammar",
)  # fmt: skip
"""One of these stands in every request that only points at a text: most messages have none and are done at once."""


def pasted_parts(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text that its writer only hands on, in order. Work is linear in the text."""
    lowered = text.lower()
    parts = {*_announced(text)} if ":" in text else set[tuple[int, int]]()
    if any(stem in lowered for stem in _STEMS):
        parts.update(_pointed_at(text))
    if "dear " in lowered or "regards" in lowered or "sincerely" in lowered or "yours " in lowered:
        parts.update(_letters(text))
    return _merged(sorted(parts)) if parts else []


def _merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in parts:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif begin < end:
            merged.append((begin, end))
    return merged


def _announced(text: str) -> Iterator[tuple[int, int]]:
    """Yield what follows "Translate this:" and "The review said:"."""
    for pattern in (_REQUEST, _LABEL):
        reached = 0
        for match in pattern.finditer(text):
            begin = match.end()
            if (
                begin < reached
                or _OWN_MATTER.search(text[max(match.start() - _MY, 0) : begin - 1])
                or _CONTACT.match(text, begin)
            ):
                continue
            reached = _own_from(text, begin, _part_end(text, begin))
            yield begin, reached


def _part_end(text: str, begin: int) -> int:
    """Return where a pasted part ends: with its paragraph, or with the text when it begins on a line of its own."""
    line = text.find("\n", begin)
    if line < 0 or not text[begin:line].strip():
        return len(text)
    blank = text.find("\n\n", begin)
    return len(text) if blank < 0 else blank


def _own_from(text: str, begin: int, end: int) -> int:
    """Return where the writer speaks again ("Also, I moved"), at the latest at ``end``."""
    match = _OWN_AGAIN.search(text, begin + 1, end)
    return end if match is None else match.start()


def _pointed_at(text: str) -> Iterator[tuple[int, int]]:
    """Yield the text that "proofread this" points at: what follows the request, or all before it when nothing does."""
    match = _POINTING.search(text)
    if match is None:
        return
    end = _own_from(text, match.end() - 1, len(text))
    if text[match.end() : end].strip():
        yield match.end(), end
    else:
        yield 0, match.start()


def _letters(text: str) -> Iterator[tuple[int, int]]:
    opened = _LETTER.search(text)
    signed = next(reversed(list(_SIGNED.finditer(text))), None)
    if opened is not None or signed is not None:
        yield (
            0 if opened is None else opened.start(),
            len(text) if signed is None else text.find("\n", signed.end()) % (len(text) + 1),
        )
