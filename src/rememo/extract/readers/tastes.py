"""What is liked, preferred, eaten, avoided and taken."""

import re

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import after_determiner, closes, items, normal_case, phrase_end, points_elsewhere
from rememo.extract.predicates import RELATION_WORDS
from rememo.extract.predicates import favourite as favourite_predicate
from rememo.text.wordlists import word_set

_GENERIC = word_set(
    "mountains sea beach ocean outdoors countryside rain snow cold heat sun piano theatre theater cinema opera",
    "forest desert smell taste sound",
)
_NOT_LIKED = word_set("think say believe know see hear add ask admit point mention imagine thank")
_POINTED = word_set(
    "this that these those your his her their my our it you him them me us how what when where who why if being",
    "there here to all both each",
)
_SAYS_MORE = word_set("want need would am hope wish think was were is are have had got getting having knowing")
_NOT_PLAIN = word_set("terrible bad awful live love i work")
_PRONOUNS = word_set("it him her them this that these those you me us")
_ENTHUSIASTS = word_set("drinker fan lover enthusiast buff addict person junkie aficionado nerd geek")
_ZEAL = word_set("big huge massive real great total lifelong die-hard native fluent avid such")
_NOT_FAVOURITES = word_set("part one thing bit way option moment move response answer solution approach")
_MEALS = word_set(
    "much enough breakfast lunch dinner well out at before anything until another there here a an lot more less"
)
_FOODS = word_set(
    "meat sugar alcohol dairy gluten coffee caffeine fish bread chocolate eggs nuts lactose soy wheat shellfish milk peanuts spicy",
    "cheese pork beef chicken seafood carbs soda wine beer rice tomatoes onions garlic mushrooms mushroom butter pasta red processed",
    "fried raw cow's nightshades corn egg peanut nut tofu oats bacon lamb prawns shrimp seeds grains",
)
_DRINKS = lexicon.DRINKS
_CLOSINGS = (
    " of all time", " ever", " so far", " these days", " at the moment", " right now", " now", " nowadays", " lately",
)  # fmt: skip
_LONGEST_THING = 3
_LONGEST_FOOD = 3
_SHORTEST_GERUND = 4
_DOSE = re.compile(r"\d+\s?(?:mg|mcg|ml|milligrams)\b", re.IGNORECASE)
_MEDICAL = ("pril", "sartan", "statin", "triptan", "cillin", "dipine", "oxetine", "prazole", "gliptin", "profen")
"""How the names of medicines end."""
_MILD = word_set("severe mild bad serious terrible slight strong food")
_NO_ALLERGEN = word_set("seasonal skin any no many several")


