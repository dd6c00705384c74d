"""Retention: the policies of a memory, kept in it. Nothing is removed unless a policy was set and `maintain()` is called."""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, Literal, cast

from rememo.engine.view import View, ViewHolder
from rememo.errors import InvalidInput, ReadOnly
from rememo.keep.archive import open_archive
from rememo.keep.consistency import KINDS_WITH_REFERENCES
from rememo.keep.versions import rollback_writes
from rememo.model.check import check_flag, check_label, check_unit, dump_json
from rememo.model.filters import Filter
from rememo.model.record import FOUND, check_kind
from rememo.model.retention import Archived, Maintenance, PolicyAction, RetentionPolicy, Undone
from rememo.model.scope import Scope
from rememo.model.times import to_seconds

PolicyPreset = Literal["messages", "facts", "compress", "duplicates", "references", "orphans", "versions"]
_PRESETS: dict[str, dict[str, Any]] = {
    "messages": {"does": "remove", "kinds": ("message",), "older_than": 30 * 86_400.0},
    "facts": {"does": "remove", "kinds": ("fact",), "at_most": 1_000},
    "compress": {"does": "compress", "kinds": ("message",), "older_than": 7 * 86_400.0},
    "duplicates": {"does": "duplicates", "kinds": ("fact", "note", "relationship")},
    "references": {"does": "references", "kinds": KINDS_WITH_REFERENCES},
    "orphans": {"does": "orphans", "kinds": ("relationship",)},
    "versions": {"does": "versions", "older_than": 30 * 86_400.0},
}
_FIELDS: dict[PolicyAction, tuple[str, ...]] = {
    "remove": ("kinds", "older_than", "at_most", "max_bytes", "keep_pinned", "keep_important", "archive", "allow_all"),
    "compress": ("older_than",),
    "duplicates": ("kinds", "keep_pinned"),
    "references": ("kinds",),
    "orphans": (),
    "versions": ("older_than", "forget"),
}
_ORDER: tuple[PolicyAction, ...] = ("compress", "remove", "duplicates", "orphans", "references", "versions")
"""What is removed leaves references behind, and ends versions."""
REMOVABLE = tuple(kind for kind in FOUND if kind != "chunk")
"""What a policy without kinds is about; chunks go with their documents."""
_MICROSECOND = timedelta(microseconds=1)

Span = float | str | timedelta


