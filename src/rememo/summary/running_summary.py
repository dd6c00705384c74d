"""The running summary of a room: what its stored summaries say together, within a length."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.summary.extractive import choose, join_by_turn
from rememo.summary.room_summaries import RoomSummaries
from rememo.summary.stored import heading, read_summaries, shortened, summarised_ids, summary_body, turns_of
from rememo.text.tokens import default_counter

_MOST_SUMMARIES = 1_000
_NEWEST = 32
"""Summaries that a window reads: they cover many more messages than it reads behind them."""
_MOST_DEPARTED = 100
"""Messages that are looked up one by one for a view that sees no summary of them."""
_WHOLE = 0.6
"""The share of the length that the newest summaries may take; the older share the rest, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSummary:
    """What was said in a room before the messages of a window."""

    text: str
    count: int
    """How many messages it covers."""
    since: datetime
    """When the first of them was said."""
    until: datetime
    """When the last of them was said."""
    summaries: tuple[str, ...]
    """The ids of the summaries that it is made of, oldest first."""


def running_summary(view: View, max_tokens: int) -> RunningSummary | None:
    """Return what the summaries of the view's room say together in at most so many tokens; None when there are none.

    The newest are there in whole, as far as they fit; of each older one only the line that says most, and of these the
    weightiest.
    """
    summaries = read_summaries(view.engine, view.scope, limit=_MOST_SUMMARIES, known_at=view.known_at)
    if not summaries:
        return None
    count = sum(summary.data["count"] for summary in summaries)
    since = min(to_utc(summary.data["from"], "from") for summary in summaries)
    until = max(to_utc(summary.data["to"], "to") for summary in summaries)
    head = heading(count, since, until)
    used, texts = _within(view.engine, summaries, max_tokens - default_counter().count(head))
    return RunningSummary(text="\n".join([head, *texts]), count=count, since=since, until=until, summaries=used)


def departed(view: View) -> list[Record]:
    """Return the view's own messages that left its room into summaries of several people, which the view does not see.

    They are read as they last were, oldest first; of many, the latest.
    """
    room = view.scope.room
    if room is None or (view.scope.user is None and view.scope.agent is None):
        return []
    room_scope = Scope(tenant=view.scope.tenant, room=room)
    summaries = read_summaries(view.engine, room_scope, limit=_NEWEST, known_at=view.known_at)
    unseen = [summary for summary in summaries if not view.scope.contains(summary.scope)]
    left = [id for summary in unseen for id in summary.data["sources"] if id not in set(summary.data.get("kept", ()))]
    records: list[Record] = []
    for id in reversed(left[-_MOST_DEPARTED:]):
        versions = view.engine.store.history(view.scope, id)
        if view.known_at is not None:
            versions = [version for version in versions if version.recorded_at <= view.known_at]
        records += [version for version in versions[-1:] if version.kind == "message"]
    return sorted(records, key=lambda record: record.at)


def digest(engine: Engine, records: Sequence[Record], max_tokens: int) -> str:
    """Return what messages say in at most so many tokens, in whole sentences, below how many they are and from when."""
    head = heading(len(records), records[0].at, records[-1].at)
    counter, turns = default_counter(), turns_of(records)
    left = max_tokens - counter.count(head)
    chosen = choose(turns, max_tokens=max(left, 0), counter=counter, analyzer=engine.analyzer)
    lines = [f"{line.speaker}: {line.text}" for line in join_by_turn(turns, chosen)]
    text = _fitting(lines, left)
    return f"{head}\n{text}" if text else ""


def summarised_message_ids(view: View) -> set[str]:
    """Return the ids of messages that a window skips, because summaries that this view sees cover them."""
    room = view.scope.room
    if room is None or not RoomSummaries(view.engine, view.scope.tenant, room).known:
        return set()
    return summarised_ids(read_summaries(view.engine, view.scope, limit=_NEWEST, known_at=view.known_at))


def _within(engine: Engine, summaries: Sequence[Record], most: int) -> tuple[tuple[str, ...], list[str]]:
    """Return the ids and texts of summaries that fit: the newest whole, of the older ones a line each."""
    counter = default_counter()
    costs = [counter.count(summary_body(summary)) + 1 for summary in summaries]
    texts: dict[int, str] = {}
    left = room = most
    if sum(costs) > most and len(summaries) > 1:
        room = int(most * _WHOLE)
    for place in range(len(summaries) - 1, -1, -1):
        text = summary_body(summaries[place])
        if costs[place] > room:
            text = "" if texts else _fitting(shortened(engine, summaries[place], room), room)
        if not text:
            break
        cost = counter.count(text) + 1
        room, left, texts[place] = room - cost, left - cost, text
        if cost < costs[place]:
            break
    older = [place for place in range(len(summaries)) if place not in texts]
    for place in sorted(older, key=lambda place: (-summaries[place].data.get("worth", 0.0), -place)):
        gist = str(summaries[place].data.get("gist", ""))
        cost = counter.count(gist) + 1
        if gist and cost <= left:
            left, texts[place] = left - cost, gist
    return tuple(summaries[place].id for place in sorted(texts)), [texts[place] for place in sorted(texts)]


def _fitting(lines: Sequence[str], most: int) -> str:
    """Return as many lines as fit, the first ones."""
    counter, fitting = default_counter(), list[str]()
    for line in lines:
        most -= counter.count(line) + 1
        if most < 0:
            break
        fitting.append(line)
    return "\n".join(fitting)
