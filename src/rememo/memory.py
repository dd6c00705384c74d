"""Memory: the front door; a view of one engine bound to a scope.

What lies behind a door is loaded when the door is first used, so that opening and searching start fast.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import TracebackType, UnionType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from rememo.ask.answer import Answer
from rememo.collections.message import Message
from rememo.collections.records import Duration, Records
from rememo.context.item import Context, Recall
from rememo.context.providers import DEFAULT_POSITION, DEFAULT_TIMEOUT, ProviderOutput, ProviderRequest, Providers
from rememo.context.state import State
from rememo.engine.audit import ActorContext, ComplianceCheck, acting
from rememo.engine.batch import Batch
from rememo.engine.embedders import default_embedder
from rememo.engine.engine import Composing, Engine, Runner
from rememo.engine.opening import open_engine
from rememo.engine.view import View, view_of
from rememo.errors import InvalidInput, NotFound, Unavailable
from rememo.keep.keyring import Keyring
from rememo.keep.versions import Diff
from rememo.llm.protocol import LLM
from rememo.model.change_event import ChangeEvent
from rememo.model.check import check_flag, check_function, check_label
from rememo.model.derived_ids import may_be_older
from rememo.model.erasure import ErasureReceipt
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import DEFAULT_TENANT, LabelValue, Scope
from rememo.model.spelling import usual_spellings
from rememo.model.times import Clock, now, to_utc
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.recall.question import THRESHOLD
from rememo.recall.relevance import FLOOR
from rememo.recall.rerank.protocol import Reranker
from rememo.settings import Settings
from rememo.store.kv.protocol import KeyValueServer
from rememo.store.reports import Check, Stats
from rememo.text.tokens import TokenCounter

if TYPE_CHECKING:
    from rememo.collections.actions import Actions
    from rememo.collections.documents import Documents
    from rememo.collections.facts import Facts
    from rememo.collections.goals import Goals
    from rememo.collections.jobs import Jobs
    from rememo.collections.messages import Messages
    from rememo.collections.posts import Posts
    from rememo.collections.relationships import Relationships
    from rememo.collections.revisions import Revisions
    from rememo.collections.summaries import Summaries
    from rememo.collections.tasks import Tasks
    from rememo.collections.thoughts import Thoughts
    from rememo.context.compose import Composer
    from rememo.keep.archive import Archive
    from rememo.keep.audit import Audit
    from rememo.keep.export import Transferred
    from rememo.keep.quarantine import Quarantine
    from rememo.keep.retention import Retention
    from rememo.llm.spending import Spending
    from rememo.model.retention import Maintenance
    from rememo.working.flows import Flow
    from rememo.working.hooks import Hooks
    from rememo.working.kv import KeyValues
    from rememo.working.profiles import Profiles
    from rememo.working.sessions import Sessions
    from rememo.working.type_schema import V
    from rememo.working.typed import Typed
    from rememo.working.working import Working

_POOL = "pool:"
_DOORS: Final = (
    "collections.documents", "collections.facts", "collections.goals", "collections.jobs", "collections.posts",
    "collections.relationships", "collections.revisions", "collections.summaries", "context.compose", "keep.audit",
    "keep.changes", "keep.erase", "keep.maintenance", "keep.quarantine", "keep.reembed", "keep.undo", "ask.answering", "learn.model_learning",
    "working.flow_provider", "working.hooks", "working.import_checks", "working.kv", "working.profiles", "working.session_erasure", "working.sessions",
    "working.typed",
)  # fmt: skip
"""These bring everything with them that is loaded later than this file."""
_MICROSECOND = timedelta(microseconds=1)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


M = TypeVar("M", bound="Memory")
F = TypeVar("F", bound="Callable[[ProviderRequest[Memory]], ProviderOutput | Awaitable[ProviderOutput]]")


@usual_spellings
class Memory(Records):
    """What an agent remembers, seen through one scope.

    Every read and write obeys the view's scope: labels that are bound must match, labels that are not do not matter.
    Thread-safe; many processes may open one file. Use it as a context manager, or call `close()`.
    """

    def __init__(
        self,
        url: str | Path = "rememo.db",
        *,
        tenant: str = DEFAULT_TENANT,
        embedder: Embedder | str | None = "default",
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        encryption: Keyring | None = None,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a memory: a file's path, ":memory:" or "postgresql://…"; a file that is not there is made.

        `embedder` is the one that the settings name unless given, the static one where they name none; a name such as
        "static" or "openai:text-embedding-3-small" will do; None keeps no vectors. `llm` is a language model that
        sharpens what is learned, and that its owner closes; without one, the one that the settings name, if any.
        `reranker` orders hits where `search(rerank=True)` asks for it. With
        `encryption`, contents are stored
        encrypted; a file is encrypted from its beginning or never. `settings` come from the environment and
        `rememo.toml` unless given. `clock` tells the time, for tests.
        """
        address, settings = _address(url), _settings(settings)
        if isinstance(embedder, str):
            model = default_embedder(settings if embedder == "default" else settings.but(embedder=embedder))
        else:
            model = _embedder(embedder)
        scope = Scope().narrow(tenant=tenant)
        asked = _model_of(settings) if llm is None else llm
        engine = open_engine(address, embedder=model, settings=settings, clock=clock, encryption=encryption)
        if model is not embedder and isinstance(model, RemoteEmbedder):
            engine.owned.append(model)
        engine.hires, engine.composes = _worker, _composer
        if asked is not None:
            from rememo.llm.gateway import ModelGateway

            engine.models = ModelGateway(engine, asked, owned=llm is None)
        engine.reranker = reranker
        super().__init__(View(engine=engine, scope=scope))

    def scope(
        self,
        *,
        tenant: LabelValue | None = None,
        agent: LabelValue | None = None,
        user: LabelValue | None = None,
        room: LabelValue | None = None,
    ) -> Memory:
        """Return a narrower view of the same memory; a label that is bound already cannot be changed.

        A label is a text, or the whole number that a platform gives: `user=42` is `user="42"`.
        """
        if isinstance(room, str) and room.startswith(_POOL) and room != self.bound.room:
            raise InvalidInput(f"rooms whose name begins with {_POOL!r} are pools; open one with memory.pool(name)")
        return _memory(Memory, self._view.narrow(self.bound.narrow(tenant=tenant, agent=agent, user=user, room=room)))

    def pool(self, name: str) -> Memory:
        """Return the view of a pool: what its group shares within this tenant, whoever opens it by this name.

        A pool is a room of its own, `pool:` and the name. What is written through the view is there for all of them and
        carries this view's agent and user as its author; nothing else of theirs can be seen through it.
        """
        room = check_label(f"{_POOL}{check_label(name, 'name')}", "name")
        shared = self._view.narrow(Scope(tenant=self.bound.tenant, room=room))
        return _memory(Memory, replace(shared, author=self._view.home))

    @property
    def messages(self) -> Messages:
        """Conversations, turn by turn."""
        from rememo.collections.messages import Messages

        return Messages(self._view)

    @property
    def facts(self) -> Facts:
        """What is known of whom, with sources, confidence and validity."""
        from rememo.collections.facts import Facts

        return Facts(self._view)

    @property
    def revisions(self) -> Revisions:
        """What later statements made of earlier ones."""
        from rememo.collections.revisions import Revisions

        return Revisions(self._view)

    @property
    def relationships(self) -> Relationships:
        """Who has to do with whom."""
        from rememo.collections.relationships import Relationships

        return Relationships(self._view)

    @property
    def documents(self) -> Documents:
        """Texts read in whole and found in parts."""
        from rememo.collections.documents import Documents

        return Documents(self._view)

    @property
    def goals(self) -> Goals:
        """What is to be reached."""
        from rememo.collections.goals import Goals

        return Goals(self._view)

    @property
    def tasks(self) -> Tasks:
        """What is to be done, and when."""
        from rememo.collections.tasks import Tasks

        return Tasks(self._view)

    @property
    def actions(self) -> Actions:
        """What was done, with its outcome."""
        from rememo.collections.actions import Actions

        return Actions(self._view)

    @property
    def thoughts(self) -> Thoughts:
        """Steps of reasoning."""
        from rememo.collections.thoughts import Thoughts

        return Thoughts(self._view)

    @property
    def posts(self) -> Posts:
        """What was published."""
        from rememo.collections.posts import Posts

        return Posts(self._view)

    @property
    def summaries(self) -> Summaries:
        """What stands for messages that are old, many, or gone."""
        from rememo.collections.summaries import Summaries

        return Summaries(self._view)

    @property
    def profiles(self) -> Profiles:
        """What is known of users, by any key of theirs."""
        from rememo.working.profiles import Profiles

        return Profiles(self._view)

    @property
    def working(self) -> Working:
        """The agent's workbench in this scope: messages, actions, thoughts, to-dos and free values together."""
        from rememo.working.working import Working

        return Working(self._view)

    @property
    def sessions(self) -> Sessions:
        """Workbenches saved by name."""
        from rememo.working.sessions import Sessions

        return Sessions(self._view)

    @property
    def quarantine(self) -> Quarantine:
        """What was held back, and the rules that do so."""
        from rememo.keep.quarantine import Quarantine

        return Quarantine(self._view)

    @property
    def jobs(self) -> Jobs:
        """The later work of this tenant, and what went wrong with it."""
        from rememo.collections.jobs import Jobs

        return Jobs(self._view)

    @property
    def kv(self) -> KeyValues:
        """Key-value state of exactly this scope, with an end."""
        from rememo.working.kv import KeyValues

        return KeyValues(self._view)

    def flow(
        self,
        name: str,
        *,
        steps: Sequence[str],
        ttl: Duration = "24h",
        sliding: bool = True,
        transitions: Mapping[str, Iterable[str]] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> Flow:
        """Return a process of several steps whose state, user by user, is kept until it expires.

        A state lives for `ttl` after it was last read or changed; without `sliding`, after its start. `transitions` says
        where a step may go, a step not named there may go anywhere; `models` holds types that pydantic can check, for
        the data under a step's name.
        """
        from rememo.working.flow_provider import declare_flow
        from rememo.working.flows import Flow

        made = Flow(self._view, name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions, models=models)
        return declare_flow(self._view, made)

    def typed(
        self,
        name: str,
        default: V,
        *,
        type: type[V] | UnionType | None = None,
        migrate: Callable[[Any], V] | None = None,
    ) -> Typed[V]:
        """Return a value of any type that pydantic can check, kept under a name in exactly this scope.

        The type is that of the default unless given, as `list[int]` must be. `migrate` makes the new value of a stored
        one that does not fit the type any more, or has other fields than the type has.
        """
        from rememo.working.typed import Typed

        return Typed(self._view, name, default, type=type, migrate=migrate)

    @property
    def hooks(self) -> Hooks:
        """Functions to be called after changes in this scope."""
        from rememo.working.hooks import Hooks

        return Hooks(self._view)

    # ---- what the model is told

    @property
    def providers(self) -> Providers:
        """Those who have something to say when a state is composed."""
        return Providers(self._composer.registry, self.bound)

    def provider(
        self,
        name: str,
        *,
        position: int = DEFAULT_POSITION,
        private: bool = False,
        timeout: float | str | timedelta = DEFAULT_TIMEOUT,
    ) -> Callable[[F], F]:
        """Register the decorated function, plain or async, as a provider of this view and of narrower ones.

        It is told what is `ProviderRequest` and returns text, `ProviderResponse(text=, values=, data=)`, a mapping with these names, or
        None for nothing. `position` orders the texts; a `private` one is used only when `include` names it; one that
        does not return within `timeout` is left out. A name that is taken raises `AlreadyExists`.
        """

        def register(function: F) -> F:
            self.providers.add(name, function, position=position, private=private, timeout=timeout)
            return function

        return register

    def compose(
        self,
        message: str | Message | Record,
        *,
        user: str | None = None,
        include: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        fresh: bool = False,
    ) -> State:
        """Ask the providers about a message, side by side, and return what they say as one state.

        `user` is whom it is about, where the view is bound to none, as in a group's room: that user's profile is told,
        and what is recalled comes from all rooms of that user. `include` takes only those it names, private ones too; `exclude` leaves some out; a name that is not there raises
        `NotFound`. One that fails or takes too long is left out and stands in `State.failures`. A state is kept for five
        minutes and given again for the same message, until something within reach is written, by any process; `fresh`
        asks anew.
        """
        said = message.record if isinstance(message, Message) else message
        return self._composer.compose(self._view, self, said, user=user, include=include, exclude=exclude, fresh=fresh)

    @property
    def _composer(self) -> Composer:
        return cast("Composer", self._view.engine.composer)

    def context(
        self,
        query: str,
        *,
        max_tokens: int = 2_000,
        recall: Recall = "user",
        user: str | None = None,
        system: str | None = None,
        template: str | None = None,
        counter: TokenCounter | None = None,
        at: datetime | None = None,
        threshold: float = FLOOR,
        ids: bool = False,
    ) -> Context:
        """Return what a model should be shown for a question: the best use of `max_tokens`, never more than that.

        The latest turns come from this view; facts that hold now, passages, open goals and tasks and the profile are
        recalled from all rooms of the same user and agent (`recall="user"`), from this view alone (`"room"`), from all
        users of the agent (`"agent"`) or from the whole tenant (`"tenant"`). In a group room, bind no user and name the
        one who asks by `user`. What says the same is shown once. Recalled text stands in a fence that marks it as data.
        `system` goes before it in the messages; `template` is a Jinja template for what stands in the fence. Tokens are
        counted by `counter`. Where nothing is as relevant to the question as `threshold`, nothing is
        recalled: only the latest turns, the profile and open plans are left. `ids=True` writes ids
        instead of numbers before each item. A budget that is too small for the system prompt or the fence raises
        `InvalidInput`.
        """
        from rememo.context.context import context

        return context(
            self._view, query, max_tokens=max_tokens, recall=recall, user=user, system=system, template=template,
            counter=counter, at=at, threshold=threshold, ids=ids,
        )  # fmt: skip

    def ask(
        self,
        question: str,
        *,
        max_tokens: int = 2_000,
        recall: Recall = "user",
        user: str | None = None,
        at: datetime | None = None,
        threshold: float = THRESHOLD,
        model: bool = True,
    ) -> Answer:
        """Return what memory says to a question, with the ids of the records it rests on, or that it is not in memory.

        With a language model, that one answers from the context of the question (`max_tokens`, `recall`, `user` and `at`
        are those of `context`); what it cites is checked against what it was shown. Without one, with `model=False`,
        beyond the day's ceiling, or when it fails, the answer is what the best records say themselves, and `threshold` is how
        sure recall must be of them, from 0 to 1.
        """
        from rememo.ask.answering import answer_question

        return answer_question(
            self._view, question, max_tokens=max_tokens, recall=recall, user=user, at=at, threshold=threshold,
            model=model,
        )  # fmt: skip

    # ---- who does it

    @property
    def audit(self) -> Audit:
        """Who did what, when and from where."""
        from rememo.keep.audit import Audit

        return Audit(self._view)

    def acting(
        self, *, actor: str | None = None, session: str | None = None, address: str | None = None
    ) -> ActorContext:
        """Act in somebody's name inside a `with` block: the audit trail says so. What is not given stays as it is.

        It holds for this thread or asyncio task, whichever view or memory is used inside.
        """
        return acting(actor=actor, session=session, address=address)

    def compliance(self, check: ComplianceCheck | None = None, *, content: bool = False) -> Callable[..., Any]:
        """Ask `check(intent)` before every write of this view and narrower ones; what it returns are flags in the trail.

        Usable as a decorator. A check returns one flag, several or None; it is not told the content unless it asks for
        it (`content=True`). One that raises leaves a flag that says so; the write goes on.
        """
        from rememo.keep.audit import add_check

        return add_check(self._view, check, content=content)

    @contextmanager
    def batch(self, *, key: str | None = None) -> Generator[BatchView]:
        """Gather writes and make them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see what is stored, not what waits. Receipts inside are `pending`; the batch's `receipt` has it all.
        """
        self._view.need_present()
        self._view.need_no_batch("batch()")
        batch = Batch()
        inside = _memory(BatchView, replace(self._view, batch=batch))
        try:
            yield inside
        finally:
            # Whatever is written through it later goes straight to the store.
            batch.open = False
        inside.receipt = self._view.commit(batch.writes, key)

    # ---- time

    def history(self, id: str, *, quarantined: bool = False) -> list[Record]:
        """Return all versions of a record, oldest first; a record that was never there raises `NotFound`.

        Versions that are or were in quarantine come only with `quarantined`.
        """
        self._view.wait_for_extraction()
        versions = self._view.engine.store.history(self.bound, check_label(id, "id"))
        if not versions and may_be_older(id):
            versions = self._view.engine.store.history(self.bound, self._view.engine.ids.derive(self.bound.tenant, id))
        if self._view.known_at is not None:
            versions = [version for version in versions if version.recorded_at <= self._view.known_at]
        if not check_flag(quarantined, "quarantined"):
            versions = [version for version in versions if version.quarantine is None]
        if not versions:
            raise NotFound(f"there is no record {id!r} in this scope, and never was")
        return versions

    def changes(self, *, after: datetime | str | None = None, limit: int = 100) -> list[ChangeEvent]:
        """Return what was added, changed and ended in this scope, in the order it was committed, by whichever process.

        `after` is a moment, or the `cursor` of a change that was given before: asking with the last one goes on without a
        loss. What is held in quarantine is not told; what is imported stands at the times it brings. Expiry is no change.
        """
        from rememo.keep.changes import changes

        return changes(self._view, after, limit)

    def snapshot(self, name: str) -> datetime:
        """Name the present state of the whole tenant, for `as_of`, `diff` and `rollback`; returns its system time."""
        self._view.need_present()
        self._view.need_no_batch("snapshot()")
        audit = self._view.engine.audit
        note = None if audit is None else audit.note("snapshot", Scope(tenant=self.bound.tenant), ids=(name,))
        return self._view.engine.store.put_snapshot(
            self.bound.tenant, check_label(name, "name"), self._view.engine.now(), note
        )

    def snapshots(self) -> dict[str, datetime]:
        """Return the names of snapshots with their system times, oldest first."""
        return self._view.engine.store.snapshots(self.bound.tenant)

    def as_of(self, moment: str | datetime) -> Memory:
        """Return a read-only view of what was known at a snapshot or a moment."""
        return _memory(Memory, self._view.at(self._moment(moment)))

    def diff(self, before: str | datetime, after: str | datetime | None = None) -> Diff:
        """Return what was added, removed and changed in this scope from one moment to another, or until now."""
        from rememo.keep.versions import diff

        since, until = self._moment(before), None if after is None else self._moment(after)
        if self._view.known_at is not None:
            since, until = min(since, self._view.known_at), min(until or self._view.known_at, self._view.known_at)
        return diff(self._view.engine, self.bound, since, until)

    def rollback(self, to: str | datetime) -> Receipt:
        """Make this scope what it was known to be at a snapshot or a moment, by new versions; nothing is lost."""
        from rememo.keep.undo import roll_back

        self._view.need_present()
        self._view.need_no_batch("rollback()")
        return roll_back(self._view, self._moment(to))

    def undo(self, receipt: Receipt) -> Receipt:
        """Take one write back, by new versions; a record that somebody changed since raises `VersionConflict`.

        What was learned since is no conflict: it goes with what it was learned from.
        """
        from rememo.keep.undo import undo

        self._view.need_present()
        self._view.need_no_batch("undo()")
        if not isinstance(receipt, Receipt):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"undo() takes the receipt of a write, not {type(receipt).__name__}")
        if receipt.recorded_at is None:
            raise InvalidInput("this receipt is of a batch that was not committed; there is nothing to undo")
        before = max(to_utc(receipt.recorded_at, "the receipt's recorded_at"), _BEGINNING) - _MICROSECOND
        return undo(self._view, receipt, before)

    def _moment(self, moment: str | datetime) -> datetime:
        if isinstance(moment, datetime):
            return to_utc(moment, "the moment")
        found = self.snapshots().get(check_label(moment, "snapshot"))
        if found is None:
            raise NotFound(f"there is no snapshot {moment!r}; snapshots() lists them")
        return found

    # ---- keeping

    def export(self, path: str | Path, *, plain: bool = False) -> Transferred:
        """Write everything in this scope to a new JSON Lines file: all versions, and for a whole tenant its other state.

        The export of an encrypted memory is encrypted with the same master key; `plain` asks for one that anybody can read.
        """
        from rememo.keep.export import export

        readable = check_flag(plain, "plain")
        return export(self._view.engine, self.bound, path, known_at=self._view.known_at, plain=readable)

    def import_(self, path: str | Path) -> Transferred:
        """Bring an export into this scope's tenant without a loss; repeating it is harmless."""
        from rememo.keep.import_file import import_file
        from rememo.working.import_checks import check_entry

        self._view.need_present()
        return import_file(self._view.engine, self.bound, path, check_entry)

    def backup(self, path: str | Path) -> None:
        """Copy the whole store, all tenants, to a new file while others go on writing."""
        from rememo.keep.erase import note_backup

        self._record("backup")
        self._view.engine.store.backup(str(path))
        note_backup(self._view.engine, str(Path(path).absolute()))

    def erase(
        self,
        *,
        user: str | None = None,
        room: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        ids: Iterable[str] | None = None,
        dry_run: bool = False,
    ) -> ErasureReceipt:
        """Remove for good all that belongs to a user, room or agent, some records, or the whole tenant.

        To erase everything, name the tenant that this memory is bound to: `erase(tenant="acme")`. Any other name is
        refused.

        With it go all versions, vectors, words, jobs and keys, its key-value state, and what was learned from it and
        from nothing else; summaries are written anew without it, saved sessions lose it, caches are emptied, and audit
        lines lose what tells of it. No view of the past, undo or roll-back brings it back. The receipt says what was
        removed, and what a search of the index, of everything that is left and of the file's bytes found afterwards. Somebody nobody knows gets a receipt with nothing in it; nobody named is an
        error. An interrupted erasure goes on when it is asked for again, or by `maintain()`. With `dry_run` nothing is
        removed; the receipt counts the records, versions and keys that would go, and the sessions that would change.
        """
        from rememo.keep.erase import erase, preview
        from rememo.keep.erasure_targets import make_target
        from rememo.working.session_erasure import clean_session

        self._view.need_present()
        self._view.need_no_batch("erase()")
        target = make_target(self.bound, user=user, room=room, agent=agent, tenant=tenant, ids=ids)
        dry = check_flag(dry_run, "dry_run")
        if dry:
            return preview(self._view.engine, target, clean_session)
        receipt = erase(self._view.engine, target, clean_session)
        self._composer.forget()
        return receipt

    def verify(self) -> Check:
        """Check that the file is sound, that records, words, vectors and jobs agree, and that no vector is missing."""
        from rememo.keep.missing_vectors import verify

        return verify(self._view.engine)

    def stats(self) -> Stats:
        """Count what this tenant holds, and weigh the store; keys on a server that is lost are not counted."""
        engine, tenant = self._view.engine, self.bound.tenant
        model, active = engine.store.model(), engine.model.follow()
        stats = engine.store.stats(tenant, engine.now())
        stats = replace(stats, model=None if model is None else model.name, words_only=active.words_only)
        if not isinstance(engine.plain_kv, KeyValueServer):
            return stats
        try:
            return replace(stats, keys=stats.keys + engine.plain_kv.count(tenant, engine.now()))
        except Unavailable:
            return stats

    def spending(self, *, days: int = 30, backlog: bool = False) -> Spending:
        """Return what this tenant spent on models on the latest days (UTC), by day and purpose.

        `left` says what may still be spent today under the settings' `spend_daily_tokens`. With `backlog`, also what the
        messages that wait to be learned from would take at the most; nobody is asked for that.
        """
        from rememo.engine.job_payloads import EXTRACT, LEARN, UNLEARN
        from rememo.llm.spending import Ledger

        found = Ledger(self._view.engine).read(self.bound.tenant, days)
        if not backlog:
            return found
        from rememo.learn.model_learning import backlog as waiting

        return replace(found, backlog=waiting(self._view.engine, self.bound.tenant, (LEARN, UNLEARN, EXTRACT)))

    @property
    def retention(self) -> Retention:
        """What is kept, and for how long: policies that `maintain()` runs."""
        from rememo.keep.retention import Retention

        return Retention(self._view)

    @property
    def archive(self) -> Archive:
        """What was put away before policies removed it."""
        from rememo.keep.archive import Archive

        return Archive(self._view)

    def maintain(self, *, dry_run: bool = False) -> Maintenance:
        """Reclaim what has expired and run the policies of this scope and of narrower ones, in short steps.

        Without a policy nothing that can be read is removed. Returns what was done, policy by policy, for
        `retention.undo`; `dry_run=True` tells what would be done. A run or an
        erasure that was interrupted is ended by the next one.
        """
        from rememo.keep.erase import resume
        from rememo.keep.maintenance import maintain
        from rememo.working.session_erasure import clean_session

        self._view.need_present()
        self._view.need_no_batch("maintain()")
        if not check_flag(dry_run, "dry_run"):
            resume(self._view.engine, self.bound.tenant, clean_session)
        report = maintain(self._view, dry=dry_run)
        self._composer.sweep()
        return report

    def reembed(self, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Change the embedding model of the whole store; returns how many versions were embedded anew.

        The new vectors are built beside the old ones and take over when complete; searches go on meanwhile, and an
        interrupted run goes on where it stopped. `progress(done, of)` is told how far it is.
        """
        from rememo.keep.reembed import reembed

        self._view.need_present()
        if progress is not None:
            check_function(progress, "progress")
        done = reembed(self._view.engine, embedder, progress)
        self._record("reembed", versions=done)
        return done

    def _record(self, operation: str, **detail: int) -> None:
        if self._view.engine.audit is not None:
            self._view.engine.audit.record(operation, self.bound, detail)

    def rotate_keys(self, *, reencrypt: bool = True) -> Receipt:
        """Wrap the keys of the whole store by the keyring's first master key, at once; others are not needed any more.

        With `reencrypt`, every tenant gets a new data key too, and jobs seal its contents by it while others read and write;
        `wait()` on the receipt waits for them.
        """
        from rememo.keep.rotation import rotate_keys

        self._view.need_present()
        self._view.need_no_batch("rotate_keys()")
        return rotate_keys(self._view.engine, self.bound, reencrypt=check_flag(reencrypt, "reencrypt"))

    def drop_key(self, *, tenant: str) -> bool:
        """Make everything of this memory's tenant unreadable for ever, at once; False when it had no key.

        Name the tenant, so that it is meant. Copies of the file that were made before still have the key.
        """
        from rememo.keep.rotation import drop_key

        self._view.need_present()
        self._view.need_no_batch("drop_key()")
        return drop_key(self._view.engine, self.bound, check_label(tenant, "tenant"))

    def close(self) -> None:
        """Let go of the store, for every view of it; closing twice is harmless."""
        self._view.engine.close()

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class BatchView(Memory):
    """A view whose writes wait to be made as one; what `Memory.batch()` lends."""

    receipt: Receipt | None = None
    """What the batch did, once its block has ended."""


def _worker(engine: Engine) -> Runner:
    from rememo.jobs.worker import Worker

    return Worker(engine)


def _composer(engine: Engine) -> Composing:
    from rememo.context.builtin_providers import BUILT_IN
    from rememo.context.compose import Composer
    from rememo.working.flow_provider import flows_provider

    return Composer(engine, (*BUILT_IN, flows_provider(engine)))


def _address(url: object) -> str:
    """Return where a memory is; None is no file of that name."""
    if not isinstance(url, str | Path):
        raise InvalidInput(
            f"the address of a memory must be text or a path, not {type(url).__name__};"
            ' give a file\'s path, ":memory:" or "postgresql://…"'
        )
    return str(url)


def _settings(settings: object) -> Settings:
    if settings is None:
        return Settings.load()
    if not isinstance(settings, Settings):
        raise InvalidInput(f"settings must be Settings(…), not {type(settings).__name__}; write Settings(learn=False)")
    return settings


def _embedder(embedder: Embedder | None) -> Embedder | None:
    # How long its vectors are is not looked at: an endpoint would be asked.
    if embedder is not None and not (hasattr(embedder, "name") and callable(getattr(embedder, "embed", None))):
        raise InvalidInput(
            f"an embedder must have a name, a dimension and embed(texts), which {type(embedder).__name__} has not;"
            ' a name such as "static" will do too'
        )
    return embedder


def _model_of(settings: Settings) -> LLM | None:
    if not settings.llm_url:
        return None
    from rememo.llm.gateway import model_of_settings

    return model_of_settings(settings)


def _memory(kind: type[M], view: View) -> M:
    """Return a memory over a view whose engine is open already."""
    memory = object.__new__(kind)
    memory.__dict__["_view"] = view
    return memory


def walled(memory: Memory, scope: Scope) -> Memory:
    """Return the view of a scope that nothing widens: no narrower view of it, no recall and no pool leads out of it.

    The scope may be of any tenant: this is for those who decide who may reach what.
    """
    return _memory(Memory, replace(view_of(memory), scope=scope, wall=scope))


def _load_all() -> None:
    """Load what is loaded later: a child forked while a thread was at it would wait for that thread for ever."""
    for name in _DOORS:
        import_module(f"rememo.{name}")


os.register_at_fork(before=_load_all)
