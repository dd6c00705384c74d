"""Erasure: whom or what to remove for good, and the receipt that tells what became of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from rememo.model.check import dump_json
from rememo.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTarget:
    """What is to be erased: everything within a scope, or some records within it."""

    scope: Scope
    ids: tuple[str, ...] | None = None

    @property
    def named(self) -> dict[str, Any]:
        """The labels and ids that were named, for people to read."""
        scope = self.scope
        labels = {"agent": scope.agent, "user": scope.user, "room": scope.room}
        named: dict[str, Any] = {name: label for name, label in labels.items() if label is not None}
        if self.ids is not None:
            named["ids"] = list(self.ids)
        return named or {"tenant": scope.tenant}

    @property
    def whole(self) -> bool:
        """Whether it is a whole tenant."""
        return self.ids is None and self.scope == Scope(tenant=self.scope.tenant)

    def covers(self, scope: Scope) -> bool:
        """Whether everything of a scope is erased."""
        return self.ids is None and self.scope.contains(scope)

    def dumped(self) -> str:
        """Return it as text, for the store."""
        return dump_json({"scope": asdict(self.scope), "ids": None if self.ids is None else list(self.ids)})

    @property
    def digest(self) -> str:
        """What is kept of it once nothing may name it any more: who asks for the same again is known by it."""
        return sha256(self.dumped().encode()).hexdigest()

    @classmethod
    def read(cls, text: str | None) -> "ErasureTarget | None":
        """Return what `dumped` wrote; None for a digest, or for nothing."""
        if text is None or not text.startswith("{"):
            return None
        values = json.loads(text)
        return cls(scope=Scope(**values["scope"]), ids=None if values["ids"] is None else tuple(values["ids"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What an erasure removed, and what its check found afterwards."""

    target: Mapping[str, Any]
    """Whom or what: `user`, `room`, `agent`, `ids`, or the whole `tenant`."""
    counts: Mapping[str, int]
    """What was removed or changed, by sort; empty for an unknown person."""
    checked: Mapping[str, int]
    """What was looked for and where: texts and terms, and how many bytes of the file and its log, or of a server's rows."""
    leftovers: tuple[str, ...]
    """What is still there, and what to do about it; empty when nothing is."""
    backups: tuple[str, ...]
    """Copies made by `memory.backup` that are still there and may hold what was erased: remove them yourself."""
    archives: tuple[str, ...]
    """Archives that hold it, from which it could be restored: remove them yourself."""
    beyond: tuple[str, ...]
    """Where else copies may be that no memory can reach: a server's log, its backups and replicas. None for a file."""
    begun_at: datetime
    ended_at: datetime
    dry_run: bool = False
    """Whether it only tells what would be removed; then nothing was, and nothing was looked for."""

    @property
    def ok(self) -> bool:
        """Whether the check found nothing left in this store and in its archives."""
        return not self.leftovers and not self.archives

    @property
    def digest(self) -> str:
        """SHA-256 over the receipt; the audit trail keeps it, so that a receipt can be proved."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        times = {"begun_at": self.begun_at.isoformat(), "ended_at": self.ended_at.isoformat()}
        plain = {name: dict(fields[name]) for name in ("target", "counts", "checked")}
        lists = {name: list(fields[name]) for name in ("leftovers", "backups", "archives", "beyond")}
        content = plain | lists | times | {"dry_run": self.dry_run}
        return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
