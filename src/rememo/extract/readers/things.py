"""Things one owns, runs or uses, and their names."""

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import after_determiner, items, phrase_end, points_elsewhere
from rememo.extract.readers.work import capitals_end
from rememo.text.wordlists import word_set

_PRAISE = word_set("same similar great good question problem")
_NOT_OWNED = word_set(
    "mind job temper way time patience appetite balance voice keys key wallet passport weight interest faith hope grip cool",
    "life world position turn home heart soul family wife husband child kids mother father dad mum mom friend friends",
    "place soul idea ideas best thanks love name opinion answer number notes draft ticket tickets money savings bet virginity",
    "streak train thread game match race hair tooth teeth leg arm memory motivation focus sense house_keys luggage",
)
_NOT_USED = word_set("the this that my your it these those our another different being")
_BUSINESSES = word_set(
    "business podcast blog farm shop newsletter channel band company startup brand label agency charity"
)
_SCREENS = word_set(
    "tab window page branch view mode screen button file slide question topic subject chapter gear gears plan"
)
_LONGEST_OWNED = 4
_DESCRIBING = word_set(
    "small big little new old own tiny local online family second first weekly daily two great lovely indie"
)


def _possession(finder: FactFinder, begin: int, end: int) -> bool:
    words = finder.words
    head, pair = words.low[end - 1], f"{words.at(end - 2)} {words.low[end - 1]}" if end - begin > 1 else ""
    return head in lexicon.POSSESSIONS or pair in lexicon.POSSESSIONS or _brand(finder, begin, end)


def _brand(finder: FactFinder, begin: int, end: int) -> bool:
    words = finder.words
    last = words.capital(end - 1) or words.low[end - 1][0].isdigit()
    branded = any(words.low[at] in lexicon.POSSESSIONS and words.capital(at) for at in range(begin, end))
    return (last and branded) or (words.lower_case and not lexicon.POSSESSIONS.isdisjoint(words.low[begin:end]))


def thing(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read things from the list of what people own, with their names: "a boat called Serendipity"."""
    words = finder.words
    values: list[Value] = []
    if words.low[at] in ("his", "her", "their", "your", "its", "this", "that", "these", "those", "to"):
        return values
    for begin, end in items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts):
        noun = words.find(("called", "named"), begin, end)
        if noun > begin and _possession(finder, begin, noun) and words.low[begin] not in _PRAISE:
            values.append(_named(finder, clause, begin, noun))
        elif not values and begin == end:
            break
    return [value for value in values if value.text]


def _named(finder: FactFinder, clause: Clause, begin: int, noun: int) -> Value:
    """Return a thing, with where it is and what it is called."""
    words = finder.words
    text, end = words.slice(begin, noun), noun
    if words.at(noun) == "in" and words.capital(noun + 1) and words.start[noun] not in finder.time_starts:
        end = phrase_end(words, begin, clause.end, through=frozenset({"in"}), times=finder.time_starts)
        end = words.find(("called", "named"), noun, end)
        text = words.slice(begin, end)
    if words.at(end) not in ("called", "named"):
        return Value(text=text, end=end)
    after = name_end(finder, end + 1, clause.end)
    if after == end + 1:
        return Value(text=text, end=end)
    owned = f"{clause.subject.name}'s {_bare(words.low[begin:noun])}"
    return Value(text=text, end=after, also=((owned, "name", words.slice(end + 1, after)),))


def _bare(noun: list[str]) -> str:
    """Return a thing without what only describes it: "small podcast" is a podcast."""
    first = next((index for index, word in enumerate(noun) if word not in _DESCRIBING), 0)
    return " ".join(noun[max(first, len(noun) - 2) :])


def name_end(finder: FactFinder, at: int, limit: int) -> int:
    """Return the word after the name of a thing: capitals, with "and", "of", "&" between them."""
    end = capitals_end(finder.words, at, limit, finder.time_starts)
    return end if end > at and finder.words.raw[at] != "I" else at


def anything(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read whatever somebody says to own, in so many words."""
    words = finder.words
    if words.low[at] in ("it", "up", "the", "my", "your", "this", "that", "his", "her", "what"):
        return []
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts):
        noun = words.find(("called", "named"), begin, end)
        if noun == begin or points_elsewhere(words, begin, noun) or words.low[begin] in _PRAISE:
            break
        if words.low[noun - 1] not in lexicon.SPECIES:
            values.append(_named(finder, clause, begin, noun))
    return values