def liked(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read each thing of a list that stands for itself, not for something in the conversation."""
    words = finder.words
    low = words.low
    first = at
    if low[at] == "to":
        if clause.lemma in ("hate", "loathe", "despise", "dislike") or words.at(at + 1) in _NOT_LIKED:
            return []
        first += 1
    if (
        first >= clause.end
        or low[first] in _POINTED
        or (low[first] in ("a", "an") and words.at(first + 1) in ("lot", "bit"))
    ):
        return []
    if (low[first] == "the" and not _generic(finder, first)) or low[first][0].isdigit():
        return []
    gerund = low[first].endswith("ing") and len(low[first]) > _SHORTEST_GERUND
    through = _AROUND_GERUND if gerund else _AROUND_NAME if words.capital(first) else _AROUND_NOUN
    values: list[Value] = []
    described = -1
    for start, end in items(words, first, clause.end, through=through, times=finder.time_starts):
        if _ADJECTIVES.issuperset(low[start:end]):
            described = start if described < 0 else described
            continue  # "long, detailed answers"
        begin, described = (described if described >= 0 else start), -1
        if low[begin] in _EMPTY_GERUNDS and end - begin == 1:
            break
        if (
            points_elsewhere(words, begin, end)
            or low[begin] in _POINTED
            or (low[begin] in RELATION_WORDS and low[begin] != "pop")
        ):
            break
        if low[begin] in _SAYS_MORE:
            break
        if begin > first and (low[begin - 1] == "the" or words.at(end) in _GOES_ON) and begin - first > 1:
            break
        if (
            (words.at(end) in _PRONOUNS and words.at(end + 1) != "days")
            or (first > at and words.at(end) == "to")
            or not _PRONOUNS.isdisjoint(low[begin:end])
        ):
            break  # "watching him", "using it in smoothies": what is liked is not all here
        if words.at(end) in _GOES_ON and begin != first:
            break
        values.append(Value(text=words.slice(begin, end), end=end))
    return values


_ADJECTIVES = word_set(
    "long short big small quick simple detailed concise brief warm cold hot spicy sweet salty sour bitter dark light bright loud quiet old",
    "new modern vintage cheap expensive fresh dry wet soft hard heavy clean dirty funny sad silly weird strange slow fast rich plain fancy",
    "deep gentle honest direct formal informal casual casually bold crunchy creamy fluffy rainy sunny lazy cosy cozy strong weak black white",
)
"""Words that describe what is liked, and are not liked themselves."""
_EMPTY_GERUNDS = word_set("going being doing having getting making coming taking putting using trying looking")
_AROUND_GERUND = frozenset({"in", "on", "at", "to", "about", "with", "the", "for", "after", "before"})
_AROUND_NAME = frozenset({"in", "of", "about"})
_AROUND_NOUN = frozenset({"about"})
_GOES_ON = frozenset({"is", "are", "was", "has", "'s", "that", "which", "who"})


def _generic(finder: FactFinder, first: int) -> bool:
    """Tell "the mountains" and "the Beatles" from "the second option"."""
    words = finder.words
    if words.capital(first + 1) and words.low[first + 1].endswith("s") and not words.capital(first + 2):
        return True
    return words.at(first + 1) in _GENERIC and words.at(first + 2) in ("", ".", "!", ",", "and", "but", "so")


def plain(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a plain list of nouns: what one is afraid of, good at, allergic to."""
    words = finder.words
    if words.low[at] in _POINTED:
        return []
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        if points_elsewhere(words, begin, end) or (words.low[at] == "the" and not words.capital(begin)):
            break
        if words.at(begin - 1) in (",", "and") and words.low[begin] in _NOT_PLAIN:
            break
        values.append(Value(text=words.slice(begin, end), end=end))
    return values


def condition_itself(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read the illness that a clause is about: "my back pain is gone"."""
    named = clause.subject.thing
    return [Value(text=named, end=at)] if named in lexicon.CONDITIONS else []


def allergen(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "a peanut allergy", "a severe allergy to nuts", "a lactose intolerance"."""
    words = finder.words
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts):
        head = words.low[end - 1]
        if head not in ("allergy", "allergies", "intolerance"):
            continue
        predicate = "intolerant_to" if head == "intolerance" else "allergic_to"
        if words.at(end) == "to":
            return [replace_predicate(value, predicate) for value in plain(finder, clause, end + 1)]
        first = next((index for index in range(begin, end - 1) if words.low[index] not in _MILD), end - 1)
        if first < end - 1 and words.low[first] not in _NO_ALLERGEN:
            values.append(Value(text=words.slice(first, end - 1), end=end, predicate=predicate))
    return values


def replace_predicate(value: Value, predicate: str) -> Value:
    """Return the value as one of another predicate."""
    return Value(text=value.text, end=value.end, predicate=predicate)


def illness(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what somebody has that is an illness."""
    words = finder.words
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts):
        head, pair = words.low[end - 1], f"{words.at(end - 2)} {words.low[end - 1]}" if end - begin > 1 else ""
        named = head in ("disease", "disorder", "syndrome") and end - begin > 1
        is_listed = not lexicon.CONDITIONS.isdisjoint((head, pair, " ".join(words.low[begin:end])))
        if (is_listed or named) and head != "allergies":
            stop = end + (words.at(end) == "'s")
            values.append(Value(text=words.slice(begin, stop), end=stop))
    return values


def preferred(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one prefers; "the second draft" is none."""
    words = finder.words
    if words.low[at] in _POINTED or words.low[at] == "the":
        return []
    begin = after_determiner(words, at, clause.end)
    through = frozenset({"in", "at", "with", "for", "from", "on"})
    end = phrase_end(words, begin, clause.end, through=through, times=finder.time_starts)
    if end == begin or points_elsewhere(words, begin, end):
        return []
    return [Value(text=words.slice(begin, end), end=end)]


def food(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what is eaten or drunk: any list of nouns that is no meal and no amount."""
    words = finder.words
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        stop = end
        while stop > begin and words.low[stop - 1] in ("any", "more", "anymore", "either", "again"):
            stop -= 1
        if words.at(end) in ("after", "before", "past") or (values and words.low[begin] in ("only", "just")):
            break  # "no coffee after noon", "coffee, only green tea"
        if (
            stop == begin
            or points_elsewhere(words, begin, stop)
            or words.low[begin] in _MEALS
            or stop - begin > _LONGEST_FOOD
        ):
            break
        values.append(Value(text=words.slice(begin, stop), end=end))
    return values


def named_food(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what is known to be food or drink: after "gave up" and "can't do" anything else may stand."""
    words = finder.words
    again = clause.lemma in ("eat", "drink") and any(time.recurring for time in finder.times_of(clause, "past"))
    if again or words.low[at] in ("the", "my", "that", "this"):
        return []  # "I drink coffee every morning" is a habit
    values: list[Value] = []
    for value in food(finder, clause, at):
        first = value.text.lower().split(" ", 1)[0]
        last = value.text.lower().rsplit(" ", 1)[-1]
        if not {first, last, value.text.lower()} & (_FOODS | _DRINKS):
            break
        drunk = not _DRINKS.isdisjoint((first, last, value.text.lower())) and clause.lemma != "eat"
        values.append(Value(text=value.text, end=value.end, kind="drink" if drunk else "food"))
    return values


def diet(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a diet: "vegan", "a strict vegetarian", "gluten free", "on a low-carb diet"."""
    words = finder.words
    begin = at + (words.at(at) in ("on", "eating"))
    begin = after_determiner(words, begin, clause.end)
    while words.at(begin) in ("strict", "lifelong", "committed", "mostly", "fully", "strictly"):
        begin += 1
    pair = f"{words.at(begin)} {words.at(begin + 1)}"
    if pair in lexicon.DIETS:
        text, end = pair, begin + 2
    elif words.at(begin + 1) == "free" and f"{words.at(begin)}-free" in _FREE:
        text, end = f"{words.low[begin]}-free", begin + 2
    elif words.at(begin) in lexicon.DIETS or words.at(begin) in _FREE:
        text, end = words.low[begin], begin + 1
    else:
        return []
    end += words.at(end) in ("diet", "person")
    return [Value(text=text, end=end)]


_FREE = frozenset(f"{food}-free" for food in ("gluten", "dairy", "sugar", "meat", "lactose", "wheat", "soy"))


def fan(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "a huge Arsenal fan", "more of a cat person"."""
    words = finder.words
    if words.low[at] == "more" and words.at(at + 1) == "of":
        at += 2
    if words.at(at) not in ("a", "an"):
        return []
    begin, end = finder.noun_phrase(clause, at)
    while begin < end - 1 and words.low[begin] in _ZEAL:
        begin += 1
    head = words.at(end - 1)
    if end - begin <= 1 or head not in _ENTHUSIASTS:
        return []
    text = words.slice(begin, end - 1)
    if head == "person":
        if end - begin > 2 or words.low[begin] not in _LIKED_BY_PERSONS:  # noqa: PLR2004 - one noun before "person"
            return []
        text = f"{text}s" if words.low[begin] in ("dog", "cat") else text
    return [Value(text=text, end=end)]


_LIKED_BY_PERSONS = word_set("dog cat tea coffee beach mountain outdoors")


def favourite(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what "my favourite <thing>" or "my go-to <thing>" is; the thing makes the predicate."""
    words = finder.words
    thing = clause.subject.thing
    for opening in ("new ", "current ", "all-time ", "absolute ", "favourite ", "go-to ", "go to "):
        thing = thing.removeprefix(opening)
    for closing in _CLOSINGS:
        thing = thing.removesuffix(closing)
    if (
        thing.split(" ", 1)[0] in _NOT_FAVOURITES
        or not 0 < len(thing.split()) <= _LONGEST_THING
        or thing in ("so far", "ones")
    ):
        return []
    at += words.at(at) in ("probably", "definitely")
    plural = thing.endswith("s") and words.at(clause.rest - 1) in ("are", "'re")
    predicate = favourite_predicate(thing.removesuffix("s") if plural else thing)
    if plural:
        return [replace_predicate(value, predicate) for value in plain(finder, clause, at)]
    begin = at if words.at(at) == "the" and words.capital(at) else after_determiner(words, at, clause.end)
    through = frozenset({"of", "to", "the", "in"}) if words.capital(begin) else frozenset[str]()
    end = phrase_end(words, begin, clause.end, through=through, times=finder.time_starts)
    if (
        end == begin
        or points_elsewhere(words, begin, end)
        or (words.low[at] == "the" and not normal_case(words, begin, end))
    ):
        return []
    return [Value(text=words.slice(begin, end), end=end, predicate=predicate)]


def dose(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a medicine: a known one, or any with a dose."""
    words = finder.words
    measured = _DOSE.match(finder.text, words.start[at])
    if measured:
        while at < clause.end and words.start[at] < measured.end():
            at += 1
        at += words.at(at) == "of"
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        dosed = next((index for index in range(begin + 1, end) if words.low[index][0].isdigit()), end)
        end = dosed if words.low[dosed - 1] in lexicon.MEDICINES else end  # noqa: PLW2901 - "lisinopril 10mg"
        is_medicine = (
            words.low[end - 1] in lexicon.MEDICINES
            or words.low[end - 1].endswith(_MEDICAL)
            or " ".join(words.low[begin:end]) in lexicon.MEDICINES
        )
        if not measured and not is_medicine:
            break
        values.append(Value(text=words.slice(begin, end), end=end))
    return values


def intolerance(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read "lactose intolerant", "lactose-intolerant"."""
    words = finder.words
    word = words.low[at]
    if word.endswith("-intolerant"):
        return [Value(text=word.removesuffix("-intolerant"), end=at + 1)]
    return [Value(text=word, end=at + 2)] if words.at(at + 1) == "intolerant" and word.isalpha() else []


def fear(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what is feared: things, or one gerund ("flying"); "losing my job" says no fact."""
    words = finder.words
    if words.low[at] in ("the", "what", "your", "being"):
        return []
    if words.low[at].endswith("ing"):
        return [Value(text=words.raw[at], end=at + 1)] if closes(words, at + 1, clause.end, finder.time_starts) else []
    return plain(finder, clause, at)


def given_up(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read food or drink that was given up, as what is no longer eaten or drunk."""
    drunk = finder.words.at(at - 1) == "drinking"
    return [
        Value(text=value.text, end=value.end, predicate="drinks" if drunk or value.kind == "drink" else "eats")
        for value in named_food(finder, clause, at)
    ]


def again_food(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one eats or drinks again, each as what it is."""
    return given_up(finder, clause, at)


def avoided(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one avoids; "the question" and "being late" are no food."""
    words = finder.words
    if words.low[at] in ("the", "this", "these", "any", "being") or words.low[at].endswith("ing"):
        return []
    return food(finder, clause, at)


def team(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a team by its name; one supports ideas and people, too."""
    words = finder.words
    end = at
    while end < clause.end and words.capital(end):
        end += 1
    closed = end > at and closes(words, end, clause.end, finder.time_starts)
    return [Value(text=words.slice(at, end), end=end)] if closed and words.low[at] != "i" else []


def hobbies(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what "my hobbies include"."""
    named = clause.subject.thing.rsplit(" ", 1)[-1] in ("hobbies", "interests", "passions")
    return plain(finder, clause, at) if named else []
