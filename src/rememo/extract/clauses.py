"""Clauses: who (the subject), how (negation, tense, modality), what (the verb) and the rest, in the order of the sentence."""

from dataclasses import dataclass, field

from rememo.extract.lexicon import CONDITIONS, OCCUPATIONS
from rememo.extract.people import Subject, SubjectReader
from rememo.extract.tokens import Words
from rememo.text import verbs
from rememo.text.wordlists import word_set

_PAUSES = word_set(", ; : - ( ) . ! … /")
_JOINING = word_set("and but so because since although though while plus also then yet or as")
_OPENERS = word_set(
    "hey hi hello oh ok okay well yeah yes no nope yep btw fyi actually honestly anyway lol haha sorry wait today",
    "yesterday tomorrow now currently recently lately nowadays still there thanks thx sure seriously basically",
    "personally luckily sadly unfortunately fortunately also correction update note hmm um uh way know everyone",
    "guys folks all again these days tonight ps edit here reference record context background reminder",
)
_SUBORDINATE = word_set(
    "if unless whether when whenever until till before after where wherever how what why who whom which than like",
    "once that whose even provided whatever lest",
)
_DROPPABLE = word_set(
    "moved relocated started graduated visited finished adopted bought retired joined working living studying got had sold",
    "heading flying driving switched quit stopped lost gave ditched broke cancelled canceled traded left rented signed",
    "transferred deleted swapped majoring upgraded migrated",
)
"""First words that are statements without a subject, and no requests."""
_OPENING_PHRASES = tuple(
    tuple(phrase.split())
    for phrase in (
        "by the way", "given that", "now that", "considering that", "considering", "turns out that", "turns out", "turned out", "it turns out", "the good news is", "good news", "big news", "quick update", "the thing is",
        "the truth is", "fun fact", "for the record", "the rest of the time", "long story short", "as you know", "in case you forgot",
        "good news is", "at the moment", "in the meantime", "for what it 's worth", "to be fair", "to be honest", "as of now", "from now on", "as of today", "from today", "starting today", "from here on", "these days", "as of this week",
    )
)  # fmt: skip
"""What may stand before a clause of one's own, the innermost first: "turns out that I", "by the way I"."""
_BARE_COMPLEMENTS = frozenset({
    ("allergic", "to"), ("based", "in"), ("based", "out"), ("based", "near"), ("originally", "from"), ("fluent", "in"), ("born", "in"), ("born", "and"),
    ("married", "to"), ("engaged", "to"), ("single", "again"), ("back", "in"),
})  # fmt: skip
_LONGEST_FRAGMENT = 8
_LONGEST_LABEL = 6
_LABELS = word_set("note update news fyi reminder status heads-up announcement me")
_SHORT_LINK = 3
_HAVING = word_set("got been gone moved become started joined bought sold taken")
"""Participles before which "'s" is "has"."""
_OWN_SUBJECTS = word_set("i we he she they it you there this that my our the so is are not no what")
_CONFESSING = word_set("told said mention mentioned remember note forget add mind")


@dataclass(slots=True)
class Clause:
    """One clause. Indexes are words of its sentence; ``rest`` is what follows the verb, ``end`` its last word plus one."""

    words: Words
    begin: int
    subject: Subject
    verb_at: int
    lemma: str
    form: str
    rest: int
    end: int
    negated: bool = False
    no_longer: bool = False
    used_to: bool = False
    modal: str = ""
    perfect: bool = False
    progressive: bool = False
    passive: bool = False
    going_to: bool = False
    past: bool = False
    adverbs: set[str] = field(default_factory=set[str])

    @property
    def ends(self) -> bool:
        """It says that something is over."""
        return self.no_longer or self.used_to

    def text(self, first: int, after: int) -> str:
        """Return these words as they stand."""
        return self.words.slice(first, after)


