"""Text to terms: one analyser for every backend and for both sides of a search.

A text is cut at white space, and what each piece stands for is remembered, so a warm message costs one dictionary
look-up a word. What a piece stands for:

* a word: case-folded, its possessive dropped, its snowball stem (irregular forms by their word); beside it the stem without accents, if that differs;
* an identifier or number (``order-4711``, ``user_id``, ``getUserId``, ``10:30``): itself and its parts;
* hyphenated letters (``e-mail``): the parts and the letters joined (``email``);
* scripts written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese): every two neighbouring characters.

Stop words are left out, unless a text has nothing else.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from itertools import chain
from typing import Final, Protocol, cast

import Stemmer  # pyright: ignore[reportMissingTypeStubs]  # a C extension without stubs; typed below

from rememo.errors import InvalidInput
from rememo.recall.irregular import IRREGULAR
from rememo.recall.stopwords import CHATTER, STOPWORDS
from rememo.runtime.locks import ForkLock

_REMEMBERED_PIECES: Final = 65_536
"""Pieces kept before the cache starts afresh: the warm vocabulary of a busy process, about 15 MB."""

_LONGEST_REMEMBERED: Final = 48
"""Longer pieces (links, encoded data, scripts without spaces) hardly ever come back."""

_LONGEST_TERM: Final = 64
"""A longer term is cut: it is no word, and an index key must stay small."""

# Joiners are disjoint from word characters, so these expressions never backtrack.
_COMPOUND = re.compile(r"\w+(?:['./:,@-]\w+)*[+#]{0,2}")
_PART = re.compile(r"[^\W\d_]+|\d+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+)+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

# Written without spaces: Thai, Lao, Burmese, Khmer, kana, Han (and extensions), Hangul.
_SPACELESS = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005\u3007\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_SPACELESS_RUN = re.compile(f"([{_SPACELESS}]+)")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_OTHER_QUESTION_MARKS = ("\uff1f", "\u061f", "\u037e", "\u1367", "\u2047", "\u2048")  # also Arabic, Greek, Ethiopic
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'", "\uff07": "'"})
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "\u0131": "i"})


class _Stemmer(Protocol):
    """The part of PyStemmer that is used."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


_make_stemmer = cast("Callable[[str, int], _Stemmer]", Stemmer.Stemmer)  # pyright: ignore[reportUnknownMemberType]
_languages = cast("Callable[[], list[str]]", Stemmer.algorithms)  # pyright: ignore[reportUnknownMemberType]


