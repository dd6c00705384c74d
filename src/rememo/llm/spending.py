"""The ledger: tokens that models charged for, by tenant, purpose and day, and the daily limit that no call exceeds.

What a call may cost at the most is booked before it is made and corrected when it has ended: a process that dies in
between has paid for it, as far as anybody knows. The ledger lies in the store, so all processes share it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, timedelta
from typing import Any, Final

from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.errors import InvalidInput, OverBudget, VersionConflict
from rememo.llm.protocol import Usage
from rememo.model.check import dump_json
from rememo.runtime.counters import counts
from rememo.runtime.retry import retry_on_conflict
from rememo.settings import Spend
from rememo.store.kv.protocol import LEDGER

KEPT_DAYS: Final = 400
_MOST_TRIES: Final = 200
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingEntry:
    """What one purpose cost on one day."""

    day: date
    """In UTC."""
    operation: str
    """What for: `extract`, `ask`, `embed` …"""
    calls: int = 0
    requests: int = 0
    """What was sent for these calls, further tries included."""
    failed: int = 0
    """Calls that gave nothing that can be used; what they cost is counted."""
    refused: int = 0
    """Calls that were not made, because they would have passed the ceiling."""
    prompt: int = 0
    """Tokens that the model read."""
    completion: int = 0
    """Tokens that it wrote."""
    cost: float = 0.0
    """By the prices in the settings as they are now."""

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waiting jobs would cost at the most."""

    messages: int
    calls: int
    prompt: int
    completion: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a tenant spent on models."""

    entries: tuple[SpendingEntry, ...]
    """By day and purpose, oldest first."""
    ceiling: int | None
    """Tokens a day; None is none."""
    today: int
    """Tokens booked today, those of calls under way at the most they may cost."""
    backlog: Backlog | None = None
    """What the work that waits would take, where that was asked for."""

    @property
    def left(self) -> int | None:
        """Tokens that may still be spent today; None without a ceiling."""
        return None if self.ceiling is None else max(0, self.ceiling - self.today)

    @property
    def tokens(self) -> int:
        """Of all entries together."""
        return sum(entry.tokens for entry in self.entries)

    @property
    def cost(self) -> float:
        """Of all entries together."""
        return round(sum(entry.cost for entry in self.entries), 6)


@dataclass(frozen=True, slots=True)
class Booking:
    """What was booked before a call."""

    tenant: str
    operation: str
    day: str
    usage: Usage = field(default_factory=Usage)


class Ledger:
    """The ledger of one store."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def reserve(self, tenant: str, operation: str, most: Usage) -> Booking:
        """Book the most that a call may cost; raises `OverBudget` when the day's ceiling would be passed."""
        ceiling = self.engine.settings.spend.daily_tokens
        booking = Booking(tenant, operation, self._day().isoformat(), most)
        spent = 0

        def book(operations: dict[str, dict[str, int]]) -> bool:
            nonlocal spent
            spent = _total(operations)
            row = operations.setdefault(operation, {})
            if ceiling is not None and spent + most.total > ceiling:
                _add(row, refused=1)
                return False
            _add(row, calls=1, requests=1, prompt=most.prompt, completion=most.completion)
            return True

        if not self._change(tenant, booking.day, book):
            counts.add("over_budget")
            raise OverBudget(
                f"{operation} would take up to {most.total:,} tokens, and {spent:,} of the {ceiling:,} that"
                f" {tenant!r} may spend on {booking.day} are spent: raise spend_daily_tokens, or wait for tomorrow (UTC)"
            )
        if operation != EMBED:  # embedders count for themselves, for questions too
            counts.add("model_calls")
        return booking

    def settle(self, booking: Booking, usage: Usage, *, requests: int = 1, failed: bool = False) -> None:
        """Put what a call did cost in the place of what it might have."""
        if booking.operation != EMBED:
            counts.add("tokens", usage.total)
            counts.add("model_failures", int(failed))
        change = {
            "prompt": usage.prompt - booking.usage.prompt,
            "completion": usage.completion - booking.usage.completion,
            "requests": requests - 1,
            "failed": int(failed),
        }

        def book(operations: dict[str, dict[str, int]]) -> bool:
            _add(operations.setdefault(booking.operation, {}), **change)
            return True

        if any(change.values()):
            self._change(booking.tenant, booking.day, book)

    def read(self, tenant: str, days: int) -> Spending:
        """Return what was spent on the latest days, today included."""
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= KEPT_DAYS:  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise InvalidInput(f"days must be from 1 to {KEPT_DAYS}, not {days!r}")
        spend, today = self.engine.settings.spend, self._day()
        first = (today - timedelta(days=days - 1)).isoformat()
        entries: list[SpendingEntry] = []
        for entry in self.engine.plain_kv.entries(tenant, LEDGER, self.engine.now()):
            if entry.key >= first:
                for operation, row in sorted(json.loads(entry.value).items()):
                    entries.append(_spent(date.fromisoformat(entry.key), operation, row, spend))
        booked = sum(entry.tokens for entry in entries if entry.day == today)
        return Spending(entries=tuple(entries), ceiling=spend.daily_tokens, today=booked)

    def _day(self) -> date:
        return self.engine.now().astimezone(UTC).date()

    def _change(self, tenant: str, day: str, change: Callable[[dict[str, dict[str, int]]], bool]) -> bool:
        """Change a day's page, whoever else does so at the same time."""
        kv = self.engine.plain_kv

        def prepare() -> tuple[bool, str, int]:
            entry = kv.get(tenant, LEDGER, day, self.engine.now())
            operations: dict[str, dict[str, int]] = {} if entry is None else json.loads(entry.value)
            accepted = change(operations)
            return accepted, dump_json(operations), 0 if entry is None else entry.version

        def write(prepared: tuple[bool, str, int]) -> bool:
            accepted, page, version = prepared
            ttl = timedelta(days=KEPT_DAYS).total_seconds()
            if kv.set(tenant, LEDGER, day, page, self.engine.now(), ttl=ttl, expected=version) is None:
                raise VersionConflict
            return accepted

        return retry_on_conflict(prepare, write, f"the ledger of {day}", attempts=_MOST_TRIES)


def cost_of(spend: Spend, usage: Usage, operation: str = "") -> float:
    """Return what tokens cost by the prices of the settings; those of embedding have their own."""
    read = spend.embed_price if operation == EMBED else spend.prompt_price
    return round((usage.prompt * read + usage.completion * spend.completion_price) / _MILLION, 6)


def _add(row: dict[str, int], **changes: int) -> None:
    for name, change in changes.items():
        row[name] = max(0, row.get(name, 0) + change)


def _total(operations: Mapping[str, Mapping[str, int]]) -> int:
    return sum(row.get("prompt", 0) + row.get("completion", 0) for row in operations.values())


def _spent(day: date, operation: str, row: Mapping[str, Any], spend: Spend) -> SpendingEntry:
    names = ("calls", "requests", "failed", "refused", "prompt", "completion")
    entry = SpendingEntry(day=day, operation=operation, **{name: int(row.get(name, 0)) for name in names})
    return replace(entry, cost=cost_of(spend, Usage(entry.prompt, entry.completion), operation))
