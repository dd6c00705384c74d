"""The summaries of one room: its policy, the job that summarises, and renewal when a source changes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast, get_args

from rememo.engine.engine import Engine
from rememo.engine.job_payloads import SUMMARISE
from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.model.check import check_limit, check_offset, dump_json
from rememo.model.filters import Filter
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove, Write
from rememo.summary.stored import (
    MAX_TOKENS,
    MOST_MESSAGES,
    SummaryOptions,
    is_stored_summary,
    read_summaries,
    rewrite_summary,
    summarised_ids,
    summary_write,
)
from rememo.text.windows import call_ids, units

Originals = Literal["keep", "remove"]

_KEY = "summaries"
_MOST = 1_000_000
_MOST_TOKENS = 100_000
_MOST_TRIES = 50
_PAGE = 64
_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPolicy:
    """When the messages of a room are summarised, and whether they stay."""

    threshold: int = 50
    """So many that no summary stands for, and it is time."""
    keep: int = 10
    """How many of the latest stay as they were said."""
    max_tokens: int = MAX_TOKENS
    """How long one summary becomes at the most."""
    originals: Originals = "keep"
    """`keep` leaves the messages where they are, and windows pass over them; `remove` ends them with the same write."""

    def __post_init__(self) -> None:
        """Refuse values that contradict each other."""
        check_limit(self.threshold, "threshold", maximum=_MOST)
        check_offset(self.keep, "keep")
        check_limit(self.max_tokens, "max_tokens", maximum=_MOST_TOKENS)
        if self.threshold <= self.keep:
            raise InvalidInput(
                f"threshold={self.threshold} must be greater than keep={self.keep}, or there would be nothing to summarise"
            )
        if self.originals not in get_args(Originals):
            raise InvalidInput(f'originals must be "keep" or "remove", not {self.originals!r}')

    def options(self, made_by: str) -> SummaryOptions:
        """Return the options of summaries that this policy makes."""
        return SummaryOptions(made_by=made_by, kept=self.originals == "keep", max_tokens=self.max_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The stored state of a room."""

    policy: SummaryPolicy | None = None
    beside: int = 0
    """How many stored messages a summary covers, as last counted."""


