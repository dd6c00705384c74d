"""What somebody is: "I'm a nurse at St Mary's", "she's 34", "I'm allergic to nuts", "Ana is my sister"."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.names import GIVEN_NAMES
from rememo.learn.extract.people import title
from rememo.learn.extract.phrases import after_determiner, phrase_end, place_end
from rememo.learn.extract.places import is_place, occupation, workplace
from rememo.learn.extract.rules_state import closes, enthusiast, health, taste
from rememo.learn.extract.rules_things import thing_is
from rememo.learn.extract.wordlists import word_set

_AFTER_AGE = frozenset(
    ("", ",", ".", "!", "and", "but", "now", "today", "not", "years", "year", "yrs", "yo", ")", ";", "so", "in")
)
_GREETINGS = word_set("hi hello hey hiya greetings morning evening afternoon howdy yo hallo")
_OLDEST = 120
_LONGEST_NAME = 3


def being(finder: Finder, clause: Clause) -> None:
    """Read a complement: what follows a form of "be"."""
    if clause.modal not in ("", "will"):
        return
    if clause.subject.kind == "thing":
        thing_is(finder, clause)
        return
    if clause.subject.names and _is_relative(finder, clause):
        return
    if not clause.subject.name or not clause.subject.known:
        return
    if clause.modal:
        _will_be(finder, clause)
        return
    if clause.adverbs & {"literally", "basically", "practically", "technically", "apparently", "almost", "obviously"}:
        return
    first, limit = clause.rest, clause.end
    if first >= limit:
        return
    word = finder.words.low[first]
    if word in ("called", "named"):
        _called(finder, clause, first + 1)
    elif clause.subject.kind == "pet":
        _pet_is(finder, clause)
    elif word[0].isdigit() or word in lexicon.AGES:
        _age(finder, clause, first)
    elif word in ("from", "originally", "based", "located", "living"):
        _place(finder, clause, first)
    elif not health(finder, clause, first) and not taste(finder, clause, first):
        _description(finder, clause, first)


def _will_be(finder: Finder, clause: Clause) -> None:
    """Read "I'll be in London next week": a plan."""
    words = finder.words
    at = clause.rest
    times = [time for time in finder.times_of(clause, "future") if time.start > finder.at and time.direction == "in"]
    if (
        not times
        or clause.negated
        or finder.conditional
        or words.at(at) not in ("in", "at")
        or words.start[at] in finder.time_starts
    ):
        return
    end = place_end(words, at + 1, clause.end, finder.time_starts)
    if end > at + 1 and words.capital(at + 1):
        finder.add(clause, "plans", f"be {words.slice(at, end)}", when=(times[0].start, times[0].end), confidence=0.8)


def _called(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    end = finder.reader.name_end(words, first, clause.end)
    if end == first and words.lower_case and first < clause.end and words.at(first + 1) in ("", ".", ",", "and", "!"):
        end = first + 1
    if end == first or clause.negated:
        return
    name = title(words.slice(first, end))
    subject = clause.subject
    if subject.speaker:
        finder.add(clause, "name", name)
    elif subject.kind == "pet":
        finder.add(clause, "has_pet", name, subject=finder.speaker)
        finder.add(clause, "species", subject.species, subject=name)
        finder.reader.meet(name, "")
    elif subject.name.startswith(f"{finder.speaker}'s "):
        relation = subject.name.removeprefix(f"{finder.speaker}'s ").replace(" ", "_")
        finder.add(clause, relation, name, subject=finder.speaker)
        finder.reader.met[name] = finder.reader.met.pop(subject.name, "")


def _age(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    after = words.at(first + 1)
    number = words.low[first]
    if (
        not number.isdecimal()
        or not 0 < int(number[:4]) < _OLDEST
        or after not in _AFTER_AGE
        or clause.negated
        or clause.past
    ):
        return
    if after in ("years", "year", "yrs") and words.at(first + 2) not in ("old", "young", "of"):
        return
    if after == "in" and not clause.modal:
        return
    if words.at(first + 1) == "," and words.at(first + 2)[:1].isdigit():
        return
    finder.add(clause, "age", number)


def _place(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    at = first + 1 if words.low[first] == "originally" else first
    link = words.at(at)
    start = at + 1 if link == "from" else at + 2
    if link != "from" and words.at(at + 1) not in ("in", "near", "outside"):
        return
    end = place_end(words, start, clause.end, finder.time_starts)
    begin = after_determiner(words, start, clause.end)
    if end <= begin or not is_place(finder, start, begin, end) or clause.past:
        return
    if link == "from":
        finder.add(clause, "from", words.slice(begin, end), ends=clause.negated)
    else:
        finder.add(
            clause, "lives_in", words.slice(begin, end), when=finder.since(clause), ends=clause.ends or clause.negated
        )


def _description(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    low = words.low
    word = low[first]
    if word in lexicon.STATUSES and clause.subject.kind == "person":
        _status(finder, clause, first)
        return
    if word in ("my", "our"):
        return
    noun = after_determiner(words, first, clause.end)
    determined = noun > first and low[first] in ("a", "an")
    if low[first] == "the" and not clause.past and not clause.negated:
        _office(finder, clause, noun)
        return
    if word in lexicon.EMPLOYMENT and (closes(finder, first + 1, clause)):
        finder.add(clause, "works_as", word, when=finder.since(clause), ends=clause.negated or clause.ends)
        return
    pair = f"{word} {words.at(first + 1)}"
    if (word in lexicon.NATIONALITIES or pair in lexicon.NATIONALITIES) and closes(
        finder, first + (2 if pair in lexicon.NATIONALITIES else 1), clause
    ):
        if not clause.past and not clause.negated:
            finder.add(clause, "nationality", words.slice(first, first + (2 if pair in lexicon.NATIONALITIES else 1)))
        return
    if words.at(noun) in lexicon.RELIGIONS and closes(finder, noun + 1, clause) and not clause.past:
        finder.add(clause, "religion", words.raw[noun], ends=clause.negated or clause.ends)
        return
    if determined or clause.used_to:
        if not enthusiast(finder, clause, noun):
            occupation(finder, clause, noun)
        return
    if word == "at" and clause.perfect and clause.subject.speaker and words.capital(first + 1) and not clause.negated:
        begun = finder.since(clause)
        if begun[0] is not None:
            finder.add(clause, "works_at", workplace(finder, first + 1, clause.end), when=begun, confidence=0.75)
        return
    if clause.subject.speaker and not clause.negated and not clause.past and not clause.perfect:
        _introduction(finder, clause, first)


def _status(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    word = words.low[first]
    link = words.at(first + 1)
    if clause.subject.speaker and clause.subject.names and word in ("married", "engaged") and not clause.negated:
        finder.add(
            clause, "married_to" if word == "married" else "fiance", clause.subject.names[0], when=finder.since(clause)
        )
        return
    if link == "to" and word in ("married", "engaged"):
        end = finder.reader.name_end(words, first + 2, clause.end)
        if end > first + 2:
            finder.add(
                clause,
                "married_to" if word == "married" else "fiance",
                words.slice(first + 2, end),
                when=finder.since(clause),
                ends=clause.negated or clause.ends,
            )
        return
    if closes(finder, first + 1, clause) and not (clause.past and not clause.used_to):
        finder.add(clause, "marital_status", word, when=finder.since(clause), ends=clause.negated or clause.ends)


def _office(finder: Finder, clause: Clause, noun: int) -> None:
    """Read "the CEO of Brightleaf", "the head chef at Noma": an office needs its employer beside it."""
    words = finder.words
    end = phrase_end(words, noun, clause.end, times=finder.time_starts)
    if words.at(end - 1) == "of" or end == noun:
        return
    of = next((at for at in range(noun, end) if words.low[at] == "of"), end)
    if of == noun or words.low[of - 1] not in lexicon.OCCUPATIONS or words.at(of) not in ("of", "at", "for"):
        return
    place = workplace(finder, of + 1, clause.end)
    if place:
        finder.add(clause, "works_as", words.slice(noun, of))
        finder.add(clause, "works_at", place)


def _introduction(finder: Finder, clause: Clause, first: int) -> None:
    """Read "Hi, I'm Ana" and "I'm Ana, …"; a capital alone is not enough."""
    words = finder.words
    end = finder.reader.name_end(words, first, clause.end)
    if end == first or end - first > _LONGEST_NAME:
        return
    greeted = any(word in _GREETINGS for word in words.low[: clause.begin]) or clause.begin == 0
    given = words.low[first] in GIVEN_NAMES
    after = words.at(end)
    if after not in ("", ".", ",", "!", "and", "from", "-", "(", ";") and end < clause.end:
        return
    greeting = any(word in _GREETINGS for word in words.low[: clause.begin])
    if greeting or (given and greeted):
        finder.add(clause, "name", title(words.slice(first, end)), confidence=0.85)


def _is_relative(finder: Finder, clause: Clause) -> bool:
    """Read "Ana is my sister", "Lena and Paul are my cousins"."""
    words = finder.words
    if words.at(clause.rest) not in ("my", "our"):
        return False
    relation = finder.reader.relation_at(words, clause.rest, clause.end)
    if (
        relation is None
        or relation.names
        or (relation.after < clause.end and words.low[relation.after] not in (",", "and", ".", "!", "but"))
    ):
        return True
    for name in clause.subject.names:
        finder.add(clause, relation.predicate, name, subject=relation.owner, ends=clause.negated or clause.ends)
        if relation.species and not clause.negated:
            finder.add(clause, "species", relation.species, subject=name)
        finder.reader.meet(name, "")
    return True


def _pet_is(finder: Finder, clause: Clause) -> None:
    words = finder.words
    noun = after_determiner(words, clause.rest, clause.end)
    end = phrase_end(words, noun, clause.end, times=finder.time_starts)
    if end > noun and (words.low[end - 1] in lexicon.BREEDS) and not clause.negated:
        finder.add(clause, "breed", words.slice(noun, end))
    elif words.low[clause.rest][0].isdigit():
        _age(finder, clause, clause.rest)
