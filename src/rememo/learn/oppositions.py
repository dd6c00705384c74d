"""Oppositions: statements that end values of other predicates (divorced ends married). Pure, by the shipped table.

Nothing derived is stored: it is computed from the statements each time, so that it goes when they are retracted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rememo.extract.predicates import OPPOSITIONS, Opposition
from rememo.learn.conflicts import LASTING, ValidityPeriod, arrange_periods, default_policy, split_retracted
from rememo.learn.statements import Statement
from rememo.model.fact import folded

ENDED_BY: Mapping[str, Sequence[Opposition]] = {
    name: [rule for rule in OPPOSITIONS if rule.ends == name] for name in {rule.ends for rule in OPPOSITIONS}
}
"""By predicate: the rules that end its values."""

SubjectPredicate = tuple[str, str]
"""A subject, as subjects are compared, and a predicate."""


def arrange_all(
    statements_by_pair: Mapping[SubjectPredicate, Sequence[Statement]],
) -> dict[SubjectPredicate, list[ValidityPeriod]]:
    """Return the validity periods of all pairs, each predicate by the policy of the shipped table."""
    return {
        pair: arrange_periods(statements, pair[1], default_policy(pair[1]), endings(pair, statements_by_pair))
        for pair, statements in statements_by_pair.items()
    }


def affected(pair: SubjectPredicate) -> set[SubjectPredicate]:
    """Return the pairs to recompute after a statement about a pair: itself, and those it may end."""
    subject, predicate = pair
    return {pair, *((subject, rule.ends) for rule in OPPOSITIONS if rule.said == predicate and not rule.owner)}


def causes(pair: SubjectPredicate, objects: Iterable[str] | None = None) -> set[SubjectPredicate]:
    """Return the pairs whose statements may end values of a pair; with ``objects``, those of the things owned."""
    subject, predicate = pair
    rules = ENDED_BY.get(predicate, ())
    if objects is None:
        return {(subject, rule.said) for rule in rules if not rule.owner}
    return {(object, rule.said) for rule in rules if rule.owner for object in objects}


def endings(pair: SubjectPredicate, statements: Mapping[SubjectPredicate, Sequence[Statement]]) -> list[Statement]:
    """Return statements about other pairs that end values of this one, as statements of it."""
    subject, predicate = pair
    causes_found: list[Statement] = []
    for rule in ENDED_BY.get(predicate, ()):
        if not rule.owner:
            for cause in _causes(rule, statements.get((subject, rule.said), ())):
                causes_found += [_derived(cause, object.replace("{}", cause.object)) for object in rule.objects]
            continue
        for name in {statement.about: statement.object for statement in statements.get(pair, ())}.values():
            causes_found += [
                _derived(cause, name) for cause in _causes(rule, statements.get((folded(name), rule.said), ()))
            ]
    return causes_found


def owner_ends(predicate: str, *, causing: bool = False) -> tuple[frozenset[str], frozenset[str]]:
    """Return the values and predicates of the oppositions that end what others own.

    Of those that end values of the predicate, or, when it is ``causing``, of those that it is the cause of.
    """
    rules = [rule for rule in OPPOSITIONS if rule.owner and predicate == (rule.said if causing else rule.ends)]
    values = frozenset(value for rule in rules for value in rule.values)
    return values, frozenset(rule.ends for rule in rules)


def _causes(rule: Opposition, statements: Sequence[Statement]) -> Iterator[Statement]:
    before: str | None = None
    for statement in sorted(split_retracted(statements)[0], key=lambda said_statement: said_statement.order):
        other = before is not None and before != statement.about
        before = statement.about if statement.asserts else before
        # What was so for a time that is over says nothing about later; what has happened does.
        past = (
            statement.asserts
            and statement.end is not None
            and statement.end <= statement.said
            and rule.said not in LASTING
        )
        matches = not rule.values or statement.about in rule.values
        if (
            matches
            and statement.ends == rule.over
            and not statement.ends_all
            and not past
            and (other or not rule.changed)
        ):
            yield statement


def _derived(cause: Statement, object: str) -> Statement:
    end = cause.end if cause.ends else None
    return replace(cause, object=object, ends=True, refused=False, corrects=None, kind=None, end=end)
