"""What kind of fact a question asks for: from its words to the predicates that would answer it.

A table: each row has the words that ask and the predicates that answer. It only lends a hand where a question's words and an
answer's have nothing in common ("Who is my employer?" and "works at Bosch").
"""

import re
from typing import Final

from rememo.model.fact import folded
from rememo.text.wordlists import word_list

_TABLE: Final = (
    ((r"where .{0,60}\b(?:live|lives|living|based|staying|stay|home)|\b(?:which|what) (?:city|town|country|place|neighbou?rhood) .{0,60}\b(?:live|in|home|based)"
     r"|\b(?:my|'s|his|her|their) (?:home|home ?town|city|residence|place)\b|\blive now\b"), ("lives_in", "address")),
    (r"\baddress\b", ("address", "lives_in")),
    (r"where .{0,60}\b(?:work|works|working|employed)\b|\b(?:employer|company|workplace|work for|works for|working for|employed)\b", ("works_at",)),
    (r"\b(?:job|profession|occupation|title|role|for a living|work as|works as)\b|what (?:do|does) .{1,30} do\b", ("works_as", "works_at")),
    (r"\b(?:study|studies|studying|major|degree|university|college|school)\b", ("studies", "studies_at", "degree", "studied_at")),
    (r"\b(?:wife|husband|spouse|married|partner|boyfriend|girlfriend|dating|relationship|single|divorced|engaged|fianc[eé]e?)\b",
     ("married_to", "marital_status", "wife", "husband", "spouse", "partner", "boyfriend", "girlfriend", "fiance")),
    (r"\b(?:pets?|dogs?|cats?|animals?)\b", ("has_pet",)),
    (r"\b(?:car|vehicle|bike|own|owns|drive|drives)\b", ("owns",)),
    (r"\b(?:diet|eat|eats|vegetarian|vegan|meat|food)\b", ("diet", "eats", "avoids")),
    (r"\b(?:drink|drinks|beverage)\b", ("drinks", "habit")),
    (r"\b(?:allerg\w+|intoleran\w+)\b", ("allergic_to", "intolerant_to")),
    (r"\bphone\b|\bnumber\b.{0,40}\b(?:reach|call)\b", ("phone",)),
    (r"\b(?:e-?mail)\b", ("email",)),
    (r"\b(?:birthday|born)\b", ("birthday", "birth_year", "born_in")),
    (r"\bhow old\b|\bage\b", ("age", "birthday", "birth_year")),
    (r"\b(?:my|'s|his|her) name\b|\bcalled\b|\bnamed\b", ("name", "nickname", "has_pet")),
    (r"\blanguages?\b|\bspeak\b", ("speaks", "learning")),
    (r"\b(?:plan|plans|planning|going to|trip|travel|travelling|traveling|appointment)\b", ("plans", "appointment")),
    (r"\b(?:smoke|smoking|smoker|habit|routine)\b", ("habit",)),
    (r"\b(?:my|'s|his|her|their) (?:boss|manager)\b|\breports? to\b", ("boss",)),
    (r"\b(?:condition|illness|disease|diagnos\w+|chronic)\b", ("has_condition",)),
    (r"\b(?:medication|medicine|tablets|pills|take for|dose)\b", ("takes_medication",)),
    (r"\bhow much .{0,30}\bweigh\b|\b(?:my|'s|his|her) weight\b", ("weight",)),
)  # fmt: skip
SINGLE: Final = frozenset(
    word_list("lives_in works_at works_as phone email birthday age name marital_status married_to diet boss weight")
)
"""Predicates with one value, of which the one that holds answers the question."""
_ROWS: Final = tuple((re.compile(pattern), predicates) for pattern, predicates in _TABLE)
_FAVOURITE: Final = re.compile(r"\bfavou?rite ([a-z]+(?: [a-z]+)?)")
_WORD: Final = re.compile(r"[a-z]+")
_WHERE: Final = re.compile(r"^\W*(?:\w+ )?where\b|\bwhich (?:city|country|company|town|place)\b")
PLACES: Final = frozenset(
    word_list("lives_in address works_at studies_at studied_at born_in from grew_up_in visited plans appointment event")
)
"""Predicates whose objects are places or stand at one."""


def asked_predicates(text: str) -> frozenset[str]:
    """Return the predicates of facts that would answer a question."""
    plain = " ".join(text.casefold().replace("\u2019", "'").split())
    answering = {predicate for pattern, predicates in _ROWS if pattern.search(plain) for predicate in predicates}
    if favourite := _FAVOURITE.search(plain):
        words = favourite[1].replace("color", "colour").split()
        answering |= {"favourite_" + "_".join(words[:count]) for count in range(1, len(words) + 1)}
    return frozenset(answering)


def names_other_favourite(question: str, text: str) -> bool:
    """Tell whether a question asks for a favourite thing, and a text names a favourite of another kind."""
    kinds_asked, kinds_named = (_FAVOURITE.findall(folded(each)) for each in (question, text))
    words = {word.removesuffix("s") for word in _WORD.findall(text.casefold().replace("color", "colour"))}
    kinds = {word.removesuffix("s") for words in kinds_asked for word in words.replace("color", "colour").split()}
    return bool(kinds_asked and kinds_named) and kinds.isdisjoint(words)


def asks_where(text: str) -> bool:
    """Tell whether a question wants a place."""
    return bool(_WHERE.search(text.casefold()))
