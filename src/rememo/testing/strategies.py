"""What Hypothesis draws from: metadata, conditions, records."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from rememo.model.record import KINDS, Record
from rememo.model.scope import Scope

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, allow_infinity=False)
PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), WHOLE, st.sampled_from([0.0, 1.0, 2.5, -1.0]), REAL, TEXTS
)
JSON: st.SearchStrategy[Any] = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(TEXTS, JSON, max_size=4)

# Few keys and few values, so that conditions meet what they ask for; odd ones, so that nothing hangs on their letters.
_KEYS = [
    "a",
    "b",
    "with space",
    "é",
    "back\\slash",
    "dot.ted",
    "$dollar",
    "line\nbreak",
    "[0]",
    "'",
    '"',
    "tab\t",
    "\u2028",
    "\x7f",
    "#",
    "日本",
]
KEYS = st.sampled_from(_KEYS)
_FEW: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, 2, -1, 0.0, 1.0, 1.5, "", "a", "b", "ab", "1", "true", "null", "é", 2**53 + 1, 1e300, 0.1]
)
VALUES: st.SearchStrategy[Any] = st.one_of(_FEW, st.lists(_FEW, max_size=3), PLAIN)
METADATA: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=2), max_size=4
)


def _escaped(key: str) -> str:
    return key.replace(".", "\\.")


_ORDERED = st.one_of(st.sampled_from([0, 1, 1.0, 1.5, -1, "", "a", "b", 2**53]), WHOLE, REAL, TEXTS)
_OPERATION: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.fixed_dictionaries({"$eq": VALUES}),
    st.fixed_dictionaries({"$ne": VALUES}),
    st.fixed_dictionaries({"$in": st.lists(_FEW, max_size=3)}),
    st.fixed_dictionaries({"$nin": st.lists(_FEW, max_size=3)}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
    st.fixed_dictionaries({"$contains": _FEW}),
    st.fixed_dictionaries({"$gt": _ORDERED}),
    st.fixed_dictionaries({"$gte": _ORDERED, "$lte": _ORDERED}),
    st.fixed_dictionaries({"$lt": _ORDERED}),
)
_PATHS = st.one_of(KEYS.map(_escaped), st.tuples(KEYS, KEYS).map(lambda pair: ".".join(map(_escaped, pair))))
CONDITIONS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(_PATHS, _OPERATION, min_size=1, max_size=2)

_TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda time: time.replace(tzinfo=UTC, fold=0))  # noqa: DTZ001 - the zone follows
_LABELS = st.none() | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8
)

RECORDS: st.SearchStrategy[Record] = st.builds(
    Record,
    id=st.text(min_size=1, max_size=12),
    version=st.integers(1, 1_000),
    kind=st.sampled_from(sorted(KINDS)),
    text=TEXTS,
    data=OBJECTS,
    metadata=OBJECTS,
    scope=st.builds(Scope, agent=_LABELS, user=_LABELS, room=_LABELS),
    created_at=_TIMES,
    recorded_at=_TIMES,
    superseded_at=st.none() | _TIMES,
    occurred_at=st.none() | _TIMES,
    valid_from=st.none() | _TIMES,
    valid_to=st.none() | _TIMES,
    expires_at=st.none() | _TIMES,
    deleted=st.booleans(),
    pinned=st.booleans(),
    importance=st.none() | st.floats(0, 1),
    source=_LABELS,
    trust=st.floats(0, 1),
)