class RoomSummaries:
    """The summaries of one room. They belong to the room: to all its users and agents."""

    def __init__(self, engine: Engine, tenant: str, room: str | None) -> None:
        self.engine = engine
        self._scope = Scope(tenant=tenant, room=room)
        # Beside the limits, where no pattern given to `kv.invalidate` reaches.
        self._space = dump_json([None, None, room, "limits"])

    # ---- the policy

    @property
    def policy(self) -> SummaryPolicy | None:
        """The policy, or None."""
        return self._read()[0].policy

    def set_policy(self, policy: SummaryPolicy | None) -> bool:
        """Store a policy, or remove it with None; returns whether there was one before."""
        return self._change(policy=policy).policy is not None

    @property
    def known(self) -> bool:
        """Whether a policy was ever set or a summary made here: for most rooms not, which costs one look-up."""
        return self._read()[1] > 0

    def due(self, more: int) -> tuple[NewJob, ...]:
        """Return the job that so many more messages make due: none, or one."""
        state, _ = self._read()
        if state.policy is None:
            return ()
        count = self.engine.store.count(self._messages, self.engine.now())
        if count - state.beside + more < state.policy.threshold:
            return ()
        return (NewJob(id=new_id(), task=SUMMARISE, payload={"room": self._scope.room}),)

    # ---- gathering

    def gather_by_policy(self) -> list[Receipt]:
        """Summarise by the room's policy if there are enough messages. Idempotent."""
        policy = self.policy
        if policy is None:
            return []
        return self.gather(policy.options("policy"), keep=policy.keep, least=policy.threshold)

    def gather(self, options: SummaryOptions, *, keep: int, least: int = 1) -> list[Receipt]:
        """Summarise all messages but the latest that stay, if there are `least` of them: each summary in one transaction.

        Pinned and system messages are left as they are, a tool call goes with its results, and one that waits for them
        stays. Whoever else is at it, each message is summarised once.
        """
        receipts: list[Receipt] = []
        for _ in range(_MOST_TRIES):
            summaries = read_summaries(self.engine, self._scope)
            open_messages = self._open(summarised_ids(summaries))
            if self._renew_restored(summaries, open_messages):
                continue
            parts = _parts(open_messages, keep, least)
            try:
                for place, part in enumerate(parts):
                    receipts.append(self._write(part, options, summaries if place == 0 else ()))
                    least = 1
            except (AlreadyExists, NotFound, VersionConflict):
                continue  # somebody was faster, or one was changed: look again
            break
        self._count()
        return receipts

    def _write(self, part: Sequence[Record], options: SummaryOptions, summaries: Sequence[Record]) -> Receipt:
        writes: list[Write] = [summary_write(self.engine, self._scope, part, options, summaries)]
        # A model may have taken its time over it: what was erased meanwhile must not be summarised.
        if len(self._current([record.id for record in part])) < len(part):
            raise NotFound("a message was removed while it was being summarised")
        if not options.kept:
            writes += [Remove(id=record.id, scope=self._scope, expected=record.version) for record in part]
        return self.engine.commit(self._scope, writes)

    def _open(self, covered: set[str]) -> list[Record]:
        """Return the messages that no summary covers, oldest first."""
        store, now = self.engine.store, self.engine.now()
        expected = store.count(self._messages, now) - len(covered)
        size = max(_PAGE, expected * 2)
        while True:
            records = store.read(self._messages, now, limit=size)
            unsummarised = [record for record in records if record.id not in covered]
            if len(records) < size or len(unsummarised) >= expected:
                return unsummarised
            size *= 4

    def _renew_restored(self, summaries: Sequence[Record], open_messages: Sequence[Record]) -> bool:
        """Renew the summaries whose lost sources are stored again; returns whether there were any."""
        present = {record.id for record in open_messages}
        lost = [summary for summary in summaries if not present.isdisjoint(summary.data.get("left_out", ()))]
        for summary in lost:
            self._renew(summary)
        return bool(lost)

    # ---- when a source changes

    def renew(self, ids: Iterable[str]) -> None:
        """Renew the summaries of messages that changed, were removed or restored. Idempotent."""
        if not self.known:
            return
        changed = set(ids)
        for summary in read_summaries(self.engine, self._scope):
            if not changed.isdisjoint([*summary.data["sources"], *summary.data.get("left_out", ())]):
                self._renew(summary)
        self._count()

    def write_again(self, id: str) -> None:
        """Let the summariser rewrite a summary that an erasure made of extracted sentences. Idempotent."""
        summary = self.engine.store.get(Filter(scope=self._scope, ids=(id,)), self.engine.now())
        if summary is not None and is_stored_summary(summary):
            self._renew(summary)

    def recount(self) -> None:
        """Count again after messages or summaries were removed by other ways."""
        if self.known:
            self._count()

    def _renew(self, summary: Record) -> None:
        """Bring one summary in line with its current sources; one without any is removed."""
        for _ in range(_MOST_TRIES):
            beside: set[str] = set(summary.data.get("kept", ()))
            lost: list[str] = summary.data.get("left_out", [])
            ids: list[str] = [*summary.data["sources"], *lost]
            now = self._current(ids)
            missing = [id for id in ids if id not in now and (id in beside or id in lost)]
            # What the summary's own write removed is read as it was; only an erasure takes that away.
            sources = [now.get(id) or self._last(id) for id in ids if id not in missing]
            records = sorted((record for record in sources if record is not None), key=lambda record: record.at)
            write: Write | None
            if not records:
                write = Remove(id=summary.id, scope=summary.scope, expected=summary.version)
            else:
                remaining = [
                    record.id for record in records if record.id in now and (record.id in beside or record.id in lost)
                ]
                write = rewrite_summary(self.engine, summary, records, kept=remaining, left_out=missing)
            if write is None:
                return
            try:
                self.engine.commit(self._scope, [write])
            except (NotFound, VersionConflict):
                fresh = self.engine.store.get(Filter(scope=self._scope, ids=(summary.id,)), self.engine.now())
                if fresh is None or not is_stored_summary(fresh):
                    return
                summary = fresh
            else:
                return

    def _current(self, ids: Sequence[str]) -> dict[str, Record]:
        records: dict[str, Record] = {}
        for start in range(0, len(ids), _CHUNK):
            filter = Filter(scope=self._scope, kinds=("message",), ids=tuple(ids[start : start + _CHUNK]))
            records.update((record.id, record) for record in self.engine.store.read(filter, self.engine.now()))
        return records

    def _last(self, id: str) -> Record | None:
        versions = self.engine.store.history(self._scope, id)
        return versions[-1] if versions else None

    # ---- inside

    @property
    def _messages(self) -> Filter:
        return Filter(scope=self._scope, kinds=("message",))

    def _count(self) -> None:
        """Store how many messages summaries cover, so that the next message need not count them."""
        covered = len(self._current(sorted(summarised_ids(read_summaries(self.engine, self._scope)))))
        if self._read()[0].beside != covered:
            self._change(beside=covered)

    def _read(self) -> tuple[_State, int]:
        entry = self.engine.kv.get(self._scope.tenant, self._space, _KEY, self.engine.now())
        if entry is None:
            return _State(), 0
        state = cast("dict[str, Any]", json.loads(entry.value))
        policy = state["policy"]
        return _State(policy=None if policy is None else SummaryPolicy(**policy), beside=state["beside"]), entry.version

    def _change(self, **changes: Any) -> _State:
        """Change the stored state by compare-and-set, and return the state before."""

        def write(read: tuple[_State, int]) -> _State:
            before, version = read
            state, now = dump_json(asdict(replace(before, **changes))), self.engine.now()
            if not self.engine.kv.set(self._scope.tenant, self._space, _KEY, state, now, expected=version):
                raise VersionConflict
            return before

        return retry_on_conflict(
            self._read, write, f"the summary state of room {self._scope.room!r}", attempts=_MOST_TRIES
        )


