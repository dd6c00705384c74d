"""Packing: which of what was found is shown, in what length, within a number of tokens."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from rememo.context.excerpt import excerpt, term_weights
from rememo.context.gather import (
    PASSAGES,
    chunk_location,
    fact_items,
    facts,
    find_hits,
    hit_items,
    item_of,
    relationships,
    relevant_hits,
)
from rememo.context.item import ContextItem
from rememo.context.rendering import DATED, HEADINGS, PackedItem, day_heading, format_item
from rememo.engine.view import View
from rememo.learn.statements import folded
from rememo.model.record import Record
from rememo.text.tokens import TokenCounter, count, cut_to

PROFILE, PLANS, FACTS, ASIDE = 0.05, 0.1, 0.1, 0.05
"""The largest shares of the budget: the profile, plans, facts that answer, and facts that only are the user's."""
_WHOLE, _WHOLE_SHARE = 150, 20
"""Tokens up to which a passage is quoted whole: so many, or that part of the budget where it is large."""
_EXCERPT, _EXCERPT_SHARE = 80, 40
"""The same for what is quoted of a longer one."""
_LARGEST: Final = 4
"""No passage takes more than this part of the budget."""
_HIT_TOKENS, _FEWEST_HITS, _MOST_HITS = 20, 20, 200
_WEIGHED: Final = 60
_MISSES, _FEW_MISSES = 8, 2
"""Passages in a row that do not fit, after which no smaller one is looked for; and short items."""
_SMALLEST: Final = 12
_ALIKE: Final = 0.6
"""A passage says nothing new if another has all its terms, and not many more."""
_NAMED: Final = 0.3


