"""Record: what it is and its exact way through JSON."""

import json
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from rememo.errors import InvalidInput
from rememo.model.record import KINDS, Record, check_kind
from rememo.model.scope import Scope
from rememo.testing.strategies import RECORDS

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PLAIN = Record(id="x", version=1, kind="note", text="hi", scope=Scope(), created_at=NOW, recorded_at=NOW)


@pytest.mark.requirement("record.fields")
@given(record=RECORDS)
def test_json_round_trip_is_exact(record: Record):
    again = Record.from_dict(json.loads(json.dumps(record.to_dict())))
    assert again == record
    assert repr(again) == repr(record)


def test_a_record_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        PLAIN.text = "other"  # pyright: ignore[reportAttributeAccessIssue] - the fault shown


def test_the_moment_of_a_record_is_when_it_happened():
    assert PLAIN.at == NOW
    earlier = datetime(2020, 1, 1, tzinfo=UTC)
    assert Record.from_dict(PLAIN.to_dict() | {"occurred_at": earlier.isoformat()}).at == earlier
    assert PLAIN.updated_at == PLAIN.recorded_at


def test_kinds_are_those_of_the_vocabulary():
    assert sorted(KINDS) == [
        "action", "chunk", "document", "fact", "goal", "message", "note", "post", "relationship", "revision", "state", "summary",
        "task", "thought",
    ]  # fmt: skip
    for wrong in ("Note", "", None, 1, ["note"]):
        with pytest.raises(InvalidInput, match="the kinds are action"):
            check_kind(wrong)


@pytest.mark.parametrize(
    "change",
    [{"scope": None}, {"scope": {"planet": "x"}}, {"created_at": "soon"}, {"colour": "red"}, {"created_at": 5}],
)
def test_what_is_not_a_record_is_refused(change: dict[str, Any]):
    with pytest.raises(InvalidInput):
        Record.from_dict(PLAIN.to_dict() | change)


def test_a_missing_field_is_refused():
    values = PLAIN.to_dict()
    del values["text"]
    with pytest.raises(InvalidInput, match="text"):
        Record.from_dict(values)
