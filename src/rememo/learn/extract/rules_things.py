"""What a thing of somebody's is: "my name is Jonas", "my birthday is June 3rd", "my favourite colour is teal"."""

import re
from collections.abc import Callable
from dataclasses import replace

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.people import title
from rememo.learn.extract.phrases import after_determiner, items, normal_case, phrase_end, place_end, points_elsewhere
from rememo.learn.extract.places import occupation
from rememo.learn.extract.wordlists import word_set
from rememo.learn.predicates import favourite

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
_PHONE = re.compile(r"\+?\d[\d\s().-]{4,18}\d")
_LONGEST_NAME = 4
_PREPOSITION = 5
"""Characters that "for " or "on " may take before a time."""
_NOT_FAVOURITES = word_set("part one thing bit way option moment")
_LONGEST_THING = 3


def thing_is(finder: Finder, clause: Clause) -> None:
    """Read what follows "my <thing> is"."""
    words = finder.words
    first = clause.rest
    if clause.used_to and words.at(first) == "be":
        first += 1
    if first >= clause.end or (clause.past and not clause.used_to):
        return
    thing = clause.subject.thing.removeprefix("all-time ").removeprefix("absolute ")
    if thing.startswith("favourite "):
        _favourite_is(finder, clause, thing.removeprefix("favourite "), first)
        return
    if clause.negated:
        _instead(finder, clause)
        return
    head = thing.rsplit(" ", 1)[-1]
    if (rule := _RULES.get(thing)) is not None:
        rule(finder, clause, first)
    elif head in lexicon.VEHICLES and words.low[first] in ("a", "an"):
        _vehicle(finder, clause, first)
    elif any(word in lexicon.APPOINTMENTS for word in thing.split()):
        _appointed(finder, clause, thing, first)


def _instead(finder: Finder, clause: Clause) -> None:
    """Read "my name isn't Alice, it's Alicia": the second value replaces the first."""
    words = finder.words
    at = clause.end + (words.at(clause.end) == ",")
    if words.at(at) != "it" or words.at(at + 1) not in ("'s", "is"):
        return
    before = len(finder.facts)
    thing_is(
        finder,
        replace(clause, rest=at + 2, end=finder.limit - (words.at(finder.limit - 1) in (".", "!")), negated=False),
    )
    for index in range(before, len(finder.facts)):
        finder.facts[index] = replace(finder.facts[index], corrects=words.slice(clause.rest, clause.end) or None)


def _email(finder: Finder, clause: Clause, first: int) -> None:
    if match := _EMAIL.search(finder.text, finder.words.start[first], finder.words.end[clause.end - 1]):
        finder.add(clause, "email", match.group())


def _phone(finder: Finder, clause: Clause, first: int) -> None:
    if match := _PHONE.search(finder.text, finder.words.start[first], finder.words.end[clause.end - 1]):
        finder.add(clause, "phone", match.group())


def _pronouns(finder: Finder, clause: Clause, first: int) -> None:
    finder.add(clause, "pronouns", finder.words.slice(first, clause.end))