class Packing:
    """Fills a budget, part by part; what is better comes first, and what says nothing new is folded."""

    def __init__(
        self,
        view: View,
        counter: TokenCounter,
        *,
        budget: int,
        whole: int,
        now: datetime,
        mark: Callable[[ContextItem], str],
    ) -> None:
        """Fill `budget` tokens; shares are of `whole`. `mark` tells what will stand before an item, or as much."""
        self.remaining = budget
        self.packed: list[PackedItem] = []
        self.left_out: list[ContextItem] = []
        self.outdated: frozenset[str] = frozenset()
        """The records that something later revised, as far as the question shows."""
        self._view, self._counter, self._whole, self._now, self._mark = view, counter, whole, now, mark
        self._headings: set[object] = set()
        self._remembered: dict[str, list[tuple[frozenset[str], str | None]]] = {}
        self._titles: dict[str, str] = {}

    # ---- parts

    def add_turns(self, records: Iterable[Record]) -> None:
        """Take the latest turns into account: they are shown anyway, so what says the same is folded."""
        for record in records:
            item = item_of(record)
            self._remember(self._terms(item.text), item.speaker)

    def add_profile_and_plans(self, profile: ContextItem | None, plans: Sequence[ContextItem]) -> None:
        """Show the profile and the open plans, within their shares."""
        if profile is not None:
            most = min(self.remaining, int(PROFILE * self._whole)) - count(self._counter, HEADINGS["profile"]) - 2
            text = (
                profile.text
                if count(self._counter, profile.text) <= most
                else cut_to(self._counter, profile.text, most)
            )
            if text:
                self._add("profile", profile, text, worth=3.0)
        self._fill("plans", plans, PLANS, lambda _: 2.0)

    def add_answers(
        self, query: str, at: datetime, *, threshold: float, past: bool = False, leave_out: Iterable[str] = ()
    ) -> None:
        """Show facts and passages: what answers the question, best first, then what is known of the user.

        What something later revised is left out, unless the question is about the `past`.
        """
        limit = max(_FEWEST_HITS, min(_MOST_HITS, self.remaining // _HIT_TOKENS))
        hidden, kinds = frozenset(leave_out), (*PASSAGES, "fact")
        most = limit + min(len(hidden), limit)
        all_hits = find_hits(self._view, query, limit=most, at=at, kinds=kinds)
        if not past:
            superseded = [hit for hit in all_hits if hit.status == "superseded"]
            self.outdated = frozenset(
                id for hit in superseded for id in (hit.id, *(source.id for source in hit.sources))
            )
        hits = hit_items(self._view, relevant_hits(all_hits, threshold), at, past=past, leave_out=hidden)[:limit]
        about = self._facts(query, [hit for hit in hits if hit.kind == "fact"])
        self._passages(query, [hit for hit in hits if hit.kind != "fact"])
        # Where nothing is relevant, what else is known is not either; without a question all of it may be.
        if hits or threshold <= 0 or not query.strip():
            self._fill("facts", about, ASIDE, lambda _: 0.0)

    def swap_in_turns(self, records: Iterable[Record]) -> None:
        """Free the tokens of passages that are shown as turns now."""
        ids = {record.id for record in records}
        for passage in [packed for packed in self.packed if packed.part == "passages" and packed.item.id in ids]:
            self.packed.remove(passage)
            self.remaining += passage.cost
        self.left_out = [item for item in self.left_out if item.id not in ids]

    # ---- facts

    def _facts(self, query: str, hits: Sequence[ContextItem]) -> list[ContextItem]:
        """Show the facts that answer; return those that are only the user's, and relationships no fact tells."""
        scores = {hit.id: hit.score for hit in hits}
        user_name = folded(self._view.scope.user or "user")
        current_facts = facts(self._view, query, at=self._now)
        records = [hit.record for hit in hits if hit.record is not None]
        records += [item.record for item in current_facts if item.record is not None]
        answering: list[ContextItem] = []
        aside: list[ContextItem] = []
        recorded_ends: set[tuple[str, str]] = set()
        for item in fact_items(records, self._now):
            if self._is_outdated(item.record):
                continue
            match = _match(item)
            recorded_ends.add((match["subject"], match["object"]))
            score = scores.get(item.id, 0.0 if match["subject"] == user_name else _NAMED)
            (answering if score else aside).append(replace(item, score=score))
        answering.sort(key=lambda item: -item.score)
        self._fill("facts", answering, FACTS, lambda item: 1.0 + item.score)
        return aside + [item for item in relationships(self._view, query) if _ends(item) not in recorded_ends]

    def _is_outdated(self, record: Record | None) -> bool:
        """Return whether all sources of a fact were revised, as far as the question shows."""
        sources: list[str] = [] if record is None else record.data.get("sources") or []
        return bool(sources) and self.outdated.issuperset(sources)

    # ---- passages

    def _passages(self, query: str, hits: Sequence[ContextItem]) -> None:
        largest = self._whole // _LARGEST
        longest_whole = min(largest, max(_WHOLE, self._whole // _WHOLE_SHARE))
        part = min(largest, max(_EXCERPT, self._whole // _EXCERPT_SHARE))
        terms = self._view.engine.analyzer.query(query[: self._view.engine.settings.max_query_chars])
        weights = term_weights(terms, [hit.text for hit in hits[:_WEIGHED]])
        misses = 0
        for index, hit in enumerate(hits):
            if misses >= _MISSES or self.remaining < _SMALLEST:
                self.left_out += hits[index:]
                break
            text = hit.text
            if count(self._counter, text) > longest_whole:
                text = excerpt(text, weights, part, counter=self._counter)
            terms_of_text = self._terms(text)
            if self._is_repeated(terms_of_text, hit.speaker):
                continue
            if text and self._add("passages", hit, text, worth=hit.score):
                self._remember(terms_of_text, hit.speaker)
                misses = 0
            else:
                self.left_out.append(hit)
                misses += 1

    def _terms(self, text: str) -> frozenset[str]:
        return frozenset(self._view.engine.analyzer.terms(text))

    def _remember(self, terms: frozenset[str], speaker: str | None) -> None:
        for term in terms:
            self._remembered.setdefault(term, []).append((terms, speaker))

    def _is_repeated(self, terms: frozenset[str], speaker: str | None) -> bool:
        """Whether something shown has every term of it and few others, in the same mouth."""
        if not terms:
            return False
        rare = max(terms, key=lambda term: (len(term), term))
        return any(
            terms <= remembered
            and len(terms) >= _ALIKE * len(remembered)
            and (who is None or speaker is None or who == speaker)
            for remembered, who in self._remembered.get(rare, ())
        )

    # ---- one item

    def _fill(
        self, part: str, items: Sequence[ContextItem], share: float, worth: Callable[[ContextItem], float]
    ) -> None:
        """Show items, best first, until their share is spent."""
        floor = self.remaining - int(share * self._whole)
        misses = 0
        for index, item in enumerate(items):
            if misses >= _FEW_MISSES:
                self.left_out += items[index:]
                break
            if not self._add(part, item, item.text, worth=worth(item), floor=floor):
                self.left_out.append(item)
                misses += 1

    def _add(self, part: str, item: ContextItem, text: str, *, worth: float, floor: int = 0) -> bool:
        """Show an item if what is left then is not below the floor."""
        rendered = format_item(item, self._now, text, title=chunk_location(self._view, item, self._titles))
        mark = self._mark(item)
        cost = count(self._counter, f"{mark} {rendered}") + 1
        needed: list[tuple[object, str]] = [(part, HEADINGS[part])]
        if part in DATED and item.at is not None:
            needed.append(((part, item.at.date()), day_heading(item.at, self._now)))
        new = [(key, heading) for key, heading in needed if key not in self._headings]
        cost += sum(count(self._counter, heading) + 1 for _, heading in new)
        if self.remaining - cost < max(0, floor):
            return False
        self._headings.update(key for key, _ in new)
        self.remaining -= cost
        self.packed.append(PackedItem(part=part, item=item, text=rendered, content=text, worth=worth, cost=cost))
        return True


def _match(item: ContextItem) -> dict[str, str]:
    """Return how whom or what an item is about is compared."""
    match: dict[str, str] = {} if item.record is None else item.record.data["match"]
    return match


def _ends(item: ContextItem) -> tuple[str, str]:
    match = _match(item)
    return match.get("entity", ""), match.get("target", "")
