"""Messages: conversations, turn by turn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rememo.collections.base import Collection, ExternalId, check_external_id, check_not_blank, naming_external_id
from rememo.collections.limits import Evict, MessageLimits, RoomLimits
from rememo.collections.message import Message
from rememo.collections.pruning import enforce_limits
from rememo.collections.turn import Image, check_roles, check_turn, model_input, more_data, turn_data
from rememo.context.turns import summarised_window
from rememo.engine.view import View
from rememo.errors import InvalidInput, NotFound
from rememo.model.check import check_flag, check_label, check_limit
from rememo.model.filters import Filter
from rememo.model.ids import new_id
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.spelling import usual_spellings
from rememo.model.times import to_utc, to_utc_or_none
from rememo.summary.room_summaries import RoomSummaries
from rememo.text.tokens import MOST_TOKENS, TokenCounter, check_counter


@usual_spellings
class Messages(Collection):
    """The messages within a view, ordered by when they were said, ties by arrival."""

    kind = "message"

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._limits = RoomLimits(view)

    # ---- writing

    def add(
        self,
        role: str,
        content: str,
        *,
        id: str | None = None,
        external_id: tuple[ExternalId, ExternalId] | None = None,
        reply_to: str | tuple[ExternalId, ExternalId] | None = None,
        name: str | None = None,
        username: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        images: Sequence[Image] | None = None,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        learn: bool = True,
        key: str | None = None,
    ) -> Receipt:
        """Remember a turn; it is durable and findable when this returns, and learned from later.

        `at` is the platform's time. `external_id` is the platform's chat and message, unique together within the tenant:
        a repeat is stored once and its receipt says `ignored`. `reply_to` is the id, or the external id, of a message of
        this room, whoever wrote it (without a room: of this scope); one that is not there raises `NotFound`. The content may be empty only beside tool calls or images.
        `data` is kept in `record.data` beside the turn's own fields, whose names it may not have: a framework's own
        message, for example. Outside a batch, a limit of the room is applied before this returns.
        """
        if (first := self._first(key)) is not None:
            return first
        turn = more_data(data) | turn_data(
            reply_to=self._resolve_reply(reply_to),
            name=name,
            username=username,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            images=images,
        )
        fields = self._fields(role, content, turn, learn=learn, source=source)
        fields |= {
            "id": id, "metadata": metadata, "occurred_at": to_utc_or_none(at, "at"), "pinned": pinned, "importance": importance,
            "trust": trust,
        }  # fmt: skip
        if external_id is not None:
            if id is not None:
                raise InvalidInput("give id or external_id, not both: the external id makes the record's id")
            turn["external_id"] = check_external_id(external_id)
            fields |= {"id": self._external_id(turn["external_id"]), "on_conflict": "ignore"}
        with naming_external_id(turn.get("external_id")):
            return self._put([fields], key)

    def add_pair(
        self,
        user: str,
        assistant: str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        source: str | None = None,
        trust: float | None = None,
        learn: bool = True,
        key: str | None = None,
    ) -> Receipt:
        """Remember what a user said and the answer to it, both or neither; the answer is a reply to the other."""
        if (first := self._first(key)) is not None:
            return first
        for field, text in (("user", user), ("assistant", assistant)):
            check_not_blank(text, field, most=self._view.engine.settings.max_text_bytes)
        user_id = new_id()
        both = [
            self._fields("user", user, turn_data(name=name), learn=learn, source=source) | {"id": user_id},
            self._fields("assistant", assistant, {"reply_to": user_id}, learn=learn, source=source),
        ]
        more = {"metadata": metadata, "occurred_at": to_utc_or_none(at, "at"), "trust": trust}
        return self._put([fields | more for fields in both], key)

    def clear(self) -> Receipt:
        """End every message in this scope, in one transaction; all else stays.

        What was learned from them goes too, in jobs that `wait()` on the receipt waits for; `undo()` of it brings
        everything back.
        """
        self._view.need_no_batch("messages.clear()")
        return self._view.remove_all(Filter(scope=self._view.scope, kinds=(self.kind,)), operation="clear")

    # ---- reading

    def get(self, id: str | tuple[ExternalId, ExternalId], *, known_at: datetime | None = None) -> Message:
        """Return a message by its id or its external id; one that is not in this scope raises `NotFound`."""
        return Message(self._record(self._id(id, "id"), known_at=known_at))

    def history(
        self,
        limit: int = 20,
        offset: int = 0,
        *,
        roles: str | Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        known_at: datetime | None = None,
    ) -> list[Message]:
        """Return the latest `limit` messages, oldest first; `offset` passes over the newest.

        `after` is included, `before` is not.
        """
        checked_roles = self._roles(roles)
        if checked_roles is metadata is after is before is known_at is self._view.known_at is None:
            filter = Filter(scope=self._view.scope, kinds=("message",))  # asked at every turn, and nothing to check
        else:
            filter = self._filter(
                data={"role": checked_roles}, after=after, before=before, metadata=metadata, known_at=known_at
            )
        return [Message(record) for record in self._read(filter, limit, offset)]

    def latest(self, n: int = 1) -> list[Message]:
        """Return the last `n` messages, oldest first."""
        return self.history(n)

    def replies(self, id: str | tuple[ExternalId, ExternalId], *, limit: int = 100) -> list[Message]:
        """Return the direct answers to a message, oldest first; of more than `limit`, the latest.

        The message may be anybody's in this room; the answers are those in this scope.
        """
        answered = self._id(id, "id")
        if self._in_room(answered) is None:
            raise NotFound(f"there is no {self.kind} {answered!r} in this scope")
        return [Message(record) for record in self._read(self._filter(data={"reply_to": answered}), limit)]

    def thread(self, id: str | tuple[ExternalId, ExternalId]) -> list[Message]:
        """Return what a message answers, what that answers, and so on: from the root to the message itself.

        It begins later where a message in between is gone, and where links go round in a circle it is cut there. Links
        are followed through the whole room, and the messages in this scope are given.
        """
        record = self._record(self._id(id, "id"))
        thread = {record.id: record}
        while (above := record.data.get("reply_to")) is not None and above not in thread:
            answered = self._in_room(above)
            if answered is None:
                break
            thread[above] = record = answered
        return [Message(record) for record in reversed(thread.values()) if self._view.scope.contains(record.scope)]

    def window(
        self, max_tokens: int, *, counter: TokenCounter | None = None, known_at: datetime | None = None
    ) -> list[Message]:
        """Return the newest messages that fit a number of tokens, oldest first, whole and without a hole.

        System messages are always there. What a summary of the room stands for is passed over, and the summary is shown
        before the turns, as a system message whose `record.kind` is `summary`, in a quarter of the tokens at the most, or in
        what the turns leave, and where the newest turn leaves room for it. A tool call and its
        results are shown together or not at all; a result whose call is gone is left out. When the newest turn alone does
        not fit, its longest text is cut at the end and marked with "…"; `InvalidInput` when even that does not help. A
        message costs 4 tokens beside its text, an image 765.
        """
        most, counter = check_limit(max_tokens, "max_tokens", maximum=MOST_TOKENS), check_counter(counter)
        view = self._view if known_at is None else self._view.at(to_utc(known_at, "known_at"))
        return [Message(record) for record in summarised_window(view, counter, most)]

    def for_model(
        self, *, system: str | None = None, user: str | None = None, image: Image | None = None, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return a model's input in the OpenAI chat shape: a system prompt, the latest `limit` messages, the current one.

        `image` (bytes, a path, an address or a data URL) goes with the current message. Nothing is stored. Tool results
        follow their calls; what a model would refuse (a result without its call, an old call without its result) is
        left out.
        """
        turns = ((message.role, message.content, message.record.data) for message in self.history(limit))
        return model_input(turns, self._view.engine.settings, system=system, user=user, image=image)

    # ---- limits

    def limit(
        self,
        *,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        evict: Evict = "fifo",
        keep_roles: Iterable[str] = ("system",),
        on_overflow: Callable[[list[Message]], object] | None = None,
    ) -> MessageLimits:
        """Limit this room (of all its users and agents) from now on, in every process and over restarts.

        What is too much leaves after each `add`, and at once now: the oldest first (`fifo`), the oldest into a summary
        (`summarise`), or in the order a function returns that is given the messages which may leave. Pinned messages,
        `keep_roles` and the newest turn stay; a tool call and its results leave together. `on_overflow` sees what leaves
        before it leaves; when it raises, that is logged and nothing leaves. Functions are known in this process only:
        elsewhere, and after a restart until `limit()` is called again, the oldest leave and no handler is called.
        """
        roles = check_roles(keep_roles, self._view.engine.settings, "keep_roles") or ()
        return self._limits.set(max_messages, max_tokens, evict, roles, on_overflow)

    def limits(self) -> MessageLimits | None:
        """Return the limits of this room, or None when it has none."""
        return self._limits.get()

    def unlimit(self) -> bool:
        """Remove the limits of this room; False when it had none."""
        return self._limits.remove()

    # ---- inside

    def _first(self, key: str | None) -> Receipt | None:
        """Return what was done under a key before, so that a retry needs nothing to be as it was."""
        if key is None or self._view.batching is not None or self._view.known_at is not None:
            return None
        return self._view.engine.first_receipt(self._view.scope, key)

    def _put(self, items: list[dict[str, Any]], key: str | None) -> Receipt:
        return put_messages(self._view, self._limits, items, key)

    def _fields(
        self, role: str, content: str, data: dict[str, Any], *, learn: bool, source: str | None
    ) -> dict[str, Any]:
        check_turn(role, content, data, self._view.engine.settings)
        data["role"] = role
        fields: dict[str, Any] = {"text": content, "kind": self.kind, "data": data, "source": source}
        fields["learn"] = check_flag(learn, "learn")
        return fields

    def _roles(self, roles: str | Iterable[str] | None) -> tuple[str, ...] | None:
        return check_roles(roles, self._view.engine.settings)

    def _id(self, id: str | tuple[ExternalId, ExternalId], field: str) -> str:
        return check_label(id, field) if isinstance(id, str) else self._external_id(check_external_id(id, field))

    def _resolve_reply(self, reply_to: str | tuple[ExternalId, ExternalId] | None) -> str | None:
        if reply_to is None:
            return None
        id = self._id(reply_to, "reply_to")
        batch = self._view.batching
        if batch is not None and batch.waiting(id) is not None:
            return id
        if self._in_room(id) is None:
            container = "scope" if self._view.scope.room is None else "room"
            raise NotFound(
                f"reply_to: there is no message {reply_to!r} in this {container}; add it first, or leave it out"
            )
        return id

    def _in_room(self, id: str) -> Record | None:
        """Return a message of this room, whoever wrote it; it is not to be shown where it is not in this scope."""
        record = self._view.whole_room().find(id)
        return None if record is None or record.kind != self.kind else record


def put_messages(view: View, limits: RoomLimits, items: list[dict[str, Any]], key: str | None) -> Receipt:
    """Write messages, among other records perhaps, all or none, and keep the room within its limits.

    The job that summarises the room is part of the write where enough has gathered.
    """
    messages = [item for item in items if item.get("kind") == "message"]
    room = view.scope.room
    if messages and room is not None and view.known_at is None:
        due = RoomSummaries(view.engine, view.scope.tenant, room).due(len(messages))
        messages[-1]["jobs"] = (*messages[-1].get("jobs", ()), *due)
    receipt = view.put(items, key)
    if receipt.status != "pending" and "added" in receipt.outcomes.values():
        limits.enforce()
    enforce_limits(view, ("message",), receipt)
    return receipt
