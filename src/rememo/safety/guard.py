"""The guard: rules that hold a record back before it is recalled. They look at what is not fully trusted only.

A rule has a name, a reason that says what it found without quoting it, and a function over a `IncomingRecord`. What a rule finds
is stored as it is, but is neither recalled nor learned from until a person releases it.
"""

import logging
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from rememo.errors import AlreadyExists, InvalidInput
from rememo.model.receipt import Receipt
from rememo.model.scope import Scope
from rememo.model.times import Clock
from rememo.runtime.counters import counts
from rememo.safety import injection_detection
from rememo.safety.redaction import LINKS, holds_key
from rememo.safety.trust import FULL
from rememo.settings import Settings
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Revise, Write

FLOOD: Final = "flood"
_MINUTE: Final = timedelta(minutes=1)
_MOST_SOURCES: Final = 4_096
_MOST_DATA: Final = 65_536
_LONGEST_REASON: Final = 500
# What is made here of other records, or holds state; it is free or not with what it was made of.
_DERIVED: Final = frozenset({"fact", "relationship", "summary", "state"})
_OWN: Final = (None, "learn")
_log = logging.getLogger("rememo.guard")


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRecord:
    """The parts of a record to be written that a rule may examine."""

    text: str
    """What it says."""
    kind: str
    """The record's kind."""
    role: str | None
    """The role of a message."""
    source: str | None
    """Where it came from."""
    trust: float
    """How far it is trusted."""
    scope: Scope
    """Where it is written to."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its structured content."""
    signs: frozenset[str] = frozenset()
    """What its words do, as the built-in rules read them: `override`, `prompt`, `instructions`."""


