"""The shipped table of predicates, and how subjects, predicates and objects are brought to one form.

Hand-made facts and extracted ones go through the same three functions, so that "lives in" said by a person and
``lives_in`` written by a program meet in one place and can contradict each other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Values = Literal["single", "multi"]
EVERY = "*"
"""The object of a statement that something is over whatever its value was: "I quit my job"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """What is known about one predicate."""

    name: str
    """Normal form, snake_case."""
    values: Values
    """"single": a newer value ends the older one. "multi": values gather."""
    wordings: tuple[str, ...] = ()
    """Other ways to write it, in lower case with spaces."""
    inverse: str | None = None
    """The predicate that holds the other way round, when there is exactly one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opposition:
    """What saying one thing makes of another: who dislikes jazz no longer likes it.

    It ends only what was said before it, and ends nothing itself when it is taken back.
    """

    said: str
    """The predicate that is stated."""
    values: frozenset[str] = frozenset()
    """With which of its values; none for any."""
    over: bool = False
    """Whether it is stated to be over: who no longer plays tennis has no habit of playing it."""
    changed: bool = False
    """Only when the value is another than before: who moves has another address."""
    ends: str
    """The predicate that is ended."""
    objects: tuple[str, ...] = ("{}",)
    """Which of its values: "{}" is the one stated, `EVERY` all of them."""
    owner: bool = False
    """Whether it ends what others have in the subject itself: the dog that died is nobody's pet any more."""


def _single(name: str, *wordings: str, inverse: str | None = None) -> Predicate:
    return Predicate(name=name, values="single", wordings=wordings, inverse=inverse)


def _multi(name: str, *wordings: str, inverse: str | None = None) -> Predicate:
    return Predicate(name=name, values="multi", wordings=wordings, inverse=inverse)


