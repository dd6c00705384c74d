"""People by name and by relation."""

from collections.abc import Callable
from dataclasses import replace

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.lexicon import AGES, NATIONALITIES, RELIGIONS, SPECIES, STATUSES
from rememo.extract.names import GIVEN_NAMES
from rememo.extract.pattern_row import Value
from rememo.extract.people import title
from rememo.extract.phrases import items
from rememo.extract.predicates import EVERY, RELATION_WORDS
from rememo.text.wordlists import word_set

_GREETINGS = word_set("hi hello hey hiya greetings morning evening afternoon howdy yo hallo")
_SERVING = word_set("friend doctor teacher vet dentist coach therapist colleague boss hairdresser mentor")
"""Relations that everybody has some of: without a name they say nothing."""
_VAGUE = word_set("no any including great good lovely wonderful bad difficult")
_LONGEST_RELATIVE = 3
_LONGEST_NAME = 3
_AFTER_NAME = frozenset(("", ".", ",", "!", "and", "but", "from", "-", "(", ";"))


def person(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a person's name; "my girlfriend Kim" is Kim."""
    words = finder.words
    if clause.subject.kind == "thing" and clause.subject.thing.rsplit(" ", 1)[-1] in RELATION_WORDS:
        end = finder.reader.name_end(words, at, clause.end)
        predicate = RELATION_WORDS[clause.subject.thing.rsplit(" ", 1)[-1]]
        return [Value(text=words.slice(at, end), end=end, predicate=predicate)] if end > at else []
    if words.at(at) in ("a", "this") and words.at(at + 2) in ("called", "named"):
        at += 3
    relation = finder.reader.relation_at(words, at, clause.end) if words.at(at) in ("my", "our") else None
    if relation is not None:
        return (
            [Value(text=relation.names[0], end=relation.after, predicate=relation.predicate)] if relation.names else []
        )
    end = finder.reader.name_end(words, at, clause.end)
    return [Value(text=words.slice(at, end), end=end)] if end > at else []


def companion(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read the other one of "Tom and I got married"."""
    names = clause.subject.names
    return [Value(text=names[0], end=at)] if clause.subject.speaker and names else []


def relation(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "my girlfriend" in "my girlfriend and I broke up", or after the verb, when no name comes with it."""
    words = finder.words
    related = finder.reader.relation_at(words, at, clause.end) if words.at(at) in ("my", "our") else None
    if related is None or related.names or related.species:
        return []
    return [Value(text=EVERY, end=related.after, predicate=related.predicate)]


def relatives(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read relatives one has, by their names when they come with them."""
    words = finder.words

    def read(begin: int, noun: int) -> list[Value] | None:
        head, pair = words.at(noun - 1), f"{words.at(noun - 2)} {words.at(noun - 1)}"
        predicate = (RELATION_WORDS.get(pair) if noun - begin > 1 else None) or RELATION_WORDS.get(head)
        return None if predicate is None or noun == begin else _related(finder, begin, noun, predicate)

    return read_named(finder, clause, at, read)


def read_named(
    finder: FactFinder, clause: Clause, at: int, read: Callable[[int, int], list[Value] | None]
) -> list[Value]:
    """Read a list whose items may come with names: "a dog called Rex, a sister Ana".

    ``read`` is given where an item begins and the word after its noun; it returns None for one that is of another sort.
    """
    words = finder.words
    values: list[Value] = []
    while at < clause.end:
        begin, end = next(items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts), (0, 0))
        if begin == end:
            break
        noun = words.find(("named", "called"), begin, end)
        item = read(begin, noun)
        at = max(end if item is None else noun, item[-1].end if item else 0)
        values += item or []
        if words.at(at) not in (",", "and", "or", "plus"):
            break
        while words.at(at) in (",", "and", "or", "plus", "also"):
            at += 1
    return values


def _related(finder: FactFinder, begin: int, noun: int, predicate: str) -> list[Value]:
    words = finder.words
    names, after = names_of(finder, noun)
    for name in names:
        finder.reader.meet(name, "")
    if names:
        return [Value(text=name, end=after, predicate=predicate) for name in names]
    if predicate in _SERVING or words.low[begin] in _VAGUE or noun - begin > _LONGEST_RELATIVE:
        return []
    if not words.low[noun - 1].endswith("s"):
        finder.reader.meet_nameless(predicate)
    return [Value(text=words.slice(begin, noun), end=noun)]


def names_of(finder: FactFinder, noun: int) -> tuple[tuple[str, ...], int]:
    """Return the names that follow "a sister" or "two cats", and the word after them."""
    words = finder.words
    naming = words.at(noun) in ("named", "called", ",", "-", "(", ":") or words.capital(noun)
    names, after = finder.reader.names_at(words, noun, finder.limit) if naming else ((), noun)
    if not names and words.at(noun) in ("named", "called") and words.lower_case and words.at(noun + 1).isalpha():
        return (title(words.low[noun + 1]),), noun + 2
    return names, after


def sweetheart(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read whom somebody has been with: a given name, for many are with a firm."""
    words = finder.words
    end = finder.reader.name_end(words, at, clause.end)
    return [Value(text=words.slice(at, end), end=end)] if end > at and words.low[at] in GIVEN_NAMES else []


def newborn_name(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the name of a child that was born, behind what it is to its parents: "son Theo"."""
    words = finder.words
    relation = RELATION_WORDS.get(words.at(at), "")
    start = at + bool(relation) + (words.at(at + bool(relation)) in (",", "called", "named"))
    end = finder.reader.name_end(words, start, clause.end)
    return [Value(text=words.slice(start, end), end=end, predicate=relation)] if end > start else []


def children(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read how many children: "two" is "two kids", "three boys"."""
    words = finder.words
    if words.low[at] not in AGES and not words.low[at].isdecimal():
        return []
    if words.at(at + 1) in ("boys", "girls", "kids", "children", "sons", "daughters"):
        return [Value(text=words.slice(at, at + 2), end=at + 2)]
    return (
        [Value(text=f"{words.low[at]} kids", end=at + 1)] if words.at(at + 1) in _AFTER_NAME | {"here", "now"} else []
    )


def newborn(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "girl named Olive" after "a baby"."""
    words = finder.words
    start = at + 1 + (words.at(at + 1) in ("named", "called"))
    end = finder.reader.name_end(words, start, clause.end)
    if words.at(at) not in ("girl", "boy") or end == start:
        return []
    return [Value(text=words.slice(start, end), end=end, predicate="daughter" if words.low[at] == "girl" else "son")]


def name(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the name of somebody or of a pet, as a fact of whoever it belongs to."""
    words = finder.words
    reader, subject = finder.reader, clause.subject
    end = reader.name_end(words, at, clause.end)
    if end == at and words.lower_case and words.low[at].isalpha() and words.at(at + 1) in _AFTER_NAME:
        end = at + 1
    if end == at:
        return []
    text = title(words.slice(at, end))
    if subject.name == finder.speaker:
        return [Value(text=text, end=end)]
    if not subject.name.startswith(f"{finder.speaker}'s "):
        return []
    relation = subject.owner or subject.name.removeprefix(f"{finder.speaker}'s ").replace(" ", "_")
    species = subject.species or (relation if relation in SPECIES else "")
    if species:
        relation = "has_pet"
    reader.met[text] = reader.met.pop(subject.name, "")
    clause.subject = replace(subject, name=text)  # what else the clause says is about the name
    also = ((text, "species", species),) if species else ()
    return [Value(text=text, end=end, predicate=relation, subject=finder.speaker, kind=species, also=also)]


def nickname(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what one is called."""
    end = finder.reader.name_end(finder.words, at, clause.end)
    return [Value(text=finder.words.slice(at, end), end=end)] if end > at else []


def introduction(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "Hi, I'm Ana" and "I'm Ana, …"; a capital alone is not enough."""
    words = finder.words
    end = finder.reader.name_end(words, at, clause.end)
    if (
        at != clause.rest
        or not 0 < end - at <= _LONGEST_NAME
        or (words.at(end) not in _AFTER_NAME and end < clause.end)
    ):
        return []
    greeted = not _GREETINGS.isdisjoint(words.low[: clause.begin])
    if not greeted and not (clause.begin == 0 and words.low[at] in GIVEN_NAMES):
        return []
    return [Value(text=title(words.slice(at, end)), end=end)]


def status(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "single", "divorced"; who is married together with somebody is married to them."""
    words = finder.words
    word = words.low[at]
    if word not in STATUSES or (clause.subject.names and clause.subject.speaker and word in ("married", "engaged")):
        return []
    return [Value(text=word, end=at + 1 + (words.at(at + 1) in ("again", "now")))]


def is_relation(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "my sister" in "Ana is my sister": whose sister she is is the fact."""
    words = finder.words
    if words.at(at) not in ("my", "our") or not clause.subject.names or clause.subject.speaker:
        return []
    related = finder.reader.relation_at(words, at, clause.end)
    if (
        related is None
        or related.names
        or (related.after < clause.end and words.low[related.after] not in (",", "and", ".", "!", "but"))
    ):
        return []
    values: list[Value] = []
    for named in clause.subject.names:
        also = ((named, "species", related.species),) if related.species else ()
        values.append(
            Value(
                text=named,
                end=related.after,
                predicate=related.predicate,
                subject=related.owner,
                kind=related.species,
                also=also,
            )
        )
        finder.reader.meet(named, "")
    return values


def lives_with(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read whom one lives with: a name, or a relation."""
    words = finder.words
    if words.at(at) not in ("my", "our"):
        return person(finder, clause, at)
    related = finder.reader.relation_at(words, at, clause.end)
    if related is None or related.species:
        return []
    texts = related.names or (words.slice(at + 1, related.after),)
    return [Value(text=text, end=related.after) for text in texts]


def relation_name(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "Dieter" in "my boss is Dieter": the name of somebody spoken of by the relation."""
    words = finder.words
    end = finder.reader.name_end(words, at, clause.end)
    is_adjective = words.low[at] in NATIONALITIES or words.low[at] in RELIGIONS
    if (
        end == at
        or is_adjective
        or clause.subject.species
        or not clause.subject.name.startswith(f"{finder.speaker}'s ")
    ):
        return []
    return name(finder, clause, at)


def half(finder: FactFinder, clause: Clause, at: int) -> list[Value]:  # noqa: ARG001 - every reader is called alike
    """Read "half Greek"."""
    words = finder.words
    if words.low[at] not in ("half", "part") or words.at(at + 1) not in NATIONALITIES:
        return []
    return [Value(text=words.slice(at, at + 2), end=at + 2)]


def partner_itself(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read who parted from the speaker: a name, or a relation without one."""
    subject = clause.subject
    if subject.speaker or subject.kind != "person" or not subject.name:
        return []
    whose = f"{finder.speaker}'s "
    if not subject.name.startswith(whose):
        return [Value(text=subject.name, end=at, subject=finder.speaker)]
    relation = subject.name.removeprefix(whose).replace(" ", "_")
    return [Value(text=EVERY, end=at, subject=finder.speaker, predicate=relation)] if relation in _PARTNERS else []


_PARTNERS = word_set("wife husband spouse partner girlfriend boyfriend fiance")
_SPOUSES = word_set("wife husband spouse")


def widowed(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read that somebody's spouse died: "my husband", or a name told to be the husband's."""
    name = clause.subject.name
    related = {f"{finder.speaker}'s {relation}" for relation in _SPOUSES}
    is_spouse = any(
        fact.object == name and fact.predicate in _SPOUSES and fact.subject == finder.speaker for fact in finder.facts
    )
    return [Value(text="widowed", end=at, subject=finder.speaker)] if is_spouse or name in related else []


def lived_with(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "parents" in "moved out of my parents' place"."""
    return lives_with(finder, clause, at - 1)
