"""Providers: functions that add to the composed state, and the registry that holds them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from rememo.errors import AlreadyExists, InvalidInput, NotFound
from rememo.model.check import check_label
from rememo.model.record import Record
from rememo.model.scope import LABELS, Scope
from rememo.model.times import to_seconds
from rememo.runtime.locks import ForkLock

DEFAULT_POSITION = 100
"""Behind the built-in ones."""
DEFAULT_TIMEOUT = 5.0
_FARTHEST = 1_000_000

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest(Generic[M]):
    """What a provider is called with: the message to be answered, its scope and the time."""

    text: str
    """What the message says."""
    record: Record | None
    """The message itself, where it is stored and was given so."""
    scope: Scope
    """The labels of the view that composes; a provider of a wider view is asked for all narrower ones."""
    user: str | None
    """Whom the state is about: the view's user, else the one given to `compose`."""
    at: datetime
    """The moment the state is composed for."""
    memory: M
    """The view that composes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResponse:
    """What a provider returns; a mapping with these names means the same, and plain text is the `text`."""

    text: str = ""
    """For the model."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For templates: JSON values under names of their own."""
    data: Any = None
    """For programs: any JSON value; it stands under the provider's name."""
    recalled: bool = False
    """The text holds words of others, as records, pages and messages do: it is fenced, as data and not as instructions."""


ProviderOutput = str | ProviderResponse | Mapping[str, Any] | None
KeyReads = Callable[[Scope], Sequence[tuple[str, str]]]
ProviderFunction = Callable[[ProviderRequest[Any]], ProviderOutput | Awaitable[ProviderOutput]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Provider:
    """A function under a name, with how it is used."""

    name: str
    function: ProviderFunction
    position: int = DEFAULT_POSITION
    """Where its text stands: lower ones first, ties in the order of registration."""
    private: bool = False
    """Used only when it is named."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds until it is left out."""
    scope: Scope | None = None
    """Where it was registered; None for one that is built in."""
    past: bool = True
    """Whether it can speak for a view of the past."""
    reads: "KeyReads | None" = None
    """Which key-value entries (namespace and key) it reads beside records: its answer holds while they stay as they are."""

    @property
    def builtin(self) -> bool:
        """Whether it came with Rememo."""
        return self.scope is None


class Registry:
    """The providers of one engine, each known to the view where it was registered and to narrower ones. Thread-safe."""

    def __init__(self, builtin: Iterable[Provider] = ()) -> None:
        self._lock = ForkLock()
        self._providers: tuple[Provider, ...] = tuple(builtin)
        self._hidden: frozenset[tuple[Scope, str]] = frozenset()
        self.version = 0
        """Grows with every change."""

    def add(
        self, scope: Scope, name: str, function: ProviderFunction, *, position: int, private: bool, timeout: object
    ) -> Provider:
        """Register a function; a name that some view would see twice raises `AlreadyExists`."""
        if callable(name):
            raise InvalidInput('a provider needs a name: write @memory.provider("name")')
        check_label(name, "the provider's name")
        if not callable(function):
            raise InvalidInput(f"provider {name!r} must be a function, not {type(function).__name__}")
        if isinstance(position, bool) or not isinstance(position, int) or not -_FARTHEST <= position <= _FARTHEST:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"position must be a whole number within {_FARTHEST:,} of zero, not {position!r}")
        if not isinstance(private, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"private must be True or False, not {private!r}")
        added = Provider(
            name=name,
            function=function,
            position=position,
            private=private,
            timeout=to_seconds(timeout, "timeout"),
            scope=scope,
        )
        with self._lock:
            for provider in self._providers:
                if provider.name == name and self._conflicts(provider, scope):
                    raise AlreadyExists(
                        f"there is a provider {name!r} {_describe_scope(provider)} already; take another name, or remove that one first"
                    )
            self._providers = (*self._providers, added)
            self.version += 1
        return added

    def _conflicts(self, provider: Provider, scope: Scope) -> bool:
        if provider.scope is None:
            return not self._is_hidden(scope, provider.name)
        return provider.scope.tenant == scope.tenant and all(
            getattr(provider.scope, label) is None
            or getattr(scope, label) is None
            or getattr(provider.scope, label) == getattr(scope, label)
            for label in LABELS
        )

    def _is_hidden(self, scope: Scope, name: str) -> bool:
        return any(hidden == name and where.contains(scope) for where, hidden in self._hidden)

    def visible(self, scope: Scope) -> list[Provider]:
        """Return the providers that a view uses, in the order of their texts."""
        visible = [
            provider
            for provider in self._providers
            if (not self._is_hidden(scope, provider.name) if provider.scope is None else provider.scope.contains(scope))
        ]
        return sorted(visible, key=lambda provider: provider.position)

    def get(self, scope: Scope, name: str) -> Provider:
        """Return a provider of a view; raises `NotFound`."""
        visible = self.visible(scope)
        for provider in visible:
            if provider.name == name:
                return provider
        raise NotFound(
            f"there is no provider {name!r} in this scope; there are {', '.join(sorted(provider.name for provider in visible))}"
        )

    def remove(self, scope: Scope, name: str) -> None:
        """Use a provider no more: one that was registered on this very view, or a built-in one within this view."""
        with self._lock:
            provider = self.get(scope, check_label(name, "the provider's name"))
            if provider.scope is None:
                self._hidden |= {(scope, name)}
            elif provider.scope == scope:
                self._providers = tuple(each for each in self._providers if each is not provider)
            else:
                raise InvalidInput(
                    f"provider {name!r} is registered {_describe_scope(provider)}; remove it there, or leave it out with exclude="
                )
            self.version += 1


class Providers:
    """The providers that a view uses: those that are built in, and those registered on it or on a wider view."""

    def __init__(self, registry: Registry, scope: Scope) -> None:
        self._registry = registry
        self._scope = scope

    def add(
        self,
        name: str,
        function: ProviderFunction,
        *,
        position: int = DEFAULT_POSITION,
        private: bool = False,
        timeout: float | str | timedelta = DEFAULT_TIMEOUT,
    ) -> Provider:
        """Register a function for this view and narrower ones; what `@memory.provider(…)` does."""
        return self._registry.add(self._scope, name, function, position=position, private=private, timeout=timeout)

    def list(self) -> list[Provider]:
        """Return them in the order of their texts, private ones too."""
        return self._registry.visible(self._scope)

    def get(self, name: str) -> Provider:
        """Return one by its name; raises `NotFound`."""
        return self._registry.get(self._scope, check_label(name, "the provider's name"))

    def remove(self, name: str) -> None:
        """Use one no more: one registered on this very view, or a built-in one for this view and narrower ones.

        One that is not there raises `NotFound`; one of a wider view is removed there.
        """
        self._registry.remove(self._scope, name)


def _describe_scope(provider: Provider) -> str:
    if provider.scope is None:
        return "built in"
    labels = [
        f"{label} {getattr(provider.scope, label)!r}" for label in LABELS if getattr(provider.scope, label) is not None
    ]
    return f"for {', '.join(labels) or f'the whole tenant {provider.scope.tenant!r}'}"
