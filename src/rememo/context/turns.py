"""The newest turns of a conversation that fit a number of tokens: whole, without a hole, rules of the house always there."""

from collections.abc import Callable
from dataclasses import replace

from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.filters import Condition, Filter
from rememo.model.record import Record
from rememo.model.timeline import Timeline
from rememo.summary.running_summary import departed, digest, running_summary, summarised_message_ids
from rememo.summary.stored import read_summaries
from rememo.text.fence import fenced
from rememo.text.tokens import TokenCounter, cut_to, message_tokens
from rememo.text.windows import newest_that_fit, orphans, units

_FIRST_PAGE, _FARTHEST = 32, 16_384
_MANY_NEW = 500
_RULES = "system messages"
_SUMMARY = 0.25
"""What of a window a summary of the past may take from the turns."""
_MOST_TRIES = 4
"""How often a summary is made shorter, where counters differ, before it is left out."""


def summarised_window(view: View, counter: TokenCounter, most: int) -> list[Record]:
    """Return the newest messages that fit, behind a summary of what is not shown any more, where the view sees one.

    The summary is a record of kind `summary` with the role of a system message and its text in a fence. It stands after
    the system messages, takes a quarter of the tokens at the most, or what the turns leave, and nothing that the newest
    turn needs.
    """
    turns = newest_turns(view, counter, most)
    unused = most - sum(message_tokens(counter, turn.text, turn.data) for turn in turns)
    summary = _summary_message(view, counter, max(int(most * _SUMMARY), unused))
    if summary is None:
        return turns
    remaining = most - message_tokens(counter, summary.text, summary.data)
    try:
        fewer = newest_turns(view, counter, remaining)
    except InvalidInput:
        return turns
    if turns and (not fewer or fewer[-1].text != turns[-1].text):
        return turns
    index = next((index for index, turn in enumerate(fewer) if turn.data.get("role") != "system"), len(fewer))
    return [*fewer[:index], summary, *fewer[index:]]


