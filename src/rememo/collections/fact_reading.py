"""Reading stored facts: the same fact of several rooms is one, from everything it was learned from."""

from datetime import datetime
from typing import Any

from rememo.collections.fact_views import merge_facts, to_fact
from rememo.engine.engine import Engine
from rememo.learn.facts import group_of, holds, is_fact
from rememo.learn.statements import folded
from rememo.model.fact import Fact
from rememo.model.filters import Filter

_PAGE, _SPARE = 500, 20


def read_facts(
    engine: Engine, filter: Filter, limit: int | None, moment: datetime, least: float, *, held: bool
) -> list[Fact]:
    """Return the latest facts of a filter, newest pages first until there are enough."""
    by_content: dict[Any, Fact] = {}
    offset, page = 0, _PAGE if limit is None else min(_PAGE, limit + _SPARE)
    while limit is None or sum(fact.confidence >= least for fact in by_content.values()) < limit:
        records = engine.store.read(filter, engine.now(), limit=page, offset=offset)
        for record in reversed(records):
            if not is_fact(record):
                continue
            fact = to_fact(record, moment)
            if held and not holds(record, moment):
                continue
            same = (group_of(record), folded(fact.object), fact.valid_from, fact.valid_to, fact.status)
            by_content[same] = merge_facts(fact, by_content[same]) if same in by_content else fact
        if len(records) < page:
            break
        offset += page
        page = _PAGE
    chosen = [fact for fact in by_content.values() if fact.confidence >= least]
    chosen.reverse()
    return chosen if limit is None else chosen[-limit:]
