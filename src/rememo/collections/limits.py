"""Limits of a room: how much of a conversation is kept, and what becomes of the rest."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from rememo.collections.message import Message
from rememo.engine.engine import Engine
from rememo.engine.view import View, ViewHolder
from rememo.errors import InvalidInput, NotFound, ReadOnly, VersionConflict
from rememo.model.check import check_function, check_label, check_limit, dump_json
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.writes import Remove, Write
from rememo.summary.room_summaries import RoomSummaries, awaits_result, pack_groups
from rememo.summary.stored import SummaryOptions, read_summaries, release_messages, summary_write
from rememo.text.tokens import default_counter, message_tokens
from rememo.text.windows import units

Strategy = Callable[[list[Message]], Iterable[Message | str]]
Handler = Callable[[list[Message]], object]
Evict = Literal["fifo", "summarise"] | Strategy

_KEY = "messages"
_MOST = 1_000_000_000
_MOST_TRIES = 50
_AT_ONCE = 1_000
"""How many may leave in one transaction; a room that was far too large is brought down in several."""
_AHEAD = 64
_LOOK_BACK = 8
"""How many summaries back one that is not complete is looked for."""

_log = logging.getLogger("rememo.limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLimits:
    """What a room may hold."""

    max_messages: int | None
    """All messages count, those that stay too."""
    max_tokens: int | None
    """Counted as `messages.window` does."""
    evict: str
    """`fifo`, `summarise`, or `custom` for a function."""
    keep_roles: tuple[str, ...]
    """Roles that stay."""


@dataclass(frozen=True, slots=True)
class _Functions:
    """What of a limit only lives in the process that set it."""

    strategy: Strategy | None
    handler: Handler | None


_functions: WeakKeyDictionary[Engine, dict[tuple[str, str], _Functions]] = WeakKeyDictionary()


class RoomLimits(ViewHolder):
    """The limits of the room that a view is bound to. They belong to the room: to all its users and agents."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._tenant = view.scope.tenant
        self._room = view.scope.room
        # Beside the room's own keys, so that no pattern given to `kv.invalidate` takes the limits away.
        self._space = dump_json([None, None, self._room, "limits"])

    def set(
        self,
        max_messages: int | None,
        max_tokens: int | None,
        evict: Evict,
        keep_roles: tuple[str, ...],
        handler: Handler | None,
    ) -> MessageLimits:
        """Keep new limits, and apply them at once."""
        room = self._need_room()
        self._view.need_present()
        self._view.need_no_batch("messages.limit()")
        if max_messages is None and max_tokens is None:
            raise InvalidInput("limit() needs max_messages or max_tokens; to have no limit say unlimit()")
        if callable(evict):
            check_function(evict, "evict")
        elif evict not in ("fifo", "summarise"):
            raise InvalidInput(f'evict must be "fifo", "summarise" or a function, not {evict!r}')
        if handler is not None:
            check_function(handler, "on_overflow")
        limits = MessageLimits(
            max_messages=None if max_messages is None else check_limit(max_messages, "max_messages", maximum=_MOST),
            max_tokens=None if max_tokens is None else check_limit(max_tokens, "max_tokens", maximum=_MOST),
            evict="custom" if callable(evict) else evict,
            keep_roles=keep_roles,
        )
        functions = _Functions(evict if callable(evict) else None, handler)
        _functions.setdefault(self._view.engine, {})[self._tenant, room] = functions
        self._store(limits)
        self.enforce()
        return limits

    def get(self) -> MessageLimits | None:
        """Return what is kept, or None."""
        self._need_room()
        if self._view.known_at is not None:
            raise ReadOnly("limits have no past; ask the memory that this view came from")
        return self._stored()

    def load(self, limits: MessageLimits | None) -> None:
        """Keep limits that came from elsewhere, or none, and apply them; functions of this process stay."""
        self._need_room()
        if limits is None:
            self.remove()
        elif limits != self._stored():
            self._store(limits)
            self.enforce()

    def _store(self, limits: MessageLimits) -> None:
        value = dump_json({name: getattr(limits, name) for name in limits.__slots__})
        self._view.engine.kv.set(self._tenant, self._space, _KEY, value, self._view.engine.now())

    def remove(self) -> bool:
        """Forget the limits; False when there were none."""
        room = self._need_room()
        self._view.need_present()
        _functions.get(self._view.engine, {}).pop((self._tenant, room), None)
        return self._view.engine.kv.delete(self._tenant, self._space, _KEY, self._view.engine.now())

    def enforce(self) -> None:
        """Evict what is above the limits: each time in one transaction, and only if no other writer was faster."""
        if self._room is None or (limits := self._stored()) is None:
            return
        functions = _functions.get(self._view.engine, {}).get((self._tenant, self._room), _Functions(None, None))
        strategy = functions.strategy if limits.evict == "custom" else None
        if limits.evict == "custom" and strategy is None:
            _log.warning("room %r has a strategy of another process; the oldest leave instead", self._room)
        room = _Room(self._view.engine, Scope(tenant=self._tenant, room=self._room), limits)
        for _ in range(_MOST_TRIES):
            try:
                leaving = room.select_leaving(strategy)
                if leaving and functions.handler is not None:
                    functions.handler([Message(record) for record in leaving])
            except Exception as error:  # noqa: BLE001 - a handler may veto by any exception; the message is stored
                _log.warning("nothing leaves room %r: %s: %s", self._room, type(error).__name__, error)
                return
            if not leaving:
                return
            try:
                room.remove_all(leaving)
            except (NotFound, VersionConflict):
                continue  # another process let some of them go, or one was changed: look again

    def _stored(self) -> MessageLimits | None:
        entry = self._view.engine.kv.get(self._tenant, self._space, _KEY, self._view.engine.now())
        if entry is None:
            return None
        return read_limits(json.loads(entry.value))

    def _need_room(self) -> str:
        if self._room is None:
            raise InvalidInput("limits belong to a room; bind one first: memory.scope(room=…).messages")
        return self._room


