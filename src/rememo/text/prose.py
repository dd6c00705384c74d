"""What of a message is the speaker's own plain statement: no code, quotes, lists, pasted texts, fiction, questions or jokes."""

import re
from collections.abc import Iterator

from rememo.text.pasted import pasted_parts
from rememo.text.wordlists import word_set

LONGEST = 50_000
"""Characters read of one text; what stands behind is kept as a message but nothing is learned from it."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_QUOTED = re.compile(
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|«[^»\n]{1,2000}»|(?<!\w)'[^'\n]{1,300}'(?!\w)|(?<!\w)\u2018[^\u2019\n]{1,300}\u2019(?!\w)"
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$|[\"”)])[^.!?\n]*)*(?:[.!?]+[\"”)]*|\n|$)")
_ABBREVIATION = re.compile(r"\b(?:dr|mr|mrs|ms|st|prof|jr|sr|vs|no|e\.g|i\.e|approx|inc|ltd|co)\.$", re.IGNORECASE)
_LIST_LINE = re.compile(r"\s*(?:[-*•+]|\(?\d{1,3}[.)]|[a-z]\))\s")
_LABEL_LINE = re.compile(r"\s*\**([A-Z][\w.'-]{0,24}(?: [A-Z][\w.'-]{0,24}){0,2}|\w+(?: description)?):\**\s")
_CODE_LINE = re.compile(
    r"\s*(?:def |class |import |from \w+ import|function |const |let |var |return |public |#include|<\w+|\{|\}|SELECT |\$ )|.*[;{]\s*$|.*(?:=>|==|\(\)|</)"
)
_OWN_LABELS = word_set("note fyi correction update ps p.s edit btw context background reminder info")

_SPEAKERS = word_set("user assistant ai human system bot agent me you q a")
_LONGEST_ENTRY = 12
"""Words of a note that is one key and its value."""

_FICTION = re.compile(
    r"\b(?:pretend|role-?play\w*|act(?:ing)? as|my character|main character|the protagonist|writing (?:a|an|my|this) (?:\w+ )?(?:story|novel|book|poem|script|song|screenplay|play)|"
    r"(?:a|the|this) story about|in the example|once upon a time|fan-?fic\w*|fictional|"
    r"in (?:my|the|a|this|that|his|her) (?:\w+ )?(?:novel|story|book|film|movie|game|series|show|episode|song|dream|campaign|screenplay|"
    r"script|comic|play|poem|scene|musical|anime|manga|video)|you are (?:a|an|my|the|now)\b|you're (?:a|an) \w+ (?:named|called)|"
    r"write (?:me |us )?(?:a|an|some|the|up|my|about|in)\b|(?:draft|compose|generate|create|make) (?:me |us )?(?:a|an|some|the|my)\b|"
    r"quiz|riddle|walks into a bar|for example|e\.g\.|hypothetical\w*|scenario|persona|prompt|lyrics|the (?:song|poem|lyrics|quote) )",
    re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"\b(?:imagine|suppose|supposing|assum(?:e|ing)|let's (?:say|pretend|imagine|assume)|lets (?:say|pretend)|say i(?:'m| am|'ve| have)|what if|"
    r"as if|as though|if only|yeah,? right|just kidding|jk|kidding|/s|not!|oh sure|lol (?:yeah|sure)|sarcasm|in another life|"
    r"in a parallel|wishful thinking)\b|, sure\W*$|\byeah\b.{0,80}\btotally\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\W*(?:(?:so|and|but|hey|ok|okay|well|also|please|thanks|great|cool)\W+)*"
    r"(?:(?:what|which|who|whose|where|why|how|when)\b|(?:can|could|would|will|do|does|did|is|are|have|has|should|may|might|am)\s+"
    r"(?:you|i|we|it|he|she|they|there|my|the|this|that|your|our|anyone|these|those)\b)",
    re.IGNORECASE,
)
"""How most questions begin: seen before any word is cut."""
_LONG_QUOTE = 3
"""Words of a quote from which it is somebody's speech and no longer a title."""


def own_sentences(text: str, *, noted: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the places of sentences that may state something, in order. Work is linear and bounded by ``LONGEST``.

    Lists in a message are mostly pasted; in what is ``noted`` they are how notes are taken.
    """
    cut = text[:LONGEST]
    masked = cut
    if foreign := pasted_parts(cut):
        pieces, reached = list[str](), 0
        for begin, end in foreign:
            pieces += [cut[reached:begin], _SPEECH * (end - begin)]
            reached = end
        masked = "".join([*pieces, cut[reached:]])
    if "`" in cut or "://" in cut:
        masked = _CODE.sub(_blank, masked)
    if _has_quotes(masked):
        masked = _QUOTED.sub(_mark_speech, masked)
    framed = _FICTION.search(masked) is not None or _SUPPOSING.search(masked) is not None
    position = 0
    for line in masked.splitlines(keepends=True):
        end = position + len(line)
        item = _LIST_LINE.match(line)
        if line.strip() and not (item and not noted) and not _foreign_line(line, noted=noted):
            first = position + (item.end() if item else 0)
            for begin, finish in _sentences(masked, first, end):
                if framed and (_FICTION.search(masked, begin, finish) or _SUPPOSING.search(masked, begin, finish)):
                    return  # what follows an invented frame is inside it
                if not _QUESTION.match(masked, begin, finish) and _SPEECH not in masked[begin:finish]:
                    yield begin, finish
        position = end


_SPEECH = "\ufffc"
_SIGNS = frozenset("\"“«'\u2018")


def _has_quotes(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _blank(match: re.Match[str]) -> str:
    return _SPEECH * len(match.group())


def _mark_speech(match: re.Match[str]) -> str:
    quote = match.group()
    return quote if len(quote.split()) <= _LONG_QUOTE else _SPEECH * len(quote)


def _foreign_line(line: str, *, noted: bool) -> bool:
    if line.lstrip().startswith((">", "//", "|", "#", "    ")) or _CODE_LINE.match(line):
        return True
    label = _LABEL_LINE.match(line)
    if label is None or label[1].lower() in _OWN_LABELS:
        return False
    # Notes are often written as keys and values; a longer value, or a speaker before it, is somebody's words.
    return not noted or label[1].lower() in _SPEAKERS or len(line.split()) > _LONGEST_ENTRY


def _sentences(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for match in _SENTENCE.finditer(text, begin, end):
        first = match.start() if start is None else start
        if _ABBREVIATION.search(match.group().rstrip()[-6:]) and match.end() < end:
            start = first
            continue
        start = None
        if match.group().strip():
            yield first, match.end()
    if start is not None:
        yield start, end
