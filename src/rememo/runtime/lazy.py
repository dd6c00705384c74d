"""Lazily computed attributes."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - it is used as a decorator
    """Like `functools.cached_property`, without the lock that one has before Python 3.12.

    A fork while another thread holds that lock would leave it closed in the child for ever. Here two threads may work
    a value out twice; the later one stays.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> "lazy[T]": ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: object | None, kind: type) -> "T | lazy[T]":
        """Return the value; it lies in the object's own dictionary from then on, and is found there first."""
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work_out(owner)
        return value