_TABLE = (
    # who somebody is
    _single("name", "is named", "is called", "full name", "called"),
    _single("surname", "last name", "family name"),
    _single("nickname", "goes by", "known as", "also called"),
    _single("age", "is aged", "years old", "turned"),
    _single("birthday", "born on", "date of birth", "birth date", "birthdate"),
    _single("anniversary", "wedding anniversary"),
    _single("height", "tall"),
    _single("weight", "weighs"),
    _single("shoe_size"),
    _single("blood_type", "blood group"),
    _single("star_sign", "zodiac sign"),
    _single("birth_year", "born in year", "year of birth"),
    _single("born_in", "birthplace", "place of birth", "birth place"),
    _single("from", "comes from", "come from", "is from", "originally from", "hometown", "home town"),
    _multi("grew_up_in", "raised in", "grew up", "was raised in"),
    _multi("nationality", "citizenship", "citizen of"),
    _single("pronouns", "preferred pronouns"),
    _single("religion", "faith"),
    _single("email", "e mail", "email address", "e mail address"),
    _single("phone", "phone number", "telephone", "mobile", "mobile number", "cell", "cell number"),
    _multi("trait", "is characterised by"),
    # home
    _single(
        "lives_in", "lives at", "live in", "living in", "moved to", "moved into", "resides in", "is based in", "based in",
        "located in", "home", "home city", "city", "residence", "relocated to", "settled in", "stays in", "location",
    ),
    _multi("left", "walked out on"),
    _multi("lives_with", "live with", "living with", "shares a flat with", inverse="lives_with"),
    _single("address", "home address", "street address"),
    _single("neighbourhood", "neighborhood", "district", "quarter of town"),
    # work and study
    _single(
        "works_at", "works for", "work at", "work for", "working at", "working for", "employed by", "employed at", "employer",
        "company", "joined company", "workplace", inverse="employs",
    ),
    _multi("employs", inverse="works_at"),
    _single("works_as", "job", "occupation", "profession", "job title", "works as a", "works as an", "is employed as", "role"),
    _single("works_in", "industry", "field", "sector", "works in the field of"),
    _multi("serves_as", "holds the office of"),
    _multi("member_of", "is a member of", "belongs to the club"),
    _multi("volunteers_at", "volunteers for", "volunteer at"),
    _multi("studies", "is studying", "majors in", "major", "is majoring in"),
    _single("studies_at", "student at", "goes to school at", "attends", "is enrolled at", "school", "university"),
    _multi("studied", "majored in"),
    _multi("studied_at", "graduated from", "alma mater", "went to university at"),
    _multi("degree", "holds a degree in", "has a degree in"),
    # people
    _single("married_to", "is married to", "spouse", "wed", inverse="married_to"),
    _single("marital_status", "relationship status", "civil status"),
    _multi("has_relative", "has family"),
    _multi("knows", "is acquainted with", "met", inverse="knows"),
    # animals
    _multi("has_pet", "pet", "pets", "owns pet", "has a pet"),
    _single("species", "is a kind of"),
    _single("breed", "is of breed"),
    # tastes and food
    _multi("likes", "like", "loves", "love", "enjoys", "enjoy", "is fond of", "is a fan of", "is into", "adores", "interested in"),
    _multi("dislikes", "dislike", "hates", "hate", "does not like", "doesn't like", "can't stand", "is not a fan of", "loathes"),
    _multi("afraid_of", "fears", "scared of", "terrified of"),
    _multi("prefers", "prefer", "preference"),
    _single("diet", "follows a diet", "dietary preference", "dietary restriction"),
    _multi("eats", "eat"),
    _multi("drinks", "drink"),
    _multi("avoids", "does not eat", "doesn't eat", "does not drink", "doesn't drink", "avoid"),
    _multi("allergic_to", "is allergic to", "allergy", "allergies", "has an allergy to"),
    _multi("intolerant_to", "is intolerant to", "intolerance", "intolerant of"),
    # things and skills
    _single("is", "is now", "has the value"),
    _single("takes_place", "takes place", "happens"),
    _multi("owns", "own", "has a", "possesses", "bought", "drives", "drive", inverse="owned_by"),
    _single("owned_by", "belongs to", inverse="owns"),
    _multi("uses", "use", "is using", "switched to"),
    _multi("speaks", "speak", "language", "languages", "is fluent in", "fluent in"),
    _multi("learning", "is learning", "learns"),
    _multi("plays", "play", "instrument", "sport"),
    _multi("skill", "skills", "knows how to", "can", "is good at", "good at"),
    # health
    _multi("has_condition", "suffers from", "diagnosed with", "condition", "illness", "has been diagnosed with"),
    _multi("takes_medication", "medication", "takes medicine", "is on medication"),
    # doings
    _multi("habit", "habits", "routine", "usually"),
    _multi("plans", "plan", "plans to", "is planning", "is going to", "intends to"),
    _multi("appointment", "appointments", "has an appointment"),
    _multi("event", "events", "happened", "did", "experienced"),
    _multi("visited", "visit", "has been to", "been to", "went to", "travelled to", "traveled to"),
)  # fmt: skip

_MEATS = ("meat", "red meat", "beef", "pork", "chicken", "lamb", "bacon", "poultry", "steak", "burgers")
_ANIMAL = ("fish", "seafood", "dairy", "cheese", "eggs", "milk", "butter", "honey", "yoghurt", "yogurt")
_MEATLESS = ("vegetarian", "vegan", "pescatarian", "pescetarian", "veggie", "raw vegan", "plant-based")
_SPOUSES = ("married_to", "wife", "husband", "spouse")
_PARTNERS = ("partner", "girlfriend", "boyfriend", "fiance")


def _opposed(first: str, second: str) -> tuple[Opposition, Opposition]:
    return Opposition(said=first, ends=second), Opposition(said=second, ends=first)


