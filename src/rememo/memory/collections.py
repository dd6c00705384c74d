"""The collections of a memory, each loaded when it is first used, so that opening and searching start fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any

from rememo.collections.records import Duration, Records

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
    from rememo.keep.archive import Archive
    from rememo.keep.audit import Audit
    from rememo.keep.quarantine import Quarantine
    from rememo.keep.retention import Retention
    from rememo.working.flows import Flow
    from rememo.working.hooks import Hooks
    from rememo.working.kv import KeyValues
    from rememo.working.profiles import Profiles
    from rememo.working.sessions import Sessions
    from rememo.working.type_schema import V
    from rememo.working.typed import Typed
    from rememo.working.working import Working


class MemoryCollections(Records):
    """What a memory holds, kind by kind."""

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
        """Summaries of messages that are old, many, or gone."""
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
        """Quarantined records, and the rules that flag them."""
        from rememo.keep.quarantine import Quarantine

        return Quarantine(self._view)

    @property
    def jobs(self) -> Jobs:
        """The background jobs of this tenant, with the errors of those that failed."""
        from rememo.collections.jobs import Jobs

        return Jobs(self._view)

    @property
    def kv(self) -> KeyValues:
        """Key-value state of exactly this scope, with expiry."""
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

        declared = Flow(self._view, name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions, models=models)
        return declare_flow(self._view, declared)

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

    @property
    def audit(self) -> Audit:
        """Who did what, when and from where."""
        from rememo.keep.audit import Audit

        return Audit(self._view)

    @property
    def retention(self) -> Retention:
        """What is kept, and for how long: policies that `maintain()` runs."""
        from rememo.keep.retention import Retention

        return Retention(self._view)

    @property
    def archive(self) -> Archive:
        """Records that policies archived before they removed them."""
        from rememo.keep.archive import Archive

        return Archive(self._view)