def read_group(words: Words, index: int, limit: int, clause: Clause) -> bool:  # noqa: C901, PLR0912, PLR0915 - one branch for each kind of auxiliary
    """Read auxiliaries, negation and adverbs up to the main verb into the clause; False when no verb follows."""
    low = words.low
    be = False
    did = False
    while index < limit:
        word = low[index]
        if word in verbs.ADVERBS or word in verbs.HEDGES:
            clause.adverbs.add(word)
        elif word in ("not", "n't", "never"):
            clause.negated = True
            if word == "never":
                clause.adverbs.add("never")
        elif word == "no" and words.at(index + 1) == "longer":
            clause.no_longer = True
            index += 1
        elif word in verbs.MODALS and not (
            word == "may" and (words.capital(index) or words.at(index + 1)[:1].isdigit())
        ):
            clause.modal = word
        elif word in ("will", "'ll"):
            clause.modal = "will"
        elif word == "can":
            clause.modal = "can"
        elif word in ("do", "does", "did") and _verb_follows(words, index + 1):
            did = word == "did"
        elif word == "used" and words.at(index + 1) == "to" and not be:
            clause.used_to = True
            index += 1
        elif word in verbs.BE:
            if word == "'s" and words.at(index + 1) in _HAVING:
                clause.perfect = True
            else:
                be = True
                clause.past = clause.past or word in ("was", "were")
        elif word == "had" and words.at(index + 1) == "to" and words.at(index + 2) in verbs.FORMS:
            did = True
            index += 1
        elif word in ("have", "has", "'ve", "had") and _participle_follows(words, index + 1):
            clause.perfect = True
            clause.past = clause.past or word == "had"
        elif (
            word == "going"
            and words.at(index + 1) == "to"
            and be
            and words.at(index + 2) in verbs.FORMS
            and verbs.FORMS[low[index + 2]][1] == "base"
        ):
            clause.going_to = True
            index += 1
        else:
            break
        index += 1
    clause.past = clause.past or did
    form = verbs.FORMS.get(low[index]) if index < limit else None
    if be and form is not None and form[1] == "base" and low[index] in verbs.SAME_AS_BASE:
        form = form[0], "participle"  # "was let go"
    if be and not clause.going_to and (form is None or form[1] not in ("ing", "past", "participle")):
        clause.verb_at, clause.lemma, clause.form, clause.rest = index, "be", "base", index
        return True
    if form is None or (low[index] == "'ve" and not _is_had(words, index + 1)):
        return False
    clause.verb_at, (clause.lemma, clause.form), clause.rest = index, form, index + 1
    if be and form[1] == "ing":
        clause.progressive = True
    elif be and form[1] != "base":
        clause.passive = True
    elif (
        (form[1] == "past" or low[index] in ("quit", "split", "put", "cut"))
        and not clause.perfect
        and not did
        and not clause.modal
    ):
        clause.past = True
    return True


def _is_had(words: Words, index: int) -> bool:
    """Tell whether "'ve" is what one has, and no part of another verb: "I've a cat", "I've asthma"."""
    return words.at(index) in ("a", "an", "no", "two", "three", "four", "some", "got") or words.at(index) in CONDITIONS


def _verb_follows(words: Words, index: int) -> bool:
    for offset in range(index, index + 4):
        word = words.at(offset)
        if word in ("n't", "not", "never") or word in verbs.FORMS:
            return True
        if word not in verbs.ADVERBS:
            return False
    return False


def _participle_follows(words: Words, index: int) -> bool:
    for offset in range(index, index + 4):
        word = words.at(offset)
        if (
            word == "been"
            or (word in verbs.FORMS and verbs.FORMS[word][1] in ("past", "participle"))
            or word in verbs.SAME_AS_BASE
        ):
            return True
        if word not in verbs.ADVERBS and word not in ("never", "not", "n't", "no", "longer"):
            return False
    return False


def clauses_of(words: Words, limit: int, reader: SubjectReader) -> list[Clause]:
    """Return the asserted clauses among the first ``limit`` words; what stands under another's words or a condition is left out."""
    clauses: list[Clause] = []
    heads: list[Clause] = []
    index = 0
    if (dropped := _dropped(words, limit, reader)) is not None:
        heads.append(dropped)
        index = dropped.verb_at
    while index < limit:
        clause = _head(words, index, limit, reader)
        if clause is None:
            index += 1
            continue
        heads.append(clause)
        index = max(clause.verb_at, index + 1)
    blocked = False
    for number, clause in enumerate(heads):
        following = heads[number + 1].begin if number + 1 < len(heads) else limit
        clause.end = _trim(words, clause.rest, following)
        lead = words.at(clause.begin - 1)
        if blocked and lead in ("but", ";") and clause.subject.speaker:
            blocked = False
        if blocked:
            continue
        confessed = _confessed(words, clause.begin)
        if not confessed and not _may_begin(words, clause, reader):
            continue
        if clause.subject.speaker and clause.lemma == "think" and following - clause.rest > _SHORT_LINK:
            continue  # "been thinking a lot, anyway I moved": what follows is no thought
        if clause.lemma in ("say", "tell", "think", "read", "write") and _speaks(words, clause, following):
            blocked = not clause.subject.speaker or clause.lemma == "think" or clause.negated
            continue
        clauses.append(clause)
    return clauses


def _head(words: Words, index: int, limit: int, reader: SubjectReader) -> Clause | None:
    subject = reader.read(words, index, limit)
    if subject is None:
        return None
    clause = Clause(words, index, subject, subject.after, "", "", subject.after, limit)
    return clause if read_group(words, subject.after, limit, clause) else None