OPPOSITIONS: tuple[Opposition, ...] = (
    *_opposed("likes", "dislikes"),
    *_opposed("eats", "avoids"),
    *_opposed("drinks", "avoids"),
    Opposition(said="eats", values=frozenset(_MEATS), ends="diet", objects=_MEATLESS),
    Opposition(said="eats", values=frozenset(_ANIMAL[:2]), ends="diet", objects=("vegetarian", "vegan", "veggie", "plant-based")),
    Opposition(said="eats", values=frozenset(_ANIMAL[2:]), ends="diet", objects=("vegan", "plant-based")),
    Opposition(said="diet", values=frozenset(_MEATLESS), ends="eats", objects=_MEATS),
    Opposition(said="diet", values=frozenset({"vegan", "plant-based"}), ends="eats", objects=_ANIMAL),
    *(Opposition(said="marital_status", values=frozenset({"divorced", "widowed", "single"}), ends=predicate, objects=(EVERY,)) for predicate in _SPOUSES),
    *(Opposition(said="marital_status", values=frozenset({"single"}), ends=predicate, objects=(EVERY,)) for predicate in _PARTNERS),
    *(Opposition(said=predicate, ends="marital_status", objects=("single", "divorced", "widowed", "engaged", "separated")) for predicate in _SPOUSES),
    *(Opposition(said=predicate, ends="marital_status", objects=("single",)) for predicate in _PARTNERS),
    *(Opposition(said=spouse, ends="fiance", objects=(EVERY,)) for spouse in _SPOUSES),
    *(Opposition(said=spouse, ends=partner) for spouse in _SPOUSES for partner in _PARTNERS[:3]),
    Opposition(said="marital_status", values=frozenset({"married"}), ends="fiance", objects=(EVERY,)),
    *(Opposition(said="partner", over=True, ends=predicate) for predicate in (*_PARTNERS[1:], *_SPOUSES)),
    *(Opposition(said="married_to", over=True, ends=predicate) for predicate in _SPOUSES[1:]),
    *(Opposition(said="left", ends=predicate) for predicate in ("works_at", *_PARTNERS, *_SPOUSES)),
    Opposition(said="works_at", ends="works_as", objects=("unemployed", "retired")),
    Opposition(said="event", values=frozenset({"moved out"}), ends="lives_with", owner=True),
    Opposition(said="drinks", values=frozenset({"wine", "beer", "alcohol", "whisky", "cocktails"}), ends="avoids", objects=("alcohol",)),
    Opposition(said="avoids", values=frozenset({"alcohol"}), ends="drinks", objects=("wine", "beer", "alcohol", "whisky", "cocktails", "red wine")),
    Opposition(said="left", ends="member_of"),
    *(Opposition(said="works_as", values=frozenset({"student"}), over=True, ends=predicate, objects=(EVERY,)) for predicate in ("studies_at", "studies")),
    Opposition(said="works_as", values=frozenset({"retired", "unemployed"}), ends="works_at", objects=(EVERY,)),
    Opposition(said="lives_in", changed=True, ends="address", objects=(EVERY,)),
    Opposition(said="lives_in", changed=True, ends="neighbourhood", objects=(EVERY,)),
    Opposition(said="event", values=frozenset({"died", "passed away"}), ends="has_pet", owner=True),
    Opposition(said="drinks", over=True, ends="habit", objects=("drink {}",)),
    Opposition(said="eats", over=True, ends="habit", objects=("eat {}",)),
    Opposition(said="plays", over=True, ends="habit", objects=("play {}",)),
    Opposition(said="habit", over=True, ends="plays"),
)  # fmt: skip
"""What ends what, across predicates."""

