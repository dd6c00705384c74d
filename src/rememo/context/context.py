"""Context: what a model is shown for a question, the best of a memory within a budget of tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from rememo.context.chat import chat_messages
from rememo.context.excerpt import GAP
from rememo.context.gather import item_of, plans, profile, recall_view
from rememo.context.item import Context, ContextItem, Recall
from rememo.context.packing import Packing
from rememo.context.rendering import HEADINGS, PackedItem, day_heading, format_item, render
from rememo.context.revision_filter import drop_revised, is_about_past
from rememo.context.template import Template
from rememo.context.turns import newest_turns, system_messages
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.check import check_limit, check_text, check_unit
from rememo.model.record import Record
from rememo.model.times import to_utc
from rememo.recall.relevance import FLOOR
from rememo.text.fence import fenced, without_recalled
from rememo.text.tokens import (
    MESSAGE_TOKENS,
    MOST_TOKENS,
    TokenCounter,
    chat_tokens,
    check_counter,
    count,
    message_tokens,
)
from rememo.text.windows import units

_RECENT, _ANSWER = 0.25, 0.35
"""The largest shares of the latest turns: of all but the newest, and of a newest that is an answer. A question may take all."""
_MAX_NEIGHBOURS: Final = 10
"""What a turn costs as a line beside what it costs as a message: its mark, its speaker, now and then a day."""
_MOST_PLANS: Final = 8
_WORTHWHILE: Final = 0.1
"""What must be left over for more turns to be looked for."""
_FIXED_PARTS: Final = {"system prompt": "prompt", "template": "template"}
_RECALLED: Final = tuple(part for part in HEADINGS if part != "recent")


def context(
    view: View,
    query: str,
    *,
    max_tokens: int,
    recall: Recall = "user",
    user: str | None = None,
    system: str | None = None,
    template: str | None = None,
    counter: TokenCounter | None = None,
    at: datetime | None = None,
    threshold: float = FLOOR,
    ids: bool = False,
) -> Context:
    """Return what a model should be shown for a question; `Memory.context` says what the arguments mean."""
    most_bytes = view.engine.settings.max_text_bytes
    check_text(query, "query", max_bytes=most_bytes)
    most, chosen = check_limit(max_tokens, "max_tokens", maximum=MOST_TOKENS), check_counter(counter)
    prompt = None if system is None else check_text(system, "system", max_bytes=most_bytes)
    shape = None if template is None else Template.parse(template)
    asked_at = view.engine.now() if at is None else to_utc(at, "at")
    if view.known_at is not None:
        asked_at = min(asked_at, view.known_at)
    wide = recall_view(view, recall, user=user)
    wide.wait_for_extraction()

    writer = _ContextWriter(
        counter=chosen,
        most=most,
        prompt=prompt,
        template=shape,
        now=asked_at,
        ids=ids,
        query=query,
        past=is_about_past(query, asked_at),
    )
    rules = [message for message in system_messages(view) if without_recalled(message.text).strip()]
    budget = most - writer.frame() - sum(message_tokens(chosen, rule.text, rule.data) for rule in rules)
    if budget < 0:
        raise InvalidInput(
            f"the system messages of this conversation leave no room: with the frame they have {most - budget:,} tokens,"
            f" more than max_tokens={most:,}"
        )
    turns = writer.turns(view, budget, older=int(_RECENT * budget), answer=int(_ANSWER * budget))
    spent = writer.cost_of(turns)
    packing = Packing(wide, chosen, budget=budget - spent, whole=budget, now=asked_at, mark=writer.mark)
    packing.add_turns(turns)
    packing.add_profile_and_plans(profile(view.narrow(view.scope.narrow(user=user))), plans(wide, limit=_MOST_PLANS))
    least = check_unit(threshold, "threshold")
    packing.add_answers(query, asked_at, threshold=least, past=writer.past, leave_out=[turn.id for turn in turns])
    turns = writer.without_revised(view, turns, packing.outdated)
    if turns and packing.remaining > _WORTHWHILE * budget:
        newest = [turns[index] for index in _newest_unit(turns)]
        older = [turn for turn in turns if turn not in newest]
        parts = {
            "older": _turns_cost(chosen, older) + packing.remaining,
            "answer": _turns_cost(chosen, newest) + packing.remaining,
        }
        more = writer.without_revised(view, writer.turns(view, budget, **parts), packing.outdated)
        if more and writer.cost_of(more) <= spent + packing.remaining:
            turns = more
            packing.swap_in_turns(turns)
    return writer.fit(packing, rules, turns)


def _turns_cost(counter: TokenCounter, turns: Sequence[Record]) -> int:
    return sum(message_tokens(counter, turn.text, turn.data) + _MAX_NEIGHBOURS for turn in turns)


def _newest_unit(turns: Sequence[Record]) -> tuple[int, ...]:
    return max(units([turn.data for turn in turns]), key=lambda unit: unit[-1], default=())


def _drop_oldest(turns: Sequence[Record]) -> list[Record]:
    """Return turns without the oldest; of the last one, half of its longest text; none where that saves nothing."""
    groups = units([turn.data for turn in turns])
    if len(groups) > 1:
        return [turn for index, turn in enumerate(turns) if index not in groups[0]]
    longest = max(turns, key=lambda turn: len(turn.text))
    half = longest.text[: len(longest.text) // 2].rstrip(f" {GAP}")
    shorter = f"{half} {GAP}"
    if not half or len(shorter) >= len(longest.text):
        return []
    return [replace(turn, text=shorter) if turn is longest else turn for turn in turns]


@dataclass(slots=True, kw_only=True)
class _ContextWriter:
    """Writes what was chosen, in both shapes, and takes away until both fit."""

    counter: TokenCounter
    most: int
    prompt: str | None
    template: Template | None
    now: datetime
    ids: bool
    query: str
    past: bool
    """The question is about what held before: what was revised since is shown too."""

    def mark(self, item: ContextItem, number: int = 99) -> str:
        """Return what stands before an item."""
        if item.record is None:
            return ""
        return f"[{item.id}]" if self.ids else f"[{number}]"

    def frame(self) -> int:
        """Return what an empty context costs; a budget that is smaller is refused."""
        prompt_tokens = 0 if self.prompt is None else MESSAGE_TOKENS + count(self.counter, self.prompt)
        if prompt_tokens > self.most:
            raise InvalidInput(
                f"the system prompt alone has {prompt_tokens:,} tokens, more than max_tokens={self.most:,}"
            )
        empty = fenced(self._fence_content([], _RECALLED))
        frame = max(count(self.counter, empty), self._chat([self._system(empty)]))
        if frame > self.most:
            with_it = [name for name in ("system prompt", "template") if getattr(self, _FIXED_PARTS[name]) is not None]
            what = " and ".join(f"the {name}" for name in (*with_it, "fence around recalled text"))
            raise InvalidInput(
                f"{frame:,} tokens are needed for {what} before anything is recalled, but max_tokens={self.most:,}; allow"
                " several hundred more"
            )
        return frame

    def turns(self, view: View, budget: int, *, older: int, answer: int) -> list[Record]:
        """Return the latest turns that fit, the newest of them cut if need be."""
        heads = (HEADINGS["recent"], day_heading(self.now, self.now))
        most = budget - sum(count(self.counter, heading) + 1 for heading in heads)
        if most <= 0:
            return []
        newest = newest_turns(
            view, self.counter, most, answer=answer, older=older, overhead=_MAX_NEIGHBOURS, must=False, rules=False
        )
        return self.without_revised(view, [turn for turn in newest if turn.data.get("role") != "system"])

    def without_revised(self, view: View, turns: list[Record], outdated: frozenset[str] = frozenset()) -> list[Record]:
        """Return turns without what was revised since, unless the question is about the past; the newest stay."""
        if self.past or not turns:
            return turns
        newest = {turns[index].id for index in _newest_unit(turns)}
        return drop_revised(view, turns, self.now, query=self.query, outdated=outdated - newest)

    def cost_of(self, turns: Sequence[Record]) -> int:
        """Return what turns cost, in the shape in which they cost more beside its frame."""
        as_lines = [f"{self.mark(packed_item.item)} {packed_item.text}" for packed_item in self._recent(turns)]
        as_lines += sorted({day_heading(turn.at, self.now) for turn in turns})
        lines = sum(count(self.counter, text) + 1 for text in (*as_lines, HEADINGS["recent"])) if turns else 0
        chat = sum(message_tokens(self.counter, turn.text, turn.data) for turn in turns)
        prompt_tokens = MESSAGE_TOKENS + (0 if self.prompt is None else count(self.counter, self.prompt))
        return max(0, lines - prompt_tokens, chat)

    def _recent(self, turns: Sequence[Record]) -> list[PackedItem]:
        """Return the turns that are shown as lines: not what tools answered, and not what says nothing."""
        items = [item_of(turn) for turn in turns if not turn.data.get("tool_call_id")]
        return [
            PackedItem(part="recent", item=item, text=format_item(item, self.now), content=item.text, worth=0.0)
            for item in items
            if item.text.strip()
        ]

    def fit(self, packing: Packing, rules: Sequence[Record], turns: Sequence[Record]) -> Context:
        """Return the context; while it costs too much, what is worth least is taken away."""
        packed, kept_turns, dropped = list(packing.packed), list(turns), list[ContextItem]()
        while True:
            written = self._write(packed, rules, kept_turns)
            if written.tokens <= self.most:
                break
            if packed:
                packed.sort(key=lambda item: item.worth)
                # Where counts do not add up, in proportion: so many as were too much for the budget.
                spent = sum(item.cost for item in packed)
                too_much = spent - spent * self.most / written.tokens
                while packed and too_much >= 0:
                    least = packed.pop(0)
                    too_much -= max(1, least.cost)
                    dropped.append(least.item)
            elif kept_turns:
                remaining = _drop_oldest(kept_turns)
                remaining_ids = {turn.id for turn in remaining}
                dropped += [item_of(turn) for turn in kept_turns if turn.id not in remaining_ids]
                kept_turns = remaining
            else:
                raise InvalidInput(
                    f"even an empty context has {written.tokens:,} tokens by this counter, more than"
                    f" max_tokens={self.most:,}"
                )
        return Context(
            text=written.text,
            messages=written.messages,
            records=written.records,
            tokens=written.tokens,
            left_out=(*reversed(dropped), *packing.left_out),
        )

    def _write(self, packed: Sequence[PackedItem], rules: Sequence[Record], turns: Sequence[Record]) -> Context:
        ordered = _order_items(packed) + self._recent(turns)
        marked = [packed_item for packed_item in ordered if packed_item.item.record is not None]
        for number, packed_item in enumerate(marked, 1):
            packed_item.mark = self.mark(packed_item.item, number)
        records = {
            packed_item.item.id: packed_item.item.record
            for packed_item in marked
            if packed_item.item.record is not None
        }
        records |= {turn.id: turn for turn in turns if turn.id not in records}
        text = fenced(self._fence_content(ordered, tuple(HEADINGS))) if ordered else ""
        recalled = any(packed_item.part != "recent" for packed_item in ordered)
        head = fenced(self._fence_content(ordered, _RECALLED)) if recalled else ""
        messages = [self._system(head)] if head or self.prompt is not None else []
        messages += chat_messages([turn for record in (*rules, *turns) if (turn := _chat_turn(record)) is not None])
        tokens = max(count(self.counter, text), self._chat(messages))
        return Context(text=text, messages=messages, records=tuple(records.values()), tokens=tokens)

    def _fence_content(self, ordered: Sequence[PackedItem], parts: Sequence[str]) -> str:
        if self.template is None:
            return render(ordered, self.now, parts=parts)
        return self.template.render(ordered, self.now, parts=parts, query=self.query)

    def _system(self, head: str) -> dict[str, Any]:
        return {"role": "system", "content": "\n\n".join(text for text in (self.prompt, head) if text)}

    def _chat(self, messages: Sequence[Mapping[str, Any]]) -> int:
        return chat_tokens(self.counter, messages)


def _order_items(packed: Sequence[PackedItem]) -> list[PackedItem]:
    """Return what was chosen in the order of parts; passages as they were said, the rest best first."""
    by_part: dict[str, list[PackedItem]] = {part: [] for part in _RECALLED}
    for packed_item in packed:
        by_part[packed_item.part].append(packed_item)
    for part, part_items in by_part.items():
        if part == "passages":
            part_items.sort(
                key=lambda packed_item: (packed_item.item.at is not None, packed_item.item.at, packed_item.item.id)
            )
        elif part == "facts":
            part_items.sort(key=lambda packed_item: -packed_item.worth)
    return [packed_item for part_items in by_part.values() for packed_item in part_items]


def _chat_turn(record: Record) -> tuple[str, str, Mapping[str, Any]] | None:
    """Return a message for the chat shape, without what was recalled before; None when nothing is left."""
    text = without_recalled(record.text)
    if not text.strip() and not (record.data.get("tool_calls") or record.data.get("images")) and record.text.strip():
        return None
    return str(record.data.get("role", "user")), text, record.data
