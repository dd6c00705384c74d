"""Facts: what is known about whom, from where, and for when."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from rememo.collections.fact_conflicts import find_conflicts
from rememo.collections.fact_extraction import extract_more
from rememo.collections.fact_reading import read_facts
from rememo.collections.fact_views import bound_labels, check_predicate, check_time, data_equals, to_fact
from rememo.engine.view import ViewHolder
from rememo.errors import InvalidInput, NotFound
from rememo.extract import ExtractedFact, extract
from rememo.extract.predicates import normalise_object, normalise_subject
from rememo.learn.conflicts import POLICIES, Policy
from rememo.learn.facts import POLICY_SPACE, FactChanges, group_of, is_fact, policy_of
from rememo.learn.reconcile import reconcile
from rememo.learn.statements import Statement, folded
from rememo.model.check import check_flag, check_label, check_limit, check_many, check_text, check_unit, dump_json
from rememo.model.derived_names import digest_name
from rememo.model.fact import Conflict, Fact, Source
from rememo.model.filters import Condition, Filter
from rememo.model.ids import new_id
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS, Scope
from rememo.model.times import to_utc
from rememo.model.unset import UNSET, Unset

_SHOWN = ["current", "disputed"]


class Facts(ViewHolder):
    """The facts of one scope, added by hand or learned from what was said."""

    # ---- writing

    def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        confidence: float = 1.0,
        sources: Iterable[str | Source] = (),
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        wording: str | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Add a fact; an equal one gets the new sources too, and the combined confidence 1 - (1-a)(1-b).

        "I" and "user" are the view's user, and wordings such as "moved to" become the predicate they mean. Without
        `valid_from` it counts as said now. A contradiction is settled by the predicate's policy before this returns.
        """
        self._need_writable("facts.add()")
        about, name = self._check_subject(subject), check_predicate(predicate)
        value = normalise_object(self._check_text(object, "object"))
        if not value:
            raise InvalidInput("a fact needs an object: give the value that the predicate states of the subject")
        check_unit(confidence, "confidence")
        begin, end = check_time(valid_from, "valid_from"), check_time(valid_to, "valid_to")
        if begin is not None and end is not None and begin > end:
            raise InvalidInput("valid_from is later than valid_to; swap them")
        tenant, scope = self._view.scope.tenant, self._view.home
        name_of = None if key is None else digest_name([scope.agent, scope.user, scope.room, check_label(key, "key")])
        if (
            name_of is not None
            and (first := self._view.engine.first_receipt(Scope(tenant=tenant), name_of)) is not None
        ):
            return self._receipt_of_fact(first, name_of)
        changes, now = FactChanges(tenant), self._view.engine.now()
        statement = Statement(
            object=value,
            said=begin or now,
            known=now,
            scope=scope,
            confidence=float(confidence),
            name=name_of or new_id(),
            begin=begin,
            end=end,
            wording=None if wording is None else self._check_text(wording, "wording"),
            bound=self._view.bound,
        )
        checked_sources = [self._source(source) for source in check_many(sources, "sources")]
        statements = [replace(statement, source=source, name=name_of or "hand") for source in checked_sources] or [
            statement
        ]
        groups = [changes.add(about, name, statement) for statement in statements]
        settled = reconcile(self._view.engine, changes, key=name_of)
        receipt = settled.receipt(settled.places[groups[-1], statements[-1].key])
        return self._with_redactions(receipt, subject, object, wording or "")

    def update(
        self,
        id: str,
        *,
        object: str | Unset = UNSET,
        confidence: float | Unset = UNSET,
        valid_from: datetime | Unset | None = UNSET,
        valid_to: datetime | Unset | None = UNSET,
        wording: str | Unset = UNSET,
    ) -> Receipt:
        """Change a fact by hand; what is set so stays, whatever is learned later.

        Another `object` is a correction: the fact becomes `retracted` and the returned one takes its place.
        """
        self._need_writable("facts.update()")
        fact = self.get(id)
        changes_given = {"confidence": confidence, "begin": valid_from, "end": valid_to}
        fixed = {name: value for name, value in changes_given.items() if value is not UNSET}
        if not fixed and object is UNSET and wording is UNSET:
            raise InvalidInput("update() was given nothing to change")
        if "confidence" in fixed:
            check_unit(fixed["confidence"], "confidence")
        fixed |= {name: check_time(fixed[name], _NAMES[name]) for name in ("begin", "end") if name in fixed}
        begin, end = fixed.get("begin", fact.valid_from), fixed.get("end", fact.valid_to)
        if isinstance(begin, datetime) and isinstance(end, datetime) and begin > end:
            raise InvalidInput("valid_from is later than valid_to; swap them")
        value = fact.object if object is UNSET else normalise_object(self._check_text(object, "object"))
        if not value:
            raise InvalidInput("a fact needs an object: give the value that the predicate states of the subject")
        corrects = None if folded(value) == folded(fact.object) else fact.object
        before = [Statement.from_dict(statement, fact.record.scope) for statement in fact.record.data["statements"]]
        asserted = [statement for statement in before if statement.asserts] or before
        now = self._view.engine.now()
        statement = replace(
            asserted[-1],
            **cast("dict[str, Any]", {"begin": None, "end": None} | fixed),
            object=value,
            known=now,
            name=new_id(),
            source=None,
            ends=False,
            corrects=corrects,
            fixed=tuple(fixed),
            wording=asserted[-1].wording if wording is UNSET else self._check_text(wording, "wording"),
            bound=self._view.bound,
            amends=None,
        )
        if corrects is not None:
            statement = replace(statement, begin=begin, end=end, said=max(statement.said for statement in before))
        else:
            # It is kept with what it amends, and decides no more than that does.
            labels = bound_labels(fact.record)
            both = tuple(name for name in LABELS if name in labels or name in self._view.bound)
            statement = replace(statement, bound=both, amends=labels if labels != both else None)
        if "confidence" not in fixed:
            statement = replace(statement, confidence=fact.confidence)
        changes = FactChanges(self._view.scope.tenant)
        group = changes.add(fact.subject, fact.predicate, statement)
        settled = reconcile(self._view.engine, changes)
        receipt = settled.receipt(settled.places[group, statement.key])
        return self._with_redactions(receipt, *(text for text in (object, wording) if isinstance(text, str)))

    def resolve(self, conflict: Conflict, *, keep: Fact | str) -> Receipt:
        """Settle a conflict: the fact to keep (itself, its id or its object) holds, the others are `retracted`."""
        self._need_writable("facts.resolve()")
        if not isinstance(conflict, Conflict):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"resolve() takes a conflict that conflicts() returned, not {type(conflict).__name__}")
        wanted = keep.id if isinstance(keep, Fact) else keep
        kept_facts = [fact for fact in conflict.facts if wanted == fact.id or folded(wanted) == folded(fact.object)]
        if not kept_facts:
            # By their ids: whoever may settle a conflict over a wire need not have the right to read it.
            choices = ", ".join(fact.id for fact in conflict.facts)
            raise InvalidInput(f"{wanted!r} is none of the facts in this conflict; keep one of {choices}")
        open_now = {fact.id for other in self.conflicts() for fact in other.facts}
        if any(fact.id not in open_now for fact in conflict.facts):
            raise InvalidInput(
                f"there is no such conflict about {conflict.subject!r} {conflict.predicate!r} any more; look at conflicts() again"
            )
        changes, now = FactChanges(self._view.scope.tenant), self._view.engine.now()
        for fact in conflict.facts:
            if folded(fact.object) == folded(kept_facts[0].object):
                continue
            times = [
                Statement.from_dict(statement, fact.record.scope).said for statement in fact.record.data["statements"]
            ]
            refusal = Statement(
                object=fact.object,
                said=max(now, *times),
                known=now,
                scope=fact.record.scope,
                confidence=1.0,
                name=new_id(),
                refused=True,
                bound=self._view.bound,
                amends=bound_labels(fact.record),
            )
            changes.add(fact.subject, fact.predicate, refusal)
        return reconcile(self._view.engine, changes).receipt(kept_facts[0].id)

    def policy(self, predicate: str, mode: Policy | None = None) -> Policy:
        """Return how contradictions of a predicate are treated in this tenant, or set it and settle what is there.

        `latest`: what began later ends the older. `keep`: the first stays. `ask`: both stay until `resolve`.
        `gather`: all hold, as with predicates of many values.
        """
        name, tenant = check_predicate(predicate), self._view.scope.tenant
        if mode is None:
            return policy_of(self._view.engine, tenant, name)
        if mode not in POLICIES:
            raise InvalidInput(f"there is no policy {mode!r}; the policies are {', '.join(POLICIES)}")
        self._need_writable("facts.policy()")
        self._view.engine.kv.set(tenant, POLICY_SPACE, name, dump_json(mode), self._view.engine.now())
        filter = Filter(scope=Scope(tenant=tenant), kinds=("fact",), conditions=(data_equals("predicate", name),))
        changes = FactChanges(tenant)
        changes.groups |= {
            group_of(record)
            for record in self._view.engine.store.read(filter, self._view.engine.now())
            if is_fact(record)
        }
        reconcile(self._view.engine, changes)
        return mode

    # ---- reading

    def get(self, id: str, *, known_at: datetime | None = None) -> Fact:
        """Return a fact, whatever its status; raises `NotFound` when there is none in this scope."""
        if known_at is None:
            self._view.wait_for_extraction()
        record = self._view.get(id, known_at=known_at)
        if not is_fact(record):
            raise NotFound(f"record {id!r} is no fact that was added or learned here, but a {record.kind}")
        return to_fact(record, self._effective_time(known_at))

    def list(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        current_only: bool = True,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        min_confidence: float = 0.0,
        limit: int = 100,
    ) -> "list[Fact]":
        """Return the latest `limit` facts, oldest first: what holds now, or at `valid_at`, or all of it.

        `current_only=False` adds what is superseded and retracted. The same fact from several rooms is one. `count()`
        tells how many there are.
        """
        check_limit(limit)
        conditions = self._conditions(subject, predicate, object)
        return self._select(
            conditions, limit, current_only=current_only, valid_at=valid_at, known_at=known_at, least=min_confidence
        )

    def count(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        current_only: bool = True,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        min_confidence: float = 0.0,
    ) -> int:
        """Return how many facts `list()` would give without a limit.

        `memory.count(kind="fact")` is the same, but counts a fact that several rooms know once for each.
        """
        conditions = self._conditions(subject, predicate, object)
        facts = self._select(
            conditions, None, current_only=current_only, valid_at=valid_at, known_at=known_at, least=min_confidence
        )
        return len(facts)

    def _select(
        self,
        conditions: tuple[Condition, ...],
        limit: int | None,
        *,
        current_only: bool,
        valid_at: datetime | None,
        known_at: datetime | None,
        least: float,
    ) -> "list[Fact]":
        check_unit(least, "min_confidence")
        check_flag(current_only, "current_only")
        if known_at is None:
            self._view.wait_for_extraction()
        at = self._effective_time(known_at)
        if valid_at is not None:
            status = () if not current_only else (Condition("data", ("status",), "$ne", "retracted"),)
            filters = [self._filter(conditions + status, known_at, valid_at)]
        elif current_only:
            is_shown = (Condition("data", ("status",), "$in", list(_SHOWN)),)
            ending = (data_equals("status", "superseded"),)
            # What will be superseded one day still holds today.
            filters = [self._filter(conditions + is_shown, known_at), self._filter(conditions + ending, known_at, at)]
        else:
            filters = [self._filter(conditions, known_at)]
        facts: list[Fact] = []
        for filter in filters:
            holding_only = current_only and valid_at is None
            facts += read_facts(self._view.engine, filter, limit, at, least, held=holding_only)
        facts.sort(key=lambda fact: fact.record.at)
        return facts if limit is None else facts[-limit:]

    def conflicts(self) -> "list[Conflict]":
        """Return what contradicts each other and waits for `resolve`.

        That is what the policy `ask` leaves open, and what somebody said under a key that is bound to a room, say,
        against what holds in another: it could not end what the key does not see.
        """
        self._view.wait_for_extraction()
        return find_conflicts(self._view, self._effective_time(None))

    def extract(
        self, text: str, *, speaker: str | None = None, at: datetime | None = None, model: bool = False
    ) -> "list[ExtractedFact]":
        """Return the facts a text states, without keeping them; "I" is `speaker`, else the view's user.

        With `model`, the memory's language model is asked too, and what it adds comes after what rules found; raises
        `ModelFailed` or `OverBudget` when it gives nothing.
        """
        said_at = self._view.engine.now() if at is None else to_utc(at, "at")
        who = self._speaker if speaker is None else self._check_text(speaker, "speaker")
        checked_text = self._check_text(text, "text")
        facts = extract(checked_text, speaker=who, at=said_at)
        if not model:
            return facts
        return facts + extract_more(
            self._view.engine, self._view.scope.tenant, facts, checked_text, speaker=who, at=said_at
        )

    # ---- inside

    def _receipt_of_fact(self, first: Receipt, name: str) -> Receipt:
        """Return the part of a batch's receipt that is about the fact a key was given for."""
        for id in first.ids:
            for version in self._view.engine.store.history(Scope(tenant=self._view.scope.tenant), id):
                if is_fact(version) and any(statement.get("name") == name for statement in version.data["statements"]):
                    return replace(
                        first, ids=(id,), versions={id: first.versions[id]}, outcomes={id: first.outcomes[id]}
                    )
        return first

    def _filter(
        self, conditions: tuple[Condition, ...], known_at: datetime | None, valid_at: datetime | None = None
    ) -> Filter:
        return self._view.filter(kind="fact", conditions=conditions, known_at=known_at, valid_at=valid_at)

    def _conditions(self, subject: str | None, predicate: str | None, object: str | None) -> tuple[Condition, ...]:
        conditions: list[Condition] = []
        if subject is not None:
            conditions.append(Condition("data", ("match", "subject"), "$eq", folded(self._check_subject(subject))))
        if predicate is not None:
            conditions.append(data_equals("predicate", check_predicate(predicate)))
        if object is not None:
            value = normalise_object(self._check_text(object, "object"))
            conditions.append(Condition("data", ("match", "object"), "$eq", folded(value)))
        return tuple(conditions)

    def _effective_time(self, known_at: datetime | None) -> datetime:
        moments = [to_utc(known_at, "known_at")] if known_at is not None else []
        if self._view.known_at is not None:
            moments.append(self._view.known_at)
        return min(moments, default=self._view.engine.now())

    @property
    def _speaker(self) -> str:
        return self._view.home.user or "user"

    def _check_subject(self, subject: object) -> str:
        name = normalise_subject(self._check_text(subject, "subject"), self._speaker)
        if not name:
            raise InvalidInput("a fact needs a subject: name whom or what it is about")
        return name

    def _source(self, source: str | Source) -> Source:
        if isinstance(source, Source):
            self._view.get(source.id)
            return source
        return Source(source, self._view.get(source).version)

    def _check_text(self, value: object, field: str) -> str:
        return self._view.engine.drafts.redact(
            check_text(value, field, max_bytes=self._view.engine.settings.max_text_bytes)
        )[0]

    def _with_redactions(self, receipt: Receipt, *texts: str) -> Receipt:
        """Return a receipt that says what was taken out of what a caller gave."""
        redactions = self._view.engine.drafts.redact("\n".join(texts))[1]
        return replace(receipt, redacted=dict(redactions)) if redactions else receipt

    def _need_writable(self, verb: str) -> None:
        self._view.need_present()
        self._view.need_no_batch(verb)


_NAMES = {"begin": "valid_from", "end": "valid_to"}