RELATIONS: Mapping[str, tuple[Values, str | None, tuple[str, ...]]] = MappingProxyType({
    "mother": ("single", "child", ("mom", "mum", "mommy", "mummy", "mama", "mam", "ma")),
    "father": ("single", "child", ("dad", "daddy", "papa", "pa", "pop")),
    "parent": ("multi", "child", ("parents",)),
    "stepmother": ("single", None, ("stepmom", "stepmum")),
    "stepfather": ("single", None, ("stepdad",)),
    "sister": ("multi", "sibling", ("sis", "sisters", "twin sister", "older sister", "elder sister", "little sister", "big sister",
                                    "younger sister", "half-sister", "stepsister")),
    "brother": ("multi", "sibling", ("bro", "brothers", "twin brother", "older brother", "elder brother", "little brother",
                                     "big brother", "younger brother", "half-brother", "stepbrother")),
    "sibling": ("multi", "sibling", ("siblings",)),
    "wife": ("single", "spouse", ("wifey",)),
    "husband": ("single", "spouse", ("hubby",)),
    "spouse": ("single", "spouse", ()),
    "fiance": ("single", "fiance", ("fiancé", "fiancée", "fiancee")),
    "partner": ("single", "partner", ()),
    "girlfriend": ("single", "partner", ("gf",)),
    "boyfriend": ("single", "partner", ("bf",)),
    "ex": ("multi", "ex", ("ex-wife", "ex-husband", "ex-girlfriend", "ex-boyfriend", "ex-partner")),
    "daughter": ("multi", "parent", ("daughters", "baby girl", "little girl")),
    "son": ("multi", "parent", ("sons", "baby boy", "little boy")),
    "child": ("multi", "parent", ("kid", "kids", "children", "baby", "toddler", "twins")),
    "stepson": ("multi", None, ()),
    "stepdaughter": ("multi", None, ()),
    "grandmother": ("multi", "grandchild", ("grandma", "nan", "nana", "gran", "granny", "grandmom", "nonna", "abuela", "oma")),
    "grandfather": ("multi", "grandchild", ("grandpa", "grandad", "granddad", "nonno", "abuelo", "opa")),
    "grandparent": ("multi", "grandchild", ("grandparents",)),
    "grandson": ("multi", "grandparent", ("grandsons",)),
    "granddaughter": ("multi", "grandparent", ("granddaughters",)),
    "grandchild": ("multi", "grandparent", ("grandkid", "grandkids", "grandchildren")),
    "aunt": ("multi", None, ("auntie", "aunty", "aunts")),
    "uncle": ("multi", None, ("uncles",)),
    "cousin": ("multi", "cousin", ("cousins",)),
    "niece": ("multi", None, ("nieces",)),
    "nephew": ("multi", None, ("nephews",)),
    "mother_in_law": ("single", None, ("mother-in-law",)),
    "father_in_law": ("single", None, ("father-in-law",)),
    "sister_in_law": ("multi", None, ("sister-in-law",)),
    "brother_in_law": ("multi", None, ("brother-in-law",)),
    "son_in_law": ("multi", None, ("son-in-law",)),
    "daughter_in_law": ("multi", None, ("daughter-in-law",)),
    "godmother": ("single", "godchild", ()),
    "godfather": ("single", "godchild", ()),
    "godson": ("multi", None, ()),
    "goddaughter": ("multi", None, ()),
    "godchild": ("multi", None, ()),
    "friend": ("multi", "friend", ("friends", "buddy", "pal", "mate", "close friend", "old friend", "good friend")),
    "best_friend": ("single", "best_friend", ("best friend", "bestie", "bff", "best mate", "best friends")),
    "colleague": ("multi", "colleague", ("colleagues", "coworker", "coworkers", "co-worker", "co-workers", "workmate", "teammate")),
    "boss": ("single", None, ("manager", "supervisor", "line manager")),
    "neighbour": ("multi", "neighbour", ("neighbor", "neighbours", "neighbors")),
    "roommate": ("multi", "roommate", ("roommates", "flatmate", "flatmates", "housemate", "housemates", "room-mate")),
    "classmate": ("multi", "classmate", ("classmates",)),
    "landlord": ("single", None, ("landlady",)),
    "teacher": ("multi", None, ("tutor", "professor", "instructor")),
    "therapist": ("single", None, ("psychologist", "counsellor", "counselor", "psychiatrist")),
    "doctor": ("multi", None, ("gp", "physician")),
    "dentist": ("single", None, ()),
    "coach": ("multi", None, ("trainer",)),
    "mentor": ("multi", None, ()),
    "babysitter": ("multi", None, ("nanny", "childminder")),
    "vet": ("single", None, ()),
    "hairdresser": ("single", None, ("barber",)),
})  # fmt: skip
"""Relations between people: valued how, the inverse, and other words for them."""

