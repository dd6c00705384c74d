"""Extraction with a model: facts, entities, relationships, events and importance of several messages in one call.

Whatever the model answers has a fixed schema and is checked against the text. What quotes nothing that was said, or tells more
than it quotes, is dropped and counted: neither a model's fancy nor an order hidden in a message becomes a fact.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, Field

from rememo.extract.extracted_fact import ExtractedFact
from rememo.extract.predicates import (
    PREDICATES,
    RELATIONS,
    normalise_object,
    normalise_predicate,
    normalise_subject,
    predicate,
)
from rememo.learn.grounding import contains_words, find_quote, parse_stated_time, same_value
from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage, Usage
from rememo.llm.structured import ask_structured
from rememo.model.check import dump_json
from rememo.model.fact import folded
from rememo.runtime.counters import counts

MOST_MESSAGES: Final = 16
"""Messages in one call."""
MOST_CHARS: Final = 12_000
"""Characters of messages in one call, and what is read of a longer one."""
ENTITY: Final = "is_a"
"""The predicate of what kind of thing a name is of."""
_SURE, _LEAST = 0.9, 0.3
"""A model is never surer than that; what it doubts more is left out."""
_ENTITY_CONFIDENCE: Final = 0.5
_LONGEST_PREDICATE: Final = 60
_ANSWER_TOKENS, _EACH_TOKENS = 400, 250
_OWN_WORD: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
Kind = Literal["person", "place", "organisation", "animal", "thing", "work", "other"]


class _Fact(BaseModel):
    n: int
    subject: str
    predicate: str
    object: str
    quote: str
    ends: bool = False
    since: str | None = None
    until: str | None = None
    confidence: float = Field(default=0.7, ge=0, le=1)


class _Entity(BaseModel):
    n: int
    name: str
    type: Kind = "other"


class _Relationship(BaseModel):
    n: int
    who: str
    type: str
    whom: str
    quote: str


class _Event(BaseModel):
    n: int
    who: str
    what: str
    quote: str
    when: str | None = None


class _Importance(BaseModel):
    n: int
    value: float = Field(ge=0, le=1)


class ExtractionAnswer(BaseModel):
    """The schema of a model's answer."""

    facts: list[_Fact] = Field(default_factory=list["_Fact"])
    entities: list[_Entity] = Field(default_factory=list["_Entity"])
    relationships: list[_Relationship] = Field(default_factory=list["_Relationship"])
    events: list[_Event] = Field(default_factory=list["_Event"])
    importance: list[_Importance] = Field(default_factory=list["_Importance"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionInput:
    """A message that facts are extracted from."""

    text: str
    speaker: str
    at: datetime


class GroundedFact(NamedTuple):
    """A fact that a model extracted and the text confirms."""

    fact: ExtractedFact
    link: bool = False
    """Whether it connects two things."""


@dataclass(slots=True)
class Extraction:
    """What a model extracted from some messages, by their positions."""

    facts: list[list[GroundedFact]]
    importance: dict[int, float] = field(default_factory=dict[int, float])
    invented: int = 0
    """How many statements were dropped because the text does not confirm them."""
    usage: Usage = field(default_factory=Usage)


def batches(turns: Sequence[ExtractionInput]) -> Iterator[range]:
    """Yield the positions of the messages that go into one call each."""
    begin, size = 0, 0
    for place, turn in enumerate(turns):
        length = min(len(turn.text), MOST_CHARS)
        if place > begin and (place - begin >= MOST_MESSAGES or size + length > MOST_CHARS):
            yield range(begin, place)
            begin, size = place, 0
        size += length
    if turns:
        yield range(begin, len(turns))


def extraction_prompt(turns: Sequence[ExtractionInput]) -> list[ChatMessage]:
    """Return the prompt that extracts facts from some messages."""
    messages = [
        {"n": place, "speaker": turn.speaker, "said": turn.at.isoformat(), "text": turn.text[:MOST_CHARS]}
        for place, turn in enumerate(turns, 1)
    ]
    # Words for relatives need no telling, and every word of a prompt is paid for with every call.
    names = ", ".join(name for name in PREDICATES if name not in RELATIONS)
    system = prompt("extract").filled(predicates=names)
    return [ChatMessage("system", system), ChatMessage("user", dump_json(messages))]


def answer_tokens(turns: Sequence[ExtractionInput]) -> int:
    """Return the most tokens an answer may have."""
    return _ANSWER_TOKENS + _EACH_TOKENS * len(turns)


def extract_by_model(llm: LLM, turns: Sequence[ExtractionInput], *, timeout: float | None = None) -> Extraction:
    """Return what a model extracts from some messages and their texts confirm; raises `ModelFailed` or `OverBudget`.

    An answer that was cut off is asked for in two halves; of a single message, what was cut off last is left out.
    """
    answer = ask_structured(
        llm, extraction_prompt(turns), ExtractionAnswer, max_tokens=answer_tokens(turns), timeout=timeout
    )
    if answer.truncated and len(turns) > 1:
        middle = len(turns) // 2
        first = extract_by_model(llm, turns[:middle], timeout=timeout)
        second = extract_by_model(llm, turns[middle:], timeout=timeout)
        return Extraction(
            facts=first.facts + second.facts,
            importance=first.importance | {place + middle: value for place, value in second.importance.items()},
            invented=first.invented + second.invented,
            usage=answer.usage + first.usage + second.usage,
        )
    grounder = _AnswerGrounder(turns)
    grounder.read(_without_last(answer.value) if answer.truncated else answer.value)
    grounder.extraction.usage = answer.usage
    counts.add("invented", grounder.extraction.invented)
    return grounder.extraction


def merge_with_rules(rules: Sequence[ExtractedFact], facts: Sequence[GroundedFact]) -> list[GroundedFact]:
    """Return what a model adds to what rules found in the same text.

    Where it tells the same, it is brought to the same words, so that both stand for one fact. Where a thing can have one
    value only and the two differ, the rules are believed.
    """
    merged: list[GroundedFact] = []
    for grounded in facts:
        fact = grounded.fact
        about = [
            rule for rule in rules if rule.predicate == fact.predicate and folded(rule.subject) == folded(fact.subject)
        ]
        agreed = next((rule for rule in about if same_value(rule.object, fact.object) and rule.ends == fact.ends), None)
        if agreed is not None:
            fact = replace(
                fact,
                subject=agreed.subject,
                object=agreed.object,
                valid_from=agreed.valid_from or fact.valid_from,
                valid_to=agreed.valid_to or fact.valid_to,
            )
        elif about and predicate(fact.predicate).values == "single":
            continue
        merged.append(grounded._replace(fact=fact))
    return merged


class _AnswerGrounder:
    """Checks an answer against the texts."""

    def __init__(self, turns: Sequence[ExtractionInput]) -> None:
        self._turns = turns
        self.extraction = Extraction(facts=[[] for _ in turns])

    def read(self, answer: ExtractionAnswer) -> None:
        for fact in answer.facts:
            self._fact(fact)
        for relationship in answer.relationships:
            as_fact = _Fact(
                n=relationship.n,
                subject=relationship.who,
                predicate=relationship.type,
                object=relationship.whom,
                quote=relationship.quote,
            )
            self._fact(as_fact, link=True)
        for event in answer.events:
            as_fact = _Fact(
                n=event.n, subject=event.who, predicate="event", object=event.what, quote=event.quote, since=event.when
            )
            self._fact(as_fact)
        for entity in answer.entities:
            # A kind is no word of the text; that the name is one is all that can be held against it.
            if (turn := self._turn(entity.n)) is None or not contains_words(turn.text, entity.name):
                self.extraction.invented += 1
            elif entity.type != "other":
                self._entity(entity, turn)
        for rating in answer.importance:
            if self._turn(rating.n) is not None:
                self.extraction.importance[rating.n - 1] = rating.value

    def _turn(self, number: int) -> ExtractionInput | None:
        return self._turns[number - 1] if 1 <= number <= len(self._turns) else None

    def _entity(self, entity: _Entity, turn: ExtractionInput) -> None:
        place = find_quote(entity.name, turn.text) or (0, len(turn.text))
        name = turn.text[slice(*place)]
        fact = ExtractedFact(
            subject=name, predicate=ENTITY, object=entity.type, confidence=_ENTITY_CONFIDENCE, wording=name,
            position=place,
        )  # fmt: skip
        self.extraction.facts[entity.n - 1].append(GroundedFact(fact))

    def _fact(self, stated: _Fact, *, link: bool = False) -> None:
        turn = self._turn(stated.n)
        fact = None if turn is None else _grounded(stated, turn)
        if fact is None:
            self.extraction.invented += 1
        elif fact.confidence >= _LEAST:
            self.extraction.facts[stated.n - 1].append(GroundedFact(fact, link=link))


def _grounded(stated: _Fact, turn: ExtractionInput) -> ExtractedFact | None:
    """Return the fact in normal form if its quote is in the text and contains it."""
    place = find_quote(stated.quote, turn.text)
    if place is None:
        return None
    quote = turn.text[slice(*place)]
    name, value = normalise_predicate(stated.predicate), normalise_object(stated.object)
    subject = normalise_subject(stated.subject, turn.speaker)
    own = folded(turn.speaker)
    is_quoted = contains_words(quote, value) or (folded(value) == own and bool(_OWN_WORD.search(quote)))
    if not (subject and value and name and is_quoted) or len(name) > _LONGEST_PREDICATE:
        return None
    # Of whom it is told may be named elsewhere in the message; "<speaker>'s sister" is said as "my sister".
    named = folded(subject).removeprefix(f"{own}'s ")
    if named != own and not contains_words(turn.text, named):
        return None
    since, until = (
        parse_stated_time(stated.since, turn.text, turn.at),
        parse_stated_time(stated.until, turn.text, turn.at),
    )
    if since is not None and until is not None and since > until:
        since = until = None
    return ExtractedFact(
        subject=subject,
        predicate=name,
        object=value,
        confidence=min(stated.confidence, _SURE),
        valid_from=since,
        valid_to=until,
        ends=stated.ends,
        wording=quote,
        position=place,
    )


def _without_last(answer: ExtractionAnswer) -> ExtractionAnswer:
    """Return a truncated answer without its last item."""
    for name in ("importance", "events", "relationships", "entities", "facts"):
        if items := getattr(answer, name):
            return answer.model_copy(update={name: items[:-1]})
    return answer
