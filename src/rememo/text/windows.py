"""Windows: which messages belong together, and which of them fit a token limit. Pure: positions in, positions out.

A tool call and its results are one unit: they are shown together, and leave together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast


def call_ids(data: Mapping[str, Any]) -> list[str]:
    """Return the ids of the tool calls that a message makes."""
    calls = cast("list[Any]", data.get("tool_calls") or [])
    ids = [cast("Mapping[str, Any]", call).get("id") for call in calls if isinstance(call, Mapping)]
    return [id for id in ids if isinstance(id, str)]


def units(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, ...]]:
    """Return the positions of messages (their data, oldest first) that belong together, by their first position.

    A result belongs to the nearest call of its id before it; one whose call is not there stands alone.
    """
    groups: list[list[int]] = []
    calls: dict[str, list[int]] = {}
    for place, data in enumerate(messages):
        answered = data.get("tool_call_id")
        if isinstance(answered, str) and answered in calls:
            calls[answered].append(place)
            continue
        group = [place]
        groups.append(group)
        for id in call_ids(data):
            calls[id] = group
    return [tuple(group) for group in groups]


def orphans(messages: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the positions of tool results whose call is not among the messages."""
    called: set[str] = set()
    orphaned: set[int] = set()
    for place, data in enumerate(messages):
        called.update(call_ids(data))
        answered = data.get("tool_call_id")
        if isinstance(answered, str) and answered not in called:
            orphaned.add(place)
    return orphaned


def newest_that_fit(
    grouped: Sequence[Sequence[int]],
    cost: Callable[[int], int],
    most: int,
    *,
    newest: int | None = None,
    older: int | None = None,
) -> tuple[set[int], int]:
    """Return the positions of the newest whole units that fit, without a hole between them, and what they cost.

    A unit is as new as its newest message. The first that does not fit ends the window. The newest unit may cost
    `newest` at most, and all others together `older`, where these are given. Of the rest nothing is counted.
    """
    chosen: set[int] = set()
    spent = beside = 0
    for number, group in enumerate(sorted(grouped, key=lambda group: group[-1], reverse=True)):
        price = sum(cost(place) for place in group)
        if number == 0:
            fits = newest is None or price <= newest
        else:
            beside += price
            fits = older is None or beside <= older
        if not fits or spent + price > most:
            break
        spent += price
        chosen.update(group)
    return chosen, spent
