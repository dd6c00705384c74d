"""mem0's reading routes: search, lists, single memories and their history."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final
from urllib.parse import urlencode

from rememo.context.revision_filter import is_about_past
from rememo.engine.engine import Engine
from rememo.engine.record_status import record_statuses
from rememo.engine.search import Query, search, with_sources
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound
from rememo.memory import Memory
from rememo.model.check import check_limit, check_offset, check_text, check_unit
from rememo.model.filters import Condition, Filter
from rememo.model.hit import Hit
from rememo.model.record import FOUND, Record
from rememo.model.scope import LABELS, Scope
from rememo.serve.mem0.filters import Alternative, parse_filters, parse_time
from rememo.serve.mem0.request import Mem0Request, RequestBody
from rememo.serve.mem0.serializer import REPLACES, from_mem0_score, to_history, to_memory, to_search_result

_MOST_HITS: Final = 1_000
_TOP: Final = 10
_PAGE: Final = 100
_EXTRA_HITS: Final = 10
"""Extra hits, read to replace superseded ones."""
_STATUS: Final = ("data", ("status",), "$nin")
_NOT_SUPERSEDED: Final = Condition(*_STATUS, ["superseded", "retracted"])
_NOT_RETRACTED: Final = Condition(*_STATUS, ["retracted"])


class FilterBody(RequestBody):
    """The filters of search and lists."""

    filters: dict[str, Any] | None = None
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    categories: list[str] | None = None
    metadata: dict[str, Any] | None = None
    start_date: str | None = None
    end_date: str | None = None
    latest_only: bool | None = None

    def parse_filters(self) -> list[Alternative]:
        """Return the alternatives of all filters."""
        names = ("user_id", "agent_id", "app_id", "run_id", "metadata")
        plain: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name)}
        if self.categories:
            plain["categories"] = {"in": self.categories}
        span = {"gte": self.start_date, "lte": self.end_date}
        if bounds := {name: value for name, value in span.items() if value is not None}:
            plain["created_at"] = bounds
        return parse_filters(self.filters or None, plain or None)


class SearchBody(FilterBody):
    """The body of a search."""

    query: str
    top_k: int | None = None
    threshold: float | None = None
    fields: list[str] | None = None
    reference_date: str | int | None = None
    keyword_search: bool | None = None


def search_memories(request: Mem0Request) -> dict[str, Any]:
    """Handle `POST /v3/memories/search/`: the best hits of all alternatives.

    Their clients paste hits into prompts as they are, so superseded ones are left out, unless the query asks about the
    past or `latest_only` is false.
    """
    request.allow_query()
    body = request.body(SearchBody)
    if not body.query.strip():
        raise InvalidInput("the query is empty")
    top = check_limit(_TOP if body.top_k is None else body.top_k, "top_k", maximum=_MOST_HITS)
    least = from_mem0_score(check_unit(0.0 if body.threshold is None else body.threshold, "threshold"))
    at = None if body.reference_date is None else parse_time(body.reference_date, "reference_date")
    best: dict[str, Hit] = {}
    filters = _make_filters(request, body)
    for engine, filter in filters:
        with_superseded = body.latest_only is False or is_about_past(body.query, at or engine.now())
        query = Query(
            text=check_text(body.query, "query", max_bytes=engine.settings.max_text_bytes),
            filter=filter,
            limit=top if with_superseded else min(_MOST_HITS, top + _EXTRA_HITS),
            threshold=least,
            mode="words" if body.keyword_search else "hybrid",
            at=at or engine.now(),
            explain=False,
        )
        for hit in _search_without_retracted(engine, query):
            if hit.status == "superseded" and not with_superseded:
                continue
            if hit.record.id not in best or hit.score > best[hit.record.id].score:
                best[hit.record.id] = hit
    ranked = sorted(best.values(), key=lambda hit: -hit.score)[:top]
    for engine, filter in filters:
        ranked = with_sources(engine, filter, ranked)
    return {"results": [_select_fields(body.fields, to_search_result(hit)) for hit in ranked]}


def _search_without_retracted(engine: Engine, query: Query) -> list[Hit]:
    """Return the best hits without retracted facts.

    The first search is not filtered: retracted facts are rare, and testing every record for them costs time.
    """
    hits = search(engine, query)
    if all(_NOT_RETRACTED.holds(hit.record) for hit in hits):
        return hits
    tested = query.filter.narrowed(conditions=(*query.filter.conditions, _NOT_RETRACTED))
    return search(engine, replace(query, filter=tested))


def list_memories(request: Mem0Request) -> dict[str, Any]:
    """Handle `POST /v3/memories/`: a page of matching memories, newest first."""
    request.allow_query("page", "page_size")
    number, size = _whole_number(request, "page", 1), _whole_number(request, "page_size", _PAGE)
    start, end = check_offset((number - 1) * size, "page"), number * size
    body = request.body(FilterBody)
    filters = _make_filters(request, body, _NOT_RETRACTED if body.latest_only is False else _NOT_SUPERSEDED)
    if len(filters) <= 1:
        records = [record for engine, filter in filters for record in _read_newest(engine, filter, size, start)]
        count = sum(engine.store.count(filter, engine.now()) for engine, filter in filters)
    else:
        # The newest of all are among the newest of each.
        merged = {record.id: record for engine, filter in filters for record in _read_newest(engine, filter, end, 0)}
        records = sorted(merged.values(), key=lambda record: (record.at, record.created_at), reverse=True)[start:end]
        count = _count_distinct(filters)
    return {
        "count": count,
        "next": _page_url(request, number + 1, size) if count > end else None,
        "previous": _page_url(request, number - 1, size) if number > 1 else None,
        "results": _with_status(request, records),
    }


def get_memory(request: Mem0Request) -> dict[str, Any]:
    """Handle `GET /v1/memories/{id}/`."""
    request.allow_query()
    return _with_status(request, [find_memory(request.view(), request.path["id"])])[0]


def memory_history(request: Mem0Request) -> list[dict[str, Any]]:
    """Handle `GET /v1/memories/{id}/history/`."""
    request.allow_query()
    return to_history(request.view().history(request.path["id"]))


def find_memory(memory: Memory, id: str) -> Record:
    """Return a memory by its id, or by the id of one that it replaced; retracted ones raise `NotFound`."""
    try:
        if _is_visible(record := memory.get(id)):
            return record
    except NotFound:
        pass
    # Of several successive replacements, the last is the one that was not retracted.
    for record in reversed(memory.list(metadata={REPLACES: {"$contains": id}})):
        if _is_visible(record):
            return record
    raise NotFound(f"there is no memory {id!r} in the scope of this key")


def _is_visible(record: Record) -> bool:
    return record.kind in FOUND and _NOT_RETRACTED.holds(record)


# ---- inside


def _make_filters(request: Mem0Request, body: FilterBody, *conditions: Condition) -> list[tuple[Engine, Filter]]:
    """Return a filter for each alternative, within the key's scope."""
    filters: list[tuple[Engine, Filter]] = []
    for alternative in body.parse_filters():
        view = view_of(request.view(alternative.labels))
        view.wait_for_extraction()
        filter = view.filter(
            kind=sorted(alternative.kinds or ()), ids=None if alternative.ids is None else sorted(alternative.ids), after=alternative.after,
            before=alternative.before, conditions=(*alternative.conditions, *conditions),
        )  # fmt: skip
        filters.append((view.engine, filter))
    return filters