def _dropped(words: Words, limit: int, reader: SubjectReader) -> Clause | None:
    """Read a sentence whose "I" was left out: "Been working at IKEA", "Just moved to Oslo", "Not a fan of horror"."""
    index = _after_label(words, limit)
    while index < limit and (
        words.low[index] in _OPENERS or words.low[index] in verbs.ADVERBS or words.low[index] in _PAUSES
    ):
        index += 1
    word = words.at(index)
    clause = Clause(words, index, Subject(index, reader.speaker, speaker=True), index, "be", "base", index, limit)
    if _bare_complement(words, index):
        clause.negated, clause.past = word == "not", word == "born"
        clause.rest = index + clause.negated
        return clause
    if "here" in words.low[index : index + _LONGEST_FRAGMENT] or _bare_title(words, index, limit):
        clause.end = words.find(("here", ","), index, limit)
        return clause if clause.end > index + 1 and word not in _OWN_SUBJECTS else None
    if word == "been" and words.at(index + 1) in verbs.FORMS:
        clause.perfect = True
    elif word not in _DROPPABLE and not (word == "can" and words.at(index + 1) == "n't"):
        return None
    clause.lemma = ""
    if not read_group(words, index, limit, clause):
        return None
    clause.progressive = clause.progressive or clause.form == "ing"
    return clause


def _after_label(words: Words, limit: int) -> int:
    """Return the word after "Quick life update:", "pls note:"; 0 when nothing of the kind opens the sentence."""
    for at in range(1, min(_LONGEST_LABEL, limit)):
        if words.low[at] == ":":
            return at + 1 if words.low[at - 1] in _LABELS else 0
    return 0


def _bare_complement(words: Words, index: int) -> bool:
    """Tell whether a sentence begins with what its writer is: "allergic to nuts", "based in Warsaw"."""
    word, after = words.at(index), words.at(index + 1)
    if word in ("not", "big", "huge", "massive"):
        return "fan" in words.low[index : index + 4]
    if (word, after) == ("back", "in"):
        return words.at(index + 2) in ("my", "our")  # "back in Texas we used to" is a memory
    return (word, after) in _BARE_COMPLEMENTS


def _bare_title(words: Words, index: int, limit: int) -> bool:
    """Tell whether a sentence begins with a title and its employer: "Senior nurse at Guy's Hospital, …"."""
    for at in range(index, min(index + 4, limit - 2)):
        if words.low[at] in OCCUPATIONS and words.low[at + 1] in ("at", "with") and words.capital(at + 2):
            end = at + 3
            while end < limit and (words.capital(end) or words.low[end] == "'s"):
                end += 1
            return words.at(end) in ("", ",", ".", "!", "since")
    return False


def _may_begin(words: Words, clause: Clause, reader: SubjectReader) -> bool:
    """Tell whether a clause may begin here: at the start, after a pause or a joining word, or behind a time put in front."""
    index = clause.begin - 1
    for phrase in _OPENING_PHRASES:
        if index + 1 >= len(phrase) and tuple(words.low[index + 1 - len(phrase) : index + 1]) == phrase:
            index -= len(phrase)
    while (
        index >= 0
        and words.low[index] not in _JOINING
        and (words.low[index] in verbs.ADVERBS or words.low[index] in _OPENERS)
    ):
        index -= 1
    if index < 0:
        return True
    word = words.low[index]
    if word in _SUBORDINATE:
        return False
    return word in _PAUSES or word in _JOINING or words.end[index] in reader.time_ends or clause.subject.relative


def _confessed(words: Words, index: int) -> bool:
    """Tell whether the words before are the speaker's own announcement: "I told you (that)", "remember that"."""
    before = index - 1
    if words.at(before) == "that":
        before -= 1
    if words.at(before) == "you":
        before -= 1
    verb = words.at(before)
    if verb == "tell" and words.at(before - 1) == "to":
        return words.at(before - 2) in ("forgot", "want", "wanted", "meant", "forgotten")
    if verb not in _CONFESSING or words.at(before - 1) in ("never", "n't", "not", "she", "he", "they"):
        return verb == "forget" and words.at(before - 1) == "n't"
    return verb in ("remember", "note", "mention", "mentioned", "add", "mind") or words.at(before - 1) in (
        "i",
        "already",
        "just",
    )


def _speaks(words: Words, clause: Clause, following: int) -> bool:
    return clause.lemma in ("say", "tell", "think") or words.at(following) == "that"


def _trim(words: Words, first: int, after: int) -> int:
    while after > first and (
        words.low[after - 1] in _PAUSES
        or words.low[after - 1] in _JOINING
        or words.low[after - 1] in ("?", "that", "who")
    ):
        after -= 1
    return after
