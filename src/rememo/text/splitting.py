"""Texts cut at their structure: headings, paragraphs, sentences, words. Pure, linear, exact to the character."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rememo.errors import InvalidInput

_SPACE = re.compile(r"\s+|(?<=[。！？])(?=[^\s。！？」』）”’])")  # noqa: RUF001 - full-width marks end sentences without a space
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_END = re.compile(r"[.!?…。！？]['\"”’»)\]」』）]*$")  # noqa: RUF001
_ATX = re.compile(r"[ \t]{0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"[ \t]{0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_NOT_A_TITLE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s|$)")
_ABBREVIATIONS = frozenset(
    {
        "dr.", "mr.", "mrs.", "ms.", "prof.", "st.", "vs.", "e.g.", "i.e.", "etc.", "no.", "fig.", "approx.", "cf.",
        "inc.", "ltd.", "jr.", "sr.", "vol.", "pp.", "al.",
    }
)  # fmt: skip
_INITIAL = 2  # a capital and its dot
_LONGEST_TAIL = 24  # what is looked at before a gap: an abbreviation, or a sentence's end with its brackets

WORD, LINE, SENTENCE, PARAGRAPH, HEADING = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSizes:
    """How large chunks become, in characters; 1,200 are about 200 English words."""

    target: int = 1_200
    """What is aimed at."""
    most: int = 1_800
    """What no chunk exceeds."""
    overlap: int = 150
    """How much of a chunk at most is repeated at the beginning of the next."""

    def __post_init__(self) -> None:
        """Refuse sizes with which no end would be reached."""
        if not 0 <= self.overlap < self.least <= self.target <= self.most:
            raise InvalidInput("chunks need 0 <= overlap < target / 4 and target <= most")

    @property
    def least(self) -> int:
        """What a chunk has before a break is looked for."""
        return self.target // 4


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a text."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A slice of a text: `text[start:end]`."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    """The headings that it stands under, the widest first."""


def split_text(text: str, sizes: ChunkSizes | None = None) -> list[TextChunk]:
    """Return the chunks of a text, in order; together they cover it all, and each begins before the last one's end.

    A chunk ends before a heading if it can, else after a paragraph, a sentence, a line, a word; inside a word only
    where the word alone is longer than a chunk may be. A chunk that begins with a heading repeats nothing.
    """
    sizes = sizes or ChunkSizes()
    headings = find_headings(text)
    places, strengths = _breaks(text, headings)
    paths = _paths(headings)
    starts = [heading.start for heading in headings]
    pieces: list[TextChunk] = []
    start = end = 0
    while end < len(text):
        begin = start
        cut = _cut(len(text), places, strengths, start=begin, after=end, sizes=sizes)
        if cut is None and begin < end:
            begin = end
            cut = _cut(len(text), places, strengths, start=begin, after=end, sizes=sizes)
        before, end = end, min(begin + sizes.most, len(text)) if cut is None else cut
        if end <= before:  # pragma: no cover - the sizes forbid it
            raise AssertionError("splitting does not advance")
        pieces.append(TextChunk(begin, end, paths[bisect_right(starts, _first_word(text, begin, end))]))
        start = _repeat_from(places, strengths, begin, end, sizes.overlap)
    return pieces


def join_chunks(chunks: Sequence[tuple[int, int, str]]) -> str:
    """Return the text that chunks (start, end, text) were cut from, in order and without what they repeat."""
    parts: list[str] = []
    reached = 0
    for start, end, text in chunks:
        if start > reached or end - start != len(text):
            raise InvalidInput(
                f"the chunk from {start:,} does not follow on {reached:,}: one is missing or was changed"
            )
        parts.append(text[reached - start :])
        reached = max(reached, end)
    return "".join(parts)


def find_headings(text: str) -> list[Heading]:
    """Return the headings of a text in Markdown's notation; what stands in fenced code is none."""
    headings: list[Heading] = []
    place, fence, before, before_place = 0, "", "", 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip()
        mark = _FENCE.match(bare)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            bare = ""
        elif not fence:
            if heading := _ATX.match(bare):
                headings.append(Heading(place + heading.start(1), len(heading[1]), heading[2].rstrip("# \t")))
                bare = ""
            elif before and (rule := _UNDERLINE.match(bare)) and not _NOT_A_TITLE.match(before):
                start = before_place + len(before) - len(before.lstrip())
                headings.append(Heading(start, 1 if rule[1][0] == "=" else 2, before.strip()))
                bare = ""
        before, before_place = ("" if fence else bare), place
        place += len(line)
    return headings


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where each sentence begins and ends, without the space around it; paragraphs and headings end one too."""
    headings = find_headings(text)
    places, strengths = _breaks(text, headings)
    cuts = [0, *(place for place, strength in zip(places, strengths, strict=True) if strength >= SENTENCE)]
    # The line of a heading is one of its own.
    for heading in headings:
        newline = text.find("\n", heading.start)
        if newline >= 0:
            cuts.append(newline + 1)
    cuts = sorted({*cuts, len(text)})
    spans: list[tuple[int, int]] = []
    for start, end in pairwise(cuts):
        part = text[start:end]
        begin = start + len(part) - len(part.lstrip())
        stop = start + len(part.rstrip())
        if begin < stop:
            spans.append((begin, stop))
    return spans


def _breaks(text: str, headings: Sequence[Heading]) -> tuple[list[int], list[int]]:
    """Return every place where a word begins, and how good a place it is to begin a chunk."""
    begins = {heading.start for heading in headings}
    places: list[int] = []
    strengths: list[int] = []
    for gap in _SPACE.finditer(text):
        start, place = gap.span()
        if place == len(text):
            continue
        places.append(place)
        if place - start == 1 and text[start] == " " and text[start - 1].isalnum():
            strengths.append(WORD)  # nearly all of them, so told apart here
        else:
            strengths.append(HEADING if place in begins else _strength(text, start, place))
    return places, strengths


def _strength(text: str, start: int, end: int) -> int:
    gap = text[start:end]
    if _BLANK_LINE.search(gap):
        return PARAGRAPH
    if _ends_sentence(text, start, end):
        return SENTENCE
    return LINE if "\n" in gap else WORD


def _ends_sentence(text: str, start: int, end: int) -> bool:
    tail = text[max(0, start - _LONGEST_TAIL) : start]
    if not _END.search(tail) or text[end].islower():
        return False
    word = tail.rsplit(maxsplit=1)[-1] if tail.strip() else tail
    initial = len(word) == _INITIAL and word[0].isupper() and word[1] == "."
    return not initial and word.lower().lstrip("([\"'") not in _ABBREVIATIONS


def _cut(
    length: int, places: Sequence[int], strengths: Sequence[int], *, start: int, after: int, sizes: ChunkSizes
) -> int | None:
    """Return where the chunk from `start` ends, beyond `after`; None when no word begins in reach."""
    low = bisect_right(places, start + sizes.least)
    high = bisect_right(places, start + sizes.most)
    best, best_key = None, (0, 0)
    for index in range(low, high):
        strength = strengths[index]
        if strength == HEADING:
            return places[index]
        key = (strength, -abs(places[index] - start - sizes.target))
        if best is None or key > best_key:
            best, best_key = places[index], key
    if length - start <= sizes.most:
        return length
    if best is not None:
        return best
    # Only short words and then a long one: better a short chunk than a word cut in two.
    earlier = bisect_right(places, start + sizes.least) - 1
    return places[earlier] if earlier >= 0 and places[earlier] > max(start, after) else None


def _repeat_from(places: Sequence[int], strengths: Sequence[int], start: int, end: int, overlap: int) -> int:
    """Return where the chunk after `end` begins: with the last sentences before it if they are short, else words."""
    low = bisect_left(places, max(end - overlap, start + 1))
    high = bisect_left(places, end)
    if high < len(places) and places[high] == end and strengths[high] == HEADING:
        return end
    for index in range(low, high):
        if strengths[index] >= SENTENCE:
            return places[index]
    return places[low] if low < high else end


def _paths(headings: Sequence[Heading]) -> list[tuple[str, ...]]:
    """Return what stands above the text after the first 0, 1, 2 … headings."""
    paths: list[tuple[str, ...]] = [()]
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        paths.append(tuple(title.title for title in above))
    return paths


def _first_word(text: str, start: int, end: int) -> int:
    part = text[start:end]
    return start + len(part) - len(part.lstrip())
