"""Composing: providers run side by side, and what they say is joined to one state."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final

from rememo.context.cache import Held, Reach, StateCache
from rememo.context.gather import recalling
from rememo.context.pool import Call, Pool
from rememo.context.provider_result import checked, failed
from rememo.context.providers import Asked, Provided, Provider, Registry
from rememo.context.state import LeftOut, State
from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.errors import Closed, InvalidInput, NotFound, Unavailable
from rememo.model.check import check_many, check_text, dump_json
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.runtime.counters import counts
from rememo.text.fence import fenced

_LONG_TEXT: Final = 256


class _Here:
    """What belongs to one process: threads are not carried over a fork, and what they were at may be half done."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.pool = Pool()
        self.cache = StateCache()


class Composer:
    """The providers of one engine, and the states composed of them; thread-safe."""

    def __init__(self, engine: Engine, builtin: Iterable[Provider]) -> None:
        self._engine = engine
        self._state = _Here()
        self.registry = Registry(builtin)

    @property
    def _here(self) -> _Here:
        if self._state.process != os.getpid():
            self._state = _Here()
        return self._state

    def compose(
        self,
        view: View,
        memory: object,
        message: str | Record,
        *,
        user: str | None = None,
        include: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        fresh: bool = False,
    ) -> State:
        """Return the state for a message: from the cache when nothing in reach has changed since, else by asking."""
        if isinstance(message, Record):
            text, said = message.text, (message.id, message.version)
        else:
            text = check_text(message, "message", max_bytes=self._engine.settings.max_text_bytes)
            said = text if len(text) <= _LONG_TEXT else blake2b(text.encode(), digest_size=16).digest()
        wanted, unwanted = _names(include, "include"), _names(exclude, "exclude")
        recalling(view, user=user).wait_for_extraction()
        key: Hashable = (view.scope, view.wall, said, user, wanted, unwanted, self.registry.version)
        cache, moment = self._here.cache, self._engine.now()
        # The past is composed anew each time: whoever looks there wants to know, and not to be quick.
        held = None if fresh or view.known_at is not None else cache.get(key, moment)
        if held is not None:
            if self._stamp(held.reach, moment) == held.stamp:
                counts.add("state_cache_hits")
                return held.state.again()
            cache.drop(key)
        counts.add("state_cache_misses")
        chosen, left_out = self._choose(view, wanted, unwanted)
        reach = _reach(view, user, chosen)
        # Before anything is read: what is written meanwhile makes the state old at once.
        stamp = None if view.known_at is not None else self._stamp(reach, moment)
        asked = Asked(
            text=text,
            record=message if isinstance(message, Record) else None,
            scope=view.scope,
            user=user or view.scope.user,
            at=moment if view.known_at is None else min(moment, view.known_at),
            memory=memory,
        )
        state = self._join(self._ask(chosen, asked, view), left_out, asked.at)
        # What failed may do better next time.
        if stamp is not None and not state.failures:
            cache.put(key, Held(state, reach, stamp, moment))
        return state

    def sweep(self) -> int:
        """Forget states that are too old; returns how many."""
        return self._here.cache.sweep(self._engine.now())

    def forget(self) -> None:
        """Forget all states: a provider may have said in one what was erased since, and nothing else tells."""
        self._here.cache.clear()

    def stop(self) -> None:
        """Run nothing more; what hangs is left to itself."""
        self._here.pool.close()
        self._here.cache.clear()

    # ---- choosing

    def _choose(
        self, view: View, include: tuple[str, ...] | None, exclude: tuple[str, ...] | None
    ) -> tuple[list[Provider], list[LeftOut]]:
        visible = self.registry.visible(view.scope)
        known = {one.name for one in visible}
        for name in (*(include or ()), *(exclude or ())):
            if name not in known:
                raise NotFound(
                    f"there is no provider {name!r} in this scope; there are {', '.join(sorted(known)) or 'none'}"
                )
        if both := set(include or ()) & set(exclude or ()):
            raise InvalidInput(f"provider {min(both)!r} stands in include and in exclude; take it out of one")
        chosen: list[Provider] = []
        left_out: list[LeftOut] = []
        for one in visible:
            if exclude is not None and one.name in exclude:
                left_out.append(LeftOut(one.name, "excluded", "it stands in exclude"))
            elif include is not None and one.name not in include:
                left_out.append(LeftOut(one.name, "excluded", "include does not name it"))
            elif include is None and one.private:
                left_out.append(LeftOut(one.name, "private", "it is private: name it in include"))
            elif view.known_at is not None and not one.past:
                left_out.append(LeftOut(one.name, "no past", "it knows the present only"))
            else:
                chosen.append(one)
        return chosen, left_out

    def _stamp(self, reach: Reach, moment: datetime) -> object:
        """Return what stays equal as long as nothing in reach is written, ended or expired, in any process."""
        marks: list[object] = []
        for records in reach.records:
            timeline = self._engine.store.timeline(records, moment)
            # A mark in place of the timeline itself, which would hold on to its arrays.
            marks.append(timeline.worked_out.setdefault("unchanged", object()))
        # Asked for anew each time: there may be more of them by now.
        entries = [entry for read in reach.reads for entry in read(reach.who)]
        try:
            return marks, entries, self._engine.kv.versions(reach.who.tenant, entries, moment)
        except Unavailable:
            return object()  # nobody can tell, so it equals nothing

    # ---- asking

    def _ask(self, chosen: Sequence[Provider], asked: Asked[object], view: View) -> dict[Provider, Provided | LeftOut]:
        """Ask all of them, those of others beside our own, and return each one's answer in the order given."""
        pool, changed = self._here.pool, SimpleQueue[Call]()
        answers: dict[Provider, Provided | LeftOut] = {}
        calls: dict[Call, Provider] = {}
        try:
            for one in chosen:
                if one.builtin:
                    continue
                if pool.hanging(one):
                    says = "earlier calls of it were given up and still hang; it is not called again until they end"
                    answers[one] = LeftOut(one.name, "busy", says)
                    continue
                call = Call(one, one.function, asked, timeout=one.timeout, changed=changed)
                calls[call] = one
                pool.submit(call)
            # Our own are reads of this memory and need no thread; meanwhile the others are at work.
            own = replace(asked, memory=view)
            for one in chosen:
                if one.builtin:
                    answers[one] = self._ask_own(one, own)
            self._gather(pool, calls, changed, answers)
        finally:
            for call in calls:
                pool.give_up(call)
        return {one: answers[one] for one in chosen}

    def _ask_own(self, one: Provider, asked: Asked[object]) -> Provided | LeftOut:
        try:
            answer = one.function(asked)
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 - one that fails is named, and the others still have their say
            return failed(one, error)
        return checked(one, answer, self._engine.settings)

    def _gather(
        self,
        pool: Pool,
        calls: dict[Call, Provider],
        changed: SimpleQueue[Call],
        answers: dict[Provider, Provided | LeftOut],
    ) -> None:
        """Wait for calls until each has ended or had its time; those that are through are taken out of `calls`."""
        while calls:
            for call, one in list(calls.items()):
                late = call.deadline is not None and monotonic() >= call.deadline
                if late and pool.give_up(call):
                    says = f"it did not {'end' if call.begun else 'begin'} within {one.timeout:g} s"
                    answers[one] = LeftOut(one.name, "slow", says)
                elif call.ended:
                    answers[one] = self._answer(one, call)
                else:
                    continue
                del calls[call]
            if not calls:
                return
            deadlines = [call.deadline for call in calls if call.deadline is not None]
            try:
                changed.get(timeout=max(0.0, min(deadlines) - monotonic()) if deadlines else None)
            except Empty:
                continue

    def _answer(self, one: Provider, call: Call) -> Provided | LeftOut:
        if isinstance(call.error, Closed) and not call.begun:
            raise call.error
        return checked(one, call.result, self._engine.settings) if call.error is None else failed(one, call.error)

    # ---- joining

    def _join(self, answers: Mapping[Provider, Provided | LeftOut], left_out: Sequence[LeftOut], at: datetime) -> State:
        texts: list[tuple[bool, str]] = []
        values: dict[str, Any] = {}
        data: dict[str, Any] = {}
        missing: list[LeftOut] = []
        for one, answer in answers.items():
            if isinstance(answer, LeftOut):
                missing.append(answer)
                continue
            if answer.text.strip():
                texts.append((answer.recalled, answer.text.strip("\n")))
            values.update(answer.values)
            if answer.data is not None:
                data[one.name] = answer.data
        return State(
            text=_text(texts),
            values=dump_json(values),
            data=dump_json(data),
            left_out=(*missing, *left_out),
            at=at,
        )


def _reach(view: View, user: str | None, chosen: Iterable[Provider]) -> Reach:
    """Return what a state can be made of: turns of the view, and what is recalled from beyond it."""
    scope, wide = view.scope, recalling(view, user=user).scope
    scopes = (wide,) if wide.contains(scope) else (wide, scope)
    return Reach(
        who=scope.narrow(user=user),
        records=tuple(Filter(scope=one) for one in scopes),
        reads=tuple(one.reads for one in chosen if one.reads is not None),
    )


def _names(given: str | Iterable[str] | None, field: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names: tuple[str, ...] = (given,) if isinstance(given, str) else check_many(given, field)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"{field} must be names of providers, not {name!r}")
    return names


def _text(texts: Iterable[tuple[bool, str]]) -> str:
    """Return texts below each other; recalled ones that follow each other stand in one fence."""
    parts: list[str] = []
    for recalled, run in groupby(texts, key=itemgetter(0)):
        joined = "\n\n".join(text for _, text in run)
        parts.append(fenced(joined) if recalled else joined)
    return "\n\n".join(parts)