def own_thing(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a thing that was there and is gone: "my car", "our old piano", "the van", "my AirPods"."""
    words = finder.words
    if words.at(at) not in ("my", "our", "the"):
        return []
    begin = at + 1
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if not 0 < end - begin <= _LONGEST_OWNED or points_elsewhere(words, begin, end):
        return []
    is_possession = _possession(finder, begin, end)
    dealt = clause.lemma in ("sell", "trade", "swap") and words.capital(end - 1)
    if not is_possession and (
        (words.low[at] == "the" and not dealt) or words.low[end - 1] in _NOT_OWNED or not words.capital(end - 1)
    ):
        return []
    return [Value(text=words.slice(begin, end), end=end)]


def itself_thing(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read the thing that the clause is about: "my laptop got stolen"."""
    words = clause.subject.thing.split()
    pair = " ".join(words[-2:])
    is_possession = words and (words[-1] in lexicon.POSSESSIONS or pair in lexicon.POSSESSIONS)
    return [Value(text=clause.subject.thing, end=at)] if is_possession else []


def vehicle(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one drives: "a Honda Civic", "an old van"; a bus is not one's own."""
    words = finder.words
    begin, end = finder.noun_phrase(clause, at)
    if end == begin or (words.low[end - 1] in ("bus", "taxi", "truck") and words.at(at - 1) in ("a", "an")):
        return []
    if words.at(end) == "for" and words.capital(end + 1):
        return []  # the employer's
    named = any(words.capital(index) for index in range(begin, end))
    if words.low[end - 1] in lexicon.VEHICLES or named or _brand(finder, begin, end):
        return [Value(text=words.slice(begin, end), end=end)]
    return []


def business(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one runs: "a small bakery (called Crumb)"."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    begin += words.at(begin) == "own"
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    noun = words.find(("called", "named"), begin, end)
    if words.at(at) not in ("a", "an", "my", "our") or words.at(noun - 1) in ("school", "university", "college"):
        return []
    if noun == begin or (words.low[noun - 1] not in lexicon.WORKPLACES and words.low[noun - 1] not in _BUSINESSES):
        return []
    value = _named(finder, clause, begin, noun)
    return [Value(text=words.slice(begin, noun), end=value.end, also=value.also)]


def title(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the name of a thing of one's own, as a fact about that thing: "our bakery is called Crumb & Co"."""
    words = finder.words
    end = name_end(finder, at, clause.end)
    noun = clause.subject.thing.split()
    if end == at or not noun or noun[-1] in ("name", "names"):
        return []
    return [Value(text=words.slice(at, end), end=end, subject=f"{clause.subject.name}'s {_bare(noun)}")]


def called(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "our boat Serendipity" after "named": what the thing is called."""
    words = finder.words
    if words.at(at) not in ("my", "our"):
        return []
    noun = at + 1
    while noun < clause.end and not words.capital(noun) and words.low[noun].isalpha():
        noun += 1
    end = name_end(finder, noun, clause.end)
    if noun == at + 1 or end == noun or not _possession(finder, at + 1, noun):
        return []
    owned = f"{clause.subject.name}'s {_bare(words.low[at + 1 : noun])}"
    return [Value(text=words.slice(noun, end), end=end, subject=owned)]


def tool(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read something one uses: a product by its name, or a plain noun such as "oat milk"; no tab and no file."""
    words = finder.words
    if words.low[at] in _NOT_USED:
        return []
    begin, end = finder.noun_phrase(clause, at)
    if (
        end == begin
        or points_elsewhere(words, begin, end)
        or (words.low[end - 1] in _SCREENS or words.low[begin] in _SCREENS)
        or words.low[begin].endswith("ing")
    ):
        return []
    if words.low[begin] in lexicon.FIELDS or words.low[end - 1].endswith(("ics", "logy", "sciences", "history", "law")):
        return []  # what is studied
    if words.low[begin] in lexicon.DIETS or not 0 < end - begin <= _LONGEST_OWNED or words.low[end - 1] in _PLANS:
        return []
    drunk = end - begin == 1 and words.low[begin] in lexicon.DRINKS
    return [Value(text=words.slice(begin, end), end=end, predicate="drinks" if drunk else "")]


def product(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a product or service by its name; who is using it may only be trying, unless it is "now"."""
    words = finder.words
    if clause.progressive and {"now", "instead", "days"}.isdisjoint(words.low):
        return []
    if words.low[at] in lexicon.TOOLS or (
        words.capital(at) and words.low[at] != "i" and words.low[at] not in _FIRST_WORDS
    ):
        end = at + 1
        while end < clause.end and words.capital(end) and words.start[end] not in finder.time_starts:
            end += 1
        end += words.at(end) == "+" and words.start[end] == words.end[end - 1]
        whole = phrase_end(words, at, clause.end, times=finder.time_starts) <= end or words.low[at] in lexicon.TOOLS
        return [Value(text=words.slice(at, end), end=end)] if whole else []  # a French Vanilla creamer is none
    return []


_FIRST_WORDS = word_set("the this that my your it")


def switched(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one switched or moved to: after "move" only what is known to be used and not lived in."""
    words = finder.words
    if clause.lemma not in ("switch", "migrate") and words.low[at] not in lexicon.TOOLS:
        return []
    return tool(finder, clause, at)


def membership(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "my gym membership", "our Netflix subscription"."""
    words = finder.words
    end = phrase_end(words, at + 1, clause.end, times=finder.time_starts)
    end = next((index + 1 for index in range(at + 1, end) if words.low[index] in _SUBSCRIPTIONS), at + 1)
    if words.at(at) not in ("my", "our", "the") or words.at(end - 1) not in _SUBSCRIPTIONS:
        return []
    named = words.capital(at + 1) and end - at > 2  # noqa: PLR2004 - "my Netflix subscription" is Netflix
    return [Value(text=words.slice(at + 1, end - 1 if named else end), end=end)]


_SUBSCRIPTIONS = word_set("membership subscription account")
_PLANS = word_set("plan tier subscription")


def plan(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read which plan of a service somebody is on, as the value of their plan."""
    words = finder.words
    end = next((index for index in range(at, min(at + 4, clause.end)) if words.low[index] in ("plan", "tier")), at)
    if end == at or not (words.capital(at) or words.low[at] in _TIERS) or words.low[at] in ("meal", "training"):
        return []
    return [Value(text=words.slice(at, end), end=end + 1, subject=f"{clause.subject.name}'s plan")]


_TIERS = word_set(
    "free basic pro premium team enterprise standard plus starter business family student individual annual monthly"
)


def subscription(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the service of "a Netflix subscription"."""
    words = finder.words
    end = phrase_end(words, at + 1, clause.end, times=finder.time_starts)
    named = words.at(at) in ("a", "an", "my", "our") and words.capital(at + 1) and end - at > _SUBSCRIBED
    if not named or words.at(end - 1) not in ("membership", "subscription"):
        return []
    return [Value(text=words.slice(at + 1, end - 1), end=end)]


_SUBSCRIBED = 2


def known_tool(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read a product that is known to be one: Rome and Paris are left, too."""
    words = finder.words
    return [Value(text=words.raw[at], end=at + 1)] if words.low[at] in lexicon.TOOLS else []


def handle(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "@inkbear on Instagram": the account is the value of one's handle there."""
    words = finder.words
    if words.low[at] != "@" or at + 1 >= clause.end:
        return []
    end = next((index for index in range(at + 1, clause.end) if words.low[index] == "on"), 0)
    if not end or not words.capital(end + 1):
        return []
    subject = f"{clause.subject.name}'s {words.raw[end + 1]} handle"
    return [Value(text=words.slice(at, end), end=end + 2, subject=subject)]


def bought(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what was bought or got: things people own, or something by its name."""
    words = finder.words
    if clause.lemma == "get" and words.low[at] not in ("a", "an", "my", "our", "the"):
        return []
    values = thing(finder, clause, at)
    named = words.capital(at + 1) and words.low[at] in ("a", "an")
    if values or not named or (clause.lemma == "get" and words.at(at - 1) not in ("myself", "ourselves")):
        return values
    end = capitals_end(words, at + 1, clause.end, finder.time_starts)
    if phrase_end(words, at + 1, clause.end, times=finder.time_starts) > end:
        return []  # a Korean cookbook is no brand
    return [Value(text=words.slice(at + 1, end), end=end)]


def own_make(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what "my car" or "my laptop" is: a make by its name."""
    words = finder.words
    head = clause.subject.thing.rsplit(" ", 1)[-1]
    if head not in lexicon.VEHICLES and head not in lexicon.POSSESSIONS:
        return []
    begin = at
    while begin < clause.end and not words.capital(begin) and words.low[begin].isalnum():
        begin += 1
    end = capitals_end(words, begin, clause.end, finder.time_starts)
    return [Value(text=words.slice(at, end), end=end)] if end > begin else []
