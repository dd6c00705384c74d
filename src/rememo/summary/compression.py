"""Compression: old messages are replaced by a summary that says how many they were and from when to when."""

from collections.abc import Sequence

from rememo.engine.engine import Engine
from rememo.errors import NotFound, VersionConflict
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.writes import Remove, Write
from rememo.summary.room_summaries import RoomSummaries, awaits_result, pack_groups, removable_units
from rememo.summary.stored import SummaryOptions, release_messages, summary_write
from rememo.text.windows import call_ids

_PAGE = 2_000
_MOST_TRIES = 50


class Compression:
    """Replaces the old messages of one conversation, in transactions of bounded size."""

    def __init__(self, engine: Engine, filter: Filter, room: str | None, max_tokens: int) -> None:
        """Compress the messages of one room that a filter matches; None stands for messages without a room."""
        self.engine = engine
        self._filter = filter
        self._scope = Scope(tenant=filter.scope.tenant, room=room)
        self._options = SummaryOptions(made_by="compress", max_tokens=max_tokens)

    def run(self) -> tuple[list[Receipt], list[Record]]:
        """Replace them, oldest first; returns the receipts and the removed messages. Safe beside other workers."""
        receipts: list[Receipt] = []
        removed: list[Record] = []
        tries = 0
        while tries < _MOST_TRIES:
            planned = self._plan()
            if not planned:
                break
            try:
                for part in planned:
                    receipts.append(self._let_go(part))
                    removed += part
            except (NotFound, VersionConflict):
                tries += 1  # somebody was faster, or one was changed: look again
        return receipts, removed

    def would(self) -> list[str]:
        """Return the ids of all messages that would be removed now."""
        messages = self.engine.store.read(self._filter, self.engine.now())
        return [record.id for group in self._leaving(messages) for record in group]

    def _leaving(self, messages: Sequence[Record]) -> list[list[Record]]:
        """Return those of this room that may be removed, in units that stay together."""
        records = [record for record in messages if record.scope.room == self._scope.room]
        grouped = [[records[place] for place in unit] for unit in removable_units(records)]
        late = self._answered_later([unit for unit in grouped if awaits_result(unit)])
        return [unit for unit in grouped if late.isdisjoint(id for each in unit for id in call_ids(each.data))]

    def _plan(self) -> list[list[Record]]:
        """Return the messages to remove next, a part for each transaction; nothing when the rest must stay."""
        size = _PAGE
        while True:
            messages = self.engine.store.read(self._filter, self.engine.now(), limit=size, oldest=True)
            parts = pack_groups(self._leaving(messages))
            if parts or len(messages) < size:
                return parts
            size *= 4

    def _answered_later(self, groups: Sequence[Sequence[Record]]) -> set[str]:
        """Return the tool calls whose results are stored but not old enough: they stay together."""
        waiting = [id for group in groups for record in group for id in call_ids(record.data)]
        if not waiting:
            return set()
        answers = Filter(
            scope=self._scope, kinds=("message",), conditions=(Condition("data", ("tool_call_id",), "$in", waiting),)
        )
        own = {record.id for group in groups for record in group}
        results = self.engine.store.read(answers, self.engine.now())
        return {record.data["tool_call_id"] for record in results if record.id not in own}

    def _let_go(self, part: Sequence[Record]) -> Receipt:
        """Remove messages and write their summary in one transaction."""
        writes: list[Write] = []
        covered: set[str] = set()
        room = self._scope.room
        if room is not None and RoomSummaries(self.engine, self._scope.tenant, room).known:
            writes, covered = release_messages(self.engine, self._scope, [record.id for record in part])
        alone = [record for record in part if record.id not in covered]
        if alone:
            writes.append(summary_write(self.engine, self._scope, alone, self._options))
        writes += [Remove(id=record.id, scope=self._filter.scope, expected=record.version) for record in part]
        return self.engine.commit(self._scope, writes)