Check = Callable[[IncomingRecord], str | bool | None]
"""Says what it found: a reason, True for the rule's own, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule:
    """One rule of the guard."""

    name: str
    """By which it is switched off, and which a reason begins with."""
    reason: str
    """What it is about."""
    check: Check = field(repr=False)
    """Whether a record breaks it."""
    trusted: bool = False
    """Whether it looks at what is fully trusted too."""


BUILT_IN: Final = (
    GuardRule(name="override", reason="tells its reader to drop earlier instructions or limits", check=lambda record: "override" in record.signs),
    GuardRule(name="prompt", reason="asks for the instructions its reader was given", check=lambda record: "prompt" in record.signs),
    GuardRule(name="instructions", reason="gives orders to an assistant", check=lambda record: "instructions" in record.signs),
    GuardRule(name="roles", reason="poses as another speaker by a model's own marks", check=lambda record: injection_detection.has_role_marks(record.text)),
    GuardRule(name="hidden", reason="hides words from a person who looks at it", check=lambda record: injection_detection.hides_words(record.text)),
    GuardRule(name="encoded", reason="holds encoded instructions", check=lambda record: _encoded(record.text)),
    GuardRule(name="image", reason="has an image whose address carries away what its reader knows", check=lambda record: injection_detection.has_leaking_image(record.text)),
    GuardRule(name="secrets", reason="holds a key, a token or a password", check=lambda record: holds_key(record.text)),
)  # fmt: skip
NAMES: Final = (*(rule.name for rule in BUILT_IN), FLOOD)
"""The built-in rules; `flood` counts, and the others read."""


class Guard:
    """The rules in force for one engine, and what came in lately; thread-safe."""

    def __init__(self, settings: Settings) -> None:
        if unknown := set(settings.guard_off) - set(NAMES):
            raise InvalidInput(f"guard_off names {min(unknown)!r}, which is no rule; the rules are {', '.join(NAMES)}")
        off = NAMES if not settings.guard else settings.guard_off
        self._rules: tuple[GuardRule, ...] = tuple(rule for rule in BUILT_IN if rule.name not in off)
        self._most = 0 if FLOOD in off else settings.guard_flood
        self._lately: OrderedDict[tuple[Scope, str], deque[datetime]] = OrderedDict()
        self._lock = threading.Lock()
        self.of_trusted = False
        """Whether some rule looks at what is fully trusted."""

    @property
    def rules(self) -> tuple[GuardRule, ...]:
        """Those in force, built-in ones first."""
        return self._rules

    def add(self, rule: GuardRule) -> None:
        """Apply a rule from now on; a name that is taken raises `AlreadyExists`."""
        with self._lock:
            if rule.name in NAMES or any(existing.name == rule.name for existing in self._rules):
                raise AlreadyExists(f"there is a rule {rule.name!r} already; choose another name")
            self._rules = (*self._rules, rule)
            self.of_trusted = self.of_trusted or rule.trusted

    def examine(self, record: IncomingRecord) -> str | None:
        """Return the reasons to quarantine a record, rule by rule, or None."""
        if record.kind in _DERIVED and record.source in _OWN:
            return None
        trusted = record.trust >= FULL
        words = _words_in(record) if record.data else ""
        text = f"{record.text}\n{words}" if words else record.text
        record = replace(record, text=text, signs=frozenset() if trusted else injection_detection.signs(text))
        reasons = [
            f"{rule.name}: {reason}"
            for rule in self._rules
            if (rule.trusted or not trusted) and (reason := _breaks(rule, record)) is not None
        ]
        return "; ".join(reasons) or None

    def count(self, writes: Sequence[Put], clock: Clock) -> None:
        """Quarantine the records of a source that is not fully trusted beyond its limit per minute.

        Counted in this process, by scope and source; the chunks of a document count as the document.
        """
        if not self._most:
            return
        doubtful = [write.draft for write in writes if write.draft.trust < FULL and write.draft.kind not in _DERIVED]
        if not doubtful:
            return
        now = clock()
        for draft in doubtful:
            flooding = self._too_many(draft.scope, draft.source or draft.kind, now, counts=draft.kind != "chunk")
            if flooding:
                reason = f"{FLOOD}: more than {self._most} records of one source within a minute"
                draft.quarantine = reason if draft.quarantine is None else f"{draft.quarantine}; {reason}"
                draft.jobs = tuple(job for job in draft.jobs if job.task == "embed")

    def _too_many(self, scope: Scope, source: str, now: datetime, *, counts: bool) -> bool:
        with self._lock:
            times = self._lately.setdefault((scope, source), deque())
            self._lately.move_to_end((scope, source))
            if len(self._lately) > _MOST_SOURCES:
                self._lately.popitem(last=False)
            while times and times[0] <= now - _MINUTE:
                times.popleft()
            if counts and len(times) <= self._most:
                times.append(now)
            return len(times) > self._most


def report_guard_effects(receipt: Receipt, writes: Sequence[Write]) -> Receipt:
    """Return a receipt that lists what was quarantined and redacted."""
    drafts = [write.draft for write in writes if isinstance(write, Put | Revise)]
    if not any(draft.quarantine or draft.redacted for draft in drafts):
        return receipt
    written = [draft for draft in drafts if receipt.outcomes.get(draft.id) != "ignored"]
    redacted = Counter[str]()
    for draft in written:
        redacted.update(draft.redacted)
    quarantined = {draft.id: draft.quarantine for draft in written if draft.quarantine is not None}
    counts.add("quarantined", len(quarantined))
    return replace(receipt, quarantined=quarantined, redacted=dict(redacted))


def hold_whole_documents(drafts: Sequence[Draft], items: Sequence[Mapping[str, Any]]) -> None:
    """Quarantine all of a document where a part of it is: the rest comes from the same source."""
    if all(draft.quarantine is None or draft.kind not in ("document", "chunk") for draft in drafts):
        return
    owners = [_document(draft, item) for draft, item in zip(drafts, items, strict=True)]
    reasons: dict[str, list[str]] = {}
    for owner, draft in zip(owners, drafts, strict=True):
        if owner is not None and draft.quarantine is not None:
            reasons.setdefault(owner, []).extend(draft.quarantine.split("; "))
    for owner, draft in zip(owners, drafts, strict=True):
        if owner in reasons:
            draft.quarantine = "; ".join(dict.fromkeys(reasons[owner]))


def _document(draft: Draft, item: Mapping[str, Any]) -> str | None:
    """Return the document that a draft is, or is a part of."""
    data: Mapping[str, Any] = item.get("data") or {}
    return {"document": draft.id, "chunk": str(data.get("document"))}.get(draft.kind)


def _breaks(rule: GuardRule, record: IncomingRecord) -> str | None:
    try:
        result = rule.check(record)
    except Exception as error:  # noqa: BLE001 - a rule of the caller's may fail in any way; nothing may slip through
        _log.exception("the rule %s failed", rule.name)
        return f"the rule failed ({type(error).__name__}), so nobody has looked"
    if isinstance(result, str) and result.strip():
        return " ".join(result.split())[:_LONGEST_REASON]
    return rule.reason if result else None


def _encoded(text: str) -> bool:
    return any(injection_detection.signs(hidden) for hidden in injection_detection.decoded(text))


def _words_in(record: IncomingRecord) -> str:
    """Return the texts in a record's data, up to a bound; ids and the like are no texts."""
    texts: list[str] = []
    waiting: list[Any] = [value for name, value in record.data.items() if name not in LINKS]
    size = 0
    while waiting and size < _MOST_DATA:
        value = waiting.pop()
        if isinstance(value, str):
            if value not in record.text:
                texts.append(value[:_MOST_DATA])
                size += len(value)
        elif isinstance(value, Mapping):
            waiting += cast("Mapping[str, Any]", value).values()
        elif isinstance(value, list | tuple):
            waiting += cast("Sequence[Any]", value)
    return "\n".join(texts)