def _with_status(request: Mem0Request, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return records as memories, each with its validity status."""
    view = view_of(request.view())
    view.wait_for_extraction()
    statuses = record_statuses(view.engine, view.scope.tenant, records, view.engine.now())
    return [{**to_memory(record), **statuses[record.id].to_dict()} for record in records]


def _read_newest(engine: Engine, filter: Filter, limit: int, offset: int) -> list[Record]:
    return engine.store.read(filter, engine.now(), limit=limit, offset=offset)[::-1]


def _count_distinct(filters: Sequence[tuple[Engine, Filter]]) -> int:
    if all(_are_disjoint(first.scope, other.scope) for (_, first), (_, other) in combinations(filters, 2)):
        return sum(engine.store.count(filter, engine.now()) for engine, filter in filters)
    return len({record.id for engine, filter in filters for record in engine.store.read(filter, engine.now())})


def _are_disjoint(first: Scope, other: Scope) -> bool:
    """Whether no record can belong to both scopes."""
    return any(
        None not in (labels := {getattr(first, name), getattr(other, name)}) and len(labels) > 1 for name in LABELS
    )


def _select_fields(fields: Sequence[str] | None, memory: dict[str, Any]) -> dict[str, Any]:
    """Return the requested fields; the id is always one of them."""
    if not fields:
        return memory
    if unknown := set(fields) - set(memory):
        raise InvalidInput(f"there is no field {min(unknown)[:50]!r}; there are {', '.join(memory)}")
    return {name: value for name, value in memory.items() if name in fields or name == "id"}


def _whole_number(request: Mem0Request, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is not None and (not text.isascii() or not text.isdecimal() or len(text) > 9):  # noqa: PLR2004 - any
        raise InvalidInput(f"{name} must be a whole number above zero, not {text[:50]!r}")
    return check_limit(default if text is None else int(text), name, maximum=10_000)


def _page_url(request: Mem0Request, number: int, size: int) -> str:
    return f"{request.base}?{urlencode({'page': number, 'page_size': size})}"