class _Pieces(dict[str, tuple[str, ...]]):
    """What a piece of text stands for, computed when first met and kept within bounds.

    Look-ups of known pieces never leave C. Safe for threads: a piece that two threads meet at once is worked out twice
    to the same value.
    """

    def __init__(self, analyse: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._analyse = analyse

    def __missing__(self, piece: str) -> tuple[str, ...]:
        value = self._analyse(piece)
        if len(piece) <= _LONGEST_REMEMBERED:
            if len(self) >= _REMEMBERED_PIECES:
                self.clear()
            self[piece] = value
        return value


class Analyzer:
    """Cuts texts into index terms, the same way for storing and for asking.

    Instances are immutable to their users and safe to share between threads.
    """

    def __init__(self, language: str = "english") -> None:
        """Use the stems and stop words of `language`, a snowball name; raise `InvalidInput` for an unknown one."""
        if language not in _languages():
            raise InvalidInput(f"no stemmer for language {language!r}; one of: {', '.join(sorted(_languages()))}")
        self.language: Final = language
        self._stop: Final = STOPWORDS.get(language, frozenset())
        self._chatter: Final = CHATTER.get(language, frozenset())
        self._unindexed: Final = self._stop - self._chatter
        self._irregular: Final = IRREGULAR.get(language, {})
        self._stemmer: Final = _make_stemmer(language, 0)
        self._stemming: Final = ForkLock()
        self._terms: Final = _Pieces(self._terms_of_piece)
        self._content: Final = _Pieces(self._content_of_piece)

    def terms(self, text: str) -> list[str]:
        """Return the bag of terms that `text` is indexed under, repetitions included.

        A text made of stop words only is indexed under them; a text without a letter or digit has no terms.
        """
        terms = list(chain.from_iterable(map(self._terms.__getitem__, text.split())))
        if terms:
            return terms
        return list(chain.from_iterable(self._terms_of_piece(piece, keep_stopwords=True) for piece in text.split()))

    def query(self, text: str) -> list[str]:
        """Return the terms that a question looks for, each once, in the order of the text.

        Every one is a term that `terms` gives for a text that contains the same word. Where two neighbouring
        characters are known, single Han characters are not asked for: they would match half of a Chinese memory.
        """
        terms = dict.fromkeys(self.terms(text))
        if self._chatter and any(word in self._chatter for word in text.casefold().split()):
            # "hello" is worth looking for only where nothing else is.
            chatter = {term for word in self._chatter for term in self._terms_of_word(word)}
            terms = dict.fromkeys(term for term in terms if term not in chatter) or terms
        if not text.isascii():
            without_single_characters = dict.fromkeys(term for term in terms if len(term) > 1 or not _HAN.match(term))
            terms = without_single_characters or terms
        return list(terms)

    def content(self, text: str, *, never_empty: bool = True) -> list[str]:
        """Return the words of `text` as written that carry meaning, in order: what an embedder should pool.

        Stop words are left out; if there is nothing else they are kept, unless `never_empty` is False.
        """
        words = list(chain.from_iterable(map(self._content.__getitem__, text.split())))
        if words or not never_empty:
            return words
        return list(chain.from_iterable(self._content_of_piece(piece, keep_stopwords=True) for piece in text.split()))

    def stem(self, word: str) -> str:
        """Return the stem of one case-folded word, of its base form where the word is irregular."""
        with self._stemming:  # the C stemmer reuses one buffer
            return self._stemmer.stemWord(self._irregular.get(word, word))

    def _terms_of_piece(self, piece: str, *, keep_stopwords: bool = False) -> tuple[str, ...]:
        stop = frozenset[str]() if keep_stopwords else self._unindexed
        if piece.isascii():
            words, spaceless = [piece], list[str]()
        else:
            cut = _SPACELESS_RUN.split(_unify(piece))
            words, spaceless = cut[0::2], cut[1::2]
        terms = list(chain.from_iterable(_bigrams(run) for run in spaceless))
        for words_between in words:
            for compound in _compound_pattern(words_between).findall(words_between):
                folded = compound.casefold()
                if folded not in stop:
                    bare = compound[:-2] if folded.endswith("'s") else compound
                    terms += self._terms_of_compound(bare, stop)
        return tuple(term[:_LONGEST_TERM] for term in terms)

    def _terms_of_compound(self, compound: str, stop: frozenset[str]) -> list[str]:
        folded = compound.casefold()
        if folded in stop:
            return []
        if folded.isalpha() and not _CAMEL.search(compound):
            return self._terms_of_word(folded)
        if _THOUSANDS.fullmatch(folded):
            return [folded.replace(",", "")]
        if folded.isdigit() or _DECIMAL.fullmatch(folded):
            return [folded]
        if folded[-1] in "+#":  # c++, c#, f#
            bare = compound.rstrip("+#")
            return [*self._terms_of_compound(bare, stop), *([folded] if len(bare) == 1 else [])]
        parts = _part_pattern(compound).findall(compound)
        terms: list[str] = []
        for part in parts:
            words = [part, *_CAMEL.split(part)] if _CAMEL.search(part) else [part]
            for word in words:
                word_folded = word.casefold()
                if word_folded not in stop:
                    terms += [word_folded] if word.isdigit() else self._terms_of_word(word_folded)
        return [*terms, *self._wholes_of_compound(folded, len(parts))]

    def _wholes_of_compound(self, folded: str, part_count: int) -> list[str]:
        """Return what a compound is called as a whole: an identifier as written, joined letters otherwise."""
        if part_count < 2 or "," in folded:  # noqa: PLR2004 - a compound has two parts or more
            return []
        letters = folded.replace("-", "").replace("'", "")
        if letters.isalpha():
            return self._terms_of_word(letters)
        if "/" in folded and not any(character.isdigit() for character in folded):
            return []  # and/or, he/she: two words, not a name
        return [folded]

    def _terms_of_word(self, folded: str) -> list[str]:
        stem = self.stem(folded)
        if folded.isascii():
            return [stem]
        plain = _without_accents(folded)
        return [stem] if plain == folded else list(dict.fromkeys((stem, self.stem(plain))))

    def _content_of_piece(self, piece: str, *, keep_stopwords: bool = False) -> tuple[str, ...]:
        written = piece.translate(_APOSTROPHES)
        content: list[str] = []
        for word in _compound_pattern(written).findall(written):
            bare = word[:-2] if word[-2:] in {"'s", "'S"} else word
            if not bare.strip("_"):
                continue
            if keep_stopwords or not (bare.casefold() in self._stop or word.casefold() in self._stop):
                content.append(bare)
        return tuple(content)


def asks(text: str) -> bool:
    """Return whether a text asks something, by its marks: ``?`` or what stands for it in other scripts."""
    return "?" in text or (not text.isascii() and any(mark in text for mark in _OTHER_QUESTION_MARKS))


def fingerprint(terms: Iterable[str]) -> int:
    """Return a signed 64-bit number that is equal for texts with the same set of terms, whatever order or repetition.

    Stable across processes and versions of Python, so that it can be stored; 0 stands for "no terms".
    """
    ordered = sorted(set(terms))
    if not ordered:
        return 0
    return int.from_bytes(blake2b("\x1f".join(ordered).encode(), digest_size=8).digest(), "little", signed=True)


def _unify(piece: str) -> str:
    return unicodedata.normalize("NFKC", piece.translate(_APOSTROPHES))


def _bigrams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return [*pairs, *_HAN.findall(run)]  # one Han character can be a whole word


def _without_accents(word: str) -> str:
    """Drop Latin, Greek and Cyrillic marks; the vowel signs of Indic scripts are letters and stay."""
    decomposed = unicodedata.normalize("NFD", word.translate(_UNDECOMPOSED))
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))


@cache
def _marks() -> str:
    """All combining marks of the basic plane, which Python does not count as word characters."""
    marks = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    return "".join(chr(code) for code in marks)


@cache
def _marked_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = f"[\\w{_marks()}]"
    letters = f"[^\\W\\d_][{_marks()}]*"
    return re.compile(f"{word}+(?:['./:,@-]{word}+)*[+#]{{0,2}}"), re.compile(f"(?:{letters})+|\\d+")


def _compound_pattern(text: str) -> re.Pattern[str]:
    return _COMPOUND if text.isascii() else _marked_patterns()[0]


def _part_pattern(text: str) -> re.Pattern[str]:
    return _PART if text.isascii() else _marked_patterns()[1]
