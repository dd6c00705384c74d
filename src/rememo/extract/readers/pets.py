"""Animals that belong to somebody."""

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.people import singular
from rememo.extract.phrases import after_determiner, phrase_end
from rememo.extract.readers.people import names_of, read_named


def pets(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read animals in what somebody has or got, by their names when they come with them."""

    def read(begin: int, noun: int) -> list[Value] | None:
        species = _species(finder, begin, noun)
        return _pet(finder, begin, noun, species) if species else None

    return read_named(finder, clause, at, read)


def _species(finder: FactFinder, begin: int, end: int) -> str:
    words = finder.words
    if end == begin:
        return ""
    head, pair = words.low[end - 1], f"{words.at(end - 2)} {words.low[end - 1]}"
    return pair if end - begin > 1 and pair in lexicon.SPECIES else head if head in lexicon.SPECIES else ""


def _pet(finder: FactFinder, begin: int, noun: int, species: str) -> list[Value]:
    words = finder.words
    kind = singular(species)
    names, after = names_of(finder, noun)
    for name in names:
        finder.reader.meet(name, "")
    if names:
        return [Value(text=name, end=after, kind=kind, also=((name, "species", kind),)) for name in names]
    if words.at(begin - 1) not in ("a", "an") and kind == species and kind != "sheep":
        return []  # "some chicken" is for dinner
    if kind == species:
        finder.reader.meet_nameless("has_pet", species)
    return [Value(text=words.slice(begin, noun), end=noun, kind=kind)]


def own_pet(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a pet that is known to be there: "my dog", "our parrot Kiwi", "the hamster"."""
    words = finder.words
    if words.at(at) not in ("my", "our", "the"):
        return []
    if words.low[at] == "the":
        end = phrase_end(words, at + 1, clause.end, times=finder.time_starts)
        species = _species(finder, at + 1, end)
        return [Value(text=singular(species), end=end, kind=singular(species))] if species else []
    relation = finder.reader.relation_at(words, at, clause.end)
    if relation is None or not relation.species:
        return []
    return [Value(text=name, end=relation.after) for name in relation.names or (relation.species,)]


def renamed_pet(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "the kitten Duchess" after "renamed": what sort of animal it is, and its new name."""
    words = finder.words
    noun = next((index for index in range(at, min(at + 4, clause.end)) if words.low[index] in lexicon.SPECIES), 0)
    start = noun + 1 + (words.at(noun + 1) == "to")
    end = finder.reader.name_end(words, start, clause.end) if noun else start
    if words.at(at) not in ("my", "our", "the") or end == start:
        return []
    name, kind = words.slice(start, end), singular(words.low[noun])
    return [Value(text=name, end=end, kind=kind, also=((name, "species", kind),))]


def renamed_kind(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the animal that has another name now: the one it had is over."""
    return [Value(text=value.kind, end=value.end, kind=value.kind) for value in renamed_pet(finder, clause, at)]


def itself(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the pet that the clause is about, as something its owner has: "our cat died"."""
    subject = clause.subject
    text = subject.species if subject.name.startswith(f"{finder.speaker}'s ") else subject.name
    return [Value(text=text, end=at, subject=finder.speaker, kind=subject.species)] if text else []


def breed(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a breed: "a beagle", "a 4 year old beagle"; with a name it is the name that counts."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    while begin < clause.end and (
        words.low[begin][0].isdigit() or words.low[begin] in ("year", "years", "old", "-", "month")
    ):
        begin += 1
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    naming = words.find(("called", "named"), begin, end)
    if naming == begin or words.low[naming - 1] not in lexicon.BREEDS:
        return []
    return [Value(text=words.slice(begin, naming), end=naming)]