class Retention(ViewHolder):
    """The policies of a view's scope and of narrower ones. They are kept in the memory, for every process."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._tenant = view.scope.tenant
        # Beside the tenant's own keys, as the limits of rooms are.
        self._space = dump_json([None, None, None, "retention"])

    def set(
        self,
        name: str,
        *,
        kind: str | Iterable[str] | None = None,
        older_than: Span | None = None,
        at_most: int | None = None,
        max_bytes: int | None = None,
        keep_pinned: bool = True,
        keep_important: float | None = None,
        archive: Archived | None = None,
        allow_all: bool = False,
    ) -> RetentionPolicy:
        """Set a policy that removes records of this scope: by age, by number in each room, by size of all together.

        With several of them, a record leaves when one of them says so. Pinned records stay, those of at least the
        importance `keep_important` and system messages too. With `archive="all"` everything that leaves is put away
        before, with `"important"` what is pinned or has an importance of 0.7 or more. `older_than` is a duration such as "30d". A policy that keeps
        nothing needs `allow_all=True`. One of the same name and scope is replaced.
        """
        fields = {
            "kinds": kind, "older_than": older_than, "at_most": at_most, "max_bytes": max_bytes,
            "keep_pinned": keep_pinned, "keep_important": keep_important, "archive": archive,
            "allow_all": allow_all,
        }  # fmt: skip
        return self._store_policy(
            name, "remove", {}, {key: value for key, value in fields.items() if value is not None}
        )

    def use(self, ready: PolicyPreset, **changes: Any) -> RetentionPolicy:
        """Switch a ready-made policy on, perhaps with changes; it is named as it is called here.

        `messages` removes those older than 30 days; `facts` keeps at most 1,000 in a room, the surest and newest;
        `compress` lets those older than a week leave into summaries; `duplicates` removes copies of facts, notes and relationships in the same scope; `references` mends references to
        what is gone; `orphans` removes relationships whose ends are gone; `versions` keeps all versions for 30 days and
        then one a day, and with `forget="90d"` lets what was removed longer ago be gone for good.
        """
        if ready not in _PRESETS:
            raise InvalidInput(f"there is no ready-made policy {ready!r}; they are {', '.join(_PRESETS)}")
        fields = dict(_PRESETS[ready])
        if "kind" in changes:
            changes["kinds"] = changes.pop("kind")
        return self._store_policy(ready, fields.pop("does"), fields, changes)

    def list(self) -> "list[RetentionPolicy]":
        """Return the policies of this scope and of narrower ones, in the order they run."""
        if self._view.known_at is not None:
            raise ReadOnly("policies have no past; ask the memory that this view came from")
        entries = self._view.engine.kv.entries(self._tenant, self._space, self._view.engine.now())
        policies = [_parse_policy(entry.value, self._tenant) for entry in entries]
        within = [policy for policy in policies if self._view.scope.contains(policy.scope)]
        return sorted(
            within, key=lambda policy: (_ORDER.index(policy.does), policy.name, dump_json(_scope_labels(policy.scope)))
        )

    def remove(self, name: str) -> bool:
        """Forget a policy of exactly this scope; False when there is none."""
        self._view.need_present()
        key = self._key(check_label(name, "name"))
        return self._view.engine.kv.delete(self._tenant, self._space, key, self._view.engine.now())

    def undo(self, report: Maintenance) -> Undone:
        """Undo what a run of `maintain()` removed and repaired, the last write first, by new versions.

        What has changed since, and what was thinned meanwhile, is left as it is and counted.
        """
        self._view.need_present()
        self._view.need_no_batch("retention.undo()")
        restored = 0
        for run in reversed(report.runs):
            scope = Scope(tenant=self._tenant)
            for batch_time in reversed(run.batches):
                ids = self._view.engine.store.touched(
                    scope, batch_time - _MICROSECOND, batch_time, batch_time - _MICROSECOND
                )
                unchanged = [id for id in ids if _last_change(self._view, id) == batch_time]
                writes = rollback_writes(self._view.engine, scope, unchanged, batch_time - _MICROSECOND)
                if writes:
                    outcomes = self._view.engine.commit(scope, writes, operation="undo").outcomes
                    restored += sum(outcome == "restored" for outcome in outcomes.values())
        return Undone(restored=restored, left=sum(run.done for run in report.runs if run.batches) - restored)

    # ---- keeping

    def _store_policy(
        self, name: str, does: PolicyAction, ready: dict[str, Any], changes: dict[str, Any]
    ) -> RetentionPolicy:
        self._view.need_present()
        self._view.need_no_batch("a policy")
        if unknown := set(changes) - set(_FIELDS[does]):
            raise InvalidInput(f"the policy {name!r} has no {min(unknown)!r}; it has {', '.join(_FIELDS[does])}")
        fields = {**ready, **{key: _check_field(key, value) for key, value in changes.items()}}
        policy = RetentionPolicy(name=check_label(name, "name"), does=does, scope=self._view.scope, **fields)
        if does == "remove" and not policy.kinds:
            policy = replace(policy, kinds=REMOVABLE)
        if policy.archive is not None:
            open_archive(self._view.engine)  # one that cannot be used is told now, not when it is needed
        if does == "remove" and not policy.allow_all and _keeps_nothing(policy):
            raise InvalidInput(
                f"the policy {name!r} would remove everything: give older_than, at_most or max_bytes above zero,"
                " or say allow_all=True"
            )
        value = dump_json({**asdict(policy), "kinds": list(policy.kinds), "scope": _scope_labels(policy.scope)})
        self._view.engine.kv.set(self._tenant, self._space, self._key(policy.name), value, self._view.engine.now())
        return policy

    def _key(self, name: str) -> str:
        return dump_json([*_scope_labels(self._view.scope).values(), name])


def removable_filter(view: View) -> Filter:
    """Return the filter of everything that a policy of a tenant could remove."""
    return Filter(scope=Scope(tenant=view.scope.tenant), kinds=REMOVABLE, quarantined=None)


def _last_change(view: View, id: str) -> Any:
    versions = view.engine.store.history(Scope(tenant=view.scope.tenant), id)
    return (versions[-1].superseded_at or versions[-1].recorded_at) if versions else None


def _keeps_nothing(policy: RetentionPolicy) -> bool:
    bounds = (policy.older_than, policy.at_most, policy.max_bytes)
    return 0 in bounds or all(bound is None for bound in bounds)


def _check_field(name: str, value: Any) -> Any:
    if name == "kinds":
        kinds = (value,) if isinstance(value, str) else tuple(value)
        if not kinds:
            raise InvalidInput("kind is an empty collection; leave it out to mean every kind")
        return tuple(sorted({check_kind(kind) for kind in kinds}))
    if name in ("older_than", "forget"):
        return 0.0 if type(value) in (int, float) and not value else to_seconds(value, name)
    if name in ("at_most", "max_bytes"):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidInput(f"{name} must be a whole number, 0 or more, not {value!r}")
        return value
    if name == "archive":
        if value not in ("important", "all"):
            raise InvalidInput(f'archive must be "important" or "all", not {value!r}')
        return value
    if name == "keep_important":
        return check_unit(value, name)
    return check_flag(value, name)


def _scope_labels(scope: Scope) -> dict[str, str | None]:
    return {"agent": scope.agent, "user": scope.user, "room": scope.room}


def check_policy(stored: object) -> None:
    """Refuse a policy from elsewhere that could not have been set here."""
    if not isinstance(stored, dict):
        raise InvalidInput(f"a policy must be an object, not {type(stored).__name__}")
    fields = cast("dict[str, Any]", stored)
    does = fields.get("does")
    if does not in _FIELDS:
        raise InvalidInput(f"a policy does one of {', '.join(_FIELDS)}, not {does!r}")
    policy = _parse_policy(dump_json(fields), "any")
    check_label(policy.name, "name")
    for name, label in _scope_labels(policy.scope).items():
        if label is not None:
            check_label(label, name)
    for name in ("kinds", *(field for field in _FIELDS["remove"] + _FIELDS["versions"] if field != "kinds")):
        value = getattr(policy, name)
        if value is not None and value != ():
            _check_field(name, value)


def _parse_policy(text: str, tenant: str) -> RetentionPolicy:
    stored: dict[str, Any] = json.loads(text)
    stored["scope"] = Scope(tenant=tenant, **stored["scope"])
    stored["kinds"] = tuple(stored["kinds"])
    try:
        return RetentionPolicy(**stored)
    except TypeError:
        raise InvalidInput(
            f"the policy {stored.get('name')!r} is of a newer Rememo; upgrade rememo, or remove it with retention.remove"
        ) from None