def read_limits(stored: object) -> MessageLimits:
    """Return the limits in a JSON object; invalid ones raise `InvalidInput`."""
    if not isinstance(stored, dict) or set(stored) != set(MessageLimits.__slots__):  # pyright: ignore[reportUnknownArgumentType] - JSON
        raise InvalidInput(f"the limits of a room must have {', '.join(MessageLimits.__slots__)}")
    fields = dict(cast("dict[str, Any]", stored))
    for name in ("max_messages", "max_tokens"):
        if fields[name] is not None:
            check_limit(fields[name], name, maximum=_MOST)
    roles: object = fields["keep_roles"]
    if not isinstance(roles, list | tuple) or fields["evict"] not in ("fifo", "summarise", "custom"):
        raise InvalidInput("the limits of a room must have a list of keep_roles, and evict must be known")
    fields["keep_roles"] = tuple(check_label(role, "keep_roles") for role in cast("list[Any]", roles))
    return MessageLimits(**fields)


class _Room:
    """The messages of a room, and which of them are too much."""

    def __init__(self, engine: Engine, scope: Scope, limits: MessageLimits) -> None:
        self.engine = engine
        self._scope = scope
        self._limits = limits
        self._filter = Filter(scope=scope, kinds=("message",))

    def select_leaving(self, strategy: Strategy | None) -> list[Record]:
        """Return what must leave next, oldest first; nothing when all is well or all that is left must stay."""
        limits = self._limits
        total = self.engine.store.count(self._filter, self.engine.now())
        excess_messages = 0 if limits.max_messages is None else total - limits.max_messages
        if limits.max_tokens is None and excess_messages <= 0:
            return []
        # The oldest are enough to look at, unless tokens are counted or a strategy may choose among all.
        everything = limits.max_tokens is not None or strategy is not None
        size = None if everything else min(excess_messages, _AT_ONCE) + _AHEAD
        while True:
            records = self.engine.store.read(self._filter, self.engine.now(), limit=size, oldest=True)
            is_last_page = size is None or len(records) < size
            chosen = self._choose(records, excess_messages, strategy, whole=is_last_page)
            if chosen is not None:
                return [records[index] for index in sorted(chosen)]
            size = None if size is None or size > _AT_ONCE * 4 else size * 4

    def _choose(
        self, records: Sequence[Record], excess_messages: int, strategy: Strategy | None, *, whole: bool
    ) -> list[int] | None:
        """Return the places of what leaves; None when more must be read to know."""
        limits = self._limits
        costs = [0] * len(records)
        excess_tokens = 0
        if limits.max_tokens is not None:
            counter = default_counter()
            costs = [message_tokens(counter, record.text, record.data) for record in records]
            excess_tokens = sum(costs) - limits.max_tokens
        if excess_messages <= 0 and excess_tokens <= 0:
            return []
        grouped = units([record.data for record in records])
        # The newest turn is what the conversation is at: it stays, however large it is.
        newest = max(grouped, key=lambda unit: unit[-1]) if whole and grouped else ()
        free = [
            unit for unit in grouped if unit is not newest and not any(self._stays(records[index]) for index in unit)
        ]
        if strategy is not None:
            free = _order_by_strategy(strategy, records, free)
        chosen: list[int] = []
        for group in free:
            if (excess_messages <= 0 and excess_tokens <= 0) or len(chosen) >= _AT_ONCE:
                break
            if not whole and awaits_result([records[index] for index in group]):
                return None
            chosen += group
            excess_messages -= len(group)
            excess_tokens -= sum(costs[index] for index in group)
        else:
            if not whole and excess_messages > 0:
                return None
            if excess_messages > 0 or excess_tokens > 0:
                _log.info("what is left in room %r must stay, though it is more than its limit", self._scope.room)
        return chosen

    def _stays(self, record: Record) -> bool:
        return record.pinned or record.data.get("role") in self._limits.keep_roles

    def remove_all(self, leaving: Sequence[Record]) -> None:
        """End the records in one transaction, with the summary that stands for them where one is wanted."""
        writes: list[Write] = []
        stood: set[str] = set()
        if RoomSummaries(self.engine, self._scope.tenant, str(self._scope.room)).known:
            writes, stood = release_messages(self.engine, self._scope, [record.id for record in leaving])
        alone = [record for record in leaving if record.id not in stood]
        if self._limits.evict == "summarise" and alone:
            last = read_summaries(self.engine, self._scope, limit=_LOOK_BACK)
            for part in pack_groups([record] for record in alone):
                writes.append(summary_write(self.engine, self._scope, part, SummaryOptions(made_by="limit"), last))
                last = []
        writes += [Remove(id=record.id, scope=self._scope, expected=record.version) for record in leaving]
        self.engine.commit(self._scope, writes)


def _order_by_strategy(
    strategy: Strategy, records: Sequence[Record], free: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the units that a strategy names, in its order, each once."""
    belongs = {records[index].id: unit for unit in free for index in unit}
    named = strategy([Message(records[index]) for index in sorted(index for unit in free for index in unit)])
    ids = [message if isinstance(message, str) else message.id for message in named]
    if unknown := [id for id in ids if id not in belongs]:
        raise InvalidInput(f"the strategy named {unknown[0]!r}, which is none of the messages that may leave")
    return list(dict.fromkeys(belongs[id] for id in ids))
