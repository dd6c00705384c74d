"""Compose a state: run providers concurrently and join their responses."""

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

from rememo.context.gather import recall_view
from rememo.context.provider_pool import ProviderCall, ProviderPool
from rememo.context.provider_response import check_response, failed_provider
from rememo.context.providers import Provider, ProviderRequest, ProviderResponse, Registry
from rememo.context.state import LeftOut, State
from rememo.context.state_cache import CachedState, StateCache, StateSources
from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.errors import Closed, InvalidInput, NotFound, Unavailable
from rememo.model.check import check_many, check_text, dump_json
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.runtime.counters import counts
from rememo.text.fence import fenced

_LONG_TEXT: Final = 256


class _ComposerState:
    """What belongs to one process: threads are not carried over a fork, and what they were at may be half done."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.pool = ProviderPool()
        self.cache = StateCache()


class Composer:
    """The providers of one engine, and the states composed of them; thread-safe."""

    def __init__(self, engine: Engine, builtin: Iterable[Provider]) -> None:
        self.engine = engine
        self._state = _ComposerState()
        self.registry = Registry(builtin)

    @property
    def _process_state(self) -> _ComposerState:
        if self._state.process != os.getpid():
            self._state = _ComposerState()
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
        """Return the state for a message: from the cache when nothing in sources has changed since, else by asking."""
        if isinstance(message, Record):
            text, message_key = message.text, (message.id, message.version)
        else:
            text = check_text(message, "message", max_bytes=self.engine.settings.max_text_bytes)
            message_key = text if len(text) <= _LONG_TEXT else blake2b(text.encode(), digest_size=16).digest()
        included, excluded = _check_names(include, "include"), _check_names(exclude, "exclude")
        recall_view(view, user=user).wait_for_extraction()
        key: Hashable = (view.scope, view.wall, message_key, user, included, excluded, self.registry.version)
        cache, now = self._process_state.cache, self.engine.now()
        # The past is composed anew each time: whoever looks there wants to know, and not to be quick.
        cached = None if fresh or view.known_at is not None else cache.get(key, now)
        if cached is not None:
            if self._stamp(cached.sources, now) == cached.stamp:
                counts.add("state_cache_hits")
                return cached.state.copy_from_cache()
            cache.drop(key)
        counts.add("state_cache_misses")
        chosen, left_out = self._choose(view, included, excluded)
        sources = _state_sources(view, user, chosen)
        # Before anything is read: what is written meanwhile makes the state old at once.
        stamp = None if view.known_at is not None else self._stamp(sources, now)
        request = ProviderRequest(
            text=text,
            record=message if isinstance(message, Record) else None,
            scope=view.scope,
            user=user or view.scope.user,
            at=now if view.known_at is None else min(now, view.known_at),
            memory=memory,
        )
        state = self._join_responses(self._call_providers(chosen, request, view), left_out, request.at)
        # What failed may do better next time.
        if stamp is not None and not state.failures:
            cache.put(key, CachedState(state, sources, stamp, now))
        return state

    def sweep(self) -> int:
        """Forget states that are too old; returns how many."""
        return self._process_state.cache.sweep(self.engine.now())

    def forget(self) -> None:
        """Forget all states: a provider may have said in one what was erased since, and nothing else tells."""
        self._process_state.cache.clear()

    def stop(self) -> None:
        """Run nothing more; what hangs is left to itself."""
        self._process_state.pool.close()
        self._process_state.cache.clear()

    # ---- choosing

    def _choose(
        self, view: View, include: tuple[str, ...] | None, exclude: tuple[str, ...] | None
    ) -> tuple[list[Provider], list[LeftOut]]:
        visible = self.registry.visible(view.scope)
        names = {provider.name for provider in visible}
        for name in (*(include or ()), *(exclude or ())):
            if name not in names:
                raise NotFound(
                    f"there is no provider {name!r} in this scope; there are {', '.join(sorted(names)) or 'none'}"
                )
        if both := set(include or ()) & set(exclude or ()):
            raise InvalidInput(f"provider {min(both)!r} is in include and in exclude; remove it from one")
        chosen: list[Provider] = []
        left_out: list[LeftOut] = []
        for provider in visible:
            if exclude is not None and provider.name in exclude:
                left_out.append(LeftOut(provider.name, "excluded", "exclude names it"))
            elif include is not None and provider.name not in include:
                left_out.append(LeftOut(provider.name, "excluded", "include does not name it"))
            elif include is None and provider.private:
                left_out.append(LeftOut(provider.name, "private", "it is private: name it in include"))
            elif view.known_at is not None and not provider.past:
                left_out.append(LeftOut(provider.name, "no past", "it knows the present only"))
            else:
                chosen.append(provider)
        return chosen, left_out

    def _stamp(self, sources: StateSources, now: datetime) -> object:
        """Return what stays equal as long as nothing in sources is written, ended or expired, in any process."""
        marks: list[object] = []
        for records in sources.records:
            timeline = self.engine.store.timeline(records, now)
            # A mark in place of the timeline itself, which would hold on to its arrays.
            marks.append(timeline.cache.setdefault("unchanged", object()))
        # Asked for anew each time: there may be more of them by now.
        entries = [entry for read in sources.reads for entry in read(sources.who)]
        try:
            return marks, entries, self.engine.kv.versions(sources.who.tenant, entries, now)
        except Unavailable:
            return object()  # nobody can tell, so it equals nothing

    # ---- asking

    def _call_providers(
        self, chosen: Sequence[Provider], request: ProviderRequest[object], view: View
    ) -> dict[Provider, ProviderResponse | LeftOut]:
        """Ask all of them, those of others beside our own, and return each one's answer in the order given."""
        pool, changed = self._process_state.pool, SimpleQueue[ProviderCall]()
        answers: dict[Provider, ProviderResponse | LeftOut] = {}
        calls: dict[ProviderCall, Provider] = {}
        try:
            for provider in chosen:
                if provider.builtin:
                    continue
                if pool.hanging(provider):
                    reason = "earlier calls of it were given up and still hang; it is not called again until they end"
                    answers[provider] = LeftOut(provider.name, "busy", reason)
                    continue
                call = ProviderCall(provider, provider.function, request, timeout=provider.timeout, changed=changed)
                calls[call] = provider
                pool.submit(call)
            # Our own are reads of this memory and need no thread; meanwhile the others are at work.
            provider_request = replace(request, memory=view)
            for provider in chosen:
                if provider.builtin:
                    answers[provider] = self._call_builtin(provider, provider_request)
            self._await_calls(pool, calls, changed, answers)
        finally:
            for call in calls:
                pool.abandon(call)
        return {provider: answers[provider] for provider in chosen}

    def _call_builtin(self, provider: Provider, request: ProviderRequest[object]) -> ProviderResponse | LeftOut:
        try:
            answer = provider.function(request)
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 - one that fails is named, and the others still have their say
            return failed_provider(provider, error)
        return check_response(provider, answer, self.engine.settings)

    def _await_calls(
        self,
        pool: ProviderPool,
        calls: dict[ProviderCall, Provider],
        changed: SimpleQueue[ProviderCall],
        answers: dict[Provider, ProviderResponse | LeftOut],
    ) -> None:
        """Wait for calls until each has ended or had its time; those that are through are taken out of `calls`."""
        while calls:
            for call, provider in list(calls.items()):
                late = call.deadline is not None and monotonic() >= call.deadline
                if late and pool.abandon(call):
                    reason = f"it did not {'end' if call.begun else 'begin'} within {provider.timeout:g} s"
                    answers[provider] = LeftOut(provider.name, "slow", reason)
                elif call.ended:
                    answers[provider] = self._collect_response(provider, call)
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

    def _collect_response(self, provider: Provider, call: ProviderCall) -> ProviderResponse | LeftOut:
        if isinstance(call.error, Closed) and not call.begun:
            raise call.error
        return (
            check_response(provider, call.result, self.engine.settings)
            if call.error is None
            else failed_provider(provider, call.error)
        )

    # ---- joining

    def _join_responses(
        self, answers: Mapping[Provider, ProviderResponse | LeftOut], left_out: Sequence[LeftOut], at: datetime
    ) -> State:
        texts: list[tuple[bool, str]] = []
        values: dict[str, Any] = {}
        data: dict[str, Any] = {}
        missing: list[LeftOut] = []
        for provider, answer in answers.items():
            if isinstance(answer, LeftOut):
                missing.append(answer)
                continue
            if answer.text.strip():
                texts.append((answer.recalled, answer.text.strip("\n")))
            values.update(answer.values)
            if answer.data is not None:
                data[provider.name] = answer.data
        return State(
            text=_join_texts(texts),
            values=dump_json(values),
            data=dump_json(data),
            left_out=(*missing, *left_out),
            at=at,
        )


def _state_sources(view: View, user: str | None, chosen: Iterable[Provider]) -> StateSources:
    """Return what a state can be made of: turns of the view, and what is recalled from beyond it."""
    scope, wide = view.scope, recall_view(view, user=user).scope
    scopes = (wide,) if wide.contains(scope) else (wide, scope)
    return StateSources(
        who=scope.narrow(user=user),
        records=tuple(Filter(scope=scope) for scope in scopes),
        reads=tuple(provider.reads for provider in chosen if provider.reads is not None),
    )


def _check_names(names: str | Iterable[str] | None, field: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    checked: tuple[str, ...] = (names,) if isinstance(names, str) else check_many(names, field)
    for name in checked:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"{field} must be names of providers, not {name!r}")
    return checked


def _join_texts(texts: Iterable[tuple[bool, str]]) -> str:
    """Return texts below each other; recalled ones that follow each other stand in one fence."""
    parts: list[str] = []
    for recalled, run in groupby(texts, key=itemgetter(0)):
        joined = "\n\n".join(text for _, text in run)
        parts.append(fenced(joined) if recalled else joined)
    return "\n\n".join(parts)
