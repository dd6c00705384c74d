"""What a memory gives a model: composed states, contexts and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar, cast

from rememo.ask.answer import Answer
from rememo.collections.message import Message
from rememo.collections.records import Records
from rememo.context.item import Context, Recall
from rememo.context.providers import DEFAULT_POSITION, DEFAULT_TIMEOUT, ProviderOutput, ProviderRequest, Providers
from rememo.context.state import State
from rememo.model.record import Record
from rememo.model.spelling import usual_spellings
from rememo.recall.question import THRESHOLD
from rememo.recall.relevance import FLOOR
from rememo.text.tokens import TokenCounter

if TYPE_CHECKING:
    from rememo.context.compose import Composer
    from rememo.memory.memory import Memory

F = TypeVar("F", bound="Callable[[ProviderRequest[Memory]], ProviderOutput | Awaitable[ProviderOutput]]")


@usual_spellings
class MemoryContext(Records):
    """What a model is shown of a memory."""

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

        It is called with a `ProviderRequest` and returns text, `ProviderResponse(text=, values=, data=)`, a mapping with these names, or
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

        `user` is whom it is about, where the view is bound to none, as in a group's room: that user's profile is included,
        and what is recalled comes from all rooms of that user. `include` takes only those it names, private ones too; `exclude` leaves some out; a name that is not there raises
        `NotFound`. One that fails or takes too long is left out and stands in `State.failures`. A state is kept for five
        minutes and given again for the same message, until something within reach is written, by any process; `fresh`
        asks anew.
        """
        record = message.record if isinstance(message, Message) else message
        return self._composer.compose(
            self._view, self, record, user=user, include=include, exclude=exclude, fresh=fresh
        )

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
