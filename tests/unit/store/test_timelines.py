"""Timelines of a growing scope: each knows the one before it, and no more than that."""

import gc
import weakref

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.model.filters import Filter
from rememo.model.timeline import Timeline


def test_following_a_conversation_keeps_only_the_last_two_states():
    with Memory(":memory:", embedder=None, settings=Settings()) as memory:
        engine = view_of(memory).engine  # what the store hands out is tested

        def timeline() -> Timeline:
            return engine.store.timeline(Filter(scope=memory.bound), engine.now())

        class Mark:
            """Something that is gone when nobody holds it."""

        marks: list[weakref.ref[Mark]] = []
        for number in range(10):
            memory.add(f"message {number}")
            held, mark = timeline(), Mark()
            held.cache["mark"] = mark
            marks.append(weakref.ref(mark))
            if number:
                assert held.grown_from is not None
                assert held.grown_from.cache["mark"] is marks[-2]()
            del held, mark
        gc.collect()
        assert [mark() is not None for mark in marks] == [False] * 8 + [True] * 2
        assert timeline() is timeline()
