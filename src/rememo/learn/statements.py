"""Statements: the evidence of a fact. Facts are computed from them, and recomputed without one that is retracted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.extract.predicates import EVERY
from rememo.model.fact import Source, folded
from rememo.model.scope import LABELS, Scope
from rememo.model.times import from_micros, to_micros

Key = tuple[Any, ...]
MODEL, LINK = "model", "model:link"
"""The names of statements that a language model found in a text; a `LINK` is a relationship too."""


def reach_of(scope: Scope, bound: tuple[str, ...]) -> Scope:
    """Return the scope that a writer bound to these labels of a scope could see."""
    if not bound:
        return Scope(tenant=scope.tenant)
    return Scope(tenant=scope.tenant, **{name: getattr(scope, name) for name in LABELS if name in bound})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One time that somebody said something to be so, or not to be so."""

    object: str
    """As it was spelled."""
    said: datetime
    """Event time: when it was said."""
    known: datetime
    """When it reached this memory; decides between undated ones said at the same moment."""
    scope: Scope
    """Where it was said."""
    confidence: float
    source: Source | None = None
    """The record that says it; None when somebody added it by hand."""
    name: str | None = None
    """Tells statements made by hand or by a model apart; what rules found in a text has none."""
    begin: datetime | None = None
    end: datetime | None = None
    ends: bool = False
    """It says that this is not so, or no longer."""
    refused: bool = False
    """It says that everything said for this so far was wrong."""
    corrects: str | None = None
    """The object that was wrong."""
    fixed: tuple[str, ...] = ()
    """Which of confidence, begin and end it decides, whatever others say."""
    wording: str | None = None
    kind: str | None = None
    """What sort of thing the object is, where it goes by a name: "our dog died" is about Rex, the dog."""
    trust: float = 1.0
    importance: float | None = None
    """How much a model thinks of it."""
    bound: tuple[str, ...] = ()
    """The labels that whoever made it was bound to by a key: it decides nothing where these differ."""
    amends: tuple[str, ...] | None = None
    """Of one that changes a fact by hand: the labels its statements are bound to, so that it is kept with them."""

    @property
    def reach(self) -> Scope:
        """Where it decides what holds: all of the tenant, unless its maker was bound."""
        return reach_of(self.scope, self.bound)

    @property
    def kept_by(self) -> tuple[str, ...]:
        """The labels that the statements of its fact are bound to: what bound makers told is kept apart."""
        return self.bound if self.amends is None else self.amends

    @property
    def by_hand(self) -> bool:
        """Whether somebody made it, and did not only say it in a text."""
        return self.name is not None and self.name not in (MODEL, LINK)

    @property
    def about(self) -> str:
        """The object, as objects are compared."""
        return folded(self.object)

    @property
    def ends_all(self) -> bool:
        """Whether it says that something is over whatever its value was."""
        return self.ends and self.object == EVERY

    @property
    def asserts(self) -> bool:
        """Whether it says that something is so."""
        return not (self.ends or self.refused)

    @property
    def ending(self) -> datetime:
        """When what it denies came to its end."""
        return self.end or self.begin or self.said

    @property
    def effective(self) -> datetime:
        """The last moment it speaks for, up to when it was said; a plan speaks for its beginning."""
        if not self.asserts:
            return max(self.said, self.ending)
        if self.end is not None and self.end <= self.said:
            return self.end
        return self.said if self.begin is None else max(self.said, self.begin)

    @property
    def key(self) -> Key:
        """What makes it the same statement when a job runs again."""
        source = None if self.source is None else self.source.id
        corrects = None if self.corrects is None else folded(self.corrects)
        return (self.about, source, self.name, self.begin, self.end, self.ends, self.refused, corrects)

    @property
    def order(self) -> tuple[Any, ...]:
        """Where it stands on the line of time; the same for every order of arrival, unless nothing is dated."""
        arrival = 0 if self.begin is not None else to_micros(self.known)
        source = "" if self.source is None else self.source.id
        return (self.effective, self.said, arrival, self.confidence, self.about, self.asserts, source, self.name or "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without what is not said."""
        values: dict[str, Any] = {
            "object": self.object,
            "said": to_micros(self.said),
            "known": to_micros(self.known),
            "confidence": self.confidence,
        }
        if self.source is not None:
            values["source"], values["version"] = self.source
        for name in ("begin", "end"):
            if getattr(self, name) is not None:
                values[name] = to_micros(getattr(self, name))
        for name in ("name", "ends", "refused", "corrects", "wording", "kind"):
            if getattr(self, name):
                values[name] = getattr(self, name)
        if self.fixed:
            values["fixed"] = list(self.fixed)
        if self.trust != 1.0:
            values["trust"] = self.trust
        if self.importance is not None:
            values["importance"] = self.importance
        if self.bound:
            values["bound"] = list(self.bound)
        if self.amends is not None:
            values["amends"] = list(self.amends)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], scope: Scope) -> "Statement":
        """Read what `to_dict` wrote."""
        get = values.get
        return cls(
            object=values["object"],
            said=from_micros(values["said"]),
            known=from_micros(values["known"]),
            scope=scope,
            confidence=values["confidence"],
            source=Source(values["source"], values["version"]) if "source" in values else None,
            name=get("name"),
            begin=from_micros(values["begin"]) if "begin" in values else None,
            end=from_micros(values["end"]) if "end" in values else None,
            ends=get("ends", False),
            refused=get("refused", False),
            corrects=get("corrects"),
            fixed=tuple(get("fixed", ())),
            wording=get("wording"),
            kind=get("kind"),
            trust=get("trust", 1.0),
            importance=get("importance"),
            bound=tuple(get("bound", ())),
            amends=None if "amends" not in values else tuple(values["amends"]),
        )
