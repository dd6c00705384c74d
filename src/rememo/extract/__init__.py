"""Facts found in conversation by rules, without a model.

A text is cut to the speaker's own sentences (no code, quotes, lists, fiction), each sentence to what it asserts (no
questions, conditions, reported words), that to clauses with a subject, a verb and its circumstances; the rows of a
table, keyed by the verb, then read the objects (``rows``: what is known;
``pattern_row``: how a row is written; ``readers``: objects). Precision comes first: what is doubtful is left out. At most
``prose.LONGEST`` characters are read.
"""

from dataclasses import replace
from datetime import datetime

from rememo.errors import InvalidInput
from rememo.extract import attributes
from rememo.extract.activities import read_activity, read_death
from rememo.extract.clauses import Clause, clauses_of, read_group
from rememo.extract.corrections import Correction, apply, corrections
from rememo.extract.extracted_fact import ExtractedFact
from rememo.extract.fact_finder import FactFinder
from rememo.extract.first_person import read_as_first_person
from rememo.extract.moods import asserted
from rememo.extract.readers.attributes import PARTICIPLES
from rememo.extract.reading import TABLE, read_clause, settle_passive
from rememo.extract.relations import relations_in
from rememo.extract.sentence_patterns import READINGS
from rememo.extract.tokens import Words
from rememo.text import verbs
from rememo.text.prose import own_sentences

_PERSONAL = frozenset({"be", "live", "work", "speak", "study", "die", "pass", "turn", "own", "maintain"})
"""What an unknown capitalised word may be said to do: enough to tell a person from a company or a poet."""
_DESCRIBING = PARTICIPLES | {"gone"}
_LONGEST_SENTENCE = 120
"""Words; a longer "sentence" is a text without full stops, pasted from somewhere."""


def extract(
    text: str,
    *,
    speaker: str,
    at: datetime,
    addressee: str | None = None,
    previous: str | None = None,
    noted: bool = False,
) -> list[ExtractedFact]:
    """Return the facts a text states, in the order of their wording.

    ``speaker`` is who says "I"; ``at`` is when it was said (aware) and resolves time words; ``addressee`` is who "you" is,
    when that is a person worth facts; ``previous`` is the speaker's own message before, which a correction may refer to. With ``noted`` the text is a note about the speaker: "the user" and
    the speaker's name are the speaker as well as "I".
    Deterministic; never raises for any text. Raises InvalidInput for an empty speaker or an ``at`` without a time zone.
    """
    if not speaker.strip():
        raise InvalidInput("`speaker` is empty; pass the name or id of the person who said the text")
    if at.tzinfo is None:
        raise InvalidInput("`at` has no time zone; pass an aware datetime such as datetime.now(UTC)")
    finder = FactFinder(text, speaker=speaker, at=at, addressee=addressee)
    for begin, end in own_sentences(text, noted=noted):
        words = Words(text, begin, end)
        if not 1 < len(words) <= _LONGEST_SENTENCE:
            continue
        if noted and read_as_first_person(words, speaker):
            finder.reader.meet(speaker, "")
        attributes.own_values(words, noted=noted)
        limit = asserted(words)
        if limit:
            _sentence(finder, words, limit)
    _correct(finder, text, previous, noted=noted)
    return sorted(finder.facts, key=lambda fact: fact.position)


def _sentence(finder: FactFinder, words: Words, limit: int) -> None:
    finder.begin(words, limit)
    clauses = clauses_of(words, limit, finder.reader)
    for relation in relations_in(words, limit, finder.reader):
        clause = Clause(
            words,
            relation.first,
            finder.own_subject(relation.first),
            relation.first,
            "",
            "",
            relation.first,
            relation.after,
        )
        for name in relation.names:
            finder.add(clause, relation.predicate, name, subject=relation.owner, confidence=0.85)
            if relation.species:
                finder.add(clause, "species", relation.species, subject=name, confidence=0.85)
    for clause in clauses:
        for part in _parts(clause):
            _apply(finder, part)
    for reading in (*READINGS, *attributes.READINGS):
        reading(finder, limit)


