"""Redaction: secrets and personal numbers are taken out of what is stored, and a mark stays in their place.

Every pattern begins at the edge of a word and is bounded, so that no text takes longer than its length warrants. Numbers
that have check digits (cards, IBANs) are taken out only when these are right.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final, cast

_EDGE: Final = r"(?<![A-Za-z0-9_-])"
_KEYS: Final = re.compile(
    # What lies between is read once, as it always ends: at five hyphens or with the text. Possessive quantifiers would
    # say the same, but early releases of Python 3.11 match too little with them.
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?=-----|\Z)(?:-----END [A-Z ]{0,50}-----)?"
    rf"|{_EDGE}(?:"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # JSON web tokens
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,255}"
    r"|sk-[A-Za-z0-9_-]{20,255}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,255}|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,255}"
    r"|hf_[A-Za-z0-9]{30,255}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,255}|dop_v1_[a-f0-9]{64}"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"
    r"|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"  # Telegram
    r"|AccountKey=[A-Za-z0-9+/=]{40,200}"
    r")"
)
_IN_ADDRESS: Final = re.compile(r"://[^\s/:@]{1,100}:[^\s/@]{1,100}(?=@)")
_KEY_SIGNS: Final = (
    "-----BEGIN", "eyJ", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-",
    "sk-", "k_live_", "k_test_", "whsec_", "xox", "AIza", "ya29.", "hf_", "npm_", "pypi-", "dop_v1_", "SG.", ":AA",
    "AccountKey=",
)  # fmt: skip
_CARDS: Final = re.compile(
    r"(?<![\w.-])(?:[2-6][0-9]{12,18}|[2-6][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}|3[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5})"
    r"(?![\w-])"
)
_IBANS: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4}){3,8}")
_EMAILS: Final = re.compile(
    r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])"
)
_PHONES: Final = re.compile(
    r"(?<![\w.+-])(?:"
    r"\+[1-9](?:[ ()./-]{0,2}[0-9]){6,14}"
    r"|\([0-9]{2,5}\)[ -]?[0-9]{3,4}[ -]?[0-9]{3,5}"
    r"|[0-9]{3}[.-][0-9]{3}[.-][0-9]{4}"
    r"|0[1-9](?:[ .][0-9]{2}){4}"
    r"|00[1-9](?:[ -]?[0-9]){7,12}"
    r"|0[0-9]{2,4}[ /-][0-9]{3,4}[ -]?[0-9]{3,5}"
    r")(?![\w-]|\.[0-9])"
)
_MOD: Final = 97
_TWICE: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
# How long an IBAN is, country by country.
_LENGTHS: Final = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
LINKS: Final = frozenset(
    {"document", "external_id", "hash", "images", "match", "parent", "reply_to", "role", "sources", "tool_call_id"}
)
"""Names in a record's data under which ids and the like stand: taking something out there would cut what they tie."""

Spans = Iterator[tuple[int, int]]


def redact(text: str, kinds: Container[str]) -> tuple[str, Counter[str]]:
    """Return a text with marks in place of what was found, and how much that was, by kind; a second time changes nothing."""
    counts: Counter[str] = Counter()
    for name, find in (finder for kind, finders in _FINDERS.items() if kind in kinds for finder in finders):
        parts: list[str] = []
        end_of_last = 0
        for start, end in find(text):
            parts += (text[end_of_last:start], f"[redacted: {name}]")
            end_of_last = end
            counts[name] += 1
        if end_of_last:
            text = "".join((*parts, text[end_of_last:]))
    return text, counts


def redact_fields(fields: Mapping[str, Any], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a record without what is not to be stored; `redacted` tells how much that was.

    Fields that have a `redacted` already were given a clean text.
    """
    counts = Counter[str](fields.get("redacted") or {})
    clean = dict(fields)
    if "text" in clean and "redacted" not in clean:
        clean["text"], removed = redact(clean["text"], kinds)
        counts.update(removed)
    for name in ("data", "metadata"):
        if isinstance(clean.get(name), Mapping):
            clean[name] = redact_values(clean[name], kinds, counts)
    clean["redacted"] = counts
    return clean


def redact_values(values: Mapping[str, Any], kinds: tuple[str, ...], counts: Counter[str]) -> dict[str, Any]:
    """Return data or metadata with every text in it redacted; names, numbers and links stay."""
    return {name: value if name in LINKS else _redacted(value, kinds, counts) for name, value in values.items()}


def holds_key(text: str) -> bool:
    """Whether a text holds a key, a token or a password in an address."""
    return next(_keys(text), None) is not None or next(_addresses(text), None) is not None


def _redacted(value: Any, kinds: tuple[str, ...], counts: Counter[str]) -> Any:
    if isinstance(value, str):
        text, removed = redact(value, kinds)
        counts.update(removed)
        return text
    if isinstance(value, Mapping):
        return {
            name: _redacted(item, kinds, counts)
            for name, item in cast("Mapping[str, Any]", value).items()
        }  # fmt: skip
    if isinstance(value, list | tuple):
        return [_redacted(item, kinds, counts) for item in cast("list[Any]", value)]
    return value


def _keys(text: str) -> Spans:
    if any(sign in text for sign in _KEY_SIGNS):
        for match in _KEYS.finditer(text):
            yield match.span()


def _addresses(text: str) -> Spans:
    """Give the names and passwords that stand in addresses."""
    if "://" in text and "@" in text:
        for match in _IN_ADDRESS.finditer(text):
            yield match.start() + 3, match.end()


def _cards(text: str) -> Spans:
    for match in _CARDS.finditer(text):
        if _luhn(re.sub(r"[ -]", "", match[0])):
            yield match.span()


def _luhn(digits: str) -> bool:
    """Whether the last digit is the right one, as on every card."""
    total = sum(_TWICE[int(digit)] if place % 2 else int(digit) for place, digit in enumerate(reversed(digits)))
    return total % 10 == 0 and len(set(digits)) > 1


def _ibans(text: str) -> Spans:
    place = 0
    while match := _IBANS.search(text, place):
        # Whatever else it took may be the beginning of the next: a match is short, so looking again costs little.
        place = match.start() + 1
        length = _LENGTHS.get(match[0][:2], 0)
        end, seen = match.start(), 0
        # What follows in capitals may have been taken for a part of it.
        while end < match.end() and seen < length:
            seen += text[end] != " "
            end += 1
        iban = text[match.start() : end].replace(" ", "")
        if length and seen == length and not text[end : end + 1].isalnum() and _sums_up(iban):
            yield match.start(), end
            place = end


def _sums_up(iban: str) -> bool:
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % _MOD == 1


def _matches(pattern: re.Pattern[str], sign: str) -> Callable[[str], Spans]:
    def find(text: str) -> Spans:
        if sign in text:
            for match in pattern.finditer(text):
                yield match.span()

    return find


# In this order: groups of an IBAN look like a card, and parts of both like a phone number.
_FINDERS: Final[Mapping[str, tuple[tuple[str, Callable[[str], Spans]], ...]]] = {
    "keys": (("key", _keys), ("key", _addresses)),
    "ibans": (("iban", _ibans),),
    "cards": (("card", _cards),),
    "emails": (("email", _matches(_EMAILS, "@")),),
    "phones": (("phone", _matches(_PHONES, "")),),
}