PREDICATES: Mapping[str, Predicate] = MappingProxyType(
    {predicate.name: predicate for predicate in _TABLE}
    | {
        name: Predicate(name=name, values=values, wordings=wordings, inverse=inverse)
        for name, (values, inverse, wordings) in RELATIONS.items()
    }
)
"""Every shipped predicate by its name."""

RELATION_WORDS: Mapping[str, str] = MappingProxyType(
    {word: name for name, (_, _, words) in RELATIONS.items() for word in (name.replace("_", "-"), name, *words)}
)
"""Words for relations ("mum", "sisters") and the predicate each of them is."""

FAVOURITE = "favourite_"
VALUED = "is_"
"""How predicates begin that tell the value of a thing: ``is_hosted_on``."""
_BRITISH = {"color": "colour", "flavor": "flavour", "theater": "theatre"}
_WORDINGS = {
    wording: predicate.name
    for predicate in PREDICATES.values()
    for wording in (predicate.name.replace("_", " "), *predicate.wordings)
}
_LEADING = ("is ", "are ", "was ", "am ", "has ", "have ", "has a ", "has an ", "my ", "their ", "his ", "her ", "the ")
_NOT_WORD = re.compile(r"[^\w']+")
_SPACE = re.compile(r"\s+")
_SPEAKERS = frozenset({"i", "me", "my", "myself", "mine", "user", "the user", "we", "us", "our", "speaker", "self"})
_DETERMINERS = frozenset({"a", "an", "the", "my", "our", "some", "any", "his", "her", "their"})
_OUTSIDE = " \t\r\n.,;:!?\"'“”‘’()[]{}<>*_~-–—"  # noqa: RUF001 - typographic signs are what is meant


def predicate(name: str) -> Predicate:
    """Return what is known about a predicate. Every ``favourite_…`` and ``is_…`` is single; an unknown one is multi and loses nothing."""
    entry = PREDICATES.get(name)
    if entry is not None:
        return entry
    return Predicate(name=name, values="single" if name.startswith((FAVOURITE, VALUED)) else "multi")


def normalise_predicate(text: str) -> str:
    """Return the normal form: ``"moved to"`` → ``lives_in``, ``"favorite color"`` → ``favourite_colour``, else snake_case.

    Nothing but signs gives an empty string; the caller decides whether that is an error.
    """
    words = _NOT_WORD.sub(" ", text.replace("_", " ").lower()).strip()
    for candidate in (words, *(words.removeprefix(start) for start in _LEADING if words.startswith(start))):
        if candidate in _WORDINGS:
            return _WORDINGS[candidate]
        first, _, rest = candidate.partition(" ")
        if first in ("favourite", "favorite", "fav", "fave") and rest:
            return favourite(rest)
    return words.replace("'", "").replace(" ", "_")


def favourite(thing: str) -> str:
    """Return the predicate for a favourite thing: "color" → ``favourite_colour``."""
    name = "_".join(thing.lower().replace("-", " ").split())
    return FAVOURITE + _BRITISH.get(name, name)


def normalise_subject(text: str, speaker: str) -> str:
    """Return whom a fact is about: "I" and "the user" are the speaker, "my sister" is "<speaker>'s sister", a name stays."""
    words = _SPACE.sub(" ", text).strip(_OUTSIDE)
    lowered = words.lower()
    if lowered in _SPEAKERS or lowered == speaker.lower():
        return speaker
    for owner in ("my ", "our ", "the user's ", "user's ", f"{speaker.lower()}'s "):
        if lowered.startswith(owner):
            rest = words[len(owner) :]
            relation = RELATION_WORDS.get(rest.lower())
            return f"{speaker}'s {(relation or rest).replace('_', ' ')}"
    return words


def normalise_object(text: str) -> str:
    """Return the object without signs around it and without its determiner; its own spelling stays.

    A capital determiner belongs to a title ("The Crown") and is kept.
    """
    words = _SPACE.sub(" ", text).strip(_OUTSIDE)
    first, _, rest = words.partition(" ")
    return rest.strip(_OUTSIDE) if rest and first in _DETERMINERS else words
