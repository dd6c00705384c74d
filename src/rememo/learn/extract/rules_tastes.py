"""Tastes, food, skills and health: likes, diets, languages, instruments, illnesses, medicines, nicknames."""

import re

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, items, phrase_end, points_elsewhere
from rememo.learn.extract.wordlists import word_set
from rememo.learn.predicates import RELATION_WORDS

_GENERIC = word_set(
    "mountains sea beach ocean outdoors countryside rain snow cold heat sun piano theatre theater cinema opera",
    "forest desert smell taste sound",
)
_NOT_LIKED = word_set("think say believe know see hear add ask admit point mention imagine thank")
_NOT_OBJECTS = word_set(
    "this that these those your his her their my our it you him them me us how what when where who why if being",
    "there here to all both each",
)
_PRONOUNS = word_set("it him her them this that these those you me us")
_DOSE = re.compile(r"\d+\s?(?:mg|mcg|ml|milligrams)\b", re.IGNORECASE)
_STRONG = frozenset(["hate", "loathe", "despise", "dislike"])
_SHORTEST_GERUND = 4


def liking(finder: Finder, clause: Clause) -> bool:
    """Read "love hiking and camping", "don't like olives", "can't stand coriander", "used to love"."""
    words = finder.words
    if (
        clause.modal
        or clause.progressive
        or (clause.past and not clause.used_to and not clause.perfect)
        or clause.subject.kind == "none"
    ):
        return False
    if not clause.subject.known and not words.lower_case:
        return False
    negative = clause.lemma in _STRONG
    if clause.negated:
        if clause.lemma not in ("like", "enjoy", "love"):
            return False
        negative = True
    return tastes(finder, clause, clause.rest, "dislikes" if negative else "likes")


def standing(finder: Finder, clause: Clause) -> bool:
    """Read "can't stand coriander"."""
    if clause.modal != "can" or not clause.negated or clause.past:
        return False
    return tastes(finder, clause, clause.rest, "dislikes")


def tastes(finder: Finder, clause: Clause, start: int, predicate: str) -> bool:
    """Note each liked or disliked thing of a list that stands for itself, not for something in the conversation."""
    words = finder.words
    low = words.low
    first = start
    if words.at(first) == "to":
        if clause.lemma in _STRONG or words.at(first + 1) in _NOT_LIKED:
            return False
        first += 1
    if (
        first >= clause.end
        or low[first] in _NOT_OBJECTS
        or (low[first] in ("a", "an") and words.at(first + 1) in ("lot", "bit"))
    ):
        return False
    if low[first] == "the":
        plural_name = words.capital(first + 1) and low[first + 1].endswith("s") and not words.capital(first + 2)
        generic = plural_name or (
            words.at(first + 1) in _GENERIC and words.at(first + 2) in ("", ".", "!", ",", "and", "but", "so")
        )
        if not generic:
            return False
    before = len(finder.facts)
    gerund = low[first].endswith("ing") and len(low[first]) > _SHORTEST_GERUND
    for begin, end in items(
        words,
        first,
        clause.end,
        through=word_set("in on at to about with the")
        if gerund
        else frozenset({"in", "of", "about"} if words.capital(first) else {"about"}),
        times=finder.time_starts,
    ):
        if points_elsewhere(words, begin, end) or low[begin] in _NOT_OBJECTS or low[begin] in RELATION_WORDS:
            break
        if begin > first + 1 and low[begin - 1] == "the":
            break
        if words.at(end) in ("is", "are", "was", "has", "'s", "that", "which", "who") and begin != first:
            break
        if (
            words.at(end) in _PRONOUNS
            or (first > start and words.at(end) == "to")
            or any(word in _PRONOUNS for word in low[begin:end])
        ):
            break  # "watching him", "using it in smoothies": what is liked is not all here
        finder.add(clause, predicate, words.slice(begin, end), ends=clause.ends)
    return len(finder.facts) > before


def preferring(finder: Finder, clause: Clause) -> bool:
    """Read "prefer tea to coffee"."""
    words = finder.words
    if (
        clause.modal
        or clause.past
        or clause.negated
        or words.at(clause.rest) in _NOT_OBJECTS
        or words.at(clause.rest) == "the"
    ):
        return False
    begin = after_determiner(words, clause.rest, clause.end)
    end = phrase_end(
        words, begin, clause.end, through=frozenset({"in", "at", "with", "for", "from", "on"}), times=finder.time_starts
    )
    if end == begin or points_elsewhere(words, begin, end):
        return False
    finder.add(clause, "prefers", words.slice(begin, end))
    return True


