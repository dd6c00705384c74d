"""Who a clause is about: the speaker, "my sister Ana", a pet, a name, or a thing of somebody's ("my birthday")."""

from dataclasses import dataclass

from rememo.extract.lexicon import SPECIES
from rememo.extract.names import GIVEN_NAMES, MEN, WOMEN
from rememo.extract.predicates import RELATION_WORDS
from rememo.extract.tokens import Words
from rememo.text import verbs
from rememo.text.wordlists import word_set

_AGES = word_set(
    "older younger elder little big oldest youngest eldest middle late dear lovely beloved twin new old good",
    "close other first baby adopted three-year-old step great sweet poor amazing wonderful dearest former current",
)
OWNERS = frozenset({"my", "our"})
_BARE_RELATIONS = word_set("mom mum dad grandma grandpa granny nana mama papa")
TITLES = word_set("mr mrs ms dr prof miss sir")
_PARTICLES = word_set("le la de da van von der den del al el bin ibn o")
NOT_NAMES = word_set(
    "i monday tuesday wednesday thursday friday saturday sunday january february march april may june july august",
    "september october november december english french german spanish italian the a an and or but my our your",
    "his her their this that these those it he she they we you there here what which who when where why how if so",
    "no not yes ok okay thanks hello hi hey dear please god internet covid christmas easter data code software",
    "everyone everybody nobody someone anyone everything nothing work life music coffee food water time people",
    "kids men women dogs cats most some many all each both one two in on at by for with from to of as since",
    "because although though while after before then also just well now today yesterday tomorrow tonight maybe",
    "perhaps sorry google apple amazon microsoft facebook netflix tesla ai chatgpt python linux windows android",
    "iphone youtube instagram twitter wikipedia reddit github whatsapp spotify uber nasa congress europe america",
    "england london paris",
)
_WOMEN_RELATIONS = word_set(
    "mother stepmother sister wife daughter stepdaughter grandmother granddaughter aunt niece mother_in_law",
    "sister_in_law daughter_in_law girlfriend godmother goddaughter",
)
_MEN_RELATIONS = word_set(
    "father stepfather brother husband son stepson grandfather grandson uncle nephew father_in_law brother_in_law",
    "son_in_law boyfriend godfather godson",
)
_OTHERS = word_set("it this that there you they everyone everybody nobody someone somebody anyone people these those")
_BEFORE_NAMES = word_set(
    ", ; : - ( ) . ! and but so because since although though while plus also then yet or as that actually yes no",
    "oh well btw anyway now hey hi hello fyi today yesterday if when remember note said told you lol haha okay ok yeah fyi sorry wait ps edit update",
)
"""What may stand before a name that is a subject; elsewhere it is an object."""
_THINGS_BEFORE_VERB = 6
_OTHER_CLAUSE = word_set(
    "would could should might must can has have had i we he she they you so and but because that which who when"
)
_THING_VERBS = frozenset({"will", "runs", "used", "got", "changed", "include", "leaves", "starts", "begins", "departs"})
"""Verbs besides "be" that things of somebody's are followed by: "my bike got stolen"."""
_LONGEST_NAME = 4
THINGS = word_set(
    "name birthday email e-mail phone number pronouns job age address nickname favourite car bike flight exam",
    "full first",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject as read; ``after`` is the first word behind it."""

    after: int
    name: str = ""
    """Whom the fact is about; empty when nobody can be told."""
    speaker: bool = False
    kind: str = "person"
    """"person", "pet", "thing" or "none"."""
    thing: str = ""
    """For a thing: its words in lower case ("favourite colour")."""
    owner: str = ""
    """For a thing: whose it is."""
    names: tuple[str, ...] = ()
    """Several names: "Lena and Paul"."""
    known: bool = True
    """False for a name met for the first time, without a relation."""
    relative: bool = False
    species: str = ""
    pronoun: str = ""
    """"f" or "m" for "she" and "he": resolved when the clause is read, after the names before it."""
    pending: str = ""
    """The "his" of "his name is": whose it is shows only when the clauses before have been read."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Somebody's somebody, "my sister Ana": whose, which relation, whom, and where it stands."""

    owner: str
    predicate: str
    names: tuple[str, ...]
    first: int
    after: int
    species: str = ""


class SubjectReader:
    """Reads subjects in one text, remembering whom it met so that "she" can be resolved when only one person fits."""

    def __init__(self, speaker: str, addressee: str | None) -> None:
        self.speaker = speaker
        self.addressee = addressee
        self.time_ends = frozenset[int]()
        """Where the time expressions of the sentence end."""
        self.met: dict[str, str] = {}
        self.nameless: dict[str, tuple[str, str]] = {}
        """Relatives and pets spoken of without a name so far: their relation and species."""

    def meet_nameless(self, predicate: str, species: str = "") -> None:
        """Remember "a son" or "a cat", whose name may follow."""
        whom = f"{self.speaker}'s {species or predicate.replace('_', ' ')}"
        self.nameless[whom] = (predicate, species)
        self.meet(whom, gender_of(predicate, ""))

    def meet(self, name: str, gender: str) -> None:
        """Remember somebody; "" when the gender is not known."""
        self.met[name] = gender or self.met.get(name, "")

    def read(self, words: Words, index: int, limit: int) -> Subject | None:
        """Return the subject that begins at this word, if a clause could."""
        low = words.low
        word = low[index]
        if word in ("i", "we"):
            after = index + 1
            if words.at(after) == "and" and words.at(after + 1) == "my":
                relation = self.relation_at(words, after + 1, limit)
                after = relation.after if relation else after
            return Subject(after, self.speaker, speaker=True)
        if word == "me" and words.at(index + 1) == "and":
            relation = self.relation_at(words, index + 2, limit) if words.at(index + 2) == "my" else None
            end = self.name_end(words, index + 2, limit) if relation is None else relation.after
            names = (title(words.slice(index + 2, end)),) if relation is None else ()
            return Subject(end, self.speaker, speaker=True, names=names) if end > index + 2 else None
        if word in ("he", "she"):
            return Subject(index + 1, pronoun="f" if word == "she" else "m")
        if word == "you" and self.addressee:
            return Subject(index + 1, self.addressee)
        if word in ("his", "her", "its") and words.at(index + 1) == "name" and words.at(index + 2) in verbs.BE:
            return Subject(index + 2, kind="none", pending=word)
        if word in _OTHERS:
            return Subject(index + 1, kind="none")
        if word in OWNERS:
            return self._owned(words, index, limit) if self._opens(words, index) else None
        if index and words.low[index - 1] in ("my", "our", "'s", "the", "a", "an"):
            return None
        if word in _BARE_RELATIONS and words.capital(index) and not self._has(words, index + 1):
            name = f"{self.speaker}'s {RELATION_WORDS[word]}"
            self.meet(name, gender_of(RELATION_WORDS[word], ""))
            return Subject(index + 1, name)
        return self._named(words, index, limit)

    def _has(self, words: Words, index: int) -> bool:
        """Tell whether "'s" here is a possessive ("Mum's car") and no verb ("Mum's moved")."""
        if words.at(index) != "'s":
            return words.at(index) == "and"
        form = verbs.FORMS.get(words.at(index + 1))
        return words.at(index + 1) not in ("a", "an", "not", "been") and (form is None or form[1] in ("base", "third"))

    def their_name(self, after: int, word: str) -> Subject:
        """Read "his name" where only one person or pet without a name was met."""
        gender = {"his": "m", "her": "f"}.get(word, "")
        nameless = [name for name in self.nameless if self.met.get(name, "") in ("", gender)]
        if len(nameless) != 1:
            return Subject(after, kind="none")
        predicate, species = self.nameless[nameless[0]]
        return Subject(after, nameless[0], kind="thing", thing="name", owner=predicate, species=species)

    def resolve(self, gender: str) -> str:
        """Return whom a pronoun means: the only one met who fits, else nobody."""
        fitting = [name for name, met_gender in self.met.items() if met_gender in ("", gender)]
        return fitting[0] if len(fitting) == 1 else ""

    def relation_at(self, words: Words, index: int, limit: int) -> Relation | None:
        """Read "my (older) sister('s husband) (,) (Ana)" or "our dog Rex" from the word "my"; names may be missing."""
        low = words.low
        at = index + 1
        while at < limit and low[at] in _AGES and f"{low[at]} {words.at(at + 1)}" not in RELATION_WORDS:
            at += 1
        pair = f"{words.at(at)} {words.at(at + 1)}"
        if words.at(at + 1) == "in" and words.at(at + 2) == "law" and f"{low[at]}-in-law" in RELATION_WORDS:
            predicate, at = RELATION_WORDS[f"{low[at]}-in-law"], at + 3
        elif pair in RELATION_WORDS:
            predicate, at = RELATION_WORDS[pair], at + 2
        elif words.at(at) in RELATION_WORDS:
            predicate, at = RELATION_WORDS[low[at]], at + 1
        elif pair in SPECIES or words.at(at) in SPECIES:
            species = pair if pair in SPECIES else low[at]
            at += 2 if pair in SPECIES else 1
            names, after = self.names_at(words, at, limit)
            return Relation(self.speaker, "has_pet", names, index, after, singular(species))
        else:
            return None
        owner = self.speaker
        if words.at(at) == "'s" and words.at(at + 1) in RELATION_WORDS:
            owner = f"{owner}'s {predicate.replace('_', ' ')}"
            predicate, at = RELATION_WORDS[low[at + 1]], at + 2
        names, after = self.names_at(words, at, limit)
        return Relation(owner, predicate, names, index, after)

    def names_at(self, words: Words, index: int, limit: int) -> tuple[tuple[str, ...], int]:
        """Read names after a relation: "Ana", ", Ana,", "Sam and Eli", "called Ana"."""
        start = index
        comma = words.at(index) == ","
        if comma or words.at(index) in ("named", "called", "-", ":", "("):
            start += 1
        after = self.name_end(words, start, limit)
        if after == start:
            return (), index
        if comma and words.at(after) not in (",", "and", "who", "is", "-", ")", "", "."):
            return (), index
        names = [words.slice(start, after)]
        while words.at(after) in (",", "and") and (end := self.name_end(words, after + 1, limit)) > after + 1:
            if words.at(end) not in (",", "and", "", ".", "!") and words.at(end) not in ("are", "is"):
                break
            names.append(words.slice(after + 1, end))
            after = end
        if comma and words.at(after) == "," and words.at(after + 1) != "who":
            after += 1
        return tuple(title(name) for name in names), after

    def name_end(self, words: Words, index: int, limit: int) -> int:
        """Return the word after a name that stands here, or ``index`` when none does."""
        at = index
        if words.at(at) in TITLES and words.capital(at):
            at += 1
            if words.at(at) == ".":
                at += 1
            if not words.capital(at):
                return index
        while (
            at < limit
            and at - index < _LONGEST_NAME
            and (
                (words.capital(at) and words.low[at] not in NOT_NAMES)
                or (at > index and words.low[at] in _PARTICLES and words.capital(at + 1))
            )
        ):
            at += 1
        if at == index and words.lower_case and index < limit and words.low[index] in GIVEN_NAMES:
            return index + 1
        return at

    def _owned(self, words: Words, index: int, limit: int) -> Subject | None:
        relation = self.relation_at(words, index, limit)
        if relation is None:
            return self._thing(words, index + 1, limit, self.speaker)
        after = relation.after
        if not relation.names and words.at(after).isalpha() and words.at(after) in ("tongue", "board"):
            return self._thing(words, index + 1, limit, self.speaker)
        name = relation.names[0] if relation.names else f"{relation.owner}'s {relation.predicate.replace('_', ' ')}"
        kind = "person"
        if relation.species:
            kind = "pet"
            name = relation.names[0] if relation.names else f"{self.speaker}'s {relation.species}"
        self.meet(name, gender_of(relation.predicate, name))
        if words.at(after) == "'s" and words.at(after + 1) in THINGS:
            return self._thing(words, after + 1, limit, name, relation=relation)
        if words.at(after) == "and":
            return self._joined(words, after, limit)
        if len(relation.names) > 1:
            return Subject(after, kind="none")
        return self._who(words, after, Subject(after, name, kind=kind, species=relation.species))

    def _who(self, words: Words, index: int, subject: Subject) -> Subject:
        at = index + 1 if words.at(index) == "," else index
        if words.at(at) == "who":
            return Subject(at + 1, subject.name, kind=subject.kind, species=subject.species, relative=True)
        return subject

    def _joined(self, words: Words, index: int, limit: int) -> Subject | None:
        """Read "… and I" (the speaker) or "… and Tom" (several, of whom nothing is told)."""
        if words.at(index + 1) == "i":
            return Subject(index + 2, self.speaker, speaker=True)
        end = self.name_end(words, index + 1, limit)
        return Subject(end, kind="none") if end > index + 1 else None

    def _thing(
        self, words: Words, index: int, limit: int, owner: str, relation: Relation | None = None
    ) -> Subject | None:
        at = index
        while (
            at < limit
            and at - index < _THINGS_BEFORE_VERB
            and words.low[at].replace("-", "").isalpha()
            and words.low[at] not in verbs.BE
            and words.low[at] not in _THING_VERBS
            and words.low[at] not in _OTHER_CLAUSE
        ):
            at += 1
        if at == index or (words.at(at) not in verbs.BE and words.at(at) not in _THING_VERBS):
            return None
        predicate = "" if relation is None else relation.predicate
        return Subject(
            at,
            owner,
            kind="thing",
            thing=" ".join(words.low[index:at]),
            owner=predicate,
            species="" if relation is None else relation.species,
        )

    def _opens(self, words: Words, index: int) -> bool:
        """Tell whether a subject can stand here; after a verb or a preposition it is an object."""
        if not index or words.end[index - 1] in self.time_ends:
            return True
        before = words.low[index - 1]
        return before in _BEFORE_NAMES or before in verbs.ADVERBS

    def _named(self, words: Words, index: int, limit: int) -> Subject | None:
        if not self._opens(words, index):
            return None
        if not words.capital(index) and not (words.lower_case and words.low[index] in GIVEN_NAMES):
            return None
        if words.low[index] in verbs.FORMS and words.low[index] not in GIVEN_NAMES:
            return None
        end = self.name_end(words, index, limit)
        if end == index:
            return None
        name = title(words.slice(index, end))
        if words.at(end) == "and":
            if words.at(end + 1) == "i":
                return Subject(end + 2, self.speaker, speaker=True, names=(name,))
            second = self.name_end(words, end + 1, limit)
            if second > end + 1:
                return Subject(second, kind="none", names=(name, title(words.slice(end + 1, second))))
            return None
        is_met = name in self.met
        if words.at(end) == "," and words.at(end + 1) in OWNERS:
            relation = self.relation_at(words, end + 1, limit)
            if relation is not None and not relation.names and words.at(relation.after) == ",":
                self.meet(name, gender_of(relation.predicate, name))
                return Subject(relation.after + 1, name)
        if words.at(end) == "'s" and words.at(end + 1) in RELATION_WORDS:
            predicate = RELATION_WORDS[words.low[end + 1]]
            names, after = self.names_at(words, end + 2, limit)
            whom = names[0] if names else f"{name}'s {predicate.replace('_', ' ')}"
            self.meet(whom, gender_of(predicate, whom))
            return Subject(after, whom)
        is_given_name = words.low[index] in GIVEN_NAMES
        if is_met or (is_given_name and end == index + 1):
            self.meet(name, gender_of("", name))
        return self._who(
            words, end, Subject(end, name, known=is_met or (is_given_name and end == index + 1), names=(name,))
        )


def gender_of(predicate: str, name: str) -> str:
    """Return "f" or "m" by a relation or a given name, "" when neither tells."""
    if predicate in _WOMEN_RELATIONS:
        return "f"
    if predicate in _MEN_RELATIONS:
        return "m"
    first = name.split(" ", 1)[0].lower()
    woman, man = first in WOMEN, first in MEN
    return "" if woman == man else "f" if woman else "m"


def title(name: str) -> str:
    """Write a name with capitals when it came without any."""
    return name.title() if name.islower() else name


def singular(noun: str) -> str:
    """Return the singular of an animal's name."""
    if noun == "mouse" or not noun.endswith("s") or noun == "tortoise":
        return noun
    return noun[:-3] + "y" if noun.endswith("ies") else noun[:-1]
