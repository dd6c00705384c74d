"""The content of a fact's record, made of the statements of one validity period."""

from collections.abc import Iterable
from typing import Any

from rememo.engine.view import BOUND
from rememo.learn.fact_sentences import sentence
from rememo.learn.facts import FactGroup
from rememo.learn.statements import LINK, MODEL, Statement
from rememo.learn.visibility import FactPart

_MOST_STATEMENTS = 32
"""Of one fact; repetitions in the middle are let go first."""


def fact_fields(subject: str, group: FactGroup, part: FactPart) -> dict[str, Any]:
    """Return the content of a fact's record."""
    period, statements = part.period, _drop_repetitions(part.statements)
    asserted = [statement for statement in statements if statement.asserts] or statements
    last = asserted[-1]
    sources = dict.fromkeys(statement.source.id for statement in statements if statement.source is not None)
    weights = [statement.importance for statement in statements if statement.importance is not None]
    return {
        **({"importance": max(weights)} if weights else {}),
        "text": sentence(subject, group.predicate, last.object, denied=period.denied),
        "data": {
            "subject": subject,
            "predicate": group.predicate,
            "object": last.object,
            "confidence": combined_confidence(asserted),
            "sources": list(sources),
            "wording": last.wording,
            "status": period.status,
            "match": {"subject": group.subject, "object": period.object},
            "statements": [statement.to_dict() for statement in statements],
            **({BOUND: list(part.bound)} if part.bound else {}),
        },
        "occurred_at": min(statement.said for statement in statements),
        "valid_from": period.valid_from,
        "valid_to": period.valid_to,
        "trust": 0.0
        if period.status == "retracted" and not period.denied
        else max(statement.trust for statement in asserted),
    }


def combined_confidence(statements: Iterable[Statement]) -> float:
    """Return 1 - (1-a)(1-b)… over the sources, each with the surest of its statements; one set by hand stands."""
    surest: dict[object, float] = {}
    fixed: Statement | None = None
    for statement in statements:
        if "confidence" in statement.fixed:
            fixed = statement if fixed is None or statement.known > fixed.known else fixed
        elif not statement.fixed:
            # What rules and a model both find in one text is surer than what one of them does.
            name = (
                statement.name if statement.source is None else (statement.source.id, statement.name in (MODEL, LINK))
            )
            surest[name] = max(surest.get(name, 0.0), statement.confidence)
    if fixed is not None:
        return fixed.confidence
    doubt = 1.0
    for confidence in sorted(surest.values()):
        doubt *= 1 - confidence
    return round(1 - doubt, 6)


def _drop_repetitions(part: list[Statement]) -> list[Statement]:
    """Let go of mere repetitions in the middle when there are very many statements."""
    over = len(part) - _MOST_STATEMENTS
    if over <= 0:
        return part
    plain = [
        statement
        for statement in part
        if statement.asserts
        and not statement.by_hand
        and statement.begin is statement.end is statement.corrects is None
    ]
    middle = max(1, (len(plain) - over) // 2)
    dropped = {id(statement) for statement in plain[middle : middle + over]}
    return [statement for statement in part if id(statement) not in dropped]