def eating(finder: Finder, clause: Clause) -> bool:
    """Read "don't eat meat (any more)", "can't eat gluten", "used to eat", "eat vegan", "only eat halal"."""
    words = finder.words
    start = clause.rest
    if clause.progressive or (clause.past and not clause.used_to) or start >= clause.end:
        return False
    if words.low[start] in lexicon.DIETS and not clause.negated and not clause.modal:
        finder.add(clause, "diet", words.low[start], when=finder.since(clause))
        return True
    if (
        not (clause.negated or clause.ends)
        or (clause.modal and clause.modal != "can")
        or ("never" in clause.adverbs and clause.perfect)
    ):
        return False
    over = clause.ends or finder.any_more(clause)
    before = len(finder.facts)
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if points_elsewhere(words, begin, end) or words.low[begin] in (
            "much",
            "enough",
            "breakfast",
            "lunch",
            "dinner",
            "well",
            "out",
            "at",
            "before",
            "anything",
            "until",
            "another",
        ):
            break
        stop = end
        while stop > begin + 1 and words.low[stop - 1] in ("any", "more", "anymore", "either"):
            stop -= 1
        finder.add(
            clause,
            ("eats" if clause.lemma == "eat" else "drinks") if over else "avoids",
            words.slice(begin, stop),
            ends=over,
        )
    return len(finder.facts) > before


def avoiding(finder: Finder, clause: Clause) -> bool:
    """Read "I avoid dairy"."""
    words = finder.words
    if clause.modal or clause.negated or clause.past or clause.progressive:
        return False
    before = len(finder.facts)
    for begin, end in items(words, clause.rest, clause.end, times=finder.time_starts):
        if (
            points_elsewhere(words, begin, end)
            or words.low[clause.rest] in ("the", "this", "these", "any", "being")
            or words.low[begin].endswith("ing")
        ):
            break
        finder.add(clause, "avoids", words.slice(begin, end), confidence=0.8)
    return len(finder.facts) > before


def smoking(finder: Finder, clause: Clause) -> bool:
    """Read "used to smoke", "don't smoke any more"."""
    if clause.modal or clause.past or not (clause.ends or (clause.negated and finder.any_more(clause))):
        return False
    finder.add(clause, "habit", "smoking", ends=True, confidence=0.85)
    return True


def dieting(finder: Finder, clause: Clause) -> bool:
    """Read "keep kosher", "follow a vegan diet", "went vegan in 2020", "became a vegetarian"."""
    words = finder.words
    if clause.modal or clause.negated or clause.progressive:
        return False
    noun = after_determiner(words, clause.rest, clause.end)
    if words.at(noun) not in lexicon.DIETS or (
        noun + 1 < clause.end
        and words.low[noun + 1]
        not in ("diet", ",", "and", "in", "since", "for", "last", "about", "a", "two", "three", "when", "after")
        and words.start[noun + 1] not in finder.time_starts
    ):
        return False
    change = clause.lemma in ("go", "become", "turn", "switch")
    if not change and clause.past and not clause.ends:
        return False
    if change and not (clause.past or clause.perfect):
        return False
    finder.add(clause, "diet", words.low[noun], when=finder.since(clause, change=change))
    return True


def playing(finder: Finder, clause: Clause) -> bool:
    """Read "play the cello and tennis"."""
    words = finder.words
    if clause.modal not in ("", "can") or (clause.past and not clause.used_to) or clause.going_to:
        return False
    before = len(finder.facts)
    for begin, end in items(words, clause.rest, clause.end, times=finder.time_starts):
        stop = end
        if words.at(stop - 1) in ("professionally", "competitively", "badly"):
            stop -= 1
        phrase = " ".join(words.low[begin:stop])
        if phrase not in lexicon.INSTRUMENTS and phrase not in lexicon.SPORTS:
            break
        finder.add(
            clause, "plays", words.slice(begin, stop), ends=clause.negated or clause.ends, when=finder.since(clause)
        )
    return len(finder.facts) > before


def speaking(finder: Finder, clause: Clause) -> bool:
    """Read "speak Tamil and a bit of German"."""
    words = finder.words
    if clause.modal not in ("", "can") or clause.progressive or clause.past:
        return False
    start = clause.rest
    if words.at(start) in ("fluent", "basic", "native", "conversational", "some", "decent", "good", "only"):
        start += 1
    before = len(finder.facts)
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        first = (
            begin + 1
            if words.low[begin]
            in ("fluent", "basic", "native", "conversational", "decent", "good", "broken", "passable")
            else begin
        )
        stop = end - 1 if words.low[end - 1] in ("fluently", "well", "natively") else end
        if " ".join(words.low[first:stop]) not in lexicon.LANGUAGES:
            break
        finder.add(clause, "speaks", words.slice(first, stop), ends=clause.negated or clause.ends)
    return len(finder.facts) > before


def learning(finder: Finder, clause: Clause) -> bool:
    """Read "learning Norwegian", "learning (how) to play the ukulele"; "learnt a lot" is none."""
    words = finder.words
    if clause.modal or clause.negated or clause.going_to or not (clause.progressive or clause.perfect):
        return False
    at = clause.rest
    if words.at(at) == "how":
        at += 1
    if words.at(at) == "to":
        end = phrase_end(
            words, at + 1, clause.end, through=frozenset({"the", "in", "on", "with"}), times=finder.time_starts
        )
        if end > at + 1 and words.low[at + 1] not in ("be", "not", "live", "let", "accept"):
            finder.add(clause, "learning", words.slice(at + 1, end), when=finder.since(clause))
            return True
        return False
    before = len(finder.facts)
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        phrase = " ".join(words.low[begin:end])
        if not any(
            phrase in group for group in (lexicon.LANGUAGES, lexicon.INSTRUMENTS, lexicon.PROGRAMMING, lexicon.SPORTS)
        ):
            break
        finder.add(clause, "learning", words.slice(begin, end), when=finder.since(clause))
    return len(finder.facts) > before


