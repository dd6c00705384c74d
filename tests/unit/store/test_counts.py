"""Counts by the indexes alone, and labels from one to the next: always what reading everything would say."""

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.model.filters import Filter
from rememo.model.scope import Scope
from rememo.store.sqlite.filter_sql import count_by_index, labels_by_index
from rememo.testing import ManualClock, WordEmbedder

LABELS: st.SearchStrategy[dict[str, str]] = st.dictionaries(
    st.sampled_from(["user", "room", "agent"]), st.sampled_from("ab")
)
RECORDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["note", "message", "thought"]),
        "labels": LABELS,
        "minutes": st.integers(0, 9),
        "ttl": st.sampled_from([None, 60, 600]),
        "then": st.sampled_from(["", "hold", "delete", "update"]),
    }
)
FILTERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "kinds": st.sampled_from([("note",), ("note", "message")]),
        "after": st.integers(0, 9),
        "before": st.integers(0, 9),
        "quarantined": st.sampled_from([None, True, False]),
        "labels": LABELS,
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORDS, max_size=12), st.lists(FILTERS, min_size=1, max_size=5))
def test_a_count_is_what_a_list_holds(told: list[dict[str, Any]], asked: list[dict[str, Any]]):
    clock = ManualClock()
    start = clock()
    with Memory(
        ":memory:", embedder=WordEmbedder(), settings=Settings(worker=False, learn=False), clock=clock
    ) as memory:
        for item in told:
            when = start + timedelta(minutes=item["minutes"])
            id = memory.scope(**item["labels"]).add("x", kind=item["kind"], occurred_at=when, ttl=item["ttl"]).id
            if item["then"] == "hold":
                memory.quarantine.hold(id, "odd")
            elif item["then"] == "delete":
                memory.delete(id)
            elif item["then"]:
                memory.update(id, text="y")
        clock.advance(100)
        store, now = view_of(memory).engine.store, clock()  # the store itself is meant
        for each in asked:
            parts = dict(each)
            scope = Scope(tenant="default", **parts.pop("labels", {}))
            times = {name: start + timedelta(minutes=parts.pop(name)) for name in ("after", "before") if name in parts}
            filter = Filter(scope=scope, **times, **parts)
            assert count_by_index(filter, now) is not None
            assert store.count(filter, now) == len(store.read(filter, now))
            for name in ("user", "room", "agent"):
                held = {getattr(record.scope, name) for record in store.read(filter, now)} - {None}
                assert store.labels(filter, name, now) == sorted(held)
        everything = Filter(scope=Scope(tenant="default"))
        assert labels_by_index(everything, "room", now) is not None
        stats = store.stats("default", now)
        current = store.read(everything.narrowed(quarantined=None), now)
        assert stats.records == sum(stats.kinds.values()) == len(current)
        assert store.stats("default", now, vectors=False).vectors == 0