def _hobbies(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    for begin, end in items(words, first, clause.end, through=frozenset({"in", "with"}), times=finder.time_starts):
        if points_elsewhere(words, begin, end):
            break
        finder.add(clause, "likes", words.slice(begin, end))


def _languages(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    for begin, end in items(words, first, clause.end):
        if " ".join(words.low[begin:end]) in lexicon.LANGUAGES:
            finder.add(clause, "speaks", words.slice(begin, end))


def _home(finder: Finder, clause: Clause, first: int) -> None:
    """Read "my home is in Bergen"; without "in" it is a description."""
    if finder.words.at(first) == "in":
        _somewhere(finder, clause, first + 1, "lives_in")


def _origin(finder: Finder, clause: Clause, first: int) -> None:
    _somewhere(finder, clause, first, "from")


def _somewhere(finder: Finder, clause: Clause, start: int, predicate: str) -> None:
    words = finder.words
    begin = after_determiner(words, start, clause.end)
    end = place_end(words, start, clause.end, finder.time_starts)
    if end > begin and normal_case(words, begin, end):
        finder.add(clause, predicate, words.slice(begin, end), confidence=0.8)


def _age(finder: Finder, clause: Clause, first: int) -> None:
    if finder.words.low[first].isdecimal():
        finder.add(clause, "age", finder.words.low[first])


def _job(finder: Finder, clause: Clause, first: int) -> None:
    occupation(finder, clause, after_determiner(finder.words, first, clause.end))


def _vehicle(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    begin = after_determiner(words, first, clause.end)
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if any(words.capital(at) for at in range(begin, end)):
        finder.add(clause, "owns", words.slice(begin, end))


def _appointed(finder: Finder, clause: Clause, thing: str, first: int) -> None:
    """Read "my exam is on the 20th", "my surgery is scheduled for May 2nd"; the time must follow at once."""
    words = finder.words
    first = min(first + (words.at(first) in ("scheduled", "booked", "set")), clause.end - 1)
    times = finder.times_of(clause, "future")
    if not times or times[0].start <= finder.at or times[0].direction != "in":
        return
    if times[0].position[0] <= words.start[first] + _PREPOSITION:
        finder.add(clause, "appointment", thing, when=(times[0].start, times[0].end), confidence=0.85)


def _favourite_is(finder: Finder, clause: Clause, thing: str, first: int) -> None:
    words = finder.words
    if thing.split(" ", 1)[0] in _NOT_FAVOURITES or len(thing.split()) > _LONGEST_THING or clause.negated:
        return
    thing = thing.removesuffix(" of all time").removesuffix(" ever").removesuffix(" so far")
    if not thing or thing in ("so far", "ones"):
        return
    if words.at(first) in ("probably", "definitely"):
        first += 1
    if thing.endswith("s") and words.at(clause.rest - 1) in ("are", "'re"):
        for begin, end in items(words, first, clause.end, times=finder.time_starts):
            if points_elsewhere(words, begin, end):
                break
            finder.add(clause, favourite(thing.removesuffix("s")), words.slice(begin, end))
        return
    begin = after_determiner(words, first, clause.end)
    if words.at(first) in ("The", "the") and words.capital(first):
        begin = first
    end = phrase_end(
        words,
        begin,
        clause.end,
        through=frozenset({"of", "to", "the", "in"}) if words.capital(begin) else frozenset(),
        times=finder.time_starts,
    )
    if (
        end > begin
        and not points_elsewhere(words, begin, end)
        and (not words.low[first].startswith("the") or normal_case(words, begin, end))
    ):
        finder.add(clause, favourite(thing), words.slice(begin, end))


def _name_is(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    end = finder.reader.name_end(words, first, clause.end)
    if (
        end == first
        and words.lower_case
        and words.low[first].isalpha()
        and words.at(first + 1) in ("", ".", ",", "and", "!", "but")
    ):
        end = first + 1
    if end == first:
        return
    name = title(words.slice(first, end))
    subject = clause.subject
    if subject.name == finder.speaker:
        finder.add(clause, "name", name)
        return
    finder.add(clause, subject.owner, name, subject=finder.speaker)
    if subject.species:
        finder.add(clause, "species", subject.species, subject=name)
    finder.reader.met[name] = finder.reader.met.pop(subject.name, "")


def _nickname(finder: Finder, clause: Clause, first: int) -> None:
    end = finder.reader.name_end(finder.words, first, clause.end)
    if end > first:
        finder.add(clause, "nickname", finder.words.slice(first, end))


def _birthday(finder: Finder, clause: Clause, first: int) -> None:
    words = finder.words
    first = min(first + (words.at(first) == "on"), clause.end - 1)
    for mention in finder.times_of(clause, "past"):
        if (
            mention.precision == "day"
            and mention.direction == "in"
            and mention.position[0] in (words.start[first], words.start[first - 1])
        ):
            if any(sign.isdigit() for sign in mention.text):
                finder.add(clause, "birthday", mention.text.removeprefix("on "))
            return


def named_favourite(finder: Finder, words_limit: int) -> None:
    """Read "green is my favourite colour", whatever stands in front."""
    words = finder.words
    low = words.low
    for at in range(1, words_limit - 3):
        if (
            low[at] in ("is", "'s", "are")
            and low[at + 1] in ("my", "our")
            and low[at + 2] == "favourite"
            and low[at + 3].isalpha()
        ):
            start = at
            while start > 0 and (
                low[start - 1].isalpha()
                and low[start - 1] not in ("and", "but", "because", "so", "that", "think", "guess", "say")
            ):
                start -= 1
            begin = after_determiner(words, start, at)
            noun_end = phrase_end(words, at + 3, words_limit, times=finder.time_starts)
            thing = " ".join(low[at + 3 : noun_end])
            if (
                at - begin > _LONGEST_NAME
                or at == begin
                or points_elsewhere(words, begin, at)
                or thing.split(" ", 1)[0] in _NOT_FAVOURITES
                or not thing
            ):
                return
            finder_clause = Clause(words, start, finder.own_subject(at), at, "be", "base", at + 1, noun_end)
            finder.add(finder_clause, favourite(thing), words.slice(begin, at))
            return


_RULES: dict[str, Callable[[Finder, Clause, int], None]] = {
    **dict.fromkeys(("name", "full name", "first name", "real name"), _name_is),
    **dict.fromkeys(("birthday", "bday", "date of birth"), _birthday),
    **dict.fromkeys(("email", "e-mail", "email address"), _email),
    **dict.fromkeys(("phone number", "number", "mobile number", "cell number", "phone"), _phone),
    **dict.fromkeys(("pronouns", "preferred pronouns"), _pronouns),
    **dict.fromkeys(("hobbies", "hobby", "main hobby", "main hobbies", "interests", "passions", "passion"), _hobbies),
    **dict.fromkeys(("native language", "mother tongue", "first language", "native tongue"), _languages),
    **dict.fromkeys(("home", "house", "apartment", "flat"), _home),
    **dict.fromkeys(("hometown", "home town", "home country"), _origin),
    **dict.fromkeys(("job", "profession", "occupation", "day job"), _job),
    "nickname": _nickname,
    "age": _age,
}
"""What reads the complement of a thing, by the thing."""
