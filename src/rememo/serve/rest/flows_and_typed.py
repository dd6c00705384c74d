"""Routes of flows and typed values: each request declares its whole flow, since the server keeps no declarations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.memory import Memory
from rememo.model.record import Record
from rememo.working.flow_state import FlowState
from rememo.working.flows import Flow
from rememo.working.typed import Typed


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowProgress:
    """The progress of a user in a flow."""

    step: int
    """The number of the step, from 1."""
    of: int
    """How many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedValue:
    """A typed value."""

    name: str
    id: str
    """The record that holds it."""
    version: int
    """0 while nothing is stored."""
    value: Any


def start(
    memory: Memory,
    name: str,
    *,
    steps: Sequence[str],
    ttl: float | str = "24h",
    sliding: bool = True,
    step: str | None = None,
    data: Mapping[str, Any] | None = None,
    restart: bool = False,
) -> FlowState:
    """Start a flow at the first step, or at the one given.

    Raises `AlreadyExists` when one is running or paused, unless `restart` replaces it. The flow belongs to the scope's
    user, here and in all operations on one user's state.
    """
    return memory.flow(name, steps=steps, ttl=ttl, sliding=sliding).start(step=step, data=data, restart=restart)


def get(memory: Memory, name: str) -> FlowState | None:
    """Return a user's state in a flow, or null when there is none; reading renews a sliding TTL."""
    return _flow(memory, name).get()


def set(
    memory: Memory,
    name: str,
    *,
    steps: Sequence[str],
    ttl: float | str = "24h",
    sliding: bool = True,
    transitions: Mapping[str, Sequence[str]] | None = None,
    step: str | None = None,
    data: Mapping[str, Any] | None = None,
    expected_version: int | None = None,
) -> FlowState:
    """Merge data into a flow, then move to a step; what is not given stays.

    Raises `InvalidStep` for a step that is not declared or not allowed from here, `Paused` for a paused flow, `NotFound`
    when there is none, and `VersionConflict` when it no longer has the `expected_version`.
    """
    flow = memory.flow(name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions)
    return flow.set(step=step, data=data, expected_version=expected_version)


def advance(
    memory: Memory,
    name: str,
    *,
    steps: Sequence[str],
    ttl: float | str = "24h",
    sliding: bool = True,
    transitions: Mapping[str, Sequence[str]] | None = None,
    data: Mapping[str, Any] | None = None,
    expected_version: int | None = None,
) -> FlowState:
    """Merge data into a flow, then move to the next step as declared; past the last one raises `InvalidStep`."""
    flow = memory.flow(name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions)
    return flow.advance(data=data, expected_version=expected_version)


def pause(memory: Memory, name: str, *, ttl: float | str = "24h", sliding: bool = True) -> FlowState:
    """Pause a flow and keep its data; a paused one stays as it is."""
    return _flow(memory, name, ttl, sliding).pause()


def resume(memory: Memory, name: str, *, ttl: float | str = "24h", sliding: bool = True) -> FlowState:
    """Resume a paused flow; raises `NotFound` when it has expired."""
    return _flow(memory, name, ttl, sliding).resume()


def clear(memory: Memory, name: str) -> bool:
    """Delete a flow's state and data; false when there was none."""
    return _flow(memory, name).clear()


def progress(memory: Memory, name: str, *, steps: Sequence[str]) -> FlowProgress:
    """Return a user's progress in a flow."""
    step, of = memory.flow(name, steps=steps).progress()
    return FlowProgress(step=step, of=of)


def active(memory: Memory, name: str, *, paused: bool = False) -> list[FlowState]:
    """Return the active states of a flow, by user; with `paused` the paused ones too. Renews no TTL."""
    return _flow(memory, name).active(paused=paused)


def _flow(memory: Memory, name: str, ttl: float | str = "24h", sliding: bool = True) -> Flow:
    """Return a flow for operations that need no steps; the steps that another request declared are left as they are."""
    view = view_of(memory)
    return Flow(view, name, steps=("any",), ttl=ttl, sliding=sliding)


# ---- typed values


def get_value(memory: Memory, name: str) -> TypedValue:
    """Return the value under a name of exactly this scope; null at version 0 while nothing is stored."""
    return _typed_value(memory, name)


def set_value(memory: Memory, name: str, *, value: Any, expected_version: int | None = None) -> TypedValue:
    """Store any JSON under a name; raises `VersionConflict` when its version is not `expected_version` (0: nothing stored)."""
    _typed(memory, name).set(value, expected_version=expected_version)
    return _typed_value(memory, name)


def clear_value(memory: Memory, name: str) -> bool:
    """Delete the value under a name; false when nothing was stored. Its history stays readable."""
    return _typed(memory, name).clear()


def undo_value(memory: Memory, name: str) -> TypedValue:
    """Undo the last change of a value by a new version; raises `NotFound` when there is none."""
    _typed(memory, name).undo()
    return _typed_value(memory, name)


def value_history(memory: Memory, name: str) -> list[Record]:
    """Return the records of all its values, oldest first; each has the value as `value` in its data."""
    return [version.record for version in _typed(memory, name).history()]


def _typed(memory: Memory, name: str) -> Typed[Any]:
    anything: Any = Any  # types are on the other side of the wire
    return memory.typed(name, None, type=anything)


def _typed_value(memory: Memory, name: str) -> TypedValue:
    box = _typed(memory, name)
    # The version first: a value written in between is then returned with an older version, never with a newer one.
    version = box.version
    return TypedValue(name=name, id=box.id, version=version, value=box.get())


FLOWS_AND_TYPED: Final = {
    "flow.start": start,
    "flow.get": get,
    "flow.set": set,
    "flow.advance": advance,
    "flow.pause": pause,
    "flow.resume": resume,
    "flow.clear": clear,
    "flow.progress": progress,
    "flow.active": active,
    "typed.get": get_value,
    "typed.set": set_value,
    "typed.clear": clear_value,
    "typed.undo": undo_value,
    "typed.history": value_history,
}