def knowing(finder: Finder, clause: Clause) -> bool:
    """Read "know how to sail", "know Python", "code in Rust"."""
    words = finder.words
    at = clause.rest
    if clause.modal or clause.progressive or (clause.past and not clause.ends):
        return False
    if clause.lemma == "know" and words.at(at) == "how" and words.at(at + 1) == "to":
        end = phrase_end(
            words, at + 2, clause.end, through=frozenset({"the", "a", "in", "on"}), times=finder.time_starts
        )
        if end > at + 2 and words.low[at + 2] not in (
            "do",
            "fix",
            "get",
            "feel",
            "make",
            "use",
            "be",
            "say",
            "explain",
        ):
            finder.add(clause, "skill", words.slice(at + 2, end), ends=clause.negated, confidence=0.8)
            return True
        return False
    if clause.lemma in ("code", "program"):
        if words.at(at) not in ("in", "mostly"):
            return False
        at += 1 + (words.at(at) == "mostly")
    elif words.at(at) in ("some", "a"):
        at = after_determiner(words, at, clause.end)
    before = len(finder.facts)
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        phrase = " ".join(words.low[begin:end])
        if phrase not in lexicon.PROGRAMMING or (phrase in ("go", "r", "c") and not words.capital(begin)):
            break
        finder.add(clause, "skill", words.slice(begin, end), ends=clause.negated or clause.ends, confidence=0.8)
    return len(finder.facts) > before


def suffering(finder: Finder, clause: Clause) -> bool:
    """Read "suffer from migraines", "was diagnosed with ADHD last year"."""
    words = finder.words
    link = "from" if clause.lemma == "suffer" else "with"
    if clause.modal or words.at(clause.rest) != link or clause.negated:
        return False
    if clause.lemma == "suffer" and clause.past and not clause.used_to:
        return False
    before = len(finder.facts)
    when = finder.since(clause, change=clause.lemma == "diagnose")
    for begin, end in items(words, clause.rest + 1, clause.end, times=finder.time_starts):
        if points_elsewhere(words, begin, end):
            break
        finder.add(clause, "has_condition", words.slice(begin, end), when=when)
    return len(finder.facts) > before


def taking(finder: Finder, clause: Clause) -> bool:
    """Read "take metformin", "take 20 mg of X", "taking guitar lessons"; taking anything else is neither."""
    words = finder.words
    taught = after_determiner(words, clause.rest, clause.end)
    if words.at(taught + 1) in ("lessons", "classes") and clause.progressive and not clause.negated:
        if (
            words.at(taught) in lexicon.INSTRUMENTS
            or words.at(taught) in lexicon.LANGUAGES
            or words.at(taught) in lexicon.SPORTS
        ):
            finder.add(clause, "learning", words.slice(taught, taught + 1))
            return True
        return False
    if clause.modal or (clause.negated and not clause.ends) or (clause.past and not clause.used_to) or clause.going_to:
        return False
    start = clause.rest
    dose = _DOSE.match(finder.text, words.start[start]) if start < clause.end else None
    if dose:
        while start < clause.end and words.start[start] < dose.end():
            start += 1
        start += words.at(start) == "of"
    before = len(finder.facts)
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if (
            not dose
            and words.low[end - 1] not in lexicon.MEDICINES
            and " ".join(words.low[begin:end]) not in lexicon.MEDICINES
        ):
            break
        finder.add(clause, "takes_medication", words.slice(begin, end), when=finder.since(clause))
    return len(finder.facts) > before


def calling(finder: Finder, clause: Clause) -> bool:
    """Read "people call me Gus", "we named our daughter Isla"."""
    words = finder.words
    at = clause.rest
    if clause.lemma == "name" and words.at(at) in ("my", "our"):
        relation = finder.reader.relation_at(words, at, clause.end)
        # The relation itself is noted where it stands; this keeps the naming from being read as an event.
        return relation is not None and bool(relation.names)
    return False


def nicknames(finder: Finder, limit: int) -> None:
    """Read "(you can) call me Bea", "everyone calls me Bea", "I go by Bea" wherever it stands."""
    words = finder.words
    low = words.low
    for at in range(limit - 2):
        if not (low[at] in ("call", "calls") and low[at + 1] == "me") and not (
            low[at] == "go" and low[at + 1] == "by" and words.at(at - 1) == "i"
        ):
            continue
        end = finder.reader.name_end(words, at + 2, limit)
        if words.at(at - 1) in ("n't", "not", "never") or words.at(at - 2) in ("n't", "not", "if"):
            continue
        if at + 2 < end <= at + 4 and (end >= limit or low[end] in (".", ",", "!", "and", "but", "-", ")", ";", "for")):
            clause = Clause(words, max(at - 1, 0), finder.own_subject(at), at, "call", "base", at + 2, end)
            finder.add(clause, "nickname", words.slice(at + 2, end), confidence=0.85)
