"""What a model might be shown: turns, facts, passages, plans, relationships and the profile, as items with ids and dates.

Functions over a view. Each obeys the view it is given; `recall_view` is the one place where a view is widened, and only as
far as the caller says.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, cast

from rememo.context.item import ContextItem, Recall
from rememo.context.revision_filter import drop_echoes, drop_revised, is_about_past
from rememo.engine.search import Query, search
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.learn.facts import holds, is_fact
from rememo.learn.statements import folded
from rememo.model.check import dump_json
from rememo.model.data_schemas import matches_schema
from rememo.model.filters import Condition
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.text.fence import without_recalled

RECALLS: Final[tuple[Recall, ...]] = ("room", "user", "agent", "tenant")
PASSAGES: Final = ("chunk", "message", "note", "post", "summary")
"""Kinds that are quoted as passages."""
_BESIDE: Final = 0.5
"""What is shown beside the best must be worth so much of the threshold: an answer may rest on more than one saying."""
_VISIBLE_STATUSES: Final = ("current", "disputed")
_MOST_FACTS: Final = 64
_MOST_PLANS: Final = 200
_MOST_NAMES: Final = 200
_MOST_RELATIONSHIPS: Final = 64
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_SPACES: Final = re.compile(r"\s+")


# ---- where to look


def recall_view(view: View, recall: Recall = "user", *, user: str | None = None) -> View:
    """Return the view that recall looks through.

    `room` is the view as it is. `user` is all rooms of the view's user (or of `user`, where the view has none) with its
    agent; a view without a user stays where it is, and so does one of a pool. `agent` is everything of the agent, `tenant`
    everything there is; a pool does not lead there. Nothing ever leaves the tenant, the view's wall, or the moment that the
    view is bound to.
    """
    if recall not in RECALLS:
        raise InvalidInput(f"recall must be one of {', '.join(RECALLS)}, not {recall!r}")
    if view.author is not None and recall in ("agent", "tenant"):
        raise InvalidInput(
            f"a pool shows what is in it and nothing else; recall={recall!r} needs the memory that it was opened from"
        )
    scope = view.scope.narrow(user=user)
    if recall == "user" and scope.user is not None and view.author is None:
        scope = replace(scope, room=None)
    elif recall == "agent":
        if scope.agent is None:
            raise InvalidInput('recall="agent" needs a view that is bound to an agent; bind one, or say "tenant"')
        scope = Scope(tenant=scope.tenant, agent=scope.agent)
    elif recall == "tenant":
        scope = Scope(tenant=scope.tenant)
    return view.narrow(scope if view.wall is None else scope.within(view.wall))


# ---- turns and passages


def recent(view: View, limit: int = 20) -> list[ContextItem]:
    """Return the latest turns of the view's conversation, oldest first, without system messages and tools' results."""
    spoken = Condition("data", ("role",), "$nin", ["system", "tool"])
    records = _read_records(view, limit, kind="message", conditions=(spoken,))
    return [item for item in map(item_of, records) if item.text.strip()]


def passages(
    view: View,
    query: str,
    *,
    limit: int = 20,
    at: datetime | None = None,
    kinds: Iterable[str] = PASSAGES,
    threshold: float = 0.0,
    past: bool | None = None,
    leave_out: Iterable[str] = (),
) -> list[ContextItem]:
    """Return what answers a question, best first: messages, chunks of documents, summaries, notes, posts.

    Nothing is said where nothing is relevant: the best must have a score of `threshold`, and the others half of it.

    `at` is the moment it is asked, now unless given; `leave_out` are ids that are shown already. What was recalled
    before and stored again is no source of its own and is left out, and so is what something later revised, unless the
    question is about the `past`.
    """
    now = view.engine.now() if at is None else at
    hidden = frozenset(leave_out)
    hits = find_hits(view, query, limit=limit + min(len(hidden), limit), at=now, kinds=kinds)
    past = is_about_past(query, now) if past is None else past
    return hit_items(view, relevant_hits(hits, threshold), now, past=past, leave_out=hidden)[:limit]


def find_hits(view: View, query: str, *, limit: int, at: datetime, kinds: Iterable[str] = PASSAGES) -> list[Hit]:
    """Return what recall finds for a question, with what was revised among it; nothing for an empty one."""
    if not query.strip():
        return []
    search_query = Query(
        text=query,
        filter=view.filter(kind=tuple(kinds)),
        limit=limit,
        threshold=0.0,
        mode="hybrid",
        at=at,
        explain=False,
    )
    return search(view.engine, search_query)


def relevant_hits(hits: Sequence[Hit], threshold: float) -> list[Hit]:
    """Return the hits of a question that are relevant: none where the best is below a threshold."""
    if not hits or hits[0].score < threshold:
        return []
    return [hit for hit in hits if hit.score >= _BESIDE * threshold]


def hit_items(
    view: View, hits: Sequence[Hit], now: datetime, *, past: bool, leave_out: Container[str] = ()
) -> list[ContextItem]:
    """Return hits as items, without what was revised unless the question is about the past, and facts with their sources."""
    scores: dict[str, float] = {}
    records: dict[str, Record] = {}
    for hit in hits:
        if hit.status == "superseded" and not past:
            continue
        for record in (hit.record, *hit.sources):
            records.setdefault(record.id, record)
            scores.setdefault(record.id, hit.score)
    chosen = list(records.values())
    if not past:
        superseded_texts = [hit.text for hit in hits if hit.status == "superseded"]
        so = [hit.text for hit in hits if hit.status == "current"]
        chosen = drop_echoes(drop_revised(view, chosen, now), superseded_texts, so)
    items: list[ContextItem] = []
    for record in chosen:
        if record.id in leave_out or record.data.get("role") == "system" or (record.source or "").startswith("recall"):
            continue  # rules of a house are nothing that was said in it
        item = replace(item_of(record), score=scores[record.id])
        if item.text.strip():
            items.append(item)
    return items


def item_of(record: Record) -> ContextItem:
    """Return a record of any kind as an item; a message with its speaker."""
    return ContextItem(
        id=record.id,
        kind=record.kind,
        text=without_recalled(record.text),
        at=record.at,
        speaker=speaker(record) if record.kind == "message" else None,
        record=record,
    )


def speaker(record: Record) -> str:
    """Return who said a message: the name it carries, else the user or agent it belongs to, else its role."""
    role = str(record.data.get("role", "user"))
    label = {"user": record.scope.user, "assistant": record.scope.agent}.get(role)
    return str(record.data.get("name") or label or role)


def chunk_location(view: View, item: ContextItem, titles: dict[str, str]) -> str:
    """Return where a chunk stands: its document's title and the headings above it; `titles` holds those met before."""
    if item.kind != "chunk" or item.record is None:
        return ""
    document = str(item.record.data.get("document", ""))
    if document not in titles:
        record = view.find(document) if document else None
        titles[document] = str(record.data.get("title", "")) if record is not None else ""
    above = (
        [str(heading) for heading in item.record.data.get("headings", ())]
        if matches_schema("chunk", item.record.data)
        else []
    )
    return " / ".join(
        part for part in (titles[document], *(heading for heading in above if heading != titles[document])) if part
    )


