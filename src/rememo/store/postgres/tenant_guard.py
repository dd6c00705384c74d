"""Whose rows the statements of the moment may reach: those of one tenant, or of all for what belongs to the whole store.

The public methods of the store tell it by their arguments, before any statement is made: so that a store with row-level
security holds even a statement that forgot its tenant, or names another's.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import isfunction, isgeneratorfunction, signature
from typing import Any, TypeVar

from rememo.errors import StorageError

C = TypeVar("C")
ALL_TENANTS = None
_EXHAUSTED = object()
_tenant: ContextVar[str | None] = ContextVar("rememo_reach")

# How an argument of each name tells the tenant; one of several tenants' things reaches all of them.
_TENANT: Mapping[str, Callable[[Any], str | None]] = {
    "tenant": lambda value: value,
    "_tenant": lambda value: value,
    "scope": lambda value: value.tenant,
    "filter": lambda value: value.scope.tenant,
    "target": lambda value: value.scope.tenant,
    "note": lambda value: value.scope.tenant,
    "job": lambda value: value.tenant,
    "jobs": lambda value: _only(job.tenant for job in value),
    "endings": lambda value: _only(ending.job.tenant for ending in value),
    "versions": lambda value: _only(stored.record.scope.tenant for stored in value),
}


def _only(tenants: Iterator[str]) -> str | None:
    distinct = set(tenants)
    return distinct.pop() if len(distinct) == 1 else ALL_TENANTS


def current_tenant() -> str | None:
    """Return the tenant whose rows may be reached now, None for all; outside of the store's methods that raises."""
    try:
        return _tenant.get()
    except LookupError:
        raise StorageError("a statement was made in nobody's name, and the store keeps tenants apart") from None


@contextmanager
def acting_for(tenant: str | None) -> Generator[None]:
    """Let statements reach the rows of one tenant, or with `ALL_TENANTS` those of all."""
    token = _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.reset(token)


def guard_tenants(*, store_wide: frozenset[str] = frozenset()) -> Callable[[type[C]], type[C]]:
    """Let the public methods of a class tell whom they reach; those that name no tenant must be told to be `store_wide`."""

    def wall(kind: type[C]) -> type[C]:
        for name in dir(kind):
            method = getattr(kind, name)
            if name.startswith("_"):
                continue
            if isfunction(method):
                setattr(kind, name, _guarded(method, store_wide=name in store_wide))
            elif isinstance(method, property) and method.fget is not None:
                setattr(kind, name, property(_guarded(method.fget, store_wide=True), doc=method.__doc__))
        return kind

    return wall


def _guarded(method: Callable[..., Any], *, store_wide: bool) -> Callable[..., Any]:
    names = list(signature(method).parameters)
    argument = None if store_wide else next((name for name in names if name in _TENANT), None)
    if argument is None and not store_wide:
        raise TypeError(f"{method.__qualname__} names no tenant; say so where its class is walled")
    place = 0 if argument is None else names.index(argument) - 1

    def reach(given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
        if argument is None:
            return ALL_TENANTS
        return _TENANT[argument](given[place] if place < len(given) else named[argument])

    if isgeneratorfunction(method):

        @wraps(method)
        def steps(self: Any, *given: Any, **named: Any) -> Generator[Any]:
            tenant, made = reach(given, named), method(self, *given, **named)
            try:
                while True:
                    # Between two steps the caller goes on, and what it reaches is its own affair.
                    with acting_for(tenant):
                        step = next(made, _EXHAUSTED)
                    if step is _EXHAUSTED:
                        return
                    yield step
            finally:
                made.close()

        return steps

    @wraps(method)
    def within(self: Any, *given: Any, **named: Any) -> Any:
        token = _tenant.set(reach(given, named))
        try:
            return method(self, *given, **named)
        finally:
            _tenant.reset(token)

    return within