def _apply(finder: FactFinder, clause: Clause) -> None:
    """Give one clause to the rows for its verb, or read it as a doing."""
    if clause.modal and clause.modal not in ("will", "can"):
        return
    _settle(finder, clause)
    if not clause.subject.known and clause.lemma not in _PERSONAL:
        return
    read = read_clause(finder, clause)
    if not read_death(finder, clause) and not read and clause.lemma != "be":
        read_activity(finder, clause)


def _settle(finder: FactFinder, clause: Clause) -> None:
    """Find out whom a pronoun means, and which participles only describe: "my hobbies are knitting", "I'm retired"."""
    subject = clause.subject
    if subject.pending:
        clause.subject = finder.reader.their_name(subject.after, subject.pending)
    if subject.pronoun:
        clause.subject = replace(subject, name=finder.reader.resolve(subject.pronoun))
    if clause.lemma == "get" and clause.perfect and clause.words.low[clause.verb_at] == "got" and not clause.past:
        clause.lemma, clause.perfect = "have", False
    settle_passive(clause)
    described = clause.passive and clause.lemma in ("call", "name", "marry", "retire", "divorce", "separate", "engage")
    scheduled = (
        clause.lemma in ("schedule", "book", "set")
        or clause.progressive
        or clause.words.at(clause.verb_at) in _DESCRIBING
    )
    described = described or (clause.passive and bool(subject.names) and clause.lemma in ("do", "finish"))
    if described or (clause.subject.kind == "thing" and scheduled):
        clause.lemma, clause.rest, clause.progressive = "be", clause.verb_at, False


def _parts(clause: Clause) -> list[Clause]:
    """Cut "live in Ghent, work at X and have a cat" into one clause for each verb, all with the same subject."""
    parts = [clause]
    words = clause.words
    at = clause.rest
    end = clause.end
    while at < end - 1:
        if words.low[at] in ("and", "but", ",", "then"):
            start = at + 1
            while start < end and words.low[start] in ("and", "but", "then", "also", ","):
                start += 1
            part = Clause(words, start, clause.subject, start, "", "", start, end)
            bare = words.low[start - 1] == ","
            if (
                start < end
                and words.low[at - 1] != "born"
                and words.low[start] not in ("i", "we")
                and read_group(words, start, end, part)
                and _fits(clause, part, bare=bare)
            ):
                part.past = part.past or (part.form == "past" and not part.perfect)
                part.progressive = part.progressive or (part.form == "ing" and parts[-1].progressive)
                part.used_to = part.used_to or (part.form == "base" and parts[-1].used_to)
                parts[-1].end = at
                parts.append(part)
                at = part.verb_at
        at += 1
    return parts


def _fits(clause: Clause, part: Clause, *, bare: bool) -> bool:
    """Tell whether a verb after "and" or a ``bare`` comma can be one of the same subject, and not a noun or another's."""
    if bare and (
        part.words.low[part.verb_at : part.verb_at + 1] == ["like"]
        or (part.form == "past" and not clause.subject.relative)
    ):
        return False
    if part.lemma == "be":
        return part.words.low[part.begin] in verbs.BE and part.words.low[part.begin] != "'s"
    if part.form == "ing":
        return clause.progressive and part.begin == part.verb_at and part.lemma in TABLE.by_verb
    if part.form == "third":
        # "The user lives in Ghent and works at X": the speaker, named as others would.
        return not clause.subject.speaker or clause.words.raw[clause.begin].lower() not in ("i", "we")
    if part.form == "base":
        return (
            not part.words.capital(part.verb_at)
            and (clause.subject.speaker or clause.used_to or part.verb_at > part.begin)
            and (part.lemma in TABLE.by_verb or part.lemma == clause.lemma)
        )
    return part.form == "past"


def _correct(finder: FactFinder, text: str, previous: str | None, *, noted: bool) -> None:
    found_corrections = corrections(text)
    if not found_corrections:
        return
    facts = list(finder.facts)
    if previous is not None:
        facts = extract(previous, speaker=finder.speaker, at=finder.at, noted=noted) + facts
    corrected = {fact.corrects.casefold() for fact in finder.facts if fact.corrects is not None}
    for correction in found_corrections:
        if correction.old.casefold() in corrected:
            continue  # "my name is Erik, not Eric" says itself what it is about
        fact = apply(correction, facts, finder.at)
        if fact is not None:
            finder.put(fact)


__all__ = ["Correction", "ExtractedFact", "corrections", "extract"]