# ---- facts and relationships


def facts(view: View, query: str = "", *, at: datetime | None = None, limit: int = _MOST_FACTS) -> list[ContextItem]:
    """Return the facts that hold: of the view's user, and of whom or what the question names; newest first.

    `at` is the moment they must hold at, now unless given. The same fact from several rooms is one.
    """
    effective_at = _effective_time(view, at)
    subjects = Condition("data", ("match", "subject"), "$in", list(subject_names(view, query)))
    visible = Condition("data", ("status",), "$in", list(_VISIBLE_STATUSES))
    ending = Condition("data", ("status",), "$eq", "superseded")
    records = _read_records(view, limit, kind="fact", conditions=(subjects, visible))
    # What will be superseded one day still holds today.
    records += _read_records(view, limit, kind="fact", conditions=(subjects, ending), valid_at=effective_at)
    records.sort(key=lambda record: record.at, reverse=True)
    return fact_items(records, effective_at)[:limit]


def fact_items(records: Iterable[Record], at: datetime) -> list[ContextItem]:
    """Return the facts among some records that hold at a moment, each once."""
    by_triple: dict[Any, ContextItem] = {}
    for record in records:
        if is_fact(record) and holds(record, at):
            match = record.data["match"]
            same = (match["subject"], record.data["predicate"], match["object"])
            if same not in by_triple:
                by_triple[same] = item_of(record)
    return list(by_triple.values())