def _summary_message(view: View, counter: TokenCounter, most: int) -> Record | None:
    """Return what stands for messages of the view's room that are not shown, as a message of at most so many tokens."""
    if view.scope.room is None:
        return None
    newest = read_summaries(view.engine, view.scope, limit=1, known_at=view.known_at)
    former = departed(view)
    if not newest and not former:
        return None
    # Where no summary is seen, the last of the messages stands for when and where they were said.
    summary = replace(newest[0] if newest else former[-1], kind="summary", data={"role": "system"})
    allowed = most - message_tokens(counter, fenced(""), summary.data)
    for _ in range(_MOST_TRIES):
        share = allowed // 2 if newest and former else allowed
        if share <= 0:
            break
        texts = [digest(view.engine, former, share)] if former else []
        # The line that says how much there was stands for nothing by itself.
        if newest and (running := running_summary(view, share)) is not None and running.summaries:
            texts.insert(0, running.text)
        if not any(texts):
            break
        text = fenced("\n".join(filter(None, texts)))
        if (cost := message_tokens(counter, text, summary.data)) <= most:
            return replace(summary, text=text)
        # Counters differ, and sentences leave whole.
        allowed -= max(cost - most, allowed // 8)
    return None


def newest_turns(
    view: View,
    counter: TokenCounter,
    most: int,
    *,
    answer: int | None = None,
    older: int | None = None,
    overhead: int = 0,
    must: bool = True,
    rules: bool = True,
) -> list[Record]:
    """Return the newest messages that fit, oldest first, with every system message of the view.

    A tool call and its results stand together or not at all; a result whose call is gone is left out. When the newest
    turn alone does not fit, its longest text is cut at the end and marked; `InvalidInput` when even that does not help,
    or when the system messages alone are too many. What a summary that the view sees stands for is passed over.

    A newest turn that is not a user's may cost `answer`, all but the newest together `older`, where these are given.
    `beside` is what a message costs on top; without `must`, a newest turn that cannot be cut is left out; without
    `rules`, system messages are. Only what is looked at is counted.
    """
    always = system_messages(view) if rules else []
    remaining = most - sum(message_tokens(counter, message.text, message.data) for message in always)
    if remaining < 0:
        raise InvalidInput(f"the system messages alone have {most - remaining:,} tokens, more than max_tokens={most:,}")
    size = _FIRST_PAGE
    stood = summarised_message_ids(view)
    while True:
        page = view.engine.store.read(view.filter(kind="message"), view.engine.now(), limit=size)
        records = [record for record in page if record.id not in stood]
        # Where summaries stand for all but the newest quarter of a page, there is nothing else farther back.
        summarised = bool(stood) and stood.issuperset(record.id for record in page[: -(size // 4)])
        data = [record.data for record in records]
        alone = orphans(data)
        grouped = [
            group for group in units(data) if group[0] not in alone and data[group[0]].get("role") != "system"
        ]  # fmt: skip
        cost = _message_costs(records, counter, overhead)
        last = max((group[-1] for group in grouped), default=None)
        is_user_turn = last is None or data[last].get("role", "user") == "user"
        first = remaining if answer is None or is_user_turn else min(remaining, answer)
        selected, _ = newest_that_fit(grouped, cost, remaining, newest=first, older=older)
        is_complete = len(selected) == sum(len(group) for group in grouped)
        # A result at the edge may have its call a little farther back.
        cut_off = is_complete or any(index >= min(selected, default=0) for index in alone)
        if len(page) < size or size >= _FARTHEST or summarised or not cut_off:
            break
        size *= 4
    if not selected and grouped:
        newest = max(grouped, key=lambda group: group[-1])
        longest = max(newest, key=cost)
        other_costs = sum(cost(index) for index in newest if index != longest)
        shorter = _cut_record(counter, records[longest], first - other_costs - overhead)
        if shorter is None and must:
            raise InvalidInput("the newest message does not fit into max_tokens, not even cut; allow more")
        if shorter is not None:
            records[longest] = shorter
            selected = set(newest)
    present = {record.id for record in records}
    window = [
        record
        for index, record in enumerate(records)
        if index in selected or (rules and data[index].get("role") == "system")
    ]
    return [message for message in always if message.id not in present] + window


def system_messages(view: View) -> list[Record]:
    """Return the system messages of a view, oldest first.

    They are looked for once; from then on only what is new in the conversation is looked through.
    """
    store, now = view.engine.store, view.engine.now()
    role = Condition("data", ("role",), "$eq", "system")
    if view.known_at is not None:
        return store.read(view.filter(kind="message", conditions=(role,)), now)
    timeline = store.timeline(Filter(scope=view.scope), now)
    ids: tuple[str, ...] | None = timeline.cache.get(_RULES)
    if ids is None:
        ids = _room_rules(view, timeline)
        if ids is None:
            ids = tuple(message.id for message in store.read(view.filter(kind="message", conditions=(role,)), now))
        timeline.cache[_RULES] = ids
    return store.read(view.filter(ids=ids), now) if ids else []


def _room_rules(view: View, timeline: Timeline) -> tuple[str, ...] | None:
    """Return the ids of system messages by what was known of the timeline before it grew; None when nothing was."""
    before = timeline.grown_from
    cached: tuple[str, ...] | None = None if before is None else before.cache.get(_RULES)
    if before is None or cached is None or len(timeline.numbers) - len(before.numbers) > _MANY_NEW:
        return None
    new = view.engine.store.fetch(view.scope, timeline.numbers[len(before.numbers) :].tolist())
    new_ids = [record.id for record in new.values() if record.kind == "message" and record.data.get("role") == "system"]
    return (*cached, *new_ids)


def _message_costs(records: list[Record], counter: TokenCounter, overhead: int) -> Callable[[int], int]:
    """Return what tells the cost of a message by its place, each counted when first asked for."""
    costs: dict[int, int] = {}

    def cost(index: int) -> int:
        if index not in costs:
            costs[index] = overhead + message_tokens(counter, records[index].text, records[index].data)
        return costs[index]

    return cost


def _cut_record(counter: TokenCounter, record: Record, most: int) -> Record | None:
    """Return a record whose text is short enough for the message to cost at most so much; None when none is."""
    bare = message_tokens(counter, "", record.data)
    text = cut_to(counter, record.text, most - bare)
    return replace(record, text=text) if text else None
