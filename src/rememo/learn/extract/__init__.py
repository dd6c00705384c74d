"""Facts found in conversation by rules, without a model.

A text is cut to the speaker's own sentences (no code, quotes, lists, fiction), each sentence to what it asserts (no
questions, conditions, reported words), that to clauses with a subject, a verb and its circumstances; rules keyed by the verb
then read the objects. Precision comes first: what is doubtful is left out. At most ``prose.LONGEST`` characters are read.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from rememo.errors import InvalidInput
from rememo.learn.extract import (
    rules_being,
    rules_doing,
    rules_having,
    rules_home,
    rules_life,
    rules_tastes,
    rules_things,
    rules_work,
    verbs,
)
from rememo.learn.extract.clauses import Clause, clauses_of, read_group
from rememo.learn.extract.corrections import Correction, apply, corrections
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.found import FoundFact
from rememo.learn.extract.moods import asks_about_text, asserted
from rememo.learn.extract.people import relations_in
from rememo.learn.extract.prose import own_sentences
from rememo.learn.extract.tokens import Words

_RULES: dict[str, Callable[[Finder, Clause], bool]] = {
    "have": rules_having.having, "own": rules_having.owning, "drive": rules_having.owning, "ride": rules_having.owning,
    "buy": rules_having.acquiring, "sell": rules_having.acquiring, "adopt": rules_having.acquiring,
    "rescue": rules_having.acquiring, "purchase": rules_having.acquiring,
    "live": rules_home.living, "reside": rules_home.living, "employ": rules_work.working, "move": rules_home.moving, "relocate": rules_home.moving, "settle": rules_home.moving,
    "emigrate": rules_home.moving, "immigrate": rules_home.moving,
    "work": rules_work.working, "study": rules_work.studying, "major": rules_work.studying, "graduate": rules_work.graduating,
    "start": rules_work.starting, "begin": rules_work.starting, "quit": rules_work.quitting, "stop": rules_work.quitting,
    "leave": rules_work.quitting, "give": rules_work.quitting, "resign": rules_work.quitting, "lose": rules_work.quitting,
    "raise": rules_home.growing, "grow": rules_home.growing, "retire": rules_work.retiring, "teach": rules_work.teaching,
    "like": rules_tastes.liking, "love": rules_tastes.liking, "enjoy": rules_tastes.liking, "adore": rules_tastes.liking,
    "hate": rules_tastes.liking, "dislike": rules_tastes.liking, "loathe": rules_tastes.liking, "despise": rules_tastes.liking,
    "stand": rules_tastes.standing, "bear": rules_tastes.standing,
    "prefer": rules_tastes.preferring, "eat": rules_tastes.eating, "drink": rules_tastes.eating, "avoid": rules_tastes.avoiding,
    "keep": rules_tastes.dieting, "follow": rules_tastes.dieting, "become": rules_tastes.dieting, "switch": rules_tastes.dieting,
    "play": rules_tastes.playing, "speak": rules_tastes.speaking, "learn": rules_tastes.learning, "know": rules_tastes.knowing,
    "code": rules_tastes.knowing, "program": rules_tastes.knowing, "suffer": rules_tastes.suffering,
    "diagnose": rules_tastes.suffering, "take": rules_tastes.taking, "name": rules_tastes.calling,
    "go": rules_life.going, "visit": rules_life.going, "travel": rules_life.going, "get": rules_life.getting,
    "plan": rules_doing.planning, "date": rules_life.dating, "break": rules_life.parting,
    "join": rules_work.joining, "run": rules_work.running, "smoke": rules_tastes.smoking,
    "come": rules_home.coming, "do": rules_work.degree,
    "marry": rules_life.marrying, "die": rules_life.dying, "pass": rules_life.dying, "turn": rules_life.turning,
}  # fmt: skip
_PERSONAL = frozenset({"be", "live", "work", "speak", "study"})
"""What an unknown capitalised word may be said to do: enough to tell a person from a company or a poet."""
_LONGEST_SENTENCE = 120
"""Words; a longer "sentence" is a text without full stops, pasted from somewhere."""


def extract(
    text: str, *, speaker: str, at: datetime, addressee: str | None = None, previous: str | None = None
) -> list[FoundFact]:
    """Return the facts a text states, in the order of their wording.

    ``speaker`` is who says "I"; ``at`` is when it was said (aware) and resolves time words; ``addressee`` is who "you" is,
    when that is a person worth facts; ``previous`` is the speaker's own message before, which a correction may refer to.
    Deterministic; never raises for any text. Raises InvalidInput for an empty speaker or an ``at`` without a time zone.
    """
    if not speaker.strip():
        raise InvalidInput("`speaker` is empty; pass the name or id of the person who said the text")
    if at.tzinfo is None:
        raise InvalidInput("`at` has no time zone; pass an aware datetime such as datetime.now(UTC)")
    finder = Finder(text, speaker=speaker, at=at, addressee=addressee)
    for begin, end in own_sentences(text):
        words = Words(text, begin, end)
        if not 1 < len(words) <= _LONGEST_SENTENCE:
            continue
        limit = asserted(words)
        if limit:
            _sentence(finder, words, limit)
        elif asks_about_text(words):
            break
    _correct(finder, text, previous)
    return sorted(finder.facts, key=lambda fact: fact.position)


def _sentence(finder: Finder, words: Words, limit: int) -> None:
    finder.begin(words, limit)
    found = clauses_of(words, limit, finder.reader)
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
    for clause in found:
        for part in _parts(clause):
            _apply(finder, part)
    rules_things.named_favourite(finder, limit)
    rules_tastes.nicknames(finder, limit)


def _apply(finder: Finder, clause: Clause) -> None:
    """Give one clause to the rule for its verb, or to the general one for doings."""
    if clause.modal and clause.modal not in ("will", "can"):
        return
    _settle(finder, clause)
    if not clause.subject.known and (clause.past or clause.lemma not in _PERSONAL):
        return
    if clause.lemma == "be":
        _be(finder, clause)
    elif clause.passive and clause.lemma in ("promote", "hire", "fire", "lay"):
        rules_work.promoted(finder, clause, clause.verb_at)
    else:
        rule = _RULES.get(clause.lemma)
        if rule is None or not clause.subject.name or clause.subject.kind == "thing" or not rule(finder, clause):
            rules_doing.doing(finder, clause)


def _settle(finder: Finder, clause: Clause) -> None:
    """Find out whom a pronoun means, and which participles only describe: "my hobbies are knitting", "I'm retired"."""
    subject = clause.subject
    if subject.pending:
        clause.subject = finder.reader.their_name(subject.after, subject.pending)
    if subject.pronoun:
        clause.subject = replace(subject, name=finder.reader.resolve(subject.pronoun))
    described = clause.passive and clause.lemma in ("call", "name", "marry", "retire", "divorce")
    scheduled = clause.lemma in ("schedule", "book", "set") or clause.progressive
    if described or (clause.subject.kind == "thing" and scheduled):
        clause.lemma, clause.rest = "be", clause.verb_at


def _be(finder: Finder, clause: Clause) -> None:
    if clause.words.at(clause.verb_at) == "born":
        clause.rest = clause.verb_at + 1
        rules_home.born(finder, clause)
    elif clause.perfect and clause.words.at(clause.rest) == "to":
        clause.lemma = "travel"
        rules_life.going(finder, clause)
    else:
        rules_being.being(finder, clause)


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
        return clause.progressive and part.begin == part.verb_at and part.lemma in _RULES
    if part.form == "third":
        return not clause.subject.speaker
    if part.form == "base":
        return (clause.subject.speaker or clause.used_to or part.verb_at > part.begin) and (
            part.lemma in _RULES or part.lemma == clause.lemma
        )
    return part.form == "past"


def _correct(finder: Finder, text: str, previous: str | None) -> None:
    found = corrections(text)
    if not found:
        return
    known = list(finder.facts)
    if previous is not None:
        known = extract(previous, speaker=finder.speaker, at=finder.at) + known
    for correction in found:
        fact = apply(correction, known)
        if fact is not None:
            finder.put(fact)


__all__ = ["Correction", "FoundFact", "corrections", "extract"]
