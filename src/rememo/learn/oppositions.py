"""What ends what across predicates: who is divorced is married to nobody. Pure, from the oppositions of the shipped table.

Nothing that follows is kept: it is worked out of what was said each time, so that it goes when that is taken back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rememo.extract.predicates import OPPOSITIONS, Opposition
from rememo.learn.conflicts import LASTING, ValidityPeriod, arrange_periods, default_policy, split_retracted
from rememo.learn.statements import Statement, folded

ENDED_BY: Mapping[str, Sequence[Opposition]] = {
    name: [rule for rule in OPPOSITIONS if rule.ends == name] for name in {rule.ends for rule in OPPOSITIONS}
}
"""The predicates that end values of each."""

SubjectPredicate = tuple[str, str]
"""What contradicts each other if it differs: a subject, as subjects are compared, and a predicate."""


def arrange_all(
    statements_by_pair: Mapping[SubjectPredicate, Sequence[Statement]],
) -> dict[SubjectPredicate, list[ValidityPeriod]]:
    """Return what held when of everything that was said, each predicate by the policy of the shipped table."""
    return {
        matter: arrange_periods(statements, matter[1], default_policy(matter[1]), endings(matter, statements_by_pair))
        for matter, statements in statements_by_pair.items()
    }


def affected(matter: SubjectPredicate) -> set[SubjectPredicate]:
    """Return what has to be worked out anew when something was said of a matter: it, and what that may end."""
    subject, predicate = matter
    return {matter, *((subject, rule.ends) for rule in OPPOSITIONS if rule.said == predicate and not rule.owner)}


def causes(matter: SubjectPredicate, objects: Iterable[str] | None = None) -> set[SubjectPredicate]:
    """Return of what else something may have been said that ends values of a matter; with ``objects``, of what is had."""
    subject, predicate = matter
    rules = ENDED_BY.get(predicate, ())
    if objects is None:
        return {(subject, rule.said) for rule in rules if not rule.owner}
    return {(object, rule.said) for rule in rules if rule.owner for object in objects}


def endings(matter: SubjectPredicate, statements: Mapping[SubjectPredicate, Sequence[Statement]]) -> list[Statement]:
    """Return what was said of other things that ends values of this one, as statements of it."""
    subject, predicate = matter
    causes_found: list[Statement] = []
    for rule in ENDED_BY.get(predicate, ()):
        if not rule.owner:
            for cause in _causes(rule, statements.get((subject, rule.said), ())):
                causes_found += [_derived(cause, wanted.replace("{}", cause.object)) for wanted in rule.objects]
            continue
        for name in {statement.about: statement.object for statement in statements.get(matter, ())}.values():
            causes_found += [
                _derived(cause, name) for cause in _causes(rule, statements.get((folded(name), rule.said), ()))
            ]
    return causes_found


def owner_ends(predicate: str, *, causing: bool = False) -> tuple[frozenset[str], frozenset[str]]:
    """Return the values and predicates of the oppositions that end what others have in a subject.

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