def relationships(view: View, query: str = "", *, limit: int = _MOST_RELATIONSHIPS) -> list[ContextItem]:
    """Return who has to do with the view's user and with whom the question names, the strongest first.

    An item's score is the strength of the relationship.
    """
    names = list(subject_names(view, query))
    by_id: dict[str, Record] = {}
    for end in ("entity", "target"):
        condition = Condition("data", ("match", end), "$in", list(names))
        for record in _read_records(view, limit, kind="relationship", conditions=(condition,)):
            if matches_schema("relationship", record.data):
                by_id[record.id] = record
    ordered = sorted(by_id.values(), key=lambda record: (-record.data["strength"], record.id))
    return [replace(item_of(record), score=float(record.data["strength"])) for record in ordered[:limit]]


def subject_names(view: View, query: str) -> tuple[str, ...]:
    """Return whom facts may be about, in the form in which subjects are compared: the user, and the words of a question.

    Names of up to three words are tried, and "my sister" as the user's sister; a name that nobody bears finds nothing.
    """
    user = view.scope.user or "user"
    names = {folded(user): None}
    words = view.engine.analyzer.content(query[: view.engine.settings.max_query_chars])
    for length in (1, 2, 3):
        for start in range(len(words) - length + 1):
            name = folded(" ".join(words[start : start + length]))
            names.setdefault(name, None)
            if length == 1:
                names.setdefault(f"{folded(user)}'s {name}", None)
            if len(names) >= _MOST_NAMES:
                return tuple(names)
    return tuple(names)


# ---- plans and the profile


def plans(view: View, *, limit: int = 20) -> list[ContextItem]:
    """Return the open goals and tasks: what is due first, then the more urgent, then the older."""
    status = Condition("data", ("status",), "$eq", "open")
    records = _read_records(view, _MOST_PLANS, kind=("goal", "task"), conditions=(status,))
    records.sort(key=lambda record: (due_time(record) or _NEVER, -int(record.data.get("priority", 0))))
    return [item_of(record) for record in records[:limit]]


def due_time(record: Record) -> datetime | None:
    """Return when a goal or a task is due, if it was said."""
    value = record.data.get("due")
    return None if value is None else to_utc(value, "due")


def profile(view: View) -> ContextItem | None:
    """Return what is known of the view's user under the user's own label, or None.

    Profiles of the tenant, the agent and the user are joined, the narrowest last. They have no past, and are not in pools.
    """
    scope = view.scope
    if scope.user is None or view.known_at is not None or view.author is not None:
        return None
    fields: dict[str, Any] = {}
    for space, key in profile_keys(scope, view.wall):
        entry = view.engine.kv.get(scope.tenant, space, key, view.engine.now())
        if entry is not None:
            fields |= json.loads(entry.value)
    text = "; ".join(_profile_lines("", fields))
    return ContextItem(id=scope.user, kind="profile", text=text) if text else None


@lru_cache(maxsize=4_096)
def profile_keys(scope: Scope, wall: Scope | None = None) -> tuple[tuple[str, str], ...]:
    """Return where the profile of a scope's user is kept, behind a wall: namespaces and key, the narrowest last."""
    if scope.user is None:
        return ()
    labels = ((None, None, None), (scope.agent, None, None), (None, scope.user, None), (scope.agent, scope.user, None),
              (scope.agent, scope.user, scope.room))  # fmt: skip
    behind = [
        label_set
        for label_set in dict.fromkeys(labels)
        if wall is None
        or wall.contains(Scope(tenant=scope.tenant, agent=label_set[0], user=label_set[1], room=label_set[2]))
    ]
    return tuple((dump_json([*label_set, "profiles"]), scope.user) for label_set in behind)


def _profile_lines(prefix: str, fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _profile_lines(f"{label} ", cast("Mapping[str, Any]", value))
        elif isinstance(value, list):
            text = ", ".join(
                element if isinstance(element, str) else dump_json(element) for element in cast("list[Any]", value)
            )
            yield f"{label}: {_SPACES.sub(' ', text)}"
        else:
            text = value if isinstance(value, str) else dump_json(value)
            yield f"{label}: {_SPACES.sub(' ', text)}"


# ---- inside


def _read_records(view: View, limit: int, **parts: Any) -> list[Record]:
    return view.engine.store.read(view.filter(**parts), view.engine.now(), limit=limit)


def _effective_time(view: View, at: datetime | None) -> datetime:
    effective_at = view.engine.now() if at is None else at
    return effective_at if view.known_at is None else min(effective_at, view.known_at)
