"""Summaries: what stands for messages that are old, many, or gone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from rememo.collections.base import Collection
from rememo.collections.message import Message
from rememo.collections.records import Duration
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.model.check import check_label, check_limit, check_offset
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_seconds
from rememo.model.unset import UNSET, Unset
from rememo.summary.compression import Compression
from rememo.summary.extractive import Summariser
from rememo.summary.room_summaries import RoomSummaries, SummaryPolicy
from rememo.summary.running_summary import RunningSummary, running_summary
from rememo.summary.stored import MAX_TOKENS, is_stored_summary, use_summariser
from rememo.summary.summary import Compressed, Summary

_MOST_TOKENS = 100_000


class Summaries(Collection):
    """The summaries within a view, and the policy of the room that it is bound to.

    A summary carries the labels that all its messages share, so a view sees none of messages that it could not see.
    """

    kind = "summary"

    # ---- the policy

    def policy(self, policy: SummaryPolicy | Unset | None = UNSET) -> SummaryPolicy | None:
        """Return the policy of this room, or set it: for all users and agents, in every process and over restarts.

        From then on, when `threshold` messages have gathered that no summary stands for, all but the latest `keep` are
        summarised in a job of the message that was one too many. None ends the policy; summaries that are there stay.
        """
        room = self._room(None)
        if policy is UNSET:
            self._need_now("a policy")
            return room.policy
        self._view.need_present()
        self._view.need_no_batch("summaries.policy()")
        if policy is not None and not isinstance(policy, SummaryPolicy):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"policy must be a SummaryPolicy or None, not {type(policy).__name__}")
        room.set_policy(policy)
        return policy

    def use(self, summariser: Summariser | None) -> None:
        """Set the model that writes the summaries of this process, in all tenants; None returns to the extractive ones.

        It has a method `summarise(text, *, max_tokens)`. When it raises, or returns nothing, or three times as much as
        asked, the summary is made of sentences instead, and its `fallback` says why.
        """
        use_summariser(self._view.engine, summariser)

    # ---- the running summary

    def current(self, room: str | None = None, *, max_tokens: int = MAX_TOKENS) -> RunningSummary | None:
        """Return what the summaries of a room say together, oldest first; None when there are none.

        The newest are there in whole, as far as they fit. When all of them are too long, of each older one only the line
        that says most is there, and of these the weightiest that fit. The first line, which says how many messages they
        stand for, is always there.
        """
        most = check_limit(max_tokens, "max_tokens", maximum=_MOST_TOKENS)
        return running_summary(self._view.narrow(self._view.scope.narrow(room=self._name(room))), most)

    def update(self, room: str | None = None, *, keep: int | None = None) -> RunningSummary | None:
        """Summarise what was said in a room up to now, without waiting for a threshold, and return the running summary.

        The latest `keep` messages stay out of it: as many as the room's policy says, none without a policy. Like a
        policy, this is about all messages of the room, whoever the view is bound to; a summary of others' messages is not
        returned to it. A room without messages and summaries raises `NotFound`.
        """
        self._view.need_present()
        self._view.need_no_batch("summaries.update()")
        summaries = self._room(room)
        policy = summaries.policy
        options = (policy or SummaryPolicy()).options("update")
        if keep is None:
            keep = 0 if policy is None else policy.keep
        summaries.gather(options, keep=check_offset(keep, "keep"))
        current = self.current(room)
        if current is None and self._empty(self._name(room)):
            raise NotFound(f"there is no message in room {self._name(room)!r}; rooms() lists the rooms there are")
        return current

    # ---- reading

    def list(
        self,
        limit: int = 20,
        offset: int = 0,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
        known_at: datetime | None = None,
    ) -> "list[Summary]":
        """Return the latest `limit` summaries, oldest first by the last message they stand for.

        `after` is included, `before` is not.
        """
        filter = self._filter(after=after, before=before, known_at=known_at)
        return [Summary(record) for record in self._read(filter, limit, offset) if is_stored_summary(record)]

    def get(self, id: str, *, known_at: datetime | None = None) -> Summary:
        """Return a summary; one that is not in this scope raises `NotFound`."""
        record = self._record(id, known_at=known_at)
        if not is_stored_summary(record):
            raise NotFound(f"record {id!r} is no summary that was made here, but a plain record; use memory.get()")
        return Summary(record)

    def sources(self, id: str) -> "list[Message]":
        """Return the messages that a summary stands for, oldest first; those that left as they last were."""
        engine, scope = self._view.engine, self._view.scope
        records: list[Record] = []
        for source in self.get(id).sources:
            versions = engine.store.history(scope, source)
            if self._view.known_at is not None:
                versions = [version for version in versions if version.recorded_at <= self._view.known_at]
            records += versions[-1:]
        return [Message(record) for record in sorted(records, key=lambda record: record.at)]

    # ---- compressing

    def compress(
        self, *, older_than: Duration = "7d", room: str | None = None, max_tokens: int = MAX_TOKENS
    ) -> Compressed:
        """Replace messages older than that by summaries, room by room; returns how many, from when to when.

        A summary and the end of its messages (100 at the most) are one transaction, so a large room is not held up.
        Pinned and system messages stay, a tool call stays or leaves with its results, and what was learned stays. Without a
        room, all rooms of the view are done. Nothing old enough is no error: the count is 0. Interrupted, it is begun
        again.
        """
        self._view.need_present()
        self._view.need_no_batch("summaries.compress()")
        most = check_limit(max_tokens, "max_tokens", maximum=_MOST_TOKENS)
        engine = self._view.engine
        span = timedelta(seconds=to_seconds(older_than, "older_than"))
        filter = Filter(scope=self._view.scope, kinds=("message",), before=engine.now() - span)
        if room is None and self._view.scope.room is None:
            names: Sequence[str | None] = [*engine.store.labels(filter, "room", engine.now()), None]
        else:
            names = [self._name(room)]
        total = Compressed()
        for name in names:
            scope = self._view.scope.narrow(room=name)
            receipts, removed = Compression(engine, filter.narrowed(scope=scope), name, most).run()
            if removed:
                times = [record.at for record in removed]
                summary_ids = [
                    id for receipt in receipts for id, outcome in receipt.outcomes.items() if outcome == "added"
                ]
                total = replace(
                    total,
                    count=total.count + len(removed),
                    rooms=total.rooms if name is None else (*total.rooms, name),
                    since=min([*times, *([total.since] if total.since else [])]),
                    until=max([*times, *([total.until] if total.until else [])]),
                    summaries=(*total.summaries, *summary_ids),
                    receipts=(*total.receipts, *receipts),
                )
        return total

    # ---- inside

    def _name(self, room: str | None) -> str:
        """Return the room: the one given, else the view's."""
        bound = self._view.scope.room
        if room is not None:
            return self._view.scope.narrow(room=check_label(room, "room")).room or room
        if bound is None:
            raise InvalidInput(
                "summaries belong to a room; name one, or bind one first: memory.scope(room=…).summaries"
            )
        return bound

    def _room(self, room: str | None) -> RoomSummaries:
        return RoomSummaries(self._view.engine, self._view.scope.tenant, self._name(room))

    def _empty(self, room: str) -> bool:
        # The whole room's, as what was just summarised: one who was silent in it did not ask for a room that is not there.
        filter = Filter(scope=Scope(tenant=self._view.scope.tenant, room=room), kinds=("message",))
        return self._view.engine.store.count(filter, self._view.engine.now()) == 0

    def _need_now(self, what: str) -> None:
        if self._view.known_at is not None:
            raise ReadOnly(f"{what} has no past; ask the memory that this view came from")
