"""Places: towns, streets, quarters."""

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import after_determiner, place_end, points_elsewhere
from rememo.text.wordlists import word_set

_LONGEST_TOWN = 3
_STREETS = word_set(
    "street st road rd avenue ave lane drive boulevard blvd way square terrace crescent court close place row hill quay parkway",
    "strasse straße gasse platz allee straat laan weg via viale piazza rue calle avenida rua passeig",
)
_STREET_OPENERS = word_set("rue calle avenida rua via viale piazza passeig apt apartment flat unit")
_QUARTERS = word_set("neighbourhood neighborhood district quarter area borough part suburb ward")
_ABSTRACT = lexicon.UNREAL_PLACES
_NOT_TOWNS = word_set(
    "town bed school work home class court business office meeting shape action touch time stock vogue control"
)


def place(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read somewhere one can live, the town rather than the flat in it."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    end = place_end(words, at, clause.end, finder.time_starts)
    if end <= begin or street(finder, clause, at):
        return []
    if words.low[end - 1] in lexicon.DWELLINGS or words.low[end - 1] in _QUARTERS or words.at(end) in _QUARTERS:
        link = _inner(finder, clause, end + (words.at(end) in _QUARTERS))
        if link and (inner := place(finder, clause, link)):
            return inner
    if words.low[begin] in lexicon.TOOLS and end - begin == 1:
        return []
    return [Value(text=words.slice(begin, end), end=end)] if _habitable(finder, at, begin, end) else []


def _inner(finder: FactFinder, clause: Clause, end: int) -> int:
    """Return where "a studio flat in Bristol" goes on with the town."""
    return end + 1 if finder.words.at(end) in ("in", "of") and end + 1 < clause.end else 0


def _habitable(finder: FactFinder, start: int, begin: int, end: int) -> bool:
    words = finder.words
    if not _ABSTRACT.isdisjoint(words.low[begin:end]) or points_elsewhere(words, begin, end):
        return False
    if any(words.capital(at) for at in range(begin, end)):
        return (
            words.capital(begin)
            or words.low[begin] in lexicon.DWELLINGS
            or words.low[end - 1] not in lexicon.WORKPLACES
        )
    if begin > start:
        near = not {"near", "outside", "of", "called"}.isdisjoint(words.low[begin:end])
        return near and not lexicon.DWELLINGS.isdisjoint(words.low[begin:end])
    return (
        words.lower_case
        and end - begin <= _LONGEST_TOWN
        and words.low[begin].isalpha()
        and words.low[begin] not in _NOT_TOWNS
    )


def town(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a place by its name: "Austin, Texas", without any flat or street."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    if begin >= clause.end or not (words.capital(begin) or words.lower_case) or street(finder, clause, at):
        return []
    return place(finder, clause, at)


def dwelling(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the town of "a proper flat in Lübeck": somewhere to live, and no car."""
    words = finder.words
    if words.at(at) not in ("a", "an", "our", "my", "the") or not _NOT_HOMES.isdisjoint(words.low):
        return []
    link = next((index for index in range(at + 1, min(at + 6, clause.end)) if words.low[index] == "in"), 0)
    if not link or words.low[link - 1] not in _HOMES or words.start[link] in finder.time_starts:
        return []
    return town(finder, clause, link + 1) if link + 1 < clause.end else []


def bought_home(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the town of a house that was bought to live in; a cottage is for the holidays."""
    head = next((word for word in finder.words.low[at : at + 5] if word in _HOMES), "")
    return dwelling(finder, clause, at) if head in ("house", "flat", "apartment", "terrace", "home") else []


_HOMES = word_set(
    "house flat apartment studio room place bedsit bungalow townhouse loft terrace maisonette home one-bed two-bed"
)
_NOT_HOMES = word_set(
    "holiday vacation weekend weekends nights airbnb investment rental rent-out let tenants summer conference meeting"
)


def visited(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read places one has been to: names with capitals, several if they follow each other."""
    words = finder.words
    places: list[Value] = []
    while at < clause.end:
        end = place_end(words, at, clause.end, finder.time_starts)
        begin = at + 1 if words.at(at) == "the" else at
        if (
            end <= begin
            or not words.capital(begin)
            or words.low[begin] in lexicon.EVERYDAY_PLACES
            or words.low[begin] == "i"
            or words.at(end) == "as"  # "back to Nokia as a consultant"
        ):
            break
        places.append(Value(text=words.slice(begin, end), end=end))
        if words.at(end) not in (",", "and") or not words.capital(end + 1):
            break
        at = end + 1 + (words.at(end + 1) == "and")
    return places


def street(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an address: "Maple Street", "22 Rue des Martyrs", "Apt 5, 80 King Street"."""
    words = finder.words
    end, is_street = at, False
    while end < clause.end and words.start[end] not in finder.time_starts:
        word = words.low[end]
        numbered = word[0].isdigit()
        if word == "," and end > at and (words.capital(end + 1) or words.at(end + 1)[:1].isdigit()):
            end += 1
            continue
        if not (
            numbered
            or words.capital(end)
            or word in _STREETS
            or (word in ("de", "des", "la", "du", "da", "del", "of") and end > at)
        ):
            break
        is_street = (
            is_street
            or (end > at and (word in _STREETS or word.endswith(("straße", "strasse", "straat", "gasse", "weg"))))
            or word in _STREET_OPENERS
        )
        end += 1
    is_street = is_street or words.at(at).endswith(("straße", "strasse", "straat", "gasse"))
    return [Value(text=words.slice(at, end), end=end)] if is_street and end > at else []


def quarter(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "the Alfama district (of Lisbon)": the part of a town."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    end = begin
    while end < clause.end and words.capital(end):
        end += 1
    if end > begin + 1 and words.low[end - 1] in _QUARTERS:
        return [Value(text=words.slice(begin, end), end=end)]
    if end == begin or words.at(end) not in _QUARTERS:
        return []
    return [Value(text=words.slice(begin, end), end=end + 1)]
