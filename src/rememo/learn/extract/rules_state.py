"""The state somebody is in: allergies, diets, illnesses, and what they are fond of, good at or afraid of."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, items, phrase_end, points_elsewhere
from rememo.learn.extract.wordlists import word_set

_LIKING = {("fan", "of"), ("lover", "of"), ("fond", "of"), ("keen", "on"), ("into", ""), ("obsessed", "with"), ("crazy", "about"), ("passionate", "about"), ("addicted", "to"), ("hooked", "on"), ("mad", "about")}  # fmt: skip
_CLOSING = word_set(", . ! ; - ) and but so because for since now too btw anymore lol these by ( as at with any or not")
_PAIR = 2
_DEGREES = word_set("big huge massive real great total lifelong too particularly super so")
_POINTED = word_set("this these your his her their my")
_FREE_OF = word_set("gluten dairy sugar meat lactose wheat soy")
_FEELINGS = word_set("sick tired interested sure afraid sorry happy glad worried curious")
_SKILLED = word_set("good great excellent skilled decent")
_UNSKILLED = word_set("terrible bad awful useless rubbish hopeless")


def health(finder: Finder, clause: Clause, first: int) -> bool:
    """Read allergies, intolerances, diets, conditions and traits after "am"; False when it is none of them."""
    if _intolerant(finder, clause, first) or _on_a_diet(finder, clause, first):
        return True
    words = finder.words
    noun = after_determiner(words, first, clause.end)
    head = words.at(noun)
    if head in lexicon.CONDITION_ADJECTIVES and closes(finder, noun + 1, clause) and not clause.past:
        finder.add(clause, "has_condition", head, ends=clause.negated or clause.ends)
        return True
    if words.low[first] in lexicon.TRAITS and closes(finder, first + 1, clause):
        finder.add(clause, "trait", words.low[first], confidence=0.8, ends=clause.negated)
        return True
    return False


def _intolerant(finder: Finder, clause: Clause, first: int) -> bool:
    words = finder.words
    low = words.low
    word, after = low[first], words.at(first + 1)
    over = clause.negated or clause.ends
    if "allergic" in low[first : first + 3]:
        at = low.index("allergic", first)
        if words.at(at + 1) == "to":
            for begin, end in items(words, at + 2, clause.end, times=finder.time_starts):
                if not points_elsewhere(words, begin, end):
                    finder.add(clause, "allergic_to", words.slice(begin, end), ends=over)
        return True
    if word.endswith("-intolerant") and closes(finder, first + 1, clause):
        finder.add(clause, "intolerant_to", word.removesuffix("-intolerant"), ends=over)
        return True
    if after == "intolerant" and word.isalpha():
        finder.add(clause, "intolerant_to", word, ends=over)
        return True
    if word == "intolerant" and after in ("to", "of"):
        for begin, end in items(words, first + 2, clause.end):
            finder.add(clause, "intolerant_to", words.slice(begin, end), ends=over)
        return True
    return False


def _on_a_diet(finder: Finder, clause: Clause, first: int) -> bool:
    words = finder.words
    noun = after_determiner(words, first, clause.end)
    if words.at(noun) in ("strict", "lifelong", "committed", "mostly", "fully"):
        noun += 1
    pair = f"{words.at(noun)} {words.at(noun + 1)}"
    diet, after = words.at(noun), noun + 1
    if pair in lexicon.DIETS:
        diet, after = pair, noun + 2
    elif diet in _FREE_OF and words.at(noun + 1) == "free":
        diet, after = f"{diet}-free", noun + 2
    elif words.low[first] == "on" and words.at(first + 1) == "a" and words.at(first + 3) == "diet":
        diet, after = words.at(first + 2), first + 4
    elif diet not in lexicon.DIETS:
        return False
    if (diet not in lexicon.DIETS and not diet.endswith("-free")) or not closes(finder, after, clause):
        return False
    finder.add(clause, "diet", diet, when=finder.since(clause), ends=clause.negated or clause.ends)
    return True


def closes(finder: Finder, index: int, clause: Clause) -> bool:
    """Tell whether the complement is complete here, so that "a vegan restaurant" is no diet."""
    words = finder.words
    if index >= clause.end or words.start[index] in finder.time_starts:
        return True
    return words.low[index] in _CLOSING


def taste(finder: Finder, clause: Clause, first: int) -> bool:
    """Read "a fan of", "into", "fluent in", "good at", "afraid of"; True also for feelings that are no facts."""
    words = finder.words
    noun = after_determiner(words, first, clause.end)
    while words.at(noun) in _DEGREES and words.at(noun + 1) != "at":
        noun += 1
    head, link = words.at(noun), words.at(noun + 1)
    if (head, link) in _LIKING or head == "into":
        _fond(finder, clause, noun + (1 if head == "into" else 2))
    elif head in ("fluent", "bilingual", "conversational") and link == "in":
        for begin, end in items(words, noun + 2, clause.end):
            finder.add(clause, "speaks", words.slice(begin, end), ends=clause.negated)
    elif head in _SKILLED and link == "at":
        _skilled(finder, clause, noun + 2)
    elif head in ("afraid", "scared", "terrified") and link == "of":
        _afraid(finder, clause, noun + 2)
    else:
        return head in _FEELINGS
    return True


def _fond(finder: Finder, clause: Clause, start: int) -> None:
    words = finder.words
    if (clause.past and not clause.used_to) or words.at(start) in _POINTED:
        return
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if not points_elsewhere(words, begin, end) and (words.low[start] != "the" or words.capital(begin)):
            finder.add(clause, "dislikes" if clause.negated else "likes", words.slice(begin, end))


def _skilled(finder: Finder, clause: Clause, start: int) -> None:
    words = finder.words
    if clause.negated or clause.past:
        return
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if words.low[begin] in _UNSKILLED:
            break
        if not points_elsewhere(words, begin, end):
            finder.add(clause, "skill", words.slice(begin, end), confidence=0.8)


def _afraid(finder: Finder, clause: Clause, start: int) -> None:
    words = finder.words
    if clause.negated or clause.past or words.at(start) in ("the", "what", "your"):
        return
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if points_elsewhere(words, begin, end) or words.low[begin].endswith("ing"):
            break
        finder.add(clause, "afraid_of", words.slice(begin, end), confidence=0.8)


def enthusiast(finder: Finder, clause: Clause, noun: int) -> bool:
    """Read "a huge Arsenal fan", "a native Polish speaker"."""
    words = finder.words
    end = phrase_end(words, noun, clause.end, times=finder.time_starts)
    if end - noun < _PAIR or words.at(end) == "of":
        return False
    begin = noun
    while begin < end - 1 and words.low[begin] in (
        "big",
        "huge",
        "massive",
        "real",
        "great",
        "total",
        "lifelong",
        "die-hard",
        "native",
        "fluent",
        "avid",
    ):
        begin += 1
    head = words.low[end - 1]
    if begin == end - 1:
        return False
    if head == "speaker" and " ".join(words.low[begin : end - 1]) in lexicon.LANGUAGES:
        finder.add(clause, "speaks", words.slice(begin, end - 1), ends=clause.negated)
        return True
    if head in ("fan", "lover", "enthusiast", "buff", "addict") and not clause.past:
        finder.add(clause, "dislikes" if clause.negated else "likes", words.slice(begin, end - 1), confidence=0.85)
        return True
    return False