def removable_units(records: Sequence[Record]) -> list[tuple[int, ...]]:
    """Return the positions of messages that may be removed, in units that stay together: no pinned, no system ones."""
    return [
        unit
        for unit in units([record.data for record in records])
        if not any(records[place].pinned or records[place].data.get("role") == "system" for place in unit)
    ]


def awaits_result(records: Sequence[Record]) -> bool:
    """Whether a tool call among records waits for a result that is not among them."""
    answered = {record.data.get("tool_call_id") for record in records}
    return any(id not in answered for record in records for id in call_ids(record.data))


def _parts(records: Sequence[Record], keep: int, least: int) -> list[list[Record]]:
    """Return the messages to summarise, a part for each summary; nothing while there are too few."""
    talk = [place for place, record in enumerate(records) if record.data.get("role") != "system" and not record.pinned]
    if len(talk) < max(least, keep + 1):
        return []
    latest = set(talk[len(talk) - keep :])
    chosen = [
        unit
        for unit in removable_units(records)
        if latest.isdisjoint(unit) and not awaits_result([records[place] for place in unit])
    ]
    return pack_groups([[records[place] for place in unit] for unit in chosen])


def pack_groups(groups: Iterable[Sequence[Record]]) -> list[list[Record]]:
    """Return messages in parts that a summary can cover, each in order; units stay together."""
    parts: list[list[Record]] = []
    for group in groups:
        if not parts or len(parts[-1]) + len(group) > MOST_MESSAGES:
            parts.append([])
        parts[-1] += group
    return [sorted(part, key=lambda record: record.at) for part in parts]
